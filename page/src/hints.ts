// What helps beside the ranking: nodes to label next, and the known labels that are akin.
import { computed, signal } from "@preact/signals";
import { answering } from "./answers";
import { ask } from "./api";
import type { Suggestion, Weight } from "./contract";
import { model, question } from "./desk";

export type Tab = "ranking" | "next" | "labels";
export const tab = signal<Tab>("ranking");

const NUM_SUGGESTIONS = 10;
const NUM_LABELS = 24;

const asks = (name: Tab, ability: "suggest" | "relate") =>
  computed(() =>
    tab.value !== name || !model.value?.can.includes(ability) || question.value.positives.length === 0
      ? null
      : { path: `/models/${encodeURIComponent(model.value.name)}/${ability}`, question: question.value },
  );

export const suggestions = answering(asks("next", "suggest"), async ({ path, question }, abort) => {
  const body = { ...question, number: NUM_SUGGESTIONS };
  return (await ask<{ nodes: Suggestion[] }>(path, { method: "POST", body, abort })).nodes;
});

export const related = answering(asks("labels", "relate"), async ({ path, question }, abort) => {
  const { positives, negatives } = question;
  const body = { positives, negatives, top: NUM_LABELS };
  return (await ask<{ labels: Weight[] }>(path, { method: "POST", body, abort })).labels;
});
