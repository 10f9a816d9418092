import { useState } from "preact/hooks";
import { sheet as open, openInstead } from "../desk";
import type { Conflict as Found } from "../sheet";
import type { Draft, Mark } from "../logic/draft";
import { contentOf, sameDraft } from "../logic/draft";
import { keyOf, showId } from "../logic/ids";
import { decide, differences, merge } from "../logic/merge";
import { nouns, percent, probability } from "../logic/numbers";
import { sayError } from "../notice";
import { Dialog } from "./dialog";
import { Sign } from "./marking";

const SAYS: Record<Mark, string> = { positive: "holds it", negative: "does not" };
const says = (mark: Mark | null): string => (mark === null ? "not marked" : SAYS[mark]);

/** The same project was changed here and elsewhere: both are shown, nothing is lost unseen. */
export function Conflict({ found }: { found: Found }) {
  return found.theirs.deleted ? <Deleted found={found} /> : <Changed found={found} />;
}

/** What is deleted takes no changes: it is brought back first, or left. */
function Deleted({ found: { sheet } }: { found: Found }) {
  const base = sheet.saved.value!.content;
  const hasChanged = !sameDraft(base, sheet.draft);
  return (
    <Dialog title="Deleted elsewhere">
      <p>
        Someone else, or another tab, deleted <strong>{base.name}</strong>
        {hasChanged ? " while you worked on it." : "."}
      </p>
      {hasChanged && (
        <div class="sides">
          <Side title="You" base={base} side={sheet.draft} />
        </div>
      )}
      <div class="actions">
        <button
          type="button"
          onClick={() => {
            sheet.leaveDeleted();
            if (open.value === sheet) openInstead();
          }}
        >
          Leave it deleted
        </button>
        <button type="button" class="primary" onClick={() => void sheet.bringBack().catch(sayError)}>
          {hasChanged ? "Bring it back with your changes" : "Bring it back"}
        </button>
      </div>
    </Dialog>
  );
}

function Changed({ found: { sheet, theirs } }: { found: Found }) {
  const [takesTheirs, setTakesTheirs] = useState<ReadonlySet<string>>(new Set());
  const base = sheet.saved.value!.content;
  const mine = sheet.draft;
  const other = contentOf(theirs);
  const merged = merge(base, mine, other);
  const toggle = (key: string, isTheirs: boolean) => {
    const next = new Set(takesTheirs);
    if (isTheirs) next.add(key);
    else next.delete(key);
    setTakesTheirs(next);
  };
  return (
    <Dialog title="Changed here and elsewhere" wide>
      <p>
        While you worked on <strong>{base.name}</strong>, someone else, or another tab, changed it too.
      </p>
      <div class="sides">
        <Side title="You" base={base} side={mine} />
        <Side title="The other" base={base} side={other} />
      </div>
      {merged.clashes.length > 0 && (
        <div class="clashes">
          <h3>You disagree about {nouns(merged.clashes.length, "node")}; the merged project takes</h3>
          <ul class="plain">
            {merged.clashes.map((clash) => {
              const key = keyOf(clash.node);
              return (
                <li key={key}>
                  <fieldset class="clash">
                    <legend class="name">{showId(clash.node)}</legend>
                    {([false, true] as const).map((isTheirs) => (
                      <label key={String(isTheirs)}>
                        <input
                          type="radio"
                          name={`clash-${key}`}
                          checked={takesTheirs.has(key) === isTheirs}
                          onChange={() => toggle(key, isTheirs)}
                        />{" "}
                        {isTheirs ? `the other's: ${says(clash.theirs)}` : `yours: ${says(clash.mine)}`}
                      </label>
                    ))}
                  </fieldset>
                </li>
              );
            })}
          </ul>
        </div>
      )}
      <div class="actions">
        <button type="button" onClick={() => sheet.settle(theirs, other)}>
          Take the other's
        </button>
        <button type="button" onClick={() => sheet.settle(theirs, mine)}>
          Keep yours
        </button>
        <button type="button" class="primary" onClick={() => sheet.settle(theirs, decide(merged, takesTheirs))}>
          Merge both
        </button>
      </div>
    </Dialog>
  );
}

function Side({ title, base, side }: { title: string; base: Draft; side: Draft }) {
  const changed = differences(base, side);
  const texts = [
    side.name !== base.name && `name: ${side.name}`,
    side.notes !== base.notes && `notes: ${side.notes || "none"}`,
    side.prior !== base.prior && `prior: ${side.prior === null ? "typical" : percent(side.prior)}`,
    side.threshold !== base.threshold &&
      `decision line: ${side.threshold === null ? "the model's" : probability(side.threshold)}`,
  ].filter((text) => text !== false);
  return (
    <div class="side">
      <h3>{title}</h3>
      <p class="faint small">
        {nouns(side.positives.length, "node")} with it, {side.negatives.length} without
      </p>
      <ul class="plain">
        {changed.map((difference) => (
          <li key={keyOf(difference.node)}>
            <Sign of={difference.to} /> <span class="name">{showId(difference.node)}</span>{" "}
            <span class="faint small">{difference.to === null ? "unmarked" : SAYS[difference.to]}</span>
          </li>
        ))}
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
        {changed.length + texts.length === 0 && <li class="faint">nothing that lasts</li>}
      </ul>
    </div>
  );
}
