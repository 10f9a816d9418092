"""Rankings as files: CSV, Parquet, JSON."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from jaxtyping import Int64

from metatne.service.plain_cells import DANGEROUS, SAFE
from metatne.service.questions import RowFilter
from metatne.service.rankings import Ranking


class Format(NamedTuple):
    """A kind of file and how it is written."""

    media_type: str
    write: Callable[[pa.Table], bytes]


def export_ranking(
    ranking: Ranking, row_filter: RowFilter | None, offset: int, top: int | None, kind: str
) -> bytes:
    """Rows of the ranking as a file of one of `FORMATS`."""
    rows = ranking.rows(row_filter)[offset:]
    table = _table(ranking, rows if top is None else rows[:top])
    return FORMATS[kind].write(table)


def _table(ranking: Ranking, rows: Int64[np.ndarray, " row"]) -> pa.Table:
    ids = ranking.served.node_ids.array.take(pa.array(ranking.nodes[rows]))
    columns: dict[str, Any] = {"rank": pa.array(rows + 1), "node": ids}
    told = ranking.columns(rows).items()
    columns |= {name: pa.array(values, from_pandas=True) for name, values in told}  # NaN: nothing
    return pa.table(columns)


def _to_csv(table: pa.Table) -> bytes:
    nodes = table.column("node")
    if not pa.types.is_integer(nodes.type):  # a number is no formula, be it negative
        safe = pc.replace_substring_regex(nodes, DANGEROUS, SAFE)
        table = table.set_column(table.column_names.index("node"), "node", safe)
    stream = io.BytesIO()
    pa_csv.write_csv(table, stream)
    return stream.getvalue()


def _to_parquet(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def _to_json(table: pa.Table) -> bytes:
    text: str = table.to_pandas().to_json(orient="records", indent=1, double_precision=15)
    return text.encode()


FORMATS = {
    "csv": Format("text/csv; charset=utf-8", _to_csv),
    "parquet": Format("application/vnd.apache.parquet", _to_parquet),
    "json": Format("application/json", _to_json),
}
