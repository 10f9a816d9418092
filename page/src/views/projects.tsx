import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, askFile } from "../api";
import type { Project, Version } from "../contract";
import { exampleOf, model, models, open, openInstead, openProject, otherGraphOf, sheet } from "../desk";
import { emptyDraft } from "../logic/draft";
import { ago, nouns } from "../logic/numbers";
import { say, sayError } from "../notice";
import { Sheet } from "../sheet";
import { Dialog } from "./dialog";
import { save } from "./export";
import { Empty, Failed, Waiting } from "./states";

export const projectsOpen = signal(false);

type List = { projects: Project[]; error: unknown };

/** All projects: open, make, rename, delete and bring back, with their history. */
export function Projects() {
  const [showsDeleted, setShowsDeleted] = useState(false);
  const [list, setList] = useState<List | null>(null);
  const [history, setHistory] = useState<Project | null>(null);
  const close = () => (projectsOpen.value = false);

  const load = () => {
    ask<{ projects: Project[] }>(`/projects?deleted=${showsDeleted}`).then(
      ({ projects }) => {
        const shown = projects.filter((project) => project.deleted === showsDeleted);
        setList({ projects: shown.sort((a, b) => (a.changed < b.changed ? 1 : -1)), error: null });
      },
      (error: unknown) => setList({ projects: [], error }),
    );
  };
  // What is changed in the open project is carried to the server beside this list.
  useEffect(load, [showsDeleted, sheet.value?.saved.value?.version]);

  const create = async () => {
    const next = new Sheet(modelName(), emptyDraft("New label"));
    try {
      await next.create();
    } catch (error) {
      return sayError(error); // what is open stays open, and keeps its name
    }
    open(next);
    close();
    nameIt();
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
    </Dialog>
  );
}

/** The model that something new is about. */
const modelName = (): string => (model.value ?? models.value![0]!).name;

/** A new label wants a name; after the dialogue has given the focus back. */
function nameIt(): void {
  setTimeout(() => {
    const field = document.getElementById("label-name") as HTMLInputElement | null;
    field?.focus();
    field?.select();
  }, 50);
}

interface ItemProps {
  project: Project;
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
      await ask(`/projects/${project.id}`, { method: "PUT", body: body({ ...project, name: wanted }) });
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
            {nouns(project.positives.length, "node")} with it, {project.negatives.length} without ·{" "}
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
            maxLength={200}
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

const body = ({ name, model, positives, negatives, notes, threshold, prior, version }: Project) => ({
  name,
  model,
  positives,
  negatives,
  notes,
  threshold,
  prior,
  version,
});

async function download(project: Project): Promise<void> {
  try {
    const { blob, name } = await askFile(`/projects/${project.id}/csv`, { accept: "text/csv" });
    save(blob, name.endsWith(".csv") ? name : `${name}.csv`);
  } catch (error) {
    sayError(error);
  }
}

async function remove(project: Project, onChange: () => void): Promise<void> {
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

async function restore(project: Project, onChange: () => void): Promise<boolean> {
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

function Import({ onDone }: { onDone: (id: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const run = async (file: File) => {
    const name = file.name.replace(/\.csv$/i, "");
    const query = new URLSearchParams({ name, model: modelName() });
    try {
      const text = await file.text();
      const request = { method: "POST" as const, text, isOnce: true };
      const project = await ask<Project>(`/projects/import?${query}`, request);
      say(`${nouns(project.positives.length + project.negatives.length, "mark")} imported`);
      onDone(project.id);
    } catch (error) {
      sayError(error);
    }
  };
  return (
    <>
      <button type="button" onClick={() => field.current!.click()}>
        Import CSV
      </button>
      <input
        ref={field}
        type="file"
        accept=".csv,text/csv"
        class="hidden"
        tabIndex={-1}
        aria-label="CSV with the columns node and mark"
        onChange={({ currentTarget }) => {
          const file = currentTarget.files?.[0];
          if (file) void run(file);
          currentTarget.value = "";
        }}
      />
    </>
  );
}

function History({ project }: { project: Project }) {
  const [versions, setVersions] = useState<Version[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    ask<{ versions: Version[] }>(`/projects/${project.id}/history`).then(
      (found) => setVersions([...found.versions].sort((a, b) => b.version - a.version)),
      setError,
    );
  }, [project.id]);
  if (error !== null) return <Failed error={error} />;
  if (versions === null) return <Waiting lines={5} label="Loading the history" />;
  return (
    <table class="history">
      <thead>
        <tr>
          <th scope="col" class="number">
            Version
          </th>
          <th scope="col">What</th>
          <th scope="col" class="number">
            Holds it
          </th>
          <th scope="col" class="number">
            Does not
          </th>
          <th scope="col">When</th>
        </tr>
      </thead>
      <tbody>
        {versions.map((version) => (
          <tr key={version.version}>
            <td class="number">{version.version}</td>
            <td>{version.what}</td>
            <td class="number">{version.num_positives}</td>
            <td class="number">{version.num_negatives}</td>
            <td class="faint">{ago(version.changed)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
