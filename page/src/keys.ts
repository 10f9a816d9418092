// Keys that work wherever the focus is, unless something is being typed or a dialogue is open.
import { signal } from "@preact/signals";
import { redo, undo } from "./desk";
import { recall } from "./memory";

/** Single keys can be turned off: voice control types them by accident. */
export const areKeysOn = signal(recall("keys", true));

export function listenToKeys(showHelp: () => void): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && event.key.toLowerCase() === "z") {
      event.preventDefault();
      void (event.shiftKey ? redo() : undo());
    }
    if (isCommand || event.altKey) return;
    if (event.key === "ArrowDown" && document.activeElement === document.body) {
      document.querySelector<HTMLElement>(".ranked [data-row][tabindex='0']")?.focus();
      event.preventDefault();
    }
    if (!areKeysOn.value) return;
    if (event.key === "u") void undo();
    else if (event.key === "U") void redo();
    else if (event.key === "?") showHelp();
    else if (event.key === "/") goToSearch();
    else return;
    event.preventDefault();
  });
}

export function goToSearch(): void {
  const field = document.querySelector<HTMLInputElement>("#search");
  field?.focus();
  field?.select();
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !["radio", "checkbox", "range"].includes(target.type);
}
