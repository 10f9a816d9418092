// The ranking in view: a stretch of it is fetched at a time, and shown a page at a time.
import { batch, computed, effect, signal } from "@preact/signals";
import { answering } from "./answers";
import type { Progress } from "./api";
import { ask, askRanking } from "./api";
import type { Filter, Ranking, Row } from "./contract";
import { draft, edit, look, model, question, selected } from "./desk";
import type { Held } from "./logic/line";
import { asLine, held, rowsAbove } from "./logic/line";

export const PAGE = 25;
export const STRETCH = 200; // a multiple of the page; also what the map shows
export const TOP = 20; // "the top" of precision at the top

export const noFilter: Filter = {
  holds: null,
  lacks: null,
  annotated: null,
  min_degree: null,
  contains: null,
};
export const filter = signal<Filter>(noFilter);
export const isFiltered = computed(() => Object.values(filter.value).some((part) => part !== null));
export const page = signal(0);
export const progress = signal<Progress | null>(null);

/** How many rows of the whole ranking come before the fetched ones. */
export const offset = computed(() => STRETCH * Math.floor((page.value * PAGE) / STRETCH));

const wanted = computed(() =>
  model.value === null || question.value.positives.length === 0
    ? null
    : {
        model: model.value.name,
        body: {
          ...question.value,
          filter: isFiltered.value ? filter.value : null,
          top: STRETCH,
          offset: offset.value,
        },
      },
);

const rankPath = (model: string): string => `/models/${encodeURIComponent(model)}/rank`;

export const ranking = answering<NonNullable<typeof wanted.value>, Ranking>(
  wanted,
  async ({ model, body }, abort) => {
    progress.value = null;
    const request = { method: "POST" as const, body, abort };
    const found = await askRanking(rankPath(model), request, (next) => {
      if (!abort.aborted) progress.value = next;
    });
    progress.value = null;
    return found;
  },
  120,
);

export const rows = computed<Row[]>(() => ranking.answer.value.value?.rows ?? []);
export const shownRows = computed<Row[]>(() => {
  const first = page.value * PAGE - offset.value;
  return rows.value.slice(first, first + PAGE);
});
export const numPages = computed(() =>
  Math.max(1, Math.ceil((ranking.answer.value.value?.num_ranked ?? 0) / PAGE)),
);

// --- the decision line -------------------------------------------------------------------------------

/** Where the line is while it is being moved, before that is a change of the project. */
export const movingLine = signal<number | null>(null);
export const ownLine = computed(() => ranking.answer.value.value?.threshold ?? null);
export const line = computed(
  () => movingLine.value ?? draft.value.threshold ?? ownLine.value ?? 0.5,
);

/** Whether a row is said to hold the label: by the user's line, or as the model decides. */
export function isAbove(row: Row): boolean {
  const put = movingLine.value ?? draft.value.threshold;
  return put === null ? row.holds : row.probability >= put;
}
/** Whether the model decides rows on this page by another line than the one that is drawn. */
export const hasOtherLine = computed(() =>
  shownRows.value.some((row) => isAbove(row) !== row.probability >= line.value),
);

const putLine = computed(() => draft.value.threshold); // a new note is no new line
const toCount = computed(() =>
  wanted.value === null || putLine.value === null
    ? null
    : {
        path: rankPath(wanted.value.model),
        body: { ...wanted.value.body, threshold: putLine.value, top: 1, offset: 0 },
      },
);
/** How many nodes hold it by the line that the user has put. */
const counted = answering<NonNullable<typeof toCount.value>, number>(
  toCount,
  async ({ path, body }, abort) =>
    (await ask<Ranking>(path, { method: "POST", body, abort })).num_holding,
);

/** How many nodes hold it: as the service counts them, or what the rows tell while the line moves. */
export const numHolding = computed<Held | null>(() => {
  const { value } = ranking.answer.value;
  if (value === null) return null;
  const { value: found, state } = counted.answer.value;
  if (movingLine.value === null && putLine.value === null)
    return { kind: "exactly", count: value.num_holding };
  if (movingLine.value === null && state === "ready") return { kind: "exactly", count: found! };
  return held(rows.value, offset.value, value.num_ranked, line.value);
});

export const numAbove = computed(() => rowsAbove(shownRows.value, line.value));

export function setLine(value: number | null): void {
  batch(() => {
    edit({ threshold: value === null ? null : asLine(value) });
    movingLine.value = null;
  });
}

// --- what follows --------------------------------------------------------------------------------------

// Other questions have other rankings: back to the first page.
effect(() => {
  question.value;
  filter.value;
  model.value;
  page.value = 0;
});

let isChosen = false;
/** A row that the user chose stays looked at; otherwise the first row is. */
export function choose(node: Row["node"] | null): void {
  isChosen = node !== null;
  if (node !== null) selected.value = node;
}
/** Chooses a node and looks at it: what a click on its name does, wherever it stands. */
export function show(node: Row["node"]): void {
  choose(node);
  look(node);
}
effect(() => {
  const first = rows.value[0];
  if (selected.value === null) isChosen = false;
  if (!isChosen && first) selected.value = first.node;
});
