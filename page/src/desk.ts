// What lies open: the models, the project in hand, the node looked at.
import { batch, computed, effect, signal } from "@preact/signals";
import { ask } from "./api";
import type { Id, MarkedGraph, Model, Project, Projects, Question } from "./contract";
import type { Draft, Mark } from "./logic/draft";
import { emptyDraft, markOf, sameDraft, withMark } from "./logic/draft";
import { keyOf, showId } from "./logic/ids";
import type { Check } from "./logic/precision";
import { withCheck } from "./logic/precision";
import { recall, remember } from "./memory";
import { hushOffer, say, sayError } from "./notice";
import { Sheet } from "./sheet";

export const models = signal<Model[] | null>(null);
export const sheet = signal<Sheet | null>(null);
export const problem = signal<unknown>(null); // why nothing could be opened

export const model = computed(
  () => models.value?.find((found) => found.name === sheet.value?.model) ?? null,
);
export const draft = computed<Draft>(() => sheet.value?.journal.value.now ?? emptyDraft(""));

/** The model that something new is about. */
export const modelName = (): string => (model.value ?? models.value![0]!).name;

/** Whether the open project is about a model that this service does not have. */
export const isUnserved = computed(
  () => models.value !== null && sheet.value !== null && model.value === null,
);

/** What the project's nodes were marked on, where the model of that name now has another graph. */
export const otherGraph = computed(() =>
  sheet.value === null ? null : otherGraphOf(sheet.value.model, sheet.value.saved.value?.graph ?? null),
);
export function otherGraphOf(name: string, graph: MarkedGraph | null): MarkedGraph | null {
  const served = findModel(name);
  return served === undefined || served.fingerprint === graph?.fingerprint ? null : graph;
}

const none: Id[] = [];
let asked: Question | null = null;
/**
 * The same object as long as the question is the same: a new note is no new question. Nothing is asked
 * about nodes of another graph until the user says that they are the same.
 */
export const question = computed<Question>(() => {
  const { prior } = draft.value;
  const { positives, negatives } = otherGraph.value ? { positives: none, negatives: none } : draft.value;
  const isSame =
    asked?.positives === positives && asked.negatives === negatives && asked.prior === prior;
  asked = isSame && asked ? asked : { positives, negatives, prior };
  return asked;
});

export const selected = signal<Id | null>(null);
export type View = "marks" | "ranking" | "picture" | "why";
export const view = signal<View>("ranking"); // what a narrow screen shows

export const checks = signal<Check[]>([]);
/** Keys of all nodes that have been examples since the project was opened. */
let known = new Set<string>();
effect(() => {
  for (const node of [...draft.value.positives, ...draft.value.negatives]) known.add(keyOf(node));
});

/** Looks at a node; on a narrow screen its reasons come to the front. */
export function look(node: Id): void {
  batch(() => {
    selected.value = node;
    view.value = "why";
  });
}

/** Marks a node, or unmarks it with null; `rank` where it was marked in the ranking. */
export function mark(node: Id, as: Mark | null, rank?: number): void {
  const open = sheet.value;
  if (open === null) return;
  const before = markOf(open.draft, node);
  if (before === as) return say(`${showId(node)} is already marked so.`);
  if (rank !== undefined) {
    checks.value = withCheck(checks.value, known, { node, rank });
    keepChecks();
  }
  open.change(withMark(open.draft, node, as));
  const made = open.draft;
  const said = { positive: "holds it", negative: "does not hold it" };
  say(as === null ? `${showId(node)} is no longer marked` : `${showId(node)} ${said[as]}`, {
    action: { name: "Undo", run: () => takeBack(open, made) },
  });
}

/** Undoes what made this draft, and nothing else: the offer may be older than what lies open. */
function takeBack(of: Sheet, made: Draft): void {
  if (sheet.value === of && sameDraft(of.draft, made)) void of.undo();
  else say("Something else has changed since.");
}

export function edit(part: Partial<Draft>): void {
  hushOffer();
  sheet.value?.change({ ...sheet.value.draft, ...part });
}

export const undo = async (): Promise<void> => {
  await sheet.value?.undo();
};
export const redo = async (): Promise<void> => {
  await sheet.value?.redo();
};

// --- opening -------------------------------------------------------------------------------------

export async function start(): Promise<void> {
  try {
    const [pending, ...others] = Sheet.pending();
    for (const other of others) void other.run();
    models.value = (await ask<{ models: Model[] }>("/models")).models;
    if (pending) {
      open(pending);
      void pending.run();
    } else open(await firstSheet());
  } catch (error) {
    problem.value = error;
  }
}

async function firstSheet(): Promise<Sheet> {
  const wanted = idInAddress() ?? recall<Project["id"] | null>("project", null);
  if (wanted !== null) {
    try {
      return await sheetOf(wanted);
    } catch {
      // Deleted, or of another server: the example is as good a start.
    }
  }
  return sheetFor(models.value![0]!);
}

/** The model's example, else its newest project, else an empty one. */
export async function sheetFor(chosen: Model): Promise<Sheet> {
  if (chosen.example !== null) return exampleOf(chosen);
  const path = `/projects?model=${encodeURIComponent(chosen.name)}&limit=1`;
  const [newest] = (await ask<Projects>(path)).projects;
  return newest ? sheetOf(newest.id) : new Sheet(chosen.name, emptyDraft("New label"));
}

export function exampleOf(chosen: Model): Sheet {
  const { name, positives, negatives } = chosen.example!;
  return new Sheet(chosen.name, { ...emptyDraft(name), positives, negatives });
}

export function open(next: Sheet): void {
  hushOffer();
  batch(() => {
    known = new Set();
    sheet.value = next;
    selected.value = null;
    checks.value = recall<Check[]>(checksName(next), []);
  });
}

/** Opens a project, whichever way it was asked for; one that is deleted stays closed. */
export async function openProject(id: string): Promise<void> {
  open(await sheetOf(id));
}

async function sheetOf(id: string): Promise<Sheet> {
  const project = await ask<Project>(`/projects/${encodeURIComponent(id)}`);
  if (project.deleted) throw new Error(`${project.name} was deleted; “Projects” can bring it back.`);
  return Sheet.of(project);
}

/** What lies open when a project has gone. */
export function openInstead(): void {
  const now = model.value ?? models.value![0]!;
  open(now.example ? exampleOf(now) : new Sheet(now.name, emptyDraft("New label")));
}

export async function openModel(name: string): Promise<void> {
  const chosen = findModel(name);
  if (!chosen || chosen.name === sheet.value?.model) return;
  try {
    open(await sheetFor(chosen));
  } catch (error) {
    sayError(error);
  }
}

function findModel(name: string): Model | undefined {
  return models.value?.find((found) => found.name === name);
}

// --- the address and the memory follow -------------------------------------------------------------

const idInAddress = (): string | null => new URLSearchParams(location.hash.slice(1)).get("project");

const checksName = (of: Sheet): string => `checks.${of.saved.value?.id ?? `new.${of.model}`}`;
const keepChecks = (): void => remember(checksName(sheet.value!), checks.value);

effect(() => {
  const open = sheet.value;
  if (open === null) return;
  const id = open.saved.value?.id ?? null;
  remember("project", id);
  const hash = id === null ? "" : `#project=${encodeURIComponent(String(id))}`;
  if (location.hash !== hash) history.replaceState(null, "", location.pathname + hash);
  if (id !== null && checks.peek().length > 0) keepChecks(); // a draft has become a project
});

addEventListener("hashchange", () => {
  const id = idInAddress();
  if (id === null || id === String(sheet.value?.saved.value?.id)) return;
  openProject(id).catch(sayError);
});

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") sheet.value?.refresh().catch(sayError);
});

addEventListener("beforeunload", (event) => {
  if ((sheet.value?.journal.value.queue.length ?? 0) > 0) event.preventDefault();
});
