// The decision line: rows at or above it are said to hold the label.
import type { Row } from "../contract";

/** How many of the rows, likeliest first, lie above the line. */
export function rowsAbove(rows: readonly Row[], line: number): number {
  const first = rows.findIndex((row) => row.probability < line);
  return first < 0 ? rows.length : first;
}

/** A line that has exactly this many rows above it, where equal probabilities allow. */
export function lineBelow(rows: readonly Row[], count: number): number {
  const above = rows[count - 1]?.probability;
  const below = rows[count]?.probability;
  if (above === undefined) return below === undefined ? 0.5 : Math.min(1, below + (1 - below) / 2);
  return below === undefined ? above : (above + below) / 2;
}

/** What is kept of a line: a probability, as exact as the rows it lies between. */
export const asLine = (value: number): number => Math.min(1, Math.max(0, value));

export type Held = { kind: "exactly" | "more than" | "at most"; count: number };

/** How many nodes hold it by this line, as far as these rows, `offset` after the first, can tell. */
export function held(rows: readonly Row[], offset: number, numRanked: number, line: number): Held {
  const above = rowsAbove(rows, line);
  const end = offset + rows.length;
  if (above === 0 && offset > 0) return { kind: "at most", count: offset };
  if (above === rows.length && end < numRanked) return { kind: "more than", count: end };
  return { kind: "exactly", count: offset + above };
}
