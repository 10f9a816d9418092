import { useRef, useState } from "preact/hooks";
import { draft, model } from "../desk";
import { related, suggestions } from "../hints";
import { probability } from "../logic/numbers";
import { Bar } from "./bars";
import { MarkButtons, moveByKey } from "./marking";
import { PullRow, PullTable } from "./pull_table";
import { RowName } from "./row_name";
import { Empty, Failed, Waiting } from "./states";

/** Nodes whose mark would help most. */
export function Next() {
  const list = useRef<HTMLUListElement>(null);
  const [active, setActive] = useState(0);
  const { value, state, error } = suggestions.answer.value;
  if (!model.value?.can.includes("suggest"))
    return <Empty title="This model cannot tell what to label next" />;
  if (draft.value.positives.length === 0)
    return <Empty title="Mark a node that holds the label first" />;
  if (state === "failed") return <Failed error={error} again={suggestions.again} />;
  return (
    <>
      <p class="lead">
        The answer for these would teach the most: the model is unsure of them, and they differ from each other.
      </p>
      {value === null ? (
        <Waiting lines={10} label="Looking for nodes" />
      ) : (
        <ul
          class="rows suggestions"
          ref={list}
          aria-busy={state === "asking"}
          onKeyDown={(event) => moveByKey(event, list.current!)}
        >
          {value.map((node, i) => (
            <li key={i} class="row">
              <RowName
                node={node.id}
                isReachable={i === Math.min(active, value.length - 1)}
                onFocus={() => setActive(i)}
              >
                {node.labels.join(" · ")}
              </RowName>
              <Bar probability={node.probability} />
              <span class="number">{probability(node.probability)}</span>
              <MarkButtons node={node.id} isReachable={i === Math.min(active, value.length - 1)} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Known labels that speak for the new one, and against it. */
export function Labels() {
  const { value, state, error } = related.answer.value;
  if (!model.value?.can.includes("relate"))
    return <Empty title="This model cannot tell which labels are akin" />;
  if (draft.value.positives.length === 0)
    return <Empty title="Mark a node that holds the label first" />;
  if (state === "failed") return <Failed error={error} again={related.again} />;
  if (value === null) return <Waiting lines={12} label="Comparing labels" />;
  const sorted = [...value].sort((a, b) => b.weight - a.weight);
  const most = Math.max(0, ...sorted.map(({ weight }) => Math.abs(weight)));
  return (
    <>
      <p class="lead">
        What holding a known label, or having it around, says about this one: to the right for, to the left
        against.
      </p>
      <div class="related">
        <PullTable
          caption="Known labels and their weights"
          columns={["Label", "Weight"]}
          isBusy={state === "asking"}
        >
          {sorted.map(({ label, weight }, i) => (
            <PullRow key={i} value={weight} most={most}>
              <span class="name">{label}</span>
            </PullRow>
          ))}
        </PullTable>
      </div>
    </>
  );
}
