// Two people changed one project: both changes together, and where they contradict each other.
import type { Id } from "../contract";
import type { Draft, Mark } from "./draft";
import { markOf, withMark } from "./draft";
import { keyOf } from "./ids";

export interface Clash {
  node: Id;
  mine: Mark | null;
  theirs: Mark | null;
}

export interface Merge {
  /** Both changes; where they contradict each other, mine. */
  draft: Draft;
  clashes: Clash[];
}

export function merge(base: Draft, mine: Draft, theirs: Draft): Merge {
  let draft: Draft = {
    ...theirs,
    name: pick(base.name, mine.name, theirs.name),
    notes: mergeNotes(base.notes, mine.notes, theirs.notes),
    threshold: pick(base.threshold, mine.threshold, theirs.threshold),
    prior: pick(base.prior, mine.prior, theirs.prior),
  };
  const clashes: Clash[] = [];
  for (const node of allNodes(base, mine, theirs)) {
    const [was, here, there] = [markOf(base, node), markOf(mine, node), markOf(theirs, node)];
    if (here === was || here === there) continue; // theirs stands, and is in the draft
    if (there !== was) clashes.push({ node, mine: here, theirs: there });
    draft = withMark(draft, node, here);
  }
  return { draft, clashes };
}

/** The merge with the clashes decided: `takesTheirs` has the keys of nodes where theirs counts. */
export function decide(found: Merge, takesTheirs: ReadonlySet<string>): Draft {
  return found.clashes.reduce(
    (draft, { node, mine, theirs }) =>
      withMark(draft, node, takesTheirs.has(keyOf(node)) ? theirs : mine),
    found.draft,
  );
}

export interface Difference {
  node: Id;
  from: Mark | null;
  to: Mark | null;
}

export function differences(from: Draft, to: Draft): Difference[] {
  return allNodes(from, to)
    .map((node) => ({ node, from: markOf(from, node), to: markOf(to, node) }))
    .filter((difference) => difference.from !== difference.to);
}

const pick = <T>(base: T, mine: T, theirs: T): T => (mine === base ? theirs : mine);

function mergeNotes(base: string, mine: string, theirs: string): string {
  if (mine === base || mine === theirs) return theirs;
  return theirs === base ? mine : `${mine}\n\n${theirs}`; // words are never dropped
}

function allNodes(...drafts: Draft[]): Id[] {
  const nodes = new Map<string, Id>();
  for (const draft of drafts)
    for (const id of [...draft.positives, ...draft.negatives]) nodes.set(keyOf(id), id);
  return [...nodes.values()];
}
