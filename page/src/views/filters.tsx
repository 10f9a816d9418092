import { batch } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { MAX_QUERY_LENGTH } from "../contract";
import type { LabelField } from "../labels";
import { clearLabels, labelFields } from "../labels";
import { nouns } from "../logic/numbers";
import { filter, isFiltered, noFilter } from "../ranking";
import { useTyping } from "./text_field";

/** Which nodes the ranking shows. */
export function Filters() {
  const now = filter.value;
  const [isOpen, setOpen] = useState(isFiltered.value);
  const isTyped = Object.values(labelFields).some((field) => field.text.value !== "");
  useEffect(() => {
    for (const field of Object.values(labelFields)) field.isOpen.value = isOpen;
  }, [isOpen]);
  return (
    <details class="filters" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Filter{isFiltered.value && <span class="badge">on</span>}
      </summary>
      <div class="filter-fields">
        <TextFilter
          id="filter-contains"
          title="Name contains"
          value={now.contains ?? ""}
          commit={(text) => (filter.value = { ...now, contains: text || null })}
        />
        <LabelFilter id="filter-holds" title="Has known label" field={labelFields.holds} />
        <LabelFilter id="filter-lacks" title="Lacks known label" field={labelFields.lacks} />
        <TextFilter
          id="filter-degree"
          title="Fewest neighbours"
          isNumber
          value={now.min_degree === null ? "" : String(now.min_degree)}
          commit={(text) => (filter.value = { ...now, min_degree: toCount(text) })}
        />
        <Field id="filter-annotated" title="Annotated">
          <select
            id="filter-annotated"
            value={now.annotated === null ? "" : String(now.annotated)}
            onChange={({ currentTarget: { value } }) =>
              (filter.value = { ...now, annotated: value === "" ? null : value === "true" })
            }
          >
            <option value="">All nodes</option>
            <option value="true">With known labels</option>
            <option value="false">Without any</option>
          </select>
        </Field>
        <button
          type="button"
          class="quiet"
          disabled={!isFiltered.value && !isTyped}
          onClick={() =>
            batch(() => {
              filter.value = noFilter;
              clearLabels();
            })
          }
        >
          Clear
        </button>
      </div>
    </details>
  );
}

function Field({ id, title, children }: { id: string; title: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {title}
      </label>
      {children}
    </div>
  );
}

interface TextProps {
  id: string;
  title: string;
  value: string;
  isNumber?: boolean;
  commit: (text: string) => void;
}

function TextFilter({ id, title, value, isNumber, commit }: TextProps) {
  const typing = useTyping(value, (text) => commit(text.trim()));
  return (
    <Field id={id} title={title}>
      <input
        id={id}
        type="text"
        inputMode={isNumber ? "numeric" : "text"}
        maxLength={MAX_QUERY_LENGTH}
        autocomplete="off"
        spellcheck={false}
        {...typing}
      />
    </Field>
  );
}

const toCount = (text: string): number | null => {
  const value = Math.floor(Number(text));
  return text !== "" && value > 0 ? value : null;
};

/** A label is chosen among those that the model's graph has; a part of a name lists what it may become. */
function LabelFilter({ id, title, field }: { id: string; title: string; field: LabelField }) {
  const { value, state } = field.found.answer.value;
  const text = field.text.value.trim();
  const labels = value?.labels ?? [];
  const isSettled = text === "" || state !== "ready" || labels.some(({ label }) => label === text);
  const number = `${labels.length}${value?.more ? "+" : ""}`;
  return (
    <Field id={id} title={title}>
      <input
        id={id}
        type="text"
        list={`${id}-labels`}
        maxLength={MAX_QUERY_LENGTH}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={!isSettled}
        aria-describedby={`${id}-hint`}
        placeholder="any"
        value={field.text.value}
        onInput={(event) => (field.text.value = event.currentTarget.value)}
      />
      <p id={`${id}-hint`} class="field-hint small" role="status">
        {isSettled ? "" : labels.length === 0 ? "no such label" : `${number} match: choose one`}
      </p>
      <datalist id={`${id}-labels`}>
        {labels.map(({ label, num_holders }) => (
          <option key={label} value={label}>
            {nouns(num_holders, "node")}
          </option>
        ))}
      </datalist>
    </Field>
  );
}
