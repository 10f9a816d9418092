"""`metatne demo`: a tag that the model never saw, found again among Debian's packages."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from rich.table import Table

from metatne.cli.command import Command, new_app
from metatne.cli.console import say, show, show_table
from metatne.cli.options import check_new_directory
from metatne.cli.saving import save_model
from metatne.cli.training_bar import training_progress
from metatne.errors import MetaTNEError
from metatne.estimator import MetaTNE
from metatne.graph.datasets import load_dataset
from metatne.graph.raw import HOLDS, LACKS, UNKNOWN
from metatne.graph.source import GraphSource, without_labels
from metatne.graph.store import Graph
from metatne.metrics import average_precision, roc_auc
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.seeding import numpy_generator
from metatne.service.answers import Example
from metatne.service.catalogue import write_example

NUM_POSITIVES, NUM_NEGATIVES = 10, 20
_MARKS = {HOLDS: "yes", LACKS: "no", UNKNOWN: "not tagged yet"}

EXAMPLE = """\b
Example:
  metatne demo --label field::geography"""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def demo(
    label: Annotated[
        str, typer.Option("--label", metavar="TAG", help="The tag to hold out.")
    ] = "works-with::audio",
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="Draws the examples.")
    ] = 0,
    top: Annotated[int, typer.Option("--top", min=1, metavar="N", help="Rows to show.")] = 20,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Keep the trained model here.")
    ] = Path("demo"),
) -> None:
    """Find a tag of Debian's packages again, from ten examples.

    Trains on the embedded graph of Debian's packages without one of their tags, which takes
    some minutes. The model is kept, so a second call with the same tag takes seconds.
    """
    directory = out / label.replace("::", "-").replace("/", "-")
    check_new_directory("--out", directory, overwrite=True)
    graph = load_dataset("debian")
    held_out = graph.labels.position(label)
    sampler = TaskSampler(graph.labels, [held_out], TaskShape(NUM_POSITIVES, NUM_NEGATIVES, 0, 0))
    examples = sampler.draw(1, numpy_generator(seed, "demo"))
    model = _train_without(graph, label, directory)
    write_example(directory, _example(graph, label, examples))
    ranking = _rank(model, graph, examples)
    ranking["state"] = graph.labels.states(
        graph.node_ids.positions(ranking["node"].tolist()), held_out
    )
    _show(graph, label, examples, ranking, top)
    show(f"\nAsk it yourself: {own_command()} serve {shlex.quote(str(directory))}")
    show("and open the address that it prints in a browser.")


def own_command() -> str:
    """How this program is called from the user's shell, where it may lie in an environment."""
    if shutil.which("metatne") is not None:
        return "metatne"
    program = Path(sys.argv[0]).absolute()
    if program.name == "metatne" and program.is_file():
        here = Path.cwd()
        return shlex.quote(str(program.relative_to(here) if here in program.parents else program))
    return f"{shlex.quote(sys.executable)} -m metatne"


def _train_without(graph: Graph, label: str, directory: Path) -> MetaTNE:
    """A model that has never seen the label; one trained by an earlier call is taken again."""
    source = GraphSource.of("debian", without=[label])
    visible = without_labels(graph, [label])
    if directory.exists():
        try:
            model = MetaTNE.load(directory, graph=visible)
        except MetaTNEError as error:
            say(f"training again: {error}")
        else:
            if model.config == MetaTNE().config and model.trained_.graph_source == source:
                say(f"using the model in {directory}")
                return model
            say(f"training again: the model in {directory} was trained with other settings")
    say(f"{visible!r}")
    with training_progress() as progress:
        model = MetaTNE().fit(visible, observers=[progress])
    save_model(model, source, directory, overwrite=True)
    say(f"saved the model in {directory}")
    return model


def _example(graph: Graph, label: str, examples: Tasks) -> Example:
    """The tag as a label to begin with, for the page's first screen."""
    return Example(
        name=label,
        positives=graph.node_ids.take(examples.positives[0]),
        negatives=graph.node_ids.take(examples.negatives[0]),
    )


def _rank(model: MetaTNE, graph: Graph, examples: Tasks) -> pd.DataFrame:
    return model.rank(
        positives=graph.node_ids.take(examples.positives[0]),
        negatives=graph.node_ids.take(examples.negatives[0]),
    )


def _show(graph: Graph, label: str, examples: Tasks, ranking: pd.DataFrame, top: int) -> None:
    given: Sequence[object] = graph.node_ids.take(examples.positives[0])
    show(f"The tag {label} was held out. {NUM_POSITIVES} packages that hold it were given:")
    show(f"  {', '.join(map(str, given))}")
    show(f"and {NUM_NEGATIVES} that do not. The likeliest others:\n")
    table = Table(box=None, pad_edge=False)
    for name in ("rank", "probability", "package", f"holds {label}?"):
        table.add_column(name, justify="right" if name in ("rank", "probability") else "left")
    shown = ranking.head(top)
    for row in shown.itertuples():
        mark = _MARKS[int(str(row.state))]
        table.add_row(str(row.rank), f"{row.probability:.3f}", str(row.node), mark)
    show_table(table)
    known = ranking[ranking["state"] != UNKNOWN]
    truth = (known["state"] == HOLDS).to_numpy()[None]
    # Ranks, not probabilities: close to 0 and 1 those of different nodes are equal.
    scores = -known["rank"].to_numpy(dtype=np.float64)[None]
    found = int((shown["state"] == HOLDS).sum())
    asked = int((shown["state"] != UNKNOWN).sum())
    show(
        f"\n{found} of the {asked} tagged packages shown truly hold it "
        f"({truth.mean():.1%} of all do)."
    )
    show(
        f"Over all {truth.size:,} other tagged packages: AUC {roc_auc(scores, truth)[0]:.3f}, "
        f"average precision {average_precision(scores, truth)[0]:.3f}."
    )
