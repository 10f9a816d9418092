import { useState } from "preact/hooks";
import type { Explanation, Id, NodeCard, Part } from "../contract";
import { draft, model, selected } from "../desk";
import { markOf } from "../logic/draft";
import { showId } from "../logic/ids";
import { neighbours, nouns, probability, signed } from "../logic/numbers";
import { show } from "../ranking";
import { card, explanation, selectedMark } from "../reasons";
import { MarkButtons, Sign } from "./marking";
import { PullRow, PullTable } from "./pull_table";
import { Empty, Failed, Waiting } from "./states";

const FIRST = 8;

/** Why the node looked at stands where it stands. */
export function Why() {
  const node = selected.value;
  return (
    <section class="panel why-panel" data-view="why" aria-label="Why this node">
      {node === null ? (
        <Empty title="Why?">
          <p>Choose a row to see what speaks for it and what against it.</p>
        </Empty>
      ) : (
        <>
          <header class="why-head">
            <h2>
              <span class="faint">Why</span> <span class="name">{showId(node)}</span>
            </h2>
            <MarkButtons node={node} />
          </header>
          <Reasons node={node} />
          <Card />
        </>
      )}
    </section>
  );
}

function Reasons({ node }: { node: Id }) {
  const { value, state, error } = explanation.answer.value;
  if (selectedMark.value !== null)
    return (
      <p class="stated">
        <Sign of={selectedMark.value} /> You marked it:{" "}
        {selectedMark.value === "positive" ? "it holds the label" : "it does not hold the label"}.
      </p>
    );
  if (!model.value?.can.includes("explain"))
    return <p class="faint">This model's head (the paper's network) tells no reasons.</p>;
  if (state === "failed") return <Failed error={error} again={explanation.again} />;
  if (state === "none") return null;
  if (value === null || showId(value.node) !== showId(node))
    return <Waiting lines={FIRST + 4} label="Looking for reasons" />;
  return <Parts found={value} />;
}

function Parts({ found }: { found: Explanation }) {
  const [isWhole, setWhole] = useState(false);
  const examples = found.parts
    .filter((part) => part.reason === "holds it" || part.reason === "lacks it")
    .sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
  const others = found.parts.filter((part) => part.reason === "stands for the others");
  const general: { says: string; contribution: number }[] = found.parts
    .filter((part) => part.reason === "prior" || part.reason === "any label")
    .map((part) => ({
      says: part.reason === "prior" ? "Before any example (the prior)" : "How likely it holds any label",
      contribution: part.contribution,
    }));
  if (others.length > 0)
    general.push({
      says: `${nouns(others.length, "node")} drawn to stand for the others`,
      contribution: sum(others),
    });
  const shown = isWhole ? examples : examples.slice(0, FIRST);
  const rest = examples.slice(FIRST);
  const most = Math.max(...examples.map((part) => Math.abs(part.contribution)));
  return (
    <>
      <PullTable
        caption={`What adds up to the log-odds of ${showId(found.node)}`}
        columns={["Reason", "Contribution"]}
      >
        {shown.map((part, i) => (
          <PullRow key={i} most={most} value={part.contribution}>
            <NodeLink node={part.node!} />
          </PullRow>
        ))}
        {!isWhole && rest.length > 0 && (
          <PullRow value={sum(rest)}>
            <button type="button" class="link" onClick={() => setWhole(true)}>
              {nouns(rest.length, "other example")}
            </button>
          </PullRow>
        )}
        {general.map((part) => (
          <PullRow key={part.says} value={part.contribution}>
            <span class="faint">{part.says}</span>
          </PullRow>
        ))}
        <tr class="sum">
          <td colSpan={2}>
            Together, in log-odds <span class="faint">(probability {probability(found.probability)})</span>
          </td>
          <td class="number">{signed(found.log_odds)}</td>
        </tr>
      </PullTable>
      <Shared found={found} />
      <KnownLabels found={found} />
    </>
  );
}

const sum = (parts: Part[]): number => parts.reduce((total, part) => total + part.contribution, 0);

function NodeLink({ node }: { node: Id }) {
  return (
    <span class="node-link">
      <Sign of={markOf(draft.value, node)} />
      <button
        type="button"
        class="link name"
        onClick={() => show(node)}
      >
        {showId(node)}
      </button>
    </span>
  );
}

function Shared({ found }: { found: Explanation }) {
  if (found.shared_neighbours.length === 0) return null;
  return (
    <div class="part">
      <h3>Neighbours shared with examples</h3>
      <ul class="plain">
        {found.shared_neighbours.slice(0, 6).map((shared, i) => (
          <li key={i}>
            <NodeLink node={shared.id} />{" "}
            <span class="faint small">
              with {shared.with.slice(0, 3).map(showId).join(", ")}
              {shared.with.length > 3 ? ` and ${shared.with.length - 3} more` : ""}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function KnownLabels({ found }: { found: Explanation }) {
  if (found.labels.length === 0)
    return <p class="faint part">It has no known label; its neighbours and its place speak for it.</p>;
  const weights = new Map(found.label_weights.map(({ label, weight }) => [label, weight]));
  const most = Math.max(0, ...[...weights.values()].map(Math.abs));
  return (
    <div class="part">
      <h3>Its known labels, and what each says</h3>
      <PullTable caption="Its known labels and their weights" columns={["Label", "Weight"]}>
        {found.labels.slice(0, 8).map((label, i) => (
          <PullRow key={i} value={weights.get(label)} most={most}>
            <span class="name">{label}</span>
          </PullRow>
        ))}
      </PullTable>
    </div>
  );
}

function Card() {
  const { value } = card.answer.value;
  if (value === null || selected.value === null || showId(value.id) !== showId(selected.value)) return null;
  return (
    <div class="part card">
      <h3>The node</h3>
      <p class="faint">
        {neighbours(value.num_neighbours)}
        {value.is_annotated
          ? `; ${value.labels.length === 0 ? "no known label" : nouns(value.labels.length, "known label")}`
          : "; nobody has annotated it"}
      </p>
      <Neighbours found={value} />
    </div>
  );
}

function Neighbours({ found }: { found: NodeCard }) {
  return (
    <ul class="inline">
      {found.neighbours.slice(0, 12).map((neighbour, i) => (
        <li key={i}>
          <NodeLink node={neighbour.id} />
        </li>
      ))}
    </ul>
  );
}
