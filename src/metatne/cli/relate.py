"""`metatne relate`: which known labels speak for a novel one."""

from __future__ import annotations

from typing import Annotated

import typer

from metatne.cli.command import Command, new_app
from metatne.cli.console import say, show
from metatne.cli.examples import (
    ModelArgument,
    NegativeOption,
    PositiveOption,
    SupportOption,
    given_examples,
    say_what_is_missing,
)
from metatne.estimator import MetaTNE

EXAMPLE = """\b
Example:
  metatne relate model -p ann -p bob -n dan"""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def relate(
    model: ModelArgument,
    positive: PositiveOption = None,
    negative: NegativeOption = None,
    support: SupportOption = None,
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Labels to show at either end.")
    ] = 10,
) -> None:
    """Say which known labels speak for a novel one.

    Each line has what holding the known label, or having it around, adds to a node's log-odds.
    """
    positives, negatives = given_examples(positive, negative, support)
    table = MetaTNE.load(model).relate(positives=positives, negatives=negatives)
    say_what_is_missing(positives, negatives)
    shown = table.head(top)
    say(f"{'weight':>8}  label")
    for row in shown.itertuples():
        show(f"{row.weight:+8.3f}  {row.label}")
    against = table.iloc[max(len(shown), len(table) - top) :]
    if len(against) and len(table) > len(shown) + len(against):
        say("…")
    for row in against.itertuples():
        show(f"{row.weight:+8.3f}  {row.label}")
