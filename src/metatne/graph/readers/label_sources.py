"""Labels from wherever they come, and which nodes they leave unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from metatne.errors import ConfigError, InputError, LabelError
from metatne.graph.node_ids import id_array
from metatne.graph.raw import RawLabels
from metatne.graph.readers.detect import detect_format
from metatne.graph.readers.fields import integers_if_all_are
from metatne.graph.readers.label_text import read_label_file
from metatne.graph.readers.matrices import labels_from_matrix
from metatne.graph.readers.node_lists import read_node_list
from metatne.graph.readers.parquet import read_parquet
from metatne.graph.readers.tables import (
    labels_from_mapping,
    labels_from_table,
    table_of,
)


def read_labels(
    source: Any,
    *,
    label_format: str | None = None,
    label_header: bool | None = None,
    notes: list[str] | None = None,
) -> RawLabels:
    """Label statements from a file, a DataFrame, a mapping or a matrix.

    label_format: "pairs", "lists" or "wide", where a file or DataFrame does not tell.
    label_header: whether the first line of a text file names its columns.
    notes: what was taken for granted about a file is added here.
    """
    if isinstance(source, str | Path):
        return _read_file(Path(source), label_format, label_header, notes)
    if label_header is not None:
        raise ConfigError("label_header says something about text files only")
    if isinstance(source, pd.DataFrame):
        # An index with a meaning is the column of nodes; a plain count of rows is not.
        is_plain = isinstance(source.index, pd.RangeIndex) and source.index.name is None
        frame = source if is_plain else source.reset_index()
        table = table_of(frame, source="labels")
        return labels_from_table(table, source="labels", kind=label_format)
    if label_format is not None:
        raise ConfigError("label_format says something about files and DataFrames only")
    if isinstance(source, RawLabels):
        return source
    if isinstance(source, dict):
        return labels_from_mapping(source)
    if sp.issparse(source) or isinstance(source, np.ndarray):
        return labels_from_matrix(source, source="labels")
    raise LabelError(
        "labels must be a path, a DataFrame, a mapping from nodes to labels, or a matrix "
        f"(node, label), not {type(source).__name__}"
    )


def _read_file(
    path: Path, label_format: str | None, label_header: bool | None, notes: list[str] | None
) -> RawLabels:
    if path.is_dir():
        raise InputError(f"{path} is a directory, but a label file was expected")
    if detect_format(path) != "parquet":
        return read_label_file(path, kind=label_format, header=label_header, notes=notes)
    if label_header is not None:
        raise ConfigError("label_header says something about text files only")
    return labels_from_table(read_parquet(path), source=str(path), kind=label_format)


def mark_unknown(raw: RawLabels, unannotated: Any, unlisted_unknown: bool) -> RawLabels:
    """The labels with more nodes unannotated: those listed, and those that they do not name."""
    if unlisted_unknown:
        raw = replace(raw, is_partial=True)
    if unannotated is None:
        return raw
    ids = _node_list(unannotated)
    if raw.unannotated is not None and len(raw.unannotated):
        own = id_array(raw.unannotated)
        if own.type != ids.type:
            own, ids = own.cast(pa.large_string()), ids.cast(pa.large_string())
        ids = pa.concat_arrays([own, ids])
    return replace(raw, unannotated=ids)


def _node_list(source: Any) -> pa.Array:
    """Node ids from a sequence, or from a file with one a line."""
    if isinstance(source, str | Path):
        return integers_if_all_are(pa.array(read_node_list(Path(source)), pa.large_string()))
    if not isinstance(source, Iterable):
        raise LabelError("unannotated must be a list of nodes or a file with one node a line")
    return id_array(source)
