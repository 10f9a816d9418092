// Marking a node, by mouse or keyboard, wherever it is shown.
import type { Id } from "../contract";
import { draft, mark } from "../desk";
import type { Mark } from "../logic/draft";
import { markOf } from "../logic/draft";
import { showId } from "../logic/ids";

export const SIGNS: Record<Mark, string> = { positive: "▲", negative: "■" };

/** ▲ or ■ where the node is marked. */
export function Sign({ of }: { of: Mark | null }) {
  if (of === null) return null;
  return (
    <span class={`sign ${of}`}>
      <span aria-hidden="true">{SIGNS[of]}</span>
      <span class="hidden">{of === "positive" ? " holds it " : " does not hold it "}</span>
    </span>
  );
}

interface Props {
  node: Id;
  rank?: number;
  isReachable?: boolean; // by the Tab key; arrow keys and + and - do without
}

export function MarkButtons({ node, rank, isReachable = true }: Props) {
  const now = markOf(draft.value, node);
  const button = (as: Mark, sign: string, says: string) => (
    <button
      type="button"
      class={`mark ${as}`}
      aria-pressed={now === as}
      aria-label={`${showId(node)} ${says}`}
      title={`${says[0]!.toUpperCase()}${says.slice(1)}`}
      tabIndex={isReachable ? 0 : -1}
      onClick={(event) => {
        event.stopPropagation();
        mark(node, now === as ? null : as, rank);
      }}
    >
      {sign}
    </button>
  );
  return (
    <span class="mark-buttons">
      {button("positive", "+", "holds it")}
      {button("negative", "−", "does not hold it")}
    </span>
  );
}

/** + and - mark, 0 and Delete unmark; true where the key was one of them. */
export function markByKey(event: KeyboardEvent, node: Id, rank?: number): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === "+" || event.key === "=") mark(node, "positive", rank);
  else if (event.key === "-" || event.key === "_") mark(node, "negative", rank);
  else if (event.key === "0" || event.key === "Delete" || event.key === "Backspace") mark(node, null);
  else return false;
  event.preventDefault();
  return true;
}

/** Arrow keys between the rows of a list; true where the key was one of them. */
export function moveByKey(event: KeyboardEvent, list: HTMLElement): boolean {
  const rows = [...list.querySelectorAll<HTMLElement>("[data-row]")];
  const now = rows.indexOf(event.target as HTMLElement);
  const steps: Record<string, number> = {
    ArrowDown: now + 1,
    ArrowUp: now - 1,
    Home: 0,
    End: rows.length - 1,
  };
  const next = steps[event.key];
  if (next === undefined || now < 0) return false;
  rows[next]?.focus();
  event.preventDefault();
  return true;
}
