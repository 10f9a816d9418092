"""`metatne predict`: every node, ranked for a novel label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from metatne.cli.console import output, say
from metatne.cli.options import DataDirOption, load_graph
from metatne.cli.support_file import read_candidates, read_support
from metatne.errors import SupportError
from metatne.estimator import MetaTNE
from metatne.storage import new_file

SHOWN_BY_DEFAULT = 20

_WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": lambda table, path: table.to_csv(path, index=False),
    ".parquet": lambda table, path: table.to_parquet(path, index=False),
    ".json": lambda table, path: table.to_json(path, orient="records", indent=1),
}


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Directory of a saved model.")],
    positive: Annotated[
        list[str] | None,
        typer.Option("--positive", "-p", help="Node that holds the label; repeatable."),
    ] = None,
    negative: Annotated[
        list[str] | None, typer.Option("--negative", "-n", help="Node that lacks it; repeatable.")
    ] = None,
    support: Annotated[
        Path | None,
        typer.Option("--support", help="CSV of examples instead: a node and 1 or 0 on each line."),
    ] = None,
    candidates: Annotated[
        Path | None, typer.Option("--candidates", help="File of nodes to rank, one a line.")
    ] = None,
    top: Annotated[int | None, typer.Option("--top", min=1, help="Keep the first N.")] = None,
    output_file: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write .csv, .parquet or .json.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option("--graph", help="Check that the model is of this GRAPH.")
    ] = None,
    data_dir: DataDirOption = None,
) -> None:
    """Rank the nodes for a novel label, from examples that hold it and that lack it."""
    if support is not None and (positive or negative):
        raise SupportError("give the examples with --support, or with --positive and --negative")
    if output_file is not None and output_file.suffix not in _WRITERS:
        raise SupportError(
            f"--output: expected a file ending in {', '.join(_WRITERS)}, found {output_file.name!r}"
        )
    positives, negatives = read_support(support) if support else (positive or [], negative or [])
    checked = load_graph(graph, data_dir) if graph is not None else None
    loaded = MetaTNE.load(model, graph=checked)
    table = loaded.rank(
        positives=positives,
        negatives=negatives,
        candidates=None if candidates is None else read_candidates(candidates),
        top=top,
    )
    weak = table.attrs["weak_negatives"]
    if weak:
        say(
            f"no negatives were given: {len(weak)} nodes drawn from the rest stood in for them "
            f"({', '.join(map(str, weak[:5]))}, …); name real ones for sharper probabilities"
        )
    if output_file is not None:
        with new_file(output_file) as temporary:
            _WRITERS[output_file.suffix](table, temporary)
        say(f"wrote {len(table):,} ranked nodes to {output_file}")
        return
    shown = table if top is not None else table.head(SHOWN_BY_DEFAULT)
    for row in shown.itertuples():
        output.print(
            f"{row.rank:>7}  {row.probability:.4f}  {row.node}", markup=False, soft_wrap=True
        )
    if len(shown) < len(table):
        say(f"… and {len(table) - len(shown):,} more; --top N shows more, --output FILE keeps all")
