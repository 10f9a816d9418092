"""The few names that users import, pinned: to change one is to break somebody's code."""

from __future__ import annotations

import importlib.metadata
import inspect
import pickle
import re
import subprocess
import sys
from typing import Any

import pytest

import metatne
from metatne import errors
from metatne.errors import BadLine, FileFormatError, UnknownNodeError

ERRORS: list[Any] = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == "metatne.errors" and kind is not BadLine
]


def test_the_names_of_the_package() -> None:
    assert metatne.__all__ == [
        "Graph",
        "MetaTNE",
        "__version__",
        "load_dataset",
        "planted_graph",
        "read_graph",
    ]
    for name in metatne.__all__:
        assert hasattr(metatne, name)
        assert name in dir(metatne)
    assert not hasattr(metatne, "Metatne")
    assert metatne.__version__ == importlib.metadata.version("metatne")


def test_the_package_is_imported_in_no_time() -> None:
    """PyTorch and its like come with the first name that needs them."""
    code = "import metatne, sys; before = set(sys.modules); metatne.Graph; print(*before)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "metatne" in loaded
    assert not {"torch", "numpy", "pandas", "pyarrow"} & set(loaded)


def test_what_an_estimator_offers() -> None:
    offered = {name for name in dir(metatne.MetaTNE) if not name.startswith("_")}
    assert offered == {
        "best_step_",
        "embeddings_",
        "explain",
        "fit",
        "get_params",
        "history_",
        "load",
        "num_steps_",
        "quality_",
        "rank",
        "relate",
        "save",
        "score_tasks",
        "set_params",
        "suggest",
        "update",
    }
    rank = inspect.signature(metatne.MetaTNE.rank)
    assert list(rank.parameters) == [
        *("self", "positives", "negatives", "candidates", "top", "prior"),
        "progress",
    ]
    fit = inspect.signature(metatne.MetaTNE.fit)
    assert list(fit.parameters) == [
        *("self", "graph", "split", "observers", "checkpoint", "resume", "should_stop", "team")
    ]


def test_the_tree_of_errors_is_as_drawn() -> None:
    """The picture at the top of `errors.py`, line by line."""
    assert errors.__doc__ is not None
    parents: list[str] = []
    drawn = []
    for line in errors.__doc__.splitlines():
        found = re.match(r"([│├└─ ]*)([A-Z]\w+Error)\b", line)
        if found:
            depth = len(found[1]) // 4
            parents[depth:] = [found[2]]
            kind = getattr(errors, found[2])
            assert kind.__bases__[0].__name__ == (parents[depth - 1] if depth else "Exception")
            drawn.append(kind)
    assert {kind.__name__ for kind in drawn} == {kind.__name__ for kind in ERRORS}


def test_one_except_catches_all() -> None:
    assert all(issubclass(kind, errors.MetaTNEError) for kind in ERRORS)


def test_a_bad_file_names_its_lines_up_to_a_limit() -> None:
    bad = [BadLine(line, "a number", "'x'") for line in range(1, 13)]
    error = FileFormatError("edges.txt", bad, num_bad=20)
    lines = str(error).splitlines()
    assert lines[0] == "edges.txt:1: expected a number, found 'x'"
    assert len(lines) == 11
    assert lines[-1] == "… and 10 more bad lines in edges.txt"
    assert str(FileFormatError("edges.txt", bad[:1])) == lines[0]


def test_unknown_nodes_come_with_what_was_meant() -> None:
    error = UnknownNodeError({"ana": ["anna", "hana"], "x": []}, where="the file")
    assert str(error).splitlines() == [
        "the file has no node 'ana'; did you mean 'anna', 'hana'?",
        "the file has no node 'x'",
    ]
    many = UnknownNodeError({str(number): [] for number in range(12)})
    assert str(many).splitlines()[-1] == "… and 2 more unknown nodes"


def test_a_bad_file_as_a_whole_has_no_line() -> None:
    error = FileFormatError("edges.txt", [BadLine(0, "edges", "nothing")])
    assert str(error) == "edges.txt: expected edges, found nothing"


def one_of_each() -> list[errors.MetaTNEError]:
    special: dict[type[errors.MetaTNEError], errors.MetaTNEError] = {
        FileFormatError: FileFormatError("edges.txt", [BadLine(3, "a number", "'x'")]),
        UnknownNodeError: UnknownNodeError({"ana": ["anna"]}),
    }
    return [special.get(kind) or kind("what went wrong") for kind in ERRORS]


@pytest.mark.parametrize("error", one_of_each(), ids=lambda error: type(error).__name__)
def test_errors_cross_from_worker_processes(error: errors.MetaTNEError) -> None:
    crossed = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own, of this moment
    assert type(crossed) is type(error)
    assert str(crossed) == str(error)
    assert vars(crossed) == vars(error)
