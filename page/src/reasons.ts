// Why the node looked at has its probability, and what it is.
import { computed } from "@preact/signals";
import { answering } from "./answers";
import { ask } from "./api";
import type { Explanation, NodeCard } from "./contract";
import { draft, model, question, selected } from "./desk";
import { markOf } from "./logic/draft";

/** How the node looked at is marked; a marked node needs no reasons. */
export const selectedMark = computed(() =>
  selected.value === null ? null : markOf(draft.value, selected.value),
);

const toExplain = computed(() =>
  selected.value === null ||
  selectedMark.value !== null ||
  !model.value?.can.includes("explain") ||
  question.value.positives.length === 0
    ? null
    : { model: model.value.name, body: { ...question.value, node: selected.value } },
);

export const explanation = answering<NonNullable<typeof toExplain.value>, Explanation>(
  toExplain,
  ({ model, body }, abort) =>
    ask(`/models/${encodeURIComponent(model)}/explain`, { method: "POST", body, abort }),
);

const toShow = computed(() =>
  selected.value === null || model.value === null
    ? null
    : `/models/${encodeURIComponent(model.value.name)}/node?id=${encodeURIComponent(String(selected.value))}`,
);

export const card = answering<string, NodeCard>(toShow, (path, abort) => ask(path, { abort }));
