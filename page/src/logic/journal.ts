// Changes, their undoing, and what the server has yet to hear of them.
//
// The server keeps an undo stack of its own, which outlives this tab. Every change is sent as one
// version and every undo as an undo, so that the two stacks never part: after a reload, undo goes on
// where it was. A change that was undone before it was sent is never sent.
import type { Draft } from "./draft";
import { sameDraft } from "./draft";

export interface Step {
  kind: "put" | "undo" | "redo";
  /** What the project is after it. */
  draft: Draft;
}

export interface Undone {
  draft: Draft;
  isOnServer: boolean;
}

export interface Journal {
  now: Draft;
  past: Draft[];
  future: Undone[];
  /** Steps that the server has not acknowledged, oldest first. */
  queue: Step[];
  /** Whether the first of them is on its way, and can no longer be taken back. */
  isSending: boolean;
}

export const newJournal = (now: Draft): Journal => ({
  now,
  past: [],
  future: [],
  queue: [],
  isSending: false,
});

/** How many steps this tab can take back by itself; the server knows the ones before. */
export const LONGEST_PAST = 100;

const withPast = (journal: Journal): Draft[] => [...journal.past, journal.now].slice(-LONGEST_PAST);

/** After a reload: `base` is what the server has, and changes alone tell what lay between. */
export function resumed(base: Draft, now: Draft, queue: Step[]): Journal {
  const changes = queue.flatMap((step) => (step.kind === "put" ? [step.draft] : []));
  const isTold = changes.length === queue.length && queue.length > 0;
  const past = isTold ? [base, ...changes.slice(0, -1)].slice(-LONGEST_PAST) : [];
  return { ...newJournal(now), past, queue };
}

const takeable = (journal: Journal): Step | undefined =>
  journal.queue.length > (journal.isSending ? 1 : 0) ? journal.queue.at(-1) : undefined;

export function change(journal: Journal, draft: Draft): Journal {
  if (sameDraft(journal.now, draft)) return journal;
  return {
    ...journal,
    now: draft,
    past: withPast(journal),
    future: [],
    queue: [...journal.queue, { kind: "put", draft }],
  };
}

/** One step back, or null where this tab knows of none. */
export function undo(journal: Journal): Journal | null {
  const before = journal.past.at(-1);
  if (before === undefined) return null;
  const last = takeable(journal);
  const takesBack = last?.kind === "put" || last?.kind === "redo";
  return {
    ...journal,
    now: before,
    past: journal.past.slice(0, -1),
    future: [...journal.future, { draft: journal.now, isOnServer: last?.kind !== "put" }],
    queue: takesBack ? journal.queue.slice(0, -1) : [...journal.queue, { kind: "undo", draft: before }],
  };
}

export function redo(journal: Journal): Journal | null {
  const next = journal.future.at(-1);
  if (next === undefined) return null;
  const rest = journal.future.slice(0, -1);
  const moved = { ...journal, now: next.draft, past: withPast(journal) };
  // Not for a change that was never sent: an undo at the queue's end is then an earlier one.
  if (next.isOnServer && takeable(journal)?.kind === "undo")
    return { ...moved, future: rest, queue: journal.queue.slice(0, -1) };
  if (next.isOnServer)
    return { ...moved, future: rest, queue: [...journal.queue, { kind: "redo", draft: next.draft }] };
  // A new version makes the server forget what could be done again.
  const forgotten = rest.map((undone) => ({ ...undone, isOnServer: false }));
  return {
    ...moved,
    future: forgotten,
    queue: [...journal.queue, { kind: "put", draft: next.draft }],
  };
}

export const sending = (journal: Journal): Journal => ({ ...journal, isSending: true });

export const notSent = (journal: Journal): Journal => ({ ...journal, isSending: false });

export const acknowledged = (journal: Journal): Journal => ({
  ...journal,
  queue: journal.queue.slice(1),
  isSending: false,
});

/** After a conflict: what was decided, on top of what the others have. */
export function settled(theirs: Draft, decided: Draft): Journal {
  return change(newJournal(theirs), decided);
}

/** The server will not have it: back to what it has; a redo tries once more. */
export const refused = (saved: Draft, now: Draft): Journal => ({
  ...newJournal(saved),
  future: sameDraft(saved, now) ? [] : [{ draft: now, isOnServer: false }],
});
