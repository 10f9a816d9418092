// The decision line, seen twice: across the bars, where it is set by value, and between the rows,
// where it is dragged or stepped from row to row.
import type { RefObject } from "preact";
import { draft } from "../desk";
import { lineBelow, rowsAbove } from "../logic/line";
import { nouns, probability } from "../logic/numbers";
import { hasOtherLine, line, movingLine, numAbove, ownLine, rows, setLine, shownRows } from "../ranking";

export function LineHead() {
  return (
    <div class="line-head">
      <input
        type="range"
        min={0}
        max={1}
        step={0.005}
        value={line.value}
        aria-label="Decision line"
        aria-valuetext={probability(line.value)}
        onInput={(event) => (movingLine.value = Number(event.currentTarget.value))}
        onChange={(event) => setLine(Number(event.currentTarget.value))}
      />
    </div>
  );
}

export function LineRow({ body }: { body: RefObject<HTMLTableSectionElement | null> }) {
  const shown = shownRows.value;
  const above = numAbove.value;
  const where =
    above === 0 ? "all below on this page" : above === shown.length ? "all above on this page" : "";

  const step = (by: number) => {
    const all = rows.value;
    const count = Math.min(all.length, Math.max(0, rowsAbove(all, line.value) + by));
    setLine(lineBelow(all, count));
    // The row has moved in the table, and what moves loses the focus.
    requestAnimationFrame(() => body.current?.querySelector<HTMLElement>(".line-handle")?.focus());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10 };
    const by = steps[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    step(by);
  };
  const onPointerDown = (event: PointerEvent) => {
    event.preventDefault(); // no text is selected on the way
    const stop = new AbortController();
    // On the window: the handle itself moves in the table, and would lose a captured pointer.
    const on = (name: "pointermove" | "pointerup" | "pointercancel", run: (e: PointerEvent) => void) =>
      addEventListener(name, run, { signal: stop.signal });
    on("pointermove", ({ clientY }) => {
      const places = [...body.current!.querySelectorAll("tr.ranked-row")].map((row) => {
        const { top, height } = row.getBoundingClientRect();
        return top + height / 2;
      });
      movingLine.value = lineBelow(shown, places.filter((place) => place < clientY).length);
    });
    on("pointerup", () => {
      stop.abort();
      if (movingLine.value !== null) setLine(movingLine.value);
    });
    on("pointercancel", () => {
      stop.abort();
      movingLine.value = null;
    });
  };

  return (
    <tr class="line-row">
      <td colSpan={5}>
        <div class="line-band">
          <div
            class="line-handle"
            role="slider"
            tabIndex={0}
            aria-label="Decision line, row by row"
            aria-orientation="vertical"
            aria-valuemin={0}
            aria-valuemax={1}
            aria-valuenow={Number(line.value.toFixed(4))}
            aria-valuetext={`${probability(line.value)}, ${nouns(rowsAbove(rows.value, line.value), "row")} above`}
            onKeyDown={onKeyDown}
            onPointerDown={onPointerDown}
          >
            <span class="grip" aria-hidden="true">
              ↕
            </span>{" "}
            decision line at {probability(line.value)}
          </div>
          <span class="faint">
            {where}
            {hasOtherLine.value && " nodes that nobody annotated have a line of their own"}
          </span>
          {draft.value.threshold !== null && ownLine.value !== null && (
            <button type="button" class="link" onClick={() => setLine(null)}>
              back to {probability(ownLine.value)}
            </button>
          )}
        </div>
      </td>
    </tr>
  );
}
