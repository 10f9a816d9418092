import { useState } from "preact/hooks";
import { giveToken, tokenWanted } from "../token";
import { Dialog } from "./dialog";

export function Token() {
  const [token, setToken] = useState("");
  return (
    <Dialog title="This service asks for a token">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== "") giveToken(token);
        }}
      >
        <div class="field">
          <label class="field-label" for="token">
            Token
          </label>
          <input
            id="token"
            type="password"
            autocomplete="off"
            value={token}
            aria-describedby="token-hint"
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </div>
        <p id="token-hint" class={tokenWanted.value?.isWrong ? "warn" : "faint"} role="status">
          {tokenWanted.value?.isWrong
            ? "That token was not accepted."
            : "It is in the file that the service was started with. This tab keeps it until it is closed."}
        </p>
        <div class="actions">
          <button type="submit" class="primary">
            Continue
          </button>
        </div>
      </form>
    </Dialog>
  );
}
