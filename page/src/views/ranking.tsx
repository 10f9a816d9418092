import { useRef, useState } from "preact/hooks";
import { numPutOff } from "../api";
import type { Row } from "../contract";
import { checks, draft, selected } from "../desk";
import { sameId } from "../logic/ids";
import { count, nouns, percent, probability } from "../logic/numbers";
import { precisionAtTop } from "../logic/precision";
import {
  PAGE,
  TOP,
  isAbove,
  isFiltered,
  line,
  numAbove,
  numHolding,
  numPages,
  page,
  progress,
  ranking,
  rows,
  show,
  shownRows,
} from "../ranking";
import { Bar } from "./bars";
import { LineHead, LineRow } from "./decision_line";
import { Filters } from "./filters";
import { MarkButtons, moveByKey } from "./marking";
import { RowName } from "./row_name";
import { Empty, Failed } from "./states";
import { exportOpen } from "./export";

export function RankingView() {
  const { value, state, error } = ranking.answer.value;
  if (draft.value.positives.length === 0)
    return (
      <Empty title="Which nodes hold the label?">
        <p>
          Search for a node that you know holds it and mark it with <kbd>+</kbd>. One is enough to begin; ten
          are better.
        </p>
        <button type="button" class="primary" onClick={() => document.getElementById("search")?.focus()}>
          Search nodes
        </button>
      </Empty>
    );
  return (
    <>
      <Figures />
      <div class="tools">
        <Filters />
        <span class="grow" />
        <Work />
        <button type="button" class="quiet" disabled={value === null} onClick={() => (exportOpen.value = true)}>
          Export
        </button>
      </div>
      {state === "failed" ? (
        <Failed error={error} again={ranking.again} />
      ) : value !== null && rows.value.length === 0 ? (
        <Empty title={isFiltered.value ? "No node passes the filter" : "No node is left to rank"} />
      ) : (
        <Table isOld={state === "asking" || state === "cancelled"} isFirst={value === null} />
      )}
      <Pages />
    </>
  );
}

const PROPOSED =
  `Of the rows that you mark in this list while they are among the first ${TOP}, the share that holds the label. ` +
  "A row counts with the rank it had before you answered; examples that you gave in any other way do not count.";

/** What the ranking comes to, in three figures. */
function Figures() {
  const { value } = ranking.answer.value;
  const above = numHolding.value;
  const top = precisionAtTop(checks.value, draft.value, TOP);
  return (
    <div class="figures">
      <Figure title="Ranked" value={value === null ? "–" : count(value.num_ranked)} />
      <Figure
        title="Above the line"
        value={
          above === null
            ? "–"
            : `${{ exactly: "", "more than": ">\u2009", "at most": "≤\u2009" }[above.kind]}${count(above.count)}`
        }
      />
      <Figure
        title={`Right in the top ${TOP}`}
        value={top.share === null ? "–" : percent(top.share)}
        more={
          top.share === null
            ? "mark rows to see"
            : `${top.confirmed} of ${top.checked} checked`
        }
        hint={
          top.share === null
            ? PROPOSED
            : `With 95 % confidence between ${percent(top.low!)} and ${percent(top.high!)}. ${PROPOSED}`
        }
      />
    </div>
  );
}

/** What is going on, and a way to stop it. */
function Work() {
  const { value, state } = ranking.answer.value;
  return (
    <div class="work" role="status">
      {numPutOff.value > 0 && <span>The server is busy; trying again…</span>}
      {numPutOff.value === 0 && state === "asking" && (
        <span class="late">
          {progress.value && progress.value.total > 0 ? (
            <>
              Ranking… {percent(progress.value.done / progress.value.total)}{" "}
              <progress max={progress.value.total} value={progress.value.done} aria-label="Ranking" />
            </>
          ) : (
            "Ranking…"
          )}{" "}
          <button type="button" class="small" onClick={ranking.cancel}>
            Cancel
          </button>
        </span>
      )}
      {state === "cancelled" && (
        <>
          Cancelled{value === null ? "" : "; this is the ranking of before"}.{" "}
          <button type="button" class="small" onClick={ranking.again}>
            Rank again
          </button>
        </>
      )}
      {state === "ready" && <span class="hidden">{nouns(value!.num_ranked, "node")} ranked.</span>}
    </div>
  );
}

function Figure(props: { title: string; value: string; more?: string; hint?: string }) {
  return (
    <div class="figure" title={props.hint}>
      <span class="figure-title">{props.title}</span>
      <span class="figure-value">
        {props.value} {props.more && <span class="faint small">{props.more}</span>}
      </span>
    </div>
  );
}

function Table({ isOld, isFirst }: { isOld: boolean; isFirst: boolean }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [active, setActive] = useState(0);
  const shown = shownRows.value;
  const reachable = Math.min(active, shown.length - 1);
  const lines = shown.map((row, i) => (
    <RankedRow key={i} row={row} isReachable={i === reachable} onFocus={() => setActive(i)} />
  ));
  if (shown.length > 0) lines.splice(numAbove.value, 0, <LineRow key="line" body={body} />);
  return (
    <div class="table-box" aria-busy={isOld}>
      <table class={isOld && !isFirst ? "ranked old" : "ranked"}>
        <caption class="hidden">
          Nodes by how likely they hold {draft.value.name}. Enter shows why; plus and minus mark.
        </caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              Rank
            </th>
            <th scope="col">Node</th>
            <th scope="col" class="bar-column">
              <LineHead />
            </th>
            <th scope="col" class="number">
              <abbr title="Probability that the node holds the label">Prob.</abbr>
            </th>
            <th scope="col">
              <span class="hidden">Mark</span>
            </th>
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={(event) => moveByKey(event, body.current!)}>
          {isFirst && shown.length === 0
            ? Array.from({ length: PAGE }, (_, i) => (
                <tr key={i} class="bones">
                  <td colSpan={5}>
                    <span class="bone" />
                  </td>
                </tr>
              ))
            : lines}
        </tbody>
      </table>
    </div>
  );
}

function RankedRow({ row, isReachable, onFocus }: { row: Row; isReachable: boolean; onFocus: () => void }) {
  const isSelected = selected.value !== null && sameId(selected.value, row.node);
  const isHeld = isAbove(row);
  return (
    <tr class={isSelected ? "ranked-row selected" : "ranked-row"} onClick={() => show(row.node)}>
      <td class="number faint">{count(row.rank)}</td>
      <td class="node-cell">
        <RowName
          node={row.node}
          rank={row.rank}
          isReachable={isReachable}
          isCurrent={isSelected}
          onFocus={onFocus}
        >
          {row.labels.join(" · ")}
        </RowName>
      </td>
      <td class="bar-column">
        <Bar probability={row.probability} low={row.low} high={row.high} line={line.value} isAbove={isHeld} />
      </td>
      <td class="number">
        {probability(row.probability)}
        <span class="hidden">{isHeld ? ", above the line" : ", below the line"}</span>
      </td>
      <td class="mark-cell">
        <MarkButtons node={row.node} rank={row.rank} isReachable={isReachable} />
      </td>
    </tr>
  );
}

function Pages() {
  const total = ranking.answer.value.value?.num_ranked ?? 0;
  const first = page.value * PAGE + 1;
  return (
    <nav class="pages" aria-label="Pages of the ranking">
      <button type="button" class="quiet" disabled={page.value === 0} onClick={() => (page.value -= 1)}>
        ‹ Previous
      </button>
      <span class="faint number">
        {total === 0 ? "" : `${count(first)}–${count(Math.min(first + PAGE - 1, total))} of ${count(total)}`}
      </span>
      <button
        type="button"
        class="quiet"
        disabled={page.value >= numPages.value - 1}
        onClick={() => (page.value += 1)}
      >
        Next ›
      </button>
    </nav>
  );
}
