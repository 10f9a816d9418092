import { useState } from "preact/hooks";
import type { Label } from "../contract";
import { filter, isFiltered, noFilter, rows } from "../ranking";
import { useTyping } from "./text_field";

/** Which nodes the ranking shows. */
export function Filters() {
  const now = filter.value;
  const [isOpen, setOpen] = useState(isFiltered.value);
  const seen = [...new Set(rows.value.flatMap((row) => row.labels.map(String)))].sort().slice(0, 200);
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
        <TextFilter
          id="filter-holds"
          title="Has known label"
          list="seen-labels"
          value={now.holds === null ? "" : String(now.holds)}
          commit={(text) => (filter.value = { ...now, holds: toLabel(text) })}
        />
        <TextFilter
          id="filter-lacks"
          title="Lacks known label"
          list="seen-labels"
          value={now.lacks === null ? "" : String(now.lacks)}
          commit={(text) => (filter.value = { ...now, lacks: toLabel(text) })}
        />
        <TextFilter
          id="filter-degree"
          title="Fewest neighbours"
          isNumber
          value={now.min_degree === null ? "" : String(now.min_degree)}
          commit={(text) => (filter.value = { ...now, min_degree: toCount(text) })}
        />
        <div class="field">
          <label class="field-label" for="filter-annotated">
            Annotated
          </label>
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
        </div>
        <button
          type="button"
          class="quiet"
          disabled={!isFiltered.value}
          onClick={() => (filter.value = noFilter)}
        >
          Clear
        </button>
        <datalist id="seen-labels">
          {seen.map((label) => (
            <option key={label} value={label} />
          ))}
        </datalist>
      </div>
    </details>
  );
}

interface FieldProps {
  id: string;
  title: string;
  value: string;
  list?: string;
  isNumber?: boolean;
  commit: (text: string) => void;
}

function TextFilter({ id, title, value, list, isNumber, commit }: FieldProps) {
  const typing = useTyping(value, (text) => commit(text.trim()));
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {title}
      </label>
      <input
        id={id}
        type="text"
        {...(list ? { list } : {})}
        inputMode={isNumber ? "numeric" : "text"}
        maxLength={200}
        autocomplete="off"
        spellcheck={false}
        {...typing}
      />
    </div>
  );
}

const toCount = (text: string): number | null => {
  const value = Math.floor(Number(text));
  return text !== "" && value > 0 ? value : null;
};

/** Labels may be integers in the graph; what was seen there tells. */
function toLabel(text: string): Label | null {
  if (text === "") return null;
  for (const row of rows.value) for (const label of row.labels) if (String(label) === text) return label;
  return text;
}
