import { computed, signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { answering } from "../answers";
import { ask } from "../api";
import type { FoundNode } from "../contract";
import { MAX_QUERY_LENGTH } from "../contract";
import { model } from "../desk";
import { showId } from "../logic/ids";
import { count, neighbours, nouns } from "../logic/numbers";
import { MarkButtons, moveByKey } from "./marking";
import { RowName } from "./row_name";
import { Failed } from "./states";

const MOST = 20;

const text = signal("");
const wanted = computed(() =>
  model.value === null || text.value.trim() === ""
    ? null
    : `/models/${encodeURIComponent(model.value.name)}/nodes?q=${encodeURIComponent(text.value.trim())}&limit=${MOST}`,
);
const found = answering<string, { nodes: FoundNode[]; more: boolean }>(
  wanted,
  (path, abort) => ask(path, { abort }),
  90,
);

/** Finds nodes by name; the results are rows of their own, marked without leaving the keyboard. */
export function Search() {
  const box = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const [active, setActive] = useState(0);
  const { value, state, error } = found.answer.value;
  const nodes = text.value.trim() === "" ? [] : (value?.nodes ?? []);

  const onKeyDown = (event: KeyboardEvent) => {
    const inField = event.target === field.current;
    if (event.key === "Escape") {
      text.value = "";
      field.current!.focus();
    } else if (inField) {
      if (event.key === "ArrowDown" || event.key === "Enter") {
        box.current!.querySelector<HTMLElement>("[data-row]")?.focus();
        event.preventDefault();
      }
    } else if (event.key === "ArrowUp" && event.target === box.current!.querySelector("[data-row]")) {
      field.current!.focus();
      event.preventDefault();
    } else moveByKey(event, box.current!);
  };

  return (
    <div class="search" ref={box} onKeyDown={onKeyDown} role="search">
      <label class="field-label" for="search">
        Search nodes
      </label>
      <div class="search-field">
        <input
          id="search"
          ref={field}
          type="search"
          autocomplete="off"
          spellcheck={false}
          maxLength={MAX_QUERY_LENGTH}
          placeholder={model.value ? `Among ${count(model.value.num_nodes)} nodes` : ""}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
        <kbd aria-hidden="true">/</kbd>
      </div>
      <p class="hidden" role="status">
        {state === "ready" && text.value.trim() !== "" ? `${nouns(nodes.length, "node")} found` : ""}
      </p>
      {text.value.trim() !== "" && (
        <div class="results">
          {state === "failed" && <Failed error={error} again={found.again} />}
          {state === "ready" && nodes.length === 0 && (
            <p class="faint">No node has “{text.value.trim()}” in its name.</p>
          )}
          <ul class="rows">
            {nodes.map((node, i) => (
              <li key={i} class="row">
                <RowName
                  node={node.id}
                  name={showId(node.id)}
                  isReachable={i === active}
                  onFocus={() => setActive(i)}
                >
                  {[neighbours(node.degree), ...node.labels.slice(0, 2)].join(" · ")}
                </RowName>
                <MarkButtons node={node.id} isReachable={i === active} />
              </li>
            ))}
          </ul>
          {nodes.length > 0 && (
            <p class="faint small keys-hint">
              {value?.more ? "More match; type on. " : ""}
              <kbd>↑</kbd> <kbd>↓</kbd> choose, <kbd>+</kbd> holds it, <kbd>−</kbd> does not
            </p>
          )}
        </div>
      )}
    </div>
  );
}
