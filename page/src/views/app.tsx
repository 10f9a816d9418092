import { useEffect, useState } from "preact/hooks";
import { numPutOff } from "../api";
import { lost, tryNow } from "../connection";
import { draft, isUnserved, model, openInstead, otherGraph, problem, sheet, start, view } from "../desk";
import type { View } from "../desk";
import type { Tab } from "../hints";
import { tab } from "../hints";
import { hush, notice } from "../notice";
import { conflict } from "../sheet";
import { tokenWanted } from "../token";
import { Choice } from "./choice";
import { Conflict } from "./conflict";
import { Export, exportOpen } from "./export";
import { Header, Verdict } from "./header";
import { Help, helpOpen } from "./help";
import { Labels, Next } from "./hints";
import { Marks } from "./marks";
import { Picture } from "./picture";
import { Projects, projectsOpen } from "./projects";
import { RankingView } from "./ranking";
import { Empty, Failed, Waiting } from "./states";
import { Token } from "./token";
import { Why } from "./why";

export function App() {
  useEffect(() => {
    document.title = draft.value.name ? `${draft.value.name} – MetaTNE` : "MetaTNE";
  }, [draft.value.name]);
  return (
    <>
      <a class="skip" href="#ranking">
        Skip to the ranking
      </a>
      <Header />
      <Verdict />
      <Lost />
      {problem.value !== null ? (
        <main class="alone">
          <Failed
            error={problem.value}
            again={() => {
              problem.value = null;
              void start();
            }}
          />
        </main>
      ) : (
        <main class={`desk shows-${view.value}`}>
          {sheet.value === null ? (
            <section class="panel marks-panel" data-view="marks" aria-label="The label and its examples">
              <Waiting lines={12} label="Loading" />
            </section>
          ) : (
            <Marks key={sheetKey()} />
          )}
          <Middle />
          <div class="right">
            <Picture />
            <Why />
          </div>
        </main>
      )}
      <Views />
      <Notice />
      {projectsOpen.value && <Projects />}
      {exportOpen.value && <Export />}
      {helpOpen.value && <Help />}
      {conflict.value && <Conflict found={conflict.value} />}
      {tokenWanted.value && <Token />}
    </>
  );
}

// Fields that are being typed in belong to a project, not to the next one.
const keys = new WeakMap<object, number>();
let numKeys = 0;
function sheetKey(): number {
  const open = sheet.value!;
  if (!keys.has(open)) keys.set(open, ++numKeys);
  return keys.get(open)!;
}

const TABS: Record<Tab, string> = {
  ranking: "Ranking",
  next: "What to label next",
  labels: "Related labels",
};

function Middle() {
  return (
    <section class="panel middle-panel" data-view="ranking" id="ranking" tabIndex={-1} aria-label="Answers">
      <Choice label="Answers" name="tab" value={tab.value} options={TABS} onChoose={(next) => (tab.value = next)} />
      {isUnserved.value ? (
        <Unserved />
      ) : otherGraph.value !== null ? (
        <OtherGraph />
      ) : (
        <>
          {tab.value === "ranking" && (sheet.value === null ? <Loading /> : <RankingView />)}
          {tab.value === "next" && <Next />}
          {tab.value === "labels" && <Labels />}
        </>
      )}
    </section>
  );
}

function Unserved() {
  return (
    <Empty title={`The model ${sheet.value!.model} is not served here`}>
      <p role="alert">
        The project's marks are here, and can be renamed, exported and deleted; to rank with them, start the service
        with that model.
      </p>
      <button type="button" onClick={openInstead}>
        Close the project
      </button>
    </Empty>
  );
}

/** The same name, another graph: a ranking from these nodes could be about others. */
function OtherGraph() {
  const { name, fingerprint } = otherGraph.value!;
  const now = model.value!;
  return (
    <Empty title="These nodes were marked on another graph">
      <p role="alert">
        The project is about <strong>{name}</strong> ({fingerprint.slice(0, 12)}), but the model {now.name} that is
        served here was trained on <strong>{now.graph}</strong> ({now.fingerprint.slice(0, 12)}). If that is the same
        graph, only newer, go on; if not, serve the model that the project is about.
      </p>
      <button type="button" class="primary" onClick={() => void sheet.value!.acceptGraph()}>
        It is the same graph
      </button>
    </Empty>
  );
}

function Loading() {
  if (numPutOff.value === 0) return <Waiting lines={16} label="Loading" />;
  return (
    <Empty title="The server is getting ready">
      <p role="status">It reads its models, which takes some seconds. This page goes on by itself.</p>
    </Empty>
  );
}

const VIEWS: Record<View, string> = { marks: "Marks", ranking: "Ranking", picture: "Picture", why: "Why" };

/** On a narrow screen one thing at a time. */
function Views() {
  return (
    <nav class="views" aria-label="Views">
      {(Object.entries(VIEWS) as [View, string][]).map(([name, title]) => (
        <button
          key={name}
          type="button"
          aria-current={view.value === name}
          onClick={() => {
            view.value = name;
            scrollTo(0, 0);
          }}
        >
          {title}
        </button>
      ))}
    </nav>
  );
}

function Lost() {
  const [now, setNow] = useState(Date.now());
  const state = lost.value;
  useEffect(() => {
    if (state === null) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [state]);
  if (state === null) return null;
  const seconds = Math.max(0, Math.ceil((state.nextTry - now) / 1000));
  return (
    <div class="lost" role="alert">
      <span>The server does not answer. What you do is kept here and sent when it is back.</span>
      <span class="number" aria-hidden="true">
        {seconds > 0 ? `Next try in ${seconds} s` : "Trying…"}
      </span>
      <button type="button" onClick={tryNow}>
        Try now
      </button>
    </div>
  );
}

function Notice() {
  const now = notice.value;
  return (
    <div class="notice-place" role="status" aria-live="polite">
      {now && (
        <div class={now.isError ? "notice error" : "notice"}>
          <span>{now.text}</span>
          {now.action && (
            <button
              type="button"
              onClick={() => {
                const { run } = now.action!;
                hush();
                run();
              }}
            >
              {now.action.name}
            </button>
          )}
          {now.isError && (
            <button type="button" class="icon" aria-label="Close" onClick={hush}>
              ×
            </button>
          )}
        </div>
      )}
    </div>
  );
}
