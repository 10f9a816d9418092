"""`metatne explain`: why a node has its probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from scipy.special import expit

from metatne.cli.command import Command, new_app
from metatne.cli.console import show
from metatne.cli.examples import (
    ModelArgument,
    NegativeOption,
    PositiveOption,
    PriorOption,
    SupportOption,
    given_examples,
    say_what_is_missing,
)
from metatne.errors import InputError
from metatne.estimator import MetaTNE

EXAMPLE = """\b
Example:
  metatne explain model --node eve -p ann -p bob -n dan"""

MOST_NAMED = 3
"""Examples of one shared neighbour."""

app = new_app()


@app.command(cls=Command, epilog=EXAMPLE)
def explain(
    model: ModelArgument,
    node: Annotated[list[str], typer.Option("--node", metavar="NODE", help="The node to explain.")],
    positive: PositiveOption = None,
    negative: NegativeOption = None,
    support: SupportOption = None,
    prior: PriorOption = None,
    top: Annotated[
        int,
        typer.Option(
            "--top", min=1, metavar="N", help="Examples, neighbours and labels to show, each."
        ),
    ] = 10,
) -> None:
    """Say why a node has its probability.

    Each line has what a reason adds to the log-odds: the prior, how likely the node is to hold any
    label, and every example. They add up to the log-odds; for the strongest examples the block of
    the description that says most is named. Below the sum: neighbours that the node shares with
    examples, and the known labels that it holds, each with its weight in `metatne relate`.
    """
    if len(node) > 1:
        raise InputError(
            f"--node: expected one node, found {len(node)} ({', '.join(node)}); ask one by one"
        )
    positives, negatives = given_examples(positive, negative, support)
    reasons = MetaTNE.load(model).explain(
        node[0], positives=positives, negatives=negatives, prior=prior
    )
    behind, reasons.attrs = reasons.attrs, {}  # which pandas copies with every row
    say_what_is_missing(positives, negatives)
    general, examples = reasons.iloc[:2], reasons.iloc[2:]
    for row in general.itertuples():
        show(f"{row.contribution:+8.3f}  {row.reason}")
    order = examples["contribution"].abs().sort_values(ascending=False, kind="stable").index
    blocks = examples.drop(columns=["reason", "node", "contribution"])
    for place in order[:top]:
        row, parts = examples.loc[place], blocks.loc[place].abs()
        show(
            f"{row['contribution']:+8.3f}  {row['node']} {row['reason']} (most by {parts.idxmax()})"
        )
    rest = examples["contribution"].loc[order[top:]]
    if len(rest):
        show(f"{rest.sum():+8.3f}  {len(rest)} other examples")
    total = float(reasons["contribution"].sum())
    show(f"{total:+8.3f}  log-odds in all: probability {expit(total):.4f}")
    _show_neighbours(behind["shared_neighbours"], behind["num_shared_neighbours"], top)
    _show_labels(behind["labels"], top)


def _show_neighbours(shared: list[dict[str, Any]] | None, count: int | None, top: int) -> None:
    if shared is None or count is None:
        show("shared neighbours: not told, since the model keeps no edges")
    elif shared:
        told = [f"{near['node']} (of {_some(near['with'], MOST_NAMED)})" for near in shared[:top]]
        show(f"shared neighbours: {_some(told, top, count)}")
    else:
        show("shared neighbours: none")


def _show_labels(labels: list[dict[str, Any]], top: int) -> None:
    if labels:
        told = [f"{known['label']} {known['weight']:+.3f}" for known in labels]
        show(f"holds: {_some(told, top)}")


def _some(names: Sequence[object], most: int, count: int | None = None) -> str:
    """The first of these names, which may be some of so many, and how many there are besides."""
    shown = names[:most]
    rest = (len(names) if count is None else count) - len(shown)
    return ", ".join(map(str, shown)) + (f" and {rest} more" if rest > 0 else "")
