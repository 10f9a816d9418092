"""The commands put together."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import metatne
from metatne.cli.command import new_app
from metatne.cli.console import show

SUMMARIES = {
    "demo": "Find a tag of Debian's packages again, from ten examples.",
    "datasets": "List the graphs that can be named instead of a directory.",
    "graph": "Import a graph of your own, or look at one.",
    "train": "Learn from a graph and its known labels, and save the model.",
    "update": "Make a trained model know new nodes and edges.",
    "predict": "Rank the nodes for a novel label, from a few examples.",
    "explain": "Say why a node has its probability.",
    "relate": "Say which known labels speak for a novel one.",
    "suggest": "Name the nodes whose labels would help most.",
    "serve": "Answer questions over HTTP, with a page to ask them on.",
    "evaluate": "Score a method on labels it has never seen.",
    "reproduce": "Run the trials of a table or figure of the paper.",
    "beyond": "Run a study of what the paper leaves open.",
    "report": "Make tables of the trials that were run.",
    "bench": "Measure speed and memory on this machine.",
}
"""The commands in the order of their use; `metatne.cli.NAME` has the `app` of each."""


class _CommandsOnDemand(Mapping[str, Any]):
    """The commands by name, each imported when it is asked for: PyTorch alone takes seconds."""

    def __getitem__(self, name: str) -> Any:
        if name not in SUMMARIES:
            raise KeyError(name)
        return typer.main.get_command(import_module(f"metatne.cli.{name}").app)

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


class _LazyGroup(TyperGroup):
    """A group whose help does not need its commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _CommandsOnDemand()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands and what they are for."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


app = new_app(name="metatne", cls=_LazyGroup, no_args_is_help=True)


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
