// A project that is open: its journal, and the one who carries the journal to the server.
import { batch, signal } from "@preact/signals";
import { Lost, Refusal, ask } from "./api";
import { whenBack } from "./connection";
import type { MarkedGraph, Project, ProjectSummary, Projects } from "./contract";
import type { Draft } from "./logic/draft";
import { contentOf, sameDraft } from "./logic/draft";
import * as journals from "./logic/journal";
import type { Journal, Step } from "./logic/journal";
import { readJson, writeJson } from "./logic/json";
import { merge } from "./logic/merge";
import { say, sayError } from "./notice";

export interface Saved {
  id: Project["id"];
  version: number;
  canUndo: boolean;
  canRedo: boolean;
  /** What its nodes were marked on, where that is known. */
  graph: MarkedGraph | null;
  /** What the server has under that version. */
  content: Draft;
}

/** Someone else has changed the project that this tab wants to change. */
export interface Conflict {
  sheet: Sheet;
  theirs: Project;
}
export const conflict = signal<Conflict | null>(null);

const PENDING = "metatne.pending.";
const SHORTEST_WAIT = 1_000;
const LONGEST_WAIT = 60_000;

/** What goes on after a reload; not the past, which has a whole draft for every change. */
interface Kept {
  model: string;
  saved: Saved | null;
  journal: Pick<Journal, "now" | "queue">;
  /** What a project that has not been one starts from. */
  first?: Draft;
}

export class Sheet {
  readonly journal = signal<Journal>(journals.newJournal({} as Draft));
  readonly saved = signal<Saved | null>(null);
  /** The server answers, but does not take what is queued. */
  readonly isHeldUp = signal(false);
  private isRunning = false;
  private wait = SHORTEST_WAIT; // before what a failing server did not take is sent again
  private stepping: Promise<void> | null = null; // an undo or redo that only the server knows
  private first: Draft;
  private isTooLarge = false; // to be kept in this tab

  constructor(
    readonly model: string,
    draft: Draft,
    saved: Saved | null = null,
    private readonly slot = PENDING + Math.random().toString(36).slice(2),
  ) {
    this.journal.value = journals.newJournal(draft);
    this.saved.value = saved;
    this.first = draft;
  }

  static of(project: Project): Sheet {
    return new Sheet(project.model, contentOf(project), savedOf(project));
  }

  /** What earlier lives of this tab could not save. */
  static pending(): Sheet[] {
    return slots().flatMap((slot) => {
      try {
        const text = sessionStorage.getItem(slot)!;
        const { model, saved, journal, first } = readJson(text) as Kept;
        const isTold = journal.queue.every((step) => step.draft); // not by older versions of the page
        const queue: Step[] = isTold ? journal.queue : [{ kind: "put", draft: journal.now }];
        const sheet = new Sheet(model, first ?? journal.now, saved, slot);
        const base = saved?.content ?? sheet.first;
        sheet.journal.value = journals.resumed(base, journal.now, queue);
        return [sheet];
      } catch {
        forget(slot); // of another version of the page
        return [];
      }
    });
  }

  get draft(): Draft {
    return this.journal.value.now;
  }

  get canUndo(): boolean {
    const { past, queue } = this.journal.value;
    return past.length > 0 || (queue.length === 0 && this.saved.value?.canUndo === true);
  }

  get canRedo(): boolean {
    const { future, queue } = this.journal.value;
    return future.length > 0 || (queue.length === 0 && this.saved.value?.canRedo === true);
  }

  change(draft: Draft): void {
    this.put(journals.change(this.journal.value, draft));
  }

  async undo(): Promise<void> {
    await this.step("undo");
  }

  async redo(): Promise<void> {
    await this.step("redo");
  }

  /** Makes a project of a draft that has not been one. */
  async create(): Promise<Saved> {
    const since = Date.now() - 60_000; // two clocks are not the same
    let project: Project | undefined;
    while (project === undefined) {
      try {
        const body = { ...this.first, model: this.model };
        project = await ask<Project>("/projects", { method: "POST", body, isOnce: true });
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        await whenBack();
        project = await this.findMade(since); // only the answer may have been lost
      }
    }
    const saved = savedOf(project);
    this.saved.value = saved;
    return saved;
  }

  private async findMade(since: number): Promise<Project | undefined> {
    const { projects } = await ask<Projects>(`/projects?model=${encodeURIComponent(this.model)}`);
    const isNew = (project: ProjectSummary) => project.version === 1 && Date.parse(project.created) >= since;
    for (const { id } of projects.filter(isNew)) {
      const project = await ask<Project>(`/projects/${id}`);
      if (sameDraft(contentOf(project), this.first)) return project;
    }
    return undefined;
  }

  /** Takes what the server has, when this tab has nothing to say against it. */
  async refresh(): Promise<void> {
    const saved = this.saved.value;
    if (saved === null || this.journal.value.queue.length > 0) return;
    const project = await ask<Project>(`/projects/${saved.id}`);
    if (this.journal.value.queue.length > 0 || project.version <= this.saved.value!.version) return;
    if (project.deleted) {
      conflict.value = { sheet: this, theirs: project };
      return;
    }
    this.adopt(project, journals.newJournal(contentOf(project)));
    say("This project was changed elsewhere; you now see the newest version.");
  }

  settle(theirs: Project, decided: Draft): void {
    this.adopt(theirs, journals.settled(contentOf(theirs), decided));
    conflict.value = null;
    void this.run();
  }

  /** Deleted elsewhere: it is there again, with what was done here on top. */
  async bringBack(): Promise<void> {
    const path = `/projects/${this.saved.value!.id}/restore`;
    this.settle(await ask<Project>(path, { method: "POST" }), this.draft);
  }

  /** Deleted elsewhere: so be it, with what was done here. */
  leaveDeleted(): void {
    this.journal.value = journals.newJournal(this.saved.value!.content);
    this.keep();
    conflict.value = null;
  }

  /** Sends what is queued; one runs at a time, so that versions stay in order. */
  async run(): Promise<void> {
    if (this.isRunning) return;
    this.isRunning = true;
    try {
      while (this.journal.value.queue.length > 0 && conflict.value?.sheet !== this) await this.sendNext();
    } catch (error) {
      this.holdUp(error);
    } finally {
      this.isRunning = false;
      this.keep();
    }
  }

  private holdUp(error: unknown): void {
    const wasHeldUp = this.isHeldUp.value;
    this.journal.value = journals.notSent(this.journal.value);
    this.isHeldUp.value = true;
    if (!(error instanceof Refusal && error.status >= 500)) return sayError(error);
    if (!wasHeldUp) say(`Not saved yet, it is tried again: ${error.message}`, { isError: true });
    setTimeout(() => void this.run(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }

  private async step(name: "undo" | "redo"): Promise<void> {
    const next = journals[name](this.journal.value);
    if (next !== null) return this.put(next);
    if (this.stepping !== null) {
      await this.stepping;
      return this.step(name);
    }
    const isPossible = name === "undo" ? this.canUndo : this.canRedo;
    const saved = this.saved.value;
    if (!isPossible || saved === null) return say(`There is nothing to ${name}.`);
    this.stepping = this.stepOnServer(saved, () =>
      ask(`/projects/${saved.id}/${name}`, { method: "POST", body: { version: saved.version } }),
    );
    await this.stepping;
  }

  /** The graph that is served now is taken for the one that the project is about. */
  async acceptGraph(): Promise<void> {
    if (this.stepping !== null) await this.stepping;
    const saved = this.saved.value;
    if (saved === null || this.isRunning) return say("Not while the project is being saved; try again.");
    const body = { ...saved.content, model: this.model, version: saved.version, accepts_graph: true };
    this.stepping = this.stepOnServer(saved, () =>
      ask(`/projects/${saved.id}`, { method: "PUT", body }),
    );
    await this.stepping;
  }

  /** A step before this tab's time. What is changed meanwhile waits, and goes on top of it. */
  private async stepOnServer(saved: Saved, send: () => Promise<Project>): Promise<void> {
    this.isRunning = true;
    try {
      const project = await send();
      const theirs = contentOf(project);
      const { now, queue } = this.journal.value;
      const draft = queue.length === 0 ? theirs : merge(saved.content, now, theirs).draft;
      this.adopt(project, journals.settled(theirs, draft));
    } catch (error) {
      if (error instanceof Refusal && error.status === 409) await this.refresh().catch(sayError);
      else sayError(error);
    } finally {
      this.isRunning = false;
      this.stepping = null;
      void this.run();
    }
  }

  private async sendNext(): Promise<void> {
    this.journal.value = journals.sending(this.journal.value);
    const saved = this.saved.value ?? (await this.create());
    const step = this.journal.value.queue[0]!;
    const path = `/projects/${saved.id}`;
    try {
      const project =
        step.kind === "put"
          ? await ask<Project>(path, {
              method: "PUT",
              body: { ...step.draft, model: this.model, version: saved.version },
            })
          : await ask<Project>(`${path}/${step.kind}`, {
              method: "POST",
              body: { version: saved.version },
            });
      this.acknowledge(project);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status >= 500) throw error;
      if (error.status === 409) await this.meet(error);
      else if (error.status === 404) this.startAgain();
      else this.giveUp(error, saved.content);
    }
  }

  /** Refused for what it says: it would be refused again. Later steps may say something better. */
  private giveUp(error: Refusal, content: Draft): void {
    const { now, queue } = this.journal.value;
    this.journal.value = queue.length > 1 ? journals.settled(content, now) : journals.refused(content, now);
    if (this.journal.value.queue.length === 0) this.isHeldUp.value = false;
    say(`Not saved: ${error.message}`, { isError: true });
  }

  private async meet(error: Refusal): Promise<void> {
    const said = (error.body as { theirs?: Project } | null)?.theirs;
    const theirs = said ?? (await ask<Project>(`/projects/${this.saved.value!.id}`));
    const step = this.journal.value.queue[0]!;
    // The answer to an earlier try was lost on its way: what we wanted is already there.
    if (!theirs.deleted && sameDraft(contentOf(theirs), step.draft)) return this.acknowledge(theirs);
    this.journal.value = journals.notSent(this.journal.value);
    conflict.value = { sheet: this, theirs };
  }

  private acknowledge(project: Project): void {
    const journal = journals.acknowledged(this.journal.value);
    const content = contentOf(project);
    const isApart = journal.queue.length === 0 && !sameDraft(journal.now, content);
    this.adopt(project, isApart ? journals.newJournal(content) : journal);
  }

  /** The project is gone from the server; what is here becomes a new one. */
  private startAgain(): void {
    this.saved.value = null;
    const { now } = this.journal.value;
    this.first = now;
    this.journal.value = { ...journals.newJournal(now), queue: [{ kind: "put", draft: now }] };
    say("The project was no longer there; it is saved again as a new one.");
  }

  private adopt(project: Project, journal: Journal): void {
    this.wait = SHORTEST_WAIT;
    batch(() => {
      this.saved.value = savedOf(project);
      this.journal.value = journal;
      this.isHeldUp.value = false;
    });
    this.keep();
  }

  private put(journal: Journal): void {
    this.journal.value = journal;
    void this.run(); // before it is kept: what is on its way is safe, whatever this tab can hold
    this.keep();
  }

  /** What is not saved yet outlives a reload. */
  private keep(): void {
    const { now, queue } = this.journal.value;
    if (queue.length === 0) {
      this.isTooLarge = false;
      return forget(this.slot);
    }
    const saved = this.saved.value;
    const kept: Kept = { model: this.model, saved, journal: { now, queue } };
    if (saved === null) kept.first = this.first;
    // Where there is no room for every step, there may be for what they come to.
    const short: Kept = { ...kept, journal: { now, queue: [{ kind: "put", draft: now }] } };
    if (hold(this.slot, kept) || hold(this.slot, short)) return;
    forget(this.slot); // an older state would be taken for the newest
    if (!this.isTooLarge) say("Too large to be kept in this tab: do not close it before it is saved.");
    this.isTooLarge = true;
  }
}

function slots(): string[] {
  try {
    return Object.keys(sessionStorage).filter((key) => key.startsWith(PENDING));
  } catch {
    return []; // forbidden
  }
}

function hold(slot: string, kept: Kept): boolean {
  try {
    sessionStorage.setItem(slot, writeJson(kept));
    return true;
  } catch {
    return false; // full or forbidden
  }
}

function forget(slot: string): void {
  try {
    sessionStorage.removeItem(slot);
  } catch {
    // Forbidden: then nothing was kept.
  }
}

const savedOf = (project: Project): Saved => ({
  id: project.id,
  version: project.version,
  canUndo: project.can_undo,
  canRedo: project.can_redo,
  graph: project.graph,
  content: contentOf(project),
});
