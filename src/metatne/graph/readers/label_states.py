"""Label statements from cells: what 1, 0 and nothing mean, and tables of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from jaxtyping import Int8, Int64

from metatne.errors import LabelError
from metatne.graph.node_ids import id_array
from metatne.graph.raw import HOLDS, LACKS, UNKNOWN, RawLabels

KINDS = ("pairs", "lists", "wide")
"""The kinds of label file: node-label pairs, a list of labels a node, a 0/1 table."""

LABEL_SEPARATOR = re.compile("[;|]")

STATE_CELLS = {
    **dict.fromkeys(("1", "1.0", "true", "holds"), HOLDS),
    **dict.fromkeys(("0", "0.0", "false", "lacks"), LACKS),
    **dict.fromkeys(("", "nan", "na", "?", "unknown", "-1", "-1.0"), UNKNOWN),
}
STATE = "1 (holds), 0 (lacks) or an empty field (unknown)"


def cell_state(cell: str) -> int | None:
    """The state that a cell says, or None if it says none."""
    state = STATE_CELLS.get(cell)
    return STATE_CELLS.get(cell.casefold()) if state is None else state


def split_labels(text: str) -> list[str]:
    """The labels in a field, separated by ; or |."""
    return [label.strip() for label in LABEL_SEPARATOR.split(text) if label.strip()]


def check_kind(kind: str | None) -> None:
    """Refuse a kind of label file that is none."""
    if kind is not None and kind not in KINDS:
        raise LabelError(f"a label format is one of {', '.join(KINDS)}, not {kind!r}")


def ambiguous(source: str, first: str, second: str) -> LabelError:
    """The error for labels that can be read in two ways."""
    return LabelError(
        f"{source} can be read in two ways: as {first}, or as {second}; say which with "
        "label_format=… (--label-format), one of " + ", ".join(KINDS)
    )


def wide_labels(
    ids: pa.Array,
    names: Sequence[str],
    states: Int8[np.ndarray, "row label"],
    *,
    source: str,
    lines: Int64[np.ndarray, " row"] | None = None,
) -> RawLabels:
    """Statements of a table with a row a node and a column a label.

    A row without any state says that the node is unannotated; in all others what is not
    held or unknown is lacked.
    """
    is_blank = (states == UNKNOWN).all(axis=1)
    rows, columns = np.nonzero((states != LACKS) & ~is_blank[:, None])
    ids = id_array(ids)
    label_names = pa.array(list(names), pa.large_string())
    return RawLabels(
        nodes=ids.take(pa.array(rows)),
        labels=label_names.take(pa.array(columns)),
        states=states[rows, columns],
        unannotated=ids.filter(pa.array(is_blank)),
        complete=ids.filter(pa.array(~is_blank)),
        names=list(names),
        source=source,
        lines=None if lines is None else lines[rows],
    )
