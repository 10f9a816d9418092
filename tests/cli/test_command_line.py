"""What all commands share: help, exit codes, and no traceback for a user's mistake."""

from __future__ import annotations

import errno
import os
import stat
import sys
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperArgument, TyperGroup, TyperOption
from typer.testing import CliRunner

import metatne
from cli.conftest import Town
from cli.running import Run, run_process, settings
from metatne.cli import app, console, options
from metatne.cli.command import Command
from metatne.errors import ConfigError, FileFormatError, InputError, OutOfMemoryError, TrainingError
from metatne.graph.store import Graph

COMMANDS = [
    *(["demo"], ["datasets"], ["graph", "import"], ["graph", "info"]),
    *(["train"], ["predict"], ["evaluate"], ["bench"]),
]


@pytest.mark.parametrize("command", [[], ["graph"], *COMMANDS])
def test_help_reads_well(run: Run, command: list[str]) -> None:
    done = run(*command, "--help")
    assert (done.code, done.err) == (0, "")
    assert run(*command, "-h") == done
    lines = done.out.splitlines()
    assert lines[0].startswith(f"Usage: metatne {' '.join(command)}".rstrip())
    assert max(map(len, lines)) <= 80
    assert lines[2].strip().endswith((".", ","))
    for ugly in ("<str>", "<path>", "<int", "{", "[required]", "(default)", "..."):
        assert ugly not in done.out.replace("COMMAND [ARGS]...", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_parameter_is_explained(run: Run, command: list[str]) -> None:
    found = typer.main.get_command(app)
    for name in command:
        assert isinstance(found, TyperGroup)
        found = found.commands[name]
    for param in found.params:
        assert isinstance(param, TyperArgument | TyperOption)
        assert len(param.help or "") > 5
        assert param.metavar or getattr(param, "is_flag", False)


def test_commands_are_listed_in_the_order_of_their_use(run: Run) -> None:
    lines = run("--help").out.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    listed = dict(line.strip().split("  ", 1) for line in lines)
    expected = (
        "demo datasets graph train update predict explain relate suggest serve "
        "evaluate reproduce beyond report bench"
    )
    assert list(listed) == expected.split()
    for name, summary in listed.items():  # written down, so that the help imports no command
        assert run(name, "--help").out.splitlines()[2].strip() == summary.strip()


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], {"torch", "numpy", "pandas", "pyarrow", "scipy", "pydantic", "numba"}),
        (["--version"], {"torch", "numpy", "pandas", "pyarrow", "scipy", "pydantic", "numba"}),
        (["datasets"], {"torch"}),
        (["graph", "import", "--help"], {"torch"}),
        (["bench", "--help"], {"torch"}),
    ],
)
def test_commands_wait_only_for_what_they_need(
    tmp_path: Path, arguments: list[str], heavy: set[str]
) -> None:
    loaded = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    done = run_process(*arguments, cwd=tmp_path, before=loaded)
    assert done.code == 0
    assert "metatne.cli.app" in done.err.split()
    assert not heavy & set(done.err.split())


def test_what_is_required_is_in_the_usage(run: Run) -> None:
    for command, usage in {
        ("train",): "train GRAPH --out MODEL [OPTIONS]",
        ("predict",): "predict MODEL [OPTIONS]",
        ("graph", "import"): "graph import EDGES --out DIR [OPTIONS]",
    }.items():
        assert run(*command, "--help").out.startswith(f"Usage: metatne {usage}\n")


def test_version(run: Run) -> None:
    assert run("--version").out == f"metatne {metatne.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["trian"], ["train", "--out", "m"], ["train", "debian", "--ot", "m"], ["graph", "x"]],
)
def test_misspelt_commands_and_options_exit_with_2(run: Run, arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Usage: metatne" in done.err


def test_a_misspelt_graph_is_answered_with_the_nearest(run: Run) -> None:
    for command in (["graph", "info"], ["train", "--out", "m"], ["evaluate", "--out", "r.jsonl"]):
        done = run(*command, "blogcatlog")
        assert done.code == 2
        assert "no data set 'blogcatlog'; did you mean 'blogcatalog'?" in done.err


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        (ConfigError("so not"), 2, ["so not"]),
        (FileFormatError("f", [], num_bad=2), 2, ["… and 2 more bad lines in f"]),
        (OutOfMemoryError("too much"), 1, ["too much"]),
        (TrainingError("one\ntwo"), 1, ["one", "two"]),
        (PermissionError(errno.EACCES, "Not permitted", "a.csv"), 2, ["a.csv: Not permitted"]),
        (FileNotFoundError(errno.ENOENT, "Not there", "a.csv"), 2, ["a.csv: Not there"]),
        (IsADirectoryError(errno.EISDIR, "A directory", ".tmp", None, "a"), 2, ["a: A directory"]),
        (OSError(errno.ENOSPC, "No space left on device"), 1, ["No space left on device"]),
        (OSError("12 requested and 3 written"), 1, ["12 requested and 3 written"]),
        (MemoryError(), 1, ["out of memory"]),
        (KeyboardInterrupt(), 1, ["interrupted"]),
    ],
)
def test_errors_become_exit_codes(error: BaseException, code: int, lines: list[str]) -> None:
    failing = typer.Typer()

    @failing.command(cls=Command)
    def fail() -> None:
        raise error

    result = CliRunner().invoke(failing)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.splitlines() == [f"error: {line}" for line in lines]


def test_a_bug_is_not_dressed_up_as_a_mistake() -> None:
    failing = typer.Typer()

    @failing.command(cls=Command)
    def fail() -> None:
        raise ZeroDivisionError

    assert isinstance(CliRunner().invoke(failing).exception, ZeroDivisionError)


@pytest.mark.parametrize(
    "arguments",
    [
        ["graph", "import", "edges.csv", "--out", "locked/g"],
        ["graph", "import", "edges.csv", "--out", "locked/deeper/g"],
        ["train", "g", "--out", "locked/m"],
        ["predict", "m", "-p", "a", "--output", "locked/r.csv"],
        ["evaluate", "g", "--out", "locked/r.jsonl"],
        ["bench", "all", "--out", "locked/bench.json"],
        ["demo", "--out", "locked"],
    ],
)
def test_a_directory_that_cannot_be_written_is_said_before_any_work(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    locked = Path("locked")
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    if os.access(locked, os.W_OK):  # nothing is locked for root
        monkeypatch.setattr(os, "access", lambda path, mode: mode & os.W_OK == 0)
    done = run(*arguments)
    assert done.code == 2
    option = next(name for name in arguments if name in ("--out", "--output"))
    assert done.err == f"error: {option}: the directory locked cannot be written to\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["graph", "import", "none.csv", "--out", "g"], "there is no file none.csv"),
        (["graph", "import", "empty.csv", "--out", "g"], "empty.csv has no edges"),
        (["graph", "import", "edges.csv", "--labels", "none", "--out", "g"], "no file none"),
        (["graph", "import", "edges.csv", "--labels", ".", "--out", "g"], "is a directory"),
        (["graph", "import", "folder", "--out", "g"], "folder"),
        (["graph", "import", "edges.csv", "--out", "edges.csv/g"], "edges.csv is not a directory"),
        (["graph", "info", "edges.csv"], "edges.csv is not a saved graph"),
        (["graph", "info", "folder"], "folder is not a saved graph"),
        (["train", "edges.csv", "--out", "m"], "`metatne graph import` wrote"),
        (["evaluate", "folder", "--out", "r"], "folder is not a saved graph"),
    ],
)
def test_wrong_paths_are_said(run: Run, arguments: list[str], message: str) -> None:
    Path("edges.csv").write_text("a,b\n")
    Path("empty.csv").touch()
    Path("folder").mkdir()
    before = sorted(Path().iterdir())
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert sorted(Path().iterdir()) == before


def test_a_path_that_is_no_text_is_said(run: Run) -> None:
    Path("edges.csv").write_text("a,b\n")
    done = run("graph", "import", "edges.csv", "--out", os.fsdecode(b"gr\xffph"))
    assert done.code == 2
    assert "error: expected names in UTF-8, found " in done.err
    assert [path.name for path in Path().iterdir()] == ["edges.csv"]


def test_an_encoding_that_lacks_a_letter_is_no_crash(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("edges.csv").write_text("a,b\n")
    assert run("graph", "import", "edges.csv", "--name", "ü名", "--out", "g").code == 0
    screen = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(screen, encoding="latin-1"))
    assert run("graph", "info", "g").code == 0
    assert screen.getvalue().startswith("name           ü\\u540d\n".encode("latin-1"))


def test_a_table_is_drawn_to_fit_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table("name", "about", box=None)
    table.add_row("[b]", "many words " * 20)
    screen = StringIO()
    monkeypatch.setattr(
        console, "output", Console(file=screen, width=40, force_terminal=True, markup=False)
    )
    console.show_table(table)
    lines = screen.getvalue().splitlines()
    assert len(lines) > 5
    assert "[b]" in screen.getvalue()


def test_training_draws_one_bar_on_a_terminal(
    run: Run, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = StringIO()
    terminal = Console(file=screen, width=160, force_terminal=True, markup=False, emoji=False)
    monkeypatch.setattr(console, "messages", terminal)
    assert run("train", town.graph, "--out", "m", *settings()).code == 0
    drawn = screen.getvalue()
    assert "40/40" in drawn
    assert "tau 0." in drawn
    assert "validation AUC 0." in drawn
    assert "step 10:" not in drawn


def test_a_download_draws_a_bar_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = StringIO()
    monkeypatch.setattr(console, "messages", Console(file=screen, width=80, force_terminal=True))
    progress = console.DownloadProgress()
    progress(0, 2000)
    progress(2000, 2000)
    progress(500, 500)  # a second file
    assert "2.0/2.0 kB" in screen.getvalue()


@pytest.mark.parametrize("total", [None, 2000])
def test_the_bar_of_a_download_that_breaks_off_is_taken_away(
    run: Run, monkeypatch: pytest.MonkeyPatch, total: int | None
) -> None:
    screen = StringIO()
    monkeypatch.setattr(console, "messages", Console(file=screen, width=80, force_terminal=True))

    def break_off(reference: str, *, data_dir: object, progress: Any) -> Graph:
        progress(1000, total)
        raise InputError("the line went dead")

    monkeypatch.setattr(options, "open_graph", break_off)
    assert run("graph", "info", "ppi").code == 2
    drawn = screen.getvalue()
    assert "\x1b[?25l" in drawn  # the cursor is hidden while there is a bar
    assert drawn.index("\x1b[?25h") < drawn.index("the line went dead")
