import type { ComponentChildren } from "preact";
import type { Id } from "../contract";
import { draft } from "../desk";
import { markOf } from "../logic/draft";
import { showId } from "../logic/ids";
import { show } from "../ranking";
import { Sign, markByKey } from "./marking";

interface Props {
  node: Id;
  name?: string;
  rank?: number; // where it is a row of the ranking
  isReachable: boolean; // by the Tab key; arrow keys do the rest
  isCurrent?: boolean;
  onFocus: () => void;
  children: ComponentChildren; // a second line
}

/** A node as a row of a list: it is shown by a click, and marked by a key. */
export function RowName({ node, name, rank, isReachable, isCurrent, onFocus, children }: Props) {
  return (
    <button
      type="button"
      class="row-name"
      data-row
      aria-current={isCurrent}
      tabIndex={isReachable ? 0 : -1}
      onFocus={onFocus}
      onKeyDown={(event) => markByKey(event, node, rank)}
      onClick={(event) => {
        event.stopPropagation(); // where the whole row can be clicked
        show(node);
      }}
    >
      <Sign of={markOf(draft.value, node)} />
      <span class="name">{name ?? showId(node)}</span>
      <span class="faint small labels">{children}</span>
    </button>
  );
}
