"""`metatne update`: a trained model for a graph that has grown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import say
from metatne.cli.examples import ModelArgument
from metatne.cli.options import (
    DataDirOption,
    GraphArgument,
    OverwriteOption,
    check_new_directory,
    load_graph,
)
from metatne.cli.saving import save_model
from metatne.errors import MAX_SHOWN
from metatne.estimator import MetaTNE
from metatne.evidence.growth import judgements
from metatne.evidence.model import EvidenceModel
from metatne.graph.source import GraphSource
from metatne.graph.store import Graph

EXAMPLE = """\b
Example:
  metatne graph import edges-of-today.csv --labels labels.csv --out mygraph-today
  metatne update model mygraph-today --out model-today"""

IF_NOBODY_LOOKED = (
    "if nobody has looked at them, name them in a file and import the graph with --unannotated "
    "FILE (or with --unlisted-unknown, for all nodes that the labels do not name), then update the "
    "model again"
)

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def update(
    model: ModelArgument,
    graph: GraphArgument,
    out: Annotated[
        Path, typer.Option("--out", metavar="MODEL", help="Directory for the updated model.")
    ],
    overwrite: OverwriteOption = False,
    data_dir: DataDirOption = None,
) -> None:
    """Make a trained model know new nodes and edges.

    Nothing is learned anew. The graph has all nodes and known labels of before, and may have more
    nodes and other edges.
    """
    check_new_directory("--out", out, overwrite=overwrite)
    before = MetaTNE.load(model)
    today = load_graph(graph, data_dir)
    after = before.update(today)
    save_model(after, GraphSource.of(graph), out, overwrite=overwrite)
    num_nodes = len(after.trained_.node_ids)
    say(f"saved {out}: {num_nodes:,} nodes, {num_nodes - len(before.trained_.node_ids):,} new")
    _tell_of_judgements(before, after, today)
    known = {*before.trained_.known_labels, *before.trained_.validation_labels}
    others = [name for name in today.labels.names if name not in known]
    if others:
        shown = ", ".join(others[:MAX_SHOWN]) + (", …" if len(others) > MAX_SHOWN else "")
        say(
            f"{len(others)} of the graph's {today.labels.num_labels} labels are none that it "
            f"learned from ({shown}): those that are new and have enough holders count once you "
            "train again"
        )


def _tell_of_judgements(before: MetaTNE, after: MetaTNE, today: Graph) -> None:
    old, new = before.trained_.scorer, after.trained_.scorer
    assert isinstance(old, EvidenceModel)  # no other can be updated
    assert isinstance(new, EvidenceModel)
    told = judgements(old, before.trained_.node_ids, new, today)
    if told.new_lacking:
        say(
            f"{told.new_lacking:,} of the new nodes are taken to lack all of the model's labels, "
            f"as they hold none; {IF_NOBODY_LOOKED}"
        )
    if told.now_lacking:
        say(
            f"{told.now_lacking:,} of the nodes of before, whose labels the model did not know, "
            f"are now taken to lack all of its labels; {IF_NOBODY_LOOKED}"
        )
    if told.now_unknown:
        say(
            f"{told.now_unknown:,} of the nodes of before, which lacked all labels of the model, "
            "are now unknown to it; if they do lack them, import the graph without "
            "--unlisted-unknown (or --unannotated FILE) and update the model again; if they were "
            "unknown all along, train again"
        )
