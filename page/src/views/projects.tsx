import { batch, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { ask, askFile } from "../api";
import type { Projects as All, Project, ProjectSummary } from "../contract";
import { MAX_NAME_LENGTH } from "../contract";
import { exampleOf, model, modelName, open, openInstead, openProject, otherGraphOf, sheet } from "../desk";
import { emptyDraft } from "../logic/draft";
import { ago, count, nouns } from "../logic/numbers";
import { say, sayError } from "../notice";
import { Sheet } from "../sheet";
import { Dialog } from "./dialog";
import { save } from "./export";
import { History } from "./history";
import { Import } from "./import";
import { wantsName } from "./marks";
import { Empty, Failed, Waiting } from "./states";

export const projectsOpen = signal(false);

const STRETCH = 100;

type List = { projects: ProjectSummary[]; total: number; error: unknown };

/** All projects: open, make, rename, delete and bring back, with their history. */
export function Projects() {
  const [showsDeleted, setShowsDeleted] = useState(false);
  const [most, setMost] = useState(STRETCH);
  const [list, setList] = useState<List | null>(null);
  const [history, setHistory] = useState<ProjectSummary | null>(null);
  const close = () => (projectsOpen.value = false);

  const load = () => {
    ask<All>(`/projects?deleted=${showsDeleted}&limit=${most}`).then(
      ({ projects, num_projects }) => setList({ projects, total: num_projects, error: null }),
      (error: unknown) => setList({ projects: [], total: 0, error }),
    );
  };
  // What is changed in the open project is carried to the server beside this list.
  useEffect(load, [showsDeleted, most, sheet.value?.saved.value?.version]);

  const create = async () => {
    const next = new Sheet(modelName(), emptyDraft("New label"));
    try {
      await next.create();
    } catch (error) {
      return sayError(error); // what is open stays open, and keeps its name
    }
    batch(() => {
      wantsName.value = true;
      open(next);
      close(); // in the same breath: behind an open dialogue nothing can have the focus
    });
  };
  const show = (id: string) => openProject(id).then(close, sayError);

  if (history)
    return (
      <Dialog title={`History of ${history.name}`} onClose={close}>
        <History project={history} />
        <div class="actions">
          <button type="button" onClick={() => setHistory(null)}>
            ‹ All projects
          </button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title={showsDeleted ? "Deleted projects" : "Projects"} onClose={close} wide>
      <div class="project-tools">
        <button type="button" class="primary" onClick={() => void create()}>
          New project
        </button>
        <Import onDone={show} />
        {model.value?.example && (
          <button
            type="button"
            onClick={() => {
              open(exampleOf(model.value!));
              close();
            }}
          >
            Open the example
          </button>
        )}
        <button type="button" class="quiet" onClick={() => setShowsDeleted(!showsDeleted)}>
          {showsDeleted ? "Back" : "Deleted ones"}
        </button>
      </div>
      {list === null && <Waiting lines={4} label="Loading projects" />}
      {list?.error != null && <Failed error={list.error} again={load} />}
      {list !== null && list.error === null && list.projects.length === 0 && (
        <Empty title={showsDeleted ? "Nothing has been deleted" : "No projects yet"}>
          {!showsDeleted && <p>A project is made when you change something; it is saved by itself.</p>}
        </Empty>
      )}
      <ul class="project-list">
        {list?.projects.map((project) => (
          <Item
            key={String(project.id)}
            project={project}
            onOpen={() => void show(project.id)}
            onHistory={() => setHistory(project)}
            onChange={load}
          />
        ))}
      </ul>
      {list !== null && list.total > list.projects.length && (
        <button type="button" onClick={() => setMost(most + STRETCH)}>
          Show more of {count(list.total)}
        </button>
      )}
      {showsDeleted && list !== null && list.total > 0 && <Purge number={list.total} onDone={load} />}
    </Dialog>
  );
}

/** What is gone for good is asked for twice. */
function Purge({ number, onDone }: { number: number; onDone: () => void }) {
  const [isSure, setSure] = useState(false);
  const run = async () => {
    try {
      const { num_purged } = await ask<{ num_purged: number }>("/projects/purge", { method: "POST" });
      say(`${nouns(num_purged, "project")} removed for good`);
    } catch (error) {
      sayError(error);
    }
    setSure(false);
    onDone();
  };
  return isSure ? (
    <button type="button" onClick={() => void run()}>
      Yes, remove {nouns(number, "project")} with all history
    </button>
  ) : (
    <button type="button" class="quiet" onClick={() => setSure(true)}>
      Remove all of them for good…
    </button>
  );
}

interface ItemProps {
  project: ProjectSummary;
  onOpen: () => void;
  onHistory: () => void;
  onChange: () => void;
}

function Item({ project, onOpen, onHistory, onChange }: ItemProps) {
  const [name, setName] = useState<string | null>(null);
  const isOpen = sheet.value?.saved.value?.id === project.id;
  const elsewhere = otherGraphOf(project.model, project.graph);

  const rename = async (event: Event) => {
    event.preventDefault();
    const wanted = name?.trim() ?? "";
    setName(null);
    if (wanted === "" || wanted === project.name) return;
    if (isOpen) return sheet.value!.change({ ...sheet.value!.draft, name: wanted });
    try {
      const path = `/projects/${project.id}`;
      const now = await ask<Project>(path);
      await ask(path, { method: "PUT", body: { ...now, name: wanted } });
    } catch (error) {
      sayError(error);
    }
    onChange();
  };

  return (
    <li class={isOpen ? "project open" : "project"}>
      {name === null ? (
        <button type="button" class="project-name" disabled={project.deleted} onClick={onOpen}>
          <span class="name">{project.name}</span>
          <span class="faint small">
            {nouns(project.num_positives, "node")} with it, {project.num_negatives} without ·{" "}
            {project.model} · {ago(project.changed)}
            {isOpen ? " · open" : ""}
            {elsewhere ? ` · marked on another graph (${elsewhere.name})` : ""}
          </span>
        </button>
      ) : (
        <form class="rename" onSubmit={rename}>
          <input
            aria-label={`New name of ${project.name}`}
            value={name}
            maxLength={MAX_NAME_LENGTH}
            ref={(field) => field?.focus()}
            onInput={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.preventDefault();
              event.stopPropagation();
              setName(null);
            }}
          />
          <button type="submit">Rename</button>
        </form>
      )}
      <div class="project-actions">
        {project.deleted ? (
          <button type="button" onClick={() => void restore(project, onChange)}>
            Bring back
          </button>
        ) : (
          <>
            <button type="button" class="quiet small" aria-label={`Rename ${project.name}`} onClick={() => setName(project.name)}>
              Rename
            </button>
            <button type="button" class="quiet small" aria-label={`History of ${project.name}`} onClick={onHistory}>
              History
            </button>
            <button
              type="button"
              class="quiet small"
              aria-label={`Marks of ${project.name} as CSV`}
              onClick={() => void download(project)}
            >
              CSV
            </button>
            <button
              type="button"
              class="quiet small"
              aria-label={`Delete ${project.name}`}
              onClick={() => void remove(project, onChange)}
            >
              Delete
            </button>
          </>
        )}
      </div>
    </li>
  );
}

async function download(project: ProjectSummary): Promise<void> {
  try {
    const { blob, name } = await askFile(`/projects/${project.id}/csv`, { accept: "text/csv" });
    save(blob, name.endsWith(".csv") ? name : `${name}.csv`);
  } catch (error) {
    sayError(error);
  }
}

async function remove(project: ProjectSummary, onChange: () => void): Promise<void> {
  try {
    const isOpen = sheet.value?.saved.value?.id === project.id;
    const version = isOpen ? sheet.value!.saved.value!.version : project.version;
    await ask(`/projects/${project.id}?version=${version}`, { method: "DELETE" });
    if (isOpen) openInstead();
    const back = async () => {
      const isBack = await restore(project, onChange);
      if (isOpen && isBack) await openProject(project.id).catch(sayError);
    };
    say(`${project.name} was deleted`, { action: { name: "Undo", run: () => void back() } });
  } catch (error) {
    sayError(error);
  }
  onChange();
}

async function restore(project: ProjectSummary, onChange: () => void): Promise<boolean> {
  try {
    await ask<Project>(`/projects/${project.id}/restore`, { method: "POST" });
    say(`${project.name} is back`);
    onChange();
    return true;
  } catch (error) {
    sayError(error);
    return false;
  }
}
