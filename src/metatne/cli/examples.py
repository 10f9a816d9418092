"""The examples of a novel label, as options of every command that asks about one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from metatne.cli.console import say
from metatne.cli.support_file import read_support
from metatne.errors import SupportError
from metatne.prediction.support import NodeId

EXAMPLES = "Examples of the label"

ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Directory that `metatne train` wrote.")
]
PositiveOption = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        "--positive",
        metavar="NODE",
        help="A node that holds the label; may be repeated, and at least one is needed.",
        rich_help_panel=EXAMPLES,
    ),
]
NegativeOption = Annotated[
    list[str] | None,
    typer.Option(
        "-n",
        "--negative",
        metavar="NODE",
        help="A node that lacks it; may be repeated. Without any, nodes drawn from the "
        "rest stand in.",
        rich_help_panel=EXAMPLES,
    ),
]
SupportOption = Annotated[
    Path | None,
    typer.Option(
        "--support",
        metavar="FILE.csv",
        help="The examples in a file instead: a node and 1 or 0 on each line, or a project's CSV.",
        rich_help_panel=EXAMPLES,
    ),
]
PriorOption = Annotated[
    float | None,
    typer.Option(
        "--prior",
        metavar="SHARE",
        help="Share of the nodes that hold the label, as far as you know; by default that "
        "of a typical known label.",
    ),
]


NAMED = 5
"""How many of the nodes that stood in for negatives are named."""

FEW = 5
"""Examples of a sign from which on an answer is more than a rough one."""


def given_examples(
    positive: list[str] | None, negative: list[str] | None, support: Path | None
) -> tuple[list[str], list[str]]:
    """Positives and negatives, from the options or from the file, not from both."""
    if support is not None and (positive or negative):
        raise SupportError("give the examples with --support, or with --positive and --negative")
    if support is None and not positive:
        raise SupportError(
            "positives: expected at least 1 node that holds the label, found none; "
            "name it with --positive NODE, or in a file with --support FILE"
        )
    if support is None:
        return positive or [], negative or []
    positives, negatives = read_support(support)
    if not positives:
        raise SupportError(
            f"{support}: expected at least 1 node that holds the label (a line such as node,1), "
            f"found none; {len(negatives)} that lack it"
        )
    return positives, negatives


def say_what_is_missing(
    positives: Sequence[str],
    negatives: Sequence[str],
    drawn: Sequence[NodeId] = (),
    *,
    has_intervals: bool = False,
) -> None:
    """What so few examples mean for the answer; `drawn` are those that stood in for negatives.

    An answer that `has_intervals` has none where a sign has a single example.
    """
    if not negatives:
        stood_in = "nodes drawn from the rest of the graph stood in"
        if drawn:
            some = ", ".join(map(str, drawn[:NAMED])) + (", …" if len(drawn) > NAMED else "")
            stood_in = (
                f"{len(drawn)} weak negatives, drawn from the rest of the graph, stood in ({some})"
            )
        say(f"no negatives were given: {stood_in}; real ones, two at least, may serve better")
    if len(negatives) == 1:
        say("with one negative, it stands for all nodes that lack the label: give more, or none")
    given = {"positives": positives, "negatives": negatives}
    if few := [name for name, some in given.items() if 0 < len(some) < FEW]:
        say(f"with fewer than {FEW} {' and '.join(few)} the answer is a rough one")
    if has_intervals and 1 in (len(positives), len(negatives)):
        say("nothing says how much hangs on a single example, so there are no intervals")
