import { lost } from "../connection";
import { draft, model, models, openModel, redo, sheet, undo } from "../desk";
import { count } from "../logic/numbers";
import { helpOpen } from "./help";
import { projectsOpen } from "./projects";
import type { Theme } from "./theme";
import { theme } from "./theme";

const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const THEME_SIGNS: Record<Theme, string> = { auto: "◐", light: "○", dark: "●" };
const THEME_NAMES: Record<Theme, string> = { auto: "as the system", light: "light", dark: "dark" };

/** A model that was no better than simple methods says so wherever its answers are. */
export function Verdict() {
  if (model.value?.is_better_than_controls !== false) return null;
  return (
    <p class="verdict" role="note">
      {model.value.name}: {model.value.verdict}
    </p>
  );
}

export function Header() {
  const all = models.value ?? [];
  return (
    <header class="top">
      <h1 class="brand">MetaTNE</h1>
      {all.length > 1 ? (
        <label class="model-choice">
          <span class="hidden">Model</span>
          <select value={model.value?.name} onChange={(event) => void openModel(event.currentTarget.value)}>
            {all.map(({ name, num_nodes }) => (
              <option key={name} value={name}>
                {name} ({count(num_nodes)} nodes)
              </option>
            ))}
          </select>
        </label>
      ) : (
        <span class="faint model-name">
          {model.value && `${model.value.graph}, ${count(model.value.num_nodes)} nodes`}
        </span>
      )}
      <span class="grow" />
      <Saving />
      <button type="button" class="quiet" onClick={() => (projectsOpen.value = true)} disabled={sheet.value === null}>
        Projects
      </button>
      <span class="pair">
        <button
          type="button"
          class="quiet icon"
          aria-label="Undo"
          title="Undo (u)"
          disabled={!sheet.value?.canUndo}
          onClick={() => void undo()}
        >
          ↶
        </button>
        <button
          type="button"
          class="quiet icon"
          aria-label="Do again"
          title="Do again (Shift u)"
          disabled={!sheet.value?.canRedo}
          onClick={() => void redo()}
        >
          ↷
        </button>
      </span>
      <span class="pair">
        <button
          type="button"
          class="quiet icon"
          aria-label={`Colours: ${THEME_NAMES[theme.value]}`}
          title={`Colours: ${THEME_NAMES[theme.value]}`}
          onClick={() => (theme.value = NEXT[theme.value])}
        >
          {THEME_SIGNS[theme.value]}
        </button>
        <button
          type="button"
          class="quiet icon"
          aria-label="Help"
          title="Help (?)"
          onClick={() => (helpOpen.value = true)}
        >
          ?
        </button>
      </span>
    </header>
  );
}

function Saving() {
  const open = sheet.value;
  if (open === null) return null;
  const isPending = open.journal.value.queue.length > 0;
  const text =
    isPending && (lost.value || open.isHeldUp.value)
      ? "Kept in this tab"
      : isPending
        ? "Saving…"
        : open.saved.value === null
          ? "Example"
          : "Saved";
  const isExample = text === "Example" && draft.value.positives.length > 0;
  return (
    <span class="saving faint small" role="status">
      {text === "Example" && !isExample ? "Not saved yet" : text}
    </span>
  );
}
