"""`metatne predict`: every node, ranked for a novel label."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import say, show
from metatne.cli.examples import (
    ModelArgument,
    NegativeOption,
    PositiveOption,
    PriorOption,
    SupportOption,
    given_examples,
    say_what_is_missing,
)
from metatne.cli.options import (
    MACHINES,
    AddressOption,
    Cluster,
    DataDirOption,
    EngineOption,
    check_new_file,
    chosen_cluster,
    load_graph,
)
from metatne.cli.plots import check_plot, plot_ranking
from metatne.errors import InputError
from metatne.estimator import MetaTNE
from metatne.graph.readers.node_lists import read_node_list
from metatne.graph.store import Graph
from metatne.service.plain_cells import safe_cell
from metatne.storage import new_file

SHOWN_BY_DEFAULT = 20
PARQUET = ".parquet"
RANKING = "Ranking"

EXAMPLE = """\b
Example:
  metatne predict model -p ann -p bob -p cleo -n dan --top 10"""

_WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": lambda table, path: _without_formulas(table).to_csv(path, index=False),
    PARQUET: lambda table, path: table.to_parquet(path, index=False),
    ".json": lambda table, path: table.to_json(path, orient="records", indent=1),
}

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def predict(
    model: ModelArgument,
    positive: PositiveOption = None,
    negative: NegativeOption = None,
    support: SupportOption = None,
    node: Annotated[
        list[str] | None,
        typer.Option(
            "--node",
            metavar="NODE",
            help="Rank this node only; may be repeated, and adds to --candidates.",
            rich_help_panel=RANKING,
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
    prior: PriorOption = None,
    output_file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help=f"Write the ranking to a file that ends in {', '.join(_WRITERS)}; one that "
            f"exists is replaced. With --engine ray, a directory of {PARQUET} files.",
            rich_help_panel=RANKING,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE.png",
            help="Draw the first nodes with their intervals and the decision line "
            "(pip install 'metatne[plot]').",
            rich_help_panel=RANKING,
        ),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph", metavar="GRAPH", help="Refuse the model unless it was trained on this graph."
        ),
    ] = None,
    engine: EngineOption = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            metavar="N",
            help="Workers that score shards of the nodes; with --engine ray, one a CPU by default.",
            rich_help_panel=MACHINES,
        ),
    ] = None,
    address: AddressOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Rank the nodes for a novel label, from a few examples.

    Each line has the rank, the probability that the node holds the label, and the node. The
    default head adds an interval of 95 % and a + where it takes the node to hold the label.
    """
    positives, negatives = given_examples(positive, negative, support)
    cluster = chosen_cluster(engine, workers, address)
    if output_file is not None:
        _check_output(output_file, is_in_parts=cluster is not None)
    if plot is not None and cluster is not None:
        raise InputError("--plot: needs the ranking in this process; leave --engine ray out")
    check_plot(plot)
    question: dict[str, Any] = {
        "positives": positives,
        "negatives": negatives,
        "candidates": _asked_about(node, candidates),
        "top": top,
        "prior": prior,
    }
    trained_on = load_graph(graph, data_dir) if graph is not None else None
    if cluster is None:
        ranking = _rank_here(model, trained_on, question, output_file, plot)
    else:
        ranking = _rank_on_ray(model, trained_on, question, output_file, cluster)
    has_intervals = "low" in ranking.shown
    say_what_is_missing(positives, negatives, ranking.weak_negatives, has_intervals=has_intervals)
    if output_file is not None:
        say(f"wrote {ranking.num_ranked:,} ranked nodes to {output_file}")
    else:
        _show_first(ranking)
    _say_decisions(ranking, is_own_prior=prior is not None)


def _asked_about(nodes: list[str] | None, file: Path | None) -> list[str] | None:
    """The nodes given by name and in a file; None, for all, where neither is given."""
    if not nodes and file is None:
        return None
    listed = [] if file is None else read_node_list(file)
    return listed + [node for node in dict.fromkeys(nodes or []) if node not in set(listed)]


def _show_first(ranking: Ranking) -> None:
    """The rows to show, and how many more there are."""
    width = len(str(len(ranking.shown)))
    say(f"{'#':>{width}}  {_titles(ranking.shown)}  node")
    for row in ranking.shown.itertuples():
        show(f"{row.rank:>{width}}  {_confidence(row)}  {row.node}")
    if (num_more := ranking.num_ranked - len(ranking.shown)) > 0:
        say(f"… and {num_more:,} more; --top N shows more, --output FILE keeps all")


def _say_decisions(ranking: Ranking, *, is_own_prior: bool) -> None:
    """How many nodes are taken to hold the label, by a head that decides, and at which prior."""
    if ranking.num_holding is None or ranking.prior is None:
        return
    whose = "yours" if is_own_prior else "that of a typical known label; --prior SHARE sets it"
    say(
        f"+: {ranking.num_holding:,} of all nodes asked about are taken to hold the label, with a "
        f"prior of {ranking.prior:.3g} ({whose})"
    )


def _titles(table: pd.DataFrame) -> str:
    """What stands above `_confidence`; a remark, so that what reads the lines finds rows alone."""
    if "low" in table:
        return "prob.  + low    … high  "
    return "prob.  +" if "holds" in table else "prob. "


def _without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The table with names that no spreadsheet runs; numbers are none."""
    if pd.api.types.is_integer_dtype(table["node"].dtype):
        return table
    return table.assign(node=table["node"].map(safe_cell))


def _confidence(row: Any) -> str:
    """The probability, and what the head knows besides."""
    if not hasattr(row, "holds"):
        return f"{row.probability:.4f}"
    mark = "+" if row.holds else " "
    if not hasattr(row, "low"):
        return f"{row.probability:.4f} {mark}"
    if math.isnan(row.low):  # one example of a sign does not say how much hangs on it
        return f"{row.probability:.4f} {mark}      - …      -"
    return f"{row.probability:.4f} {mark} {row.low:.4f} … {row.high:.4f}"


@dataclass(frozen=True)
class Ranking:
    """How many nodes were ranked, and those of them to show."""

    shown: pd.DataFrame
    num_ranked: int
    weak_negatives: list[str | int]
    num_holding: int | None = None
    prior: float | None = None
    """Both None on Ray, and of a head that knows no prior."""


def _rank_here(
    model: Path,
    graph: Graph | None,
    question: dict[str, Any],
    output_file: Path | None,
    plot: Path | None,
) -> Ranking:
    table = MetaTNE.load(model, graph=graph).rank(**question)
    if plot is not None:
        plot_ranking(table, plot)
        say(f"drew {plot}")
    if output_file is not None:
        with new_file(output_file) as temporary:
            _WRITERS[output_file.suffix](table, temporary)
    shown = table.head(question["top"] or SHOWN_BY_DEFAULT)
    told = table.attrs
    return Ranking(shown, len(table), told["weak_negatives"], told["num_holding"], told["prior"])


def _rank_on_ray(
    model: Path,
    graph: Graph | None,
    question: dict[str, Any],
    output_file: Path | None,
    cluster: Cluster,
) -> Ranking:
    from metatne.cluster.ranking import prepare_question, rank_on_ray
    from metatne.cluster.session import ray_session

    top = question["top"]
    if output_file is None:  # then the workers need not hand over more than is shown
        question = question | {"top": top or SHOWN_BY_DEFAULT}
    prepared = prepare_question(model, graph=graph, **question)  # mistakes before Ray starts
    with ray_session(cluster.address, num_cpus=cluster.num_workers):
        ranked = rank_on_ray(prepared, num_workers=cluster.num_workers)
        if output_file is not None:
            ranked.write(output_file)
            return Ranking(pd.DataFrame(), len(ranked), prepared.weak_negatives)
        num_ranked = len(prepared.candidates) if top is None else len(ranked)
        return Ranking(ranked.table(), num_ranked, prepared.weak_negatives)


def _check_output(file: Path, *, is_in_parts: bool) -> None:
    suffixes = [PARQUET] if is_in_parts else list(_WRITERS)
    if file.suffix not in suffixes:
        engine = " with --engine ray" if is_in_parts else ""
        raise InputError(
            f"--output: expected a file that ends in {', '.join(suffixes)}{engine}, "
            f"found {file.name!r}"
        )
    if is_in_parts and file.is_dir():
        from metatne.cluster.ranking import is_ranking

        if is_ranking(file):
            return
    check_new_file("--output", file)
