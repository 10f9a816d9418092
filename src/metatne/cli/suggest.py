"""`metatne suggest`: what to label next."""

from __future__ import annotations

from typing import Annotated

import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import show
from metatne.cli.examples import (
    ModelArgument,
    NegativeOption,
    PositiveOption,
    PriorOption,
    SupportOption,
    given_examples,
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

    The most helpful comes first. They are undecided, and not all of a kind.
    """
    positives, negatives = given_examples(positive, negative, support)
    for node in MetaTNE.load(model).suggest(
        number, positives=positives, negatives=negatives, prior=prior
    ):
        show(str(node))
