import { signal } from "@preact/signals";
import { areKeysOn } from "../keys";
import { remember } from "../memory";
import { Dialog } from "./dialog";

export const helpOpen = signal(false);

const KEYS: [string, string][] = [
  ["/", "search nodes"],
  ["↑ ↓", "move along a list"],
  ["+", "the node holds the label"],
  ["−", "it does not"],
  ["0 or Delete", "take its mark away"],
  ["Enter", "show why, and the picture"],
  ["u", "undo"],
  ["Shift u", "do again"],
  ["?", "this help"],
];

export function Help() {
  return (
    <Dialog title="How it works" onClose={() => (helpOpen.value = false)}>
      <ol class="steps">
        <li>Name a label that the graph does not have yet.</li>
        <li>
          Mark a few nodes that hold it, and some that do not. Ten of one and twenty of the other make a good start.
        </li>
        <li>
          Every other node is ranked. The bar is its probability, the thin line the range in which that would lie
          with other examples. Above the decision line, the model says it holds the label; move the line as you like.
        </li>
        <li>Confirm or refute rows: the ranking learns, and you see how often its top was right.</li>
      </ol>
      <h3>Keys</h3>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label class="switch">
        <input
          type="checkbox"
          checked={areKeysOn.value}
          onChange={(event) => {
            areKeysOn.value = event.currentTarget.checked;
            remember("keys", areKeysOn.value);
          }}
        />{" "}
        Single keys (/, u, ?) work everywhere on the page
      </label>
    </Dialog>
  );
}
