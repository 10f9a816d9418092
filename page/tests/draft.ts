import type { Draft } from "../src/logic/draft";
import { emptyDraft } from "../src/logic/draft";

export const draftOf = (positives: string[] = [], negatives: string[] = [], more: Partial<Draft> = {}): Draft => ({
  ...emptyDraft("a label"),
  positives,
  negatives,
  ...more,
});
