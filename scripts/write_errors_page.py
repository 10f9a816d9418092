"""Write docs/errors.md: run the command line on bad input and note what it says (`make docs`)."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import psutil

from error_cases import Case, chapters
from metatne.cli import main as run_metatne
from metatne.errors import MetaTNEError
from metatne.estimator import MetaTNE
from village import prepare_village, write_file

TARGET = Path(__file__).parents[1] / "docs" / "errors.md"
MILLION = 1_000_000
SHOWN_LINES = 6

INTRODUCTION = """\
<!-- Written by scripts/write_errors_page.py (`make docs`); do not edit by hand. -->

# Errors

What the command line says to bad input, and what to do. Each message below is the real one: this
page is made by running the commands. The rules are the same everywhere:

- a message names the file and line, or the option, what was expected and what was found;
- several mistakes in one file are shown together, ten at most;
- where you ask for a name that is unknown, the nearest ones are suggested;
- nothing is written unless all of it can be;
- the exit code is 2 for a mistake in the input and 1 for a run that failed.

In Python the same messages come as exceptions, all of them `metatne.errors.MetaTNEError`.
"""


def main() -> None:
    TARGET.write_text(errors_page(), encoding="utf-8")


def errors_page(num_lines: int = MILLION) -> str:
    """The whole page; `num_lines` is the length of the long file."""
    parts = [INTRODUCTION]
    with tempfile.TemporaryDirectory() as folder, _working_in(Path(folder)):
        prepare_village()
        for heading, cases in chapters(num_lines).items():
            parts.append(f"## {heading}\n")
            parts += [_entry(case) for case in cases]
        parts.append(_python_entry())
    return "\n".join(parts)


def _entry(case: Case) -> str:
    for name, text in case.files.items():
        write_file(name, text)
    case.prepare()
    code, said = _run(case.command)
    lines = [f"### {case.title}", ""]
    for name, text in case.files.items():
        shown = text.splitlines()[:SHOWN_LINES]
        more = ["…"] if len(text.splitlines()) > SHOWN_LINES else []
        lines += [f"`{name}`:", "", "```", *shown, *more, "```", ""]
    lines += ["```", f"$ {case.command}", said, "```", ""]
    if code != 2:
        lines += [f"Exit code {code}.", ""]
    advice = textwrap.fill(case.advice, 100, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*lines, advice, ""])


def _python_entry() -> str:
    call = 'MetaTNE().rank(positives=["anna stone"])'
    try:
        MetaTNE().rank(positives=["anna stone"])
    except MetaTNEError as error:
        said = f"{type(error).__name__}: {error}"
    return "\n".join(
        [
            *("## In Python", "", "### A model that was not fitted", ""),
            *("```", f">>> {call}", f"metatne.errors.{said}", "```", ""),
            "Fit it first, or load one that was saved.\n",
        ]
    )


def _run(command: str) -> tuple[int, str]:
    """Exit code and standard error of a command that is to fail, free of chance."""
    out, err = StringIO(), StringIO()
    before = set(Path().rglob("*"))
    free = SimpleNamespace(available=8 * 2**30)
    with (
        mock.patch.object(sys, "argv", shlex.split(command)),
        mock.patch.object(psutil, "virtual_memory", return_value=free),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            run_metatne()
        except SystemExit as ended:
            code = ended.code
    if code not in (1, 2) or out.getvalue() or set(Path().rglob("*")) != before:
        raise RuntimeError(
            f"{command}: expected a refusal that writes nothing, found exit code {code} and\n"
            f"{out.getvalue()}{err.getvalue()}"
        )
    return int(code), err.getvalue().replace(f"{Path.cwd()}/", "").rstrip()


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    main()
