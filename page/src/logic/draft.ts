// What a user makes: a label's name, its marks, notes, and how it is to be judged.
import type { Id } from "../contract";
import { keyOf, sameId } from "./ids";

export interface Draft {
  name: string;
  positives: Id[];
  negatives: Id[];
  notes: string;
  threshold: number | null;
  prior: number | null;
}

export type Mark = "positive" | "negative";

export const emptyDraft = (name: string): Draft => ({
  name,
  positives: [],
  negatives: [],
  notes: "",
  threshold: null,
  prior: null,
});

/** The content of anything that has one, and nothing else of it. */
export const contentOf = (from: Draft): Draft => ({
  name: from.name,
  positives: from.positives,
  negatives: from.negatives,
  notes: from.notes,
  threshold: from.threshold,
  prior: from.prior,
});

export function markOf(draft: Draft, id: Id): Mark | null {
  if (draft.positives.some((other) => sameId(other, id))) return "positive";
  if (draft.negatives.some((other) => sameId(other, id))) return "negative";
  return null;
}

/** The draft with the node marked so, or unmarked; the same object where nothing changes. */
export function withMark(draft: Draft, id: Id, mark: Mark | null): Draft {
  if (markOf(draft, id) === mark) return draft;
  const others = (ids: Id[]) => ids.filter((other) => !sameId(other, id));
  const positives = others(draft.positives);
  const negatives = others(draft.negatives);
  return {
    ...draft,
    positives: mark === "positive" ? [...positives, id] : positives,
    negatives: mark === "negative" ? [...negatives, id] : negatives,
  };
}

/** Whether two drafts say the same; the order of marks says nothing. */
export function sameDraft(a: Draft, b: Draft): boolean {
  return (
    a.name === b.name &&
    a.notes === b.notes &&
    a.threshold === b.threshold &&
    a.prior === b.prior &&
    sameSet(a.positives, b.positives) &&
    sameSet(a.negatives, b.negatives)
  );
}

function sameSet(a: Id[], b: Id[]): boolean {
  if (a.length !== b.length) return false;
  const keys = new Set(a.map(keyOf));
  return b.every((id) => keys.has(keyOf(id)));
}
