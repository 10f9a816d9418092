"""`metatne predict`: every node, ranked for a novel label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import say, show
from metatne.cli.options import DataDirOption, check_new_file, load_graph
from metatne.cli.support_file import read_support
from metatne.errors import InputError, SupportError
from metatne.estimator import MetaTNE
from metatne.graph.readers.node_lists import read_node_list
from metatne.storage import new_file

SHOWN_BY_DEFAULT = 20
NAMED_WEAK = 5
EXAMPLES, RANKING = "Examples of the label", "Ranking"

EXAMPLE = """\b
Example:
  metatne predict model -p ann -p bob -p cleo -n dan --top 10"""

_WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": lambda table, path: table.to_csv(path, index=False),
    ".parquet": lambda table, path: table.to_parquet(path, index=False),
    ".json": lambda table, path: table.to_json(path, orient="records", indent=1),
}

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Directory that `metatne train` wrote.")
    ],
    positive: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            "--positive",
            metavar="NODE",
            help="A node that holds the label; may be repeated, and at least one is needed.",
            rich_help_panel=EXAMPLES,
        ),
    ] = None,
    negative: Annotated[
        list[str] | None,
        typer.Option(
            "-n",
            "--negative",
            metavar="NODE",
            help="A node that lacks it; may be repeated. Without any, nodes drawn from the "
            "rest stand in.",
            rich_help_panel=EXAMPLES,
        ),
    ] = None,
    support: Annotated[
        Path | None,
        typer.Option(
            "--support",
            metavar="FILE.csv",
            help="The examples in a file instead: a node and 1 or 0 on each line.",
            rich_help_panel=EXAMPLES,
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            "--candidates",
            metavar="FILE",
            help="Rank these nodes only, one a line; all that are no examples by default.",
            rich_help_panel=RANKING,
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            min=1,
            metavar="N",
            help=f"Keep the first N; by default {SHOWN_BY_DEFAULT} are shown and all are written.",
            rich_help_panel=RANKING,
        ),
    ] = None,
    output_file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help=f"Write the ranking to a file that ends in {', '.join(_WRITERS)}; one that "
            "exists is replaced.",
            rich_help_panel=RANKING,
        ),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph", metavar="GRAPH", help="Refuse the model unless it was trained on this graph."
        ),
    ] = None,
    data_dir: DataDirOption = None,
) -> None:
    """Rank the nodes for a novel label, from a few examples.

    Each line has the rank, the probability that the node holds the label, and the node.
    """
    if support is not None and (positive or negative):
        raise SupportError("give the examples with --support, or with --positive and --negative")
    if support is None and not positive:
        raise SupportError(
            "positives: expected at least 1 node that holds the label, found none; "
            "name it with --positive NODE, or in a file with --support FILE"
        )
    if output_file is not None:
        _check_output(output_file)
    positives, negatives = read_support(support) if support else (positive or [], negative or [])
    checked = load_graph(graph, data_dir) if graph is not None else None
    loaded = MetaTNE.load(model, graph=checked)
    table = loaded.rank(
        positives=positives,
        negatives=negatives,
        candidates=None if candidates is None else read_node_list(candidates),
        top=top,
    )
    _say_weak_negatives(table.attrs["weak_negatives"])
    if output_file is not None:
        with new_file(output_file) as temporary:
            _WRITERS[output_file.suffix](table, temporary)
        say(f"wrote {len(table):,} ranked nodes to {output_file}")
        return
    shown = table if top is not None else table.head(SHOWN_BY_DEFAULT)
    width = len(str(len(shown)))
    for row in shown.itertuples():
        show(f"{row.rank:>{width}}  {row.probability:.4f}  {row.node}")
    if len(shown) < len(table):
        say(f"… and {len(table) - len(shown):,} more; --top N shows more, --output FILE keeps all")


def _check_output(file: Path) -> None:
    if file.suffix not in _WRITERS:
        raise InputError(
            f"--output: expected a file that ends in {', '.join(_WRITERS)}, found {file.name!r}"
        )
    check_new_file("--output", file)


def _say_weak_negatives(nodes: list[str | int]) -> None:
    if nodes:
        some = ", ".join(map(str, nodes[:NAMED_WEAK])) + (", …" if len(nodes) > NAMED_WEAK else "")
        say(
            f"no negatives were given: {len(nodes)} weak negatives, drawn from the rest of the "
            f"graph, stood in ({some}); name real ones for sharper probabilities"
        )
