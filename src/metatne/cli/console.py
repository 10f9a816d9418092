"""What the commands show: results on standard output, all else on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Self

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

# Ids may look like markup ([b]) or like an emoji (:cat:), and are to be shown as they are.
output = Console(highlight=False, markup=False, emoji=False)
messages = Console(stderr=True, highlight=False, markup=False, emoji=False)

UNBOUNDED = 100_000
"""Columns of a table that goes to a file or a pipe."""


CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"
}


def harmless(text: str) -> str:
    """The text with characters that command a terminal written out: an id may hold any."""
    return text.translate(CONTROLS)


def show(text: str) -> None:
    """A line of the result, neither wrapped nor cut; for a program as it is, to the byte."""
    typer.echo(harmless(text) if is_terminal() else text)


def is_terminal() -> bool:
    """Whether a person reads the result as it comes."""
    return sys.stdout.isatty()


def show_table(table: Table) -> None:
    """A table as part of the result; where there is no terminal, no cell is wrapped or cut."""
    if output.is_terminal:
        output.print(table)
        return
    wide = Console(file=StringIO(), width=UNBOUNDED, highlight=False, markup=False, emoji=False)
    with wide.capture() as captured:
        wide.print(table)
    for line in captured.get().splitlines():
        show(line.rstrip())


def say(text: str) -> None:
    """A remark that is not a result."""
    messages.print(harmless(text), soft_wrap=True)


def fail(text: str) -> None:
    """Why a command ends without a result."""
    for line in text.splitlines():
        messages.print(Text.assemble(("error: ", "bold red"), harmless(line)), soft_wrap=True)


@contextmanager
def counting_progress(description: str, total: int) -> Iterator[Progress]:
    """A bar for things that end one by one; the caller advances its only task."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=messages,
        disable=not messages.is_terminal,
    ) as progress:
        progress.add_task(description, total=total)
        yield progress


class DownloadProgress:
    """A bar for one file after the other; files already there draw nothing.

    Used in a `with`, which takes the bar away whether the download ends well or not.
    """

    def __init__(self) -> None:
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        """The observer itself; the bar comes with the first call."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the bar if there is one."""
        self._stop()

    def __call__(self, done_bytes: int, total_bytes: int | None) -> None:
        """So many bytes are there."""
        if self._progress is None:
            self._progress = Progress(
                TextColumn("downloading"),
                BarColumn(),
                DownloadColumn(),
                TimeRemainingColumn(),
                console=messages,
                disable=not messages.is_terminal,
            )
            self._progress.start()
            self._progress.add_task("download", total=total_bytes)
        task = self._progress.tasks[0].id
        self._progress.update(task, completed=done_bytes, total=total_bytes)
        if total_bytes is not None and done_bytes >= total_bytes:
            self._stop()

    def _stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
