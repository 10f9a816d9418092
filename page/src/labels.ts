// The known label that a filter names: looked for while it is typed, and taken when there is one so called.
import { computed, effect, signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { answering } from "./answers";
import type { Asked } from "./answers";
import { ask } from "./api";
import type { FoundLabel } from "./contract";
import { model } from "./desk";
import { filter } from "./ranking";

const MOST = 50;

export interface LabelField {
  text: Signal<string>;
  isOpen: Signal<boolean>; // whether anybody sees it: an empty field lists the first labels
  found: Asked<{ labels: FoundLabel[]; more: boolean }>;
}

function labelField(side: "holds" | "lacks"): LabelField {
  const text = signal("");
  const isOpen = signal(false);
  const wanted = computed(() => {
    const name = text.value.trim();
    return model.value === null || (name === "" && !isOpen.value)
      ? null
      : `/models/${encodeURIComponent(model.value.name)}/labels?q=${encodeURIComponent(name)}&limit=${MOST}`;
  });
  const found: LabelField["found"] = answering(wanted, (path, abort) => ask(path, { abort }), 90);
  effect(() => {
    const { value, state } = found.answer.value;
    const name = text.value.trim();
    // A part of a name filters nothing: a label that nobody knows would be refused.
    const label = state === "ready" ? value!.labels.find((known) => known.label === name) : undefined;
    const next = label?.label ?? null;
    if (state !== "asking" && filter.peek()[side] !== next) filter.value = { ...filter.peek(), [side]: next };
  });
  return { text, isOpen, found };
}

export const labelFields = { holds: labelField("holds"), lacks: labelField("lacks") };

export function clearLabels(): void {
  for (const field of Object.values(labelFields)) field.text.value = "";
}
