import { signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Id } from "../contract";
import { MAX_NAME_LENGTH, MAX_NOTES_LENGTH } from "../contract";
import { draft, edit, mark, model } from "../desk";
import type { Mark } from "../logic/draft";
import { showId } from "../logic/ids";
import { count, nouns, percent } from "../logic/numbers";
import { ranking, show } from "../ranking";
import { markByKey, moveByKey, SIGNS } from "./marking";
import { Search } from "./search";
import { useTyping } from "./text_field";

/** The label in hand: its name, what is known of it, and how common it is. */
export function Marks() {
  const { positives, negatives } = draft.value;
  const weak = ranking.answer.value.value?.weak_negatives.length ?? 0;
  return (
    <section class="panel marks-panel" data-view="marks" aria-label="The label and its examples">
      <Name />
      <Search />
      <List
        as="positive"
        title="Holds it"
        nodes={positives}
        empty="Mark at least one node that holds the label."
      />
      <List
        as="negative"
        title="Does not hold it"
        nodes={negatives}
        empty={
          weak > 0
            ? `None marked: ${count(weak)} nodes drawn by chance stand for the others.`
            : "Not needed, but they sharpen the ranking."
        }
      />
      <Prior />
      <Notes />
    </section>
  );
}

/** A project that was just made wants a name: its field takes the focus as soon as it is there. */
export const wantsName = signal(false);

function Name() {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (!wantsName.peek()) return;
    wantsName.value = false;
    field.current!.focus();
    field.current!.select();
  }, []);
  const typing = useTyping(draft.value.name, (name) => {
    if (name.trim() !== "") edit({ name: name.trim() });
  });
  return (
    <div class="label-name">
      <label class="field-label" for="label-name">
        Label
      </label>
      <input
        id="label-name"
        ref={field}
        class="title"
        maxLength={MAX_NAME_LENGTH}
        spellcheck={false}
        {...typing}
      />
    </div>
  );
}

const FIRST = 12;

interface ListProps {
  as: Mark;
  title: string;
  nodes: Id[];
  empty: string;
}

function List({ as, title, nodes, empty }: ListProps) {
  const list = useRef<HTMLUListElement>(null);
  const [active, setActive] = useState(0);
  const [isWhole, setWhole] = useState(false);
  // The newest first: a mark that was just made must be seen.
  const newest = [...nodes].reverse();
  const shown = isWhole || nodes.length <= FIRST + 2 ? newest : newest.slice(0, FIRST);
  const reachable = Math.min(active, shown.length - 1);
  return (
    <div class="marked">
      <h2>
        <span class={`sign ${as}`} aria-hidden="true">
          {SIGNS[as]}
        </span>{" "}
        {title} <span class="count">{count(nodes.length)}</span>
      </h2>
      {nodes.length === 0 && <p class="faint">{empty}</p>}
      <ul class="chips" ref={list} aria-label={title} onKeyDown={(event) => moveByKey(event, list.current!)}>
        {shown.map((node, i) => (
          <li key={i} class="chip">
            <button
              type="button"
              class="chip-name"
              data-row
              tabIndex={i === reachable ? 0 : -1}
              onFocus={() => setActive(i)}
              onKeyDown={(event) => markByKey(event, node)}
              onClick={() => show(node)}
            >
              {showId(node)}
            </button>
            <button
              type="button"
              class="chip-remove"
              aria-label={`Remove ${showId(node)}`}
              tabIndex={i === reachable ? 0 : -1}
              onClick={() => mark(node, null)}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      {shown.length < nodes.length && (
        <button type="button" class="link faint small" onClick={() => setWhole(true)}>
          and {nouns(nodes.length - shown.length, "other")}
        </button>
      )}
    </div>
  );
}

function Prior() {
  const { prior } = draft.value;
  const typical = ranking.answer.value.value?.prior ?? model.value?.typical_share ?? null;
  const [problem, setProblem] = useState("");
  const typing = useTyping(prior === null ? "" : String(+(100 * prior).toPrecision(6)), (text) => {
    const share = Number(text.replace(",", ".").replace("%", "")) / 100;
    const isFit = text.trim() === "" || (share > 0 && share < 1);
    setProblem(isFit ? "" : "Between 0 and 100, or nothing.");
    if (isFit) edit({ prior: text.trim() === "" ? null : share });
  });
  return (
    <div class="prior">
      <label class="field-label" for="prior">
        How many of all nodes hold it?
      </label>
      <div class="with-unit">
        <input
          id="prior"
          inputMode="decimal"
          autocomplete="off"
          placeholder={prior === null && typical !== null ? percent(typical).replace(" %", "") : ""}
          aria-describedby="prior-hint"
          aria-invalid={problem !== ""}
          {...typing}
        />
        <span>%</span>
      </div>
      <p id="prior-hint" class={problem ? "warn small" : "faint small"}>
        {problem || "Left empty: as common as a typical known label."}
      </p>
    </div>
  );
}

function Notes() {
  const typing = useTyping(draft.value.notes, (notes) => edit({ notes }));
  return (
    <div class="notes">
      <label class="field-label" for="notes">
        Notes
      </label>
      <textarea id="notes" rows={3} maxLength={MAX_NOTES_LENGTH} {...typing} />
    </div>
  );
}
