// How often the top was right, by the marks that its rows were given.
//
// A node counts if the ranking proposed it before its answer was known, with the rank it had then: so the
// share is an honest one, although every mark makes a new ranking. An example that the user gave in any other
// way (search, import, a project of before) says nothing about the ranking, nor does it when it is taken
// back, proposed because the user had thought of it, and marked again.
import type { Id } from "../contract";
import type { Draft } from "./draft";
import { markOf } from "./draft";
import { keyOf } from "./ids";

export interface Check {
  node: Id;
  rank: number;
}

export interface Precision {
  checked: number;
  confirmed: number;
  share: number | null;
  low: number | null;
  high: number | null;
}

/** `known` are the keys of all nodes that have been examples: their answer is no news. */
export function withCheck(checks: Check[], known: ReadonlySet<string>, check: Check): Check[] {
  return known.has(keyOf(check.node)) ? checks : [...checks, check];
}

export function precisionAtTop(checks: Check[], draft: Draft, top: number): Precision {
  const marks = checks
    .filter((check) => check.rank <= top)
    .map((check) => markOf(draft, check.node))
    .filter((mark) => mark !== null);
  const checked = marks.length;
  const confirmed = marks.filter((mark) => mark === "positive").length;
  if (checked === 0) return { checked, confirmed, share: null, low: null, high: null };
  const [low, high] = wilson(confirmed, checked);
  return { checked, confirmed, share: confirmed / checked, low, high };
}

/** Wilson's interval of 95 %: sensible with a handful of marks, also when all agree. */
function wilson(hits: number, tries: number): [number, number] {
  const z = 1.96;
  const share = hits / tries;
  const scale = 1 + (z * z) / tries;
  const centre = (share + (z * z) / (2 * tries)) / scale;
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / tries + (z * z) / (4 * tries * tries));
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}
