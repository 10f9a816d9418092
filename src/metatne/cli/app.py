"""The commands put together, and errors turned into exit codes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import metatne
from metatne.cli import demo, evaluate, graph, predict, train
from metatne.cli.console import fail, output
from metatne.errors import InputError, MetaTNEError

app = typer.Typer(
    name="metatne",
    help="Rank every node of a graph for a new label, from a handful of examples.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("datasets")(graph.datasets)
app.add_typer(graph.app, name="graph")
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("evaluate")(evaluate.evaluate)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        output.print(f"metatne {metatne.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version),
    ] = False,
) -> None:
    """Rank every node of a graph for a new label, from a handful of examples."""


def main() -> None:
    """Run the command line: exit 0, 1 for a failed run, 2 for a user's mistake."""
    try:
        app()
    except InputError as error:
        fail(str(error))
        sys.exit(2)
    except MetaTNEError as error:
        fail(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        fail("interrupted")
        sys.exit(1)
    except (OSError, MemoryError) as error:
        fail(f"{type(error).__name__}: {error}")
        sys.exit(1)
