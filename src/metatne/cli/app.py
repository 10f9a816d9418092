"""The commands put together."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import metatne
from metatne.cli import demo, evaluate, graph, predict, train
from metatne.cli.command import HELP_NAMES, Command
from metatne.cli.console import show

_ORDER = ("demo", "datasets", "graph", "train", "predict", "evaluate")


class _InOrder(TyperGroup):
    """Commands in the order in which they are used; Typer would put groups last."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands."""
        return sorted(super().list_commands(ctx), key=_ORDER.index)


app = typer.Typer(
    name="metatne",
    cls=_InOrder,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_NAMES,
)
app.command("demo", cls=Command, epilog=demo.EXAMPLE)(demo.demo)
app.command("datasets", cls=Command)(graph.datasets)
app.command("train", cls=Command, epilog=train.EXAMPLE)(train.train)
app.command("predict", cls=Command, epilog=predict.EXAMPLE)(predict.predict)
app.command("evaluate", cls=Command, epilog=evaluate.EXAMPLE)(evaluate.evaluate)
app.add_typer(graph.app, name="graph")


def _show_version(is_asked: bool) -> bool:
    if is_asked:
        show(f"metatne {metatne.__version__}")
        raise typer.Exit
    return is_asked


@app.callback(
    epilog="Exit codes: 0 when all went well, 1 when a run failed, 2 for a mistake in the input. "
    "Results go to standard output, everything else to standard error."
)
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Rank every node of a graph for a new label, from a handful of examples."""


def main() -> None:
    """Run the command line; see `Command` for the exit codes."""
    if isinstance(sys.stdout, TextIOWrapper):
        # An id that the terminal's encoding lacks is escaped, not a crash.
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="metatne")
