// What is drawn: the neighbourhood of one node, the top nodes together, or the map.
import { computed, signal } from "@preact/signals";
import { answering } from "./answers";
import { ask } from "./api";
import type { Ego, Id, Point, Ranking } from "./contract";
import { model, question, selected } from "./desk";
import { keyOf } from "./logic/ids";
import { ranking, rows } from "./ranking";

export type Picture = "around" | "top" | "map";
export const picture = signal<Picture>("around");
export const place = signal<"before" | "after">("after");

const TOGETHER = 15;
const MOST_AROUND = 40; // more is a hairball
const BACKGROUND = 100;
const MOST_ON_MAP = 500;
const QUICK = 1.5; // seconds: a slower ranking is not repeated for a background

const toDraw = computed(() => {
  if (picture.value === "map" || !model.value?.can.includes("ego")) return null;
  const nodes: Id[] =
    picture.value === "top"
      ? rows.value.slice(0, TOGETHER).map((row) => row.node)
      : selected.value === null
        ? []
        : [selected.value];
  if (nodes.length === 0) return null;
  // Nothing is likely or unlikely before a node holds the label: then the graph alone is asked for.
  const examples = question.value.positives.length > 0 ? question.value : {};
  return { model: model.value.name, body: { ...examples, nodes, max_nodes: MOST_AROUND } };
});

export const ego = answering<NonNullable<typeof toDraw.value>, Ego>(
  toDraw,
  ({ model, body }, abort) =>
    ask(`/models/${encodeURIComponent(model)}/ego`, { method: "POST", body, abort }),
  150,
);

const toPlace = computed(() => {
  const { value, state } = ranking.answer.value;
  if (picture.value !== "map" || value === null || state !== "ready" || !model.value?.can.includes("map"))
    return null;
  return { model: model.value.name, question: question.value, ranked: value };
});

export const map = answering<NonNullable<typeof toPlace.value>, Point[]>(
  toPlace,
  async ({ model, question, ranked }, abort) => {
    const path = `/models/${encodeURIComponent(model)}`;
    const nodes = ranked.rows.map((row) => row.node);
    // The top alone would be all one colour: some from the middle of the ranking are its ground.
    if (ranked.seconds < QUICK && ranked.num_ranked > 3 * ranked.rows.length) {
      const body = { ...question, top: BACKGROUND, offset: Math.floor(ranked.num_ranked / 2) };
      const ground = await ask<Ranking>(`${path}/rank`, { method: "POST", body, abort });
      nodes.push(...ground.rows.map((row) => row.node));
    }
    const unique = [...new Map(nodes.map((id) => [keyOf(id), id])).values()].slice(0, MOST_ON_MAP);
    const body = { ...question, nodes: unique };
    return (await ask<{ points: Point[] }>(`${path}/map`, { method: "POST", body, abort })).points;
  },
);
