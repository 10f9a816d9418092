import { render } from "preact";
import { start } from "./desk";
import { listenToKeys } from "./keys";
import { App } from "./views/app";
import { helpOpen } from "./views/help";

listenToKeys(() => (helpOpen.value = true));
render(<App />, document.getElementById("page")!);
void start();
