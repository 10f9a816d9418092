"""`metatne suggest`: what to label next."""

from __future__ import annotations

from typing import Annotated, Any

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
from metatne.estimator import MetaTNE

EXAMPLE = """\b
Example:
  metatne suggest model -p ann -p bob -n dan --number 5"""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def suggest(
    model: ModelArgument,
    positive: PositiveOption = None,
    negative: NegativeOption = None,
    support: SupportOption = None,
    number: Annotated[
        int, typer.Option("--number", min=1, metavar="N", help="Nodes to name.")
    ] = 10,
    prior: PriorOption = None,
) -> None:
    """Name the nodes whose labels would help most.

    The most helpful comes first. They are uncertain, and not all of a kind: of a rare label,
    mostly the likeliest holders. Each line has the probability that the node holds the label,
    and the node.
    """
    positives, negatives = given_examples(positive, negative, support)
    trained = MetaTNE.load(model)
    question: dict[str, Any] = {"positives": positives, "negatives": negatives, "prior": prior}
    nodes = trained.suggest(number, **question)
    table = trained.rank(**question, candidates=nodes)
    chances = dict(zip(table["node"], table["probability"], strict=True))
    say_what_is_missing(positives, negatives)
    say("prob.   node")
    for node in nodes:
        show(f"{chances[node]:.4f}  {node}")
