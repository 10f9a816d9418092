"""The embedded graph: its making from a package index, its file, its numbers."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from metatne.errors import DatasetError
from metatne.graph import debian
from metatne.graph.raw import HOLDS, LACKS, UNKNOWN
from metatne.graph.store import Graph

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_debian_graph.py"

INDEX = """\
Package: editor
Version: 1.0
Depends: libtext (>= 2.0~rc1), libui:any | libterm [amd64], mail-agent
Pre-Depends: base
Description: an editor
 Depends: not-a-field
Tag: role::program, interface::{graphical, text-mode},
 use::editing

Package: libtext
Enhances: editor
Tag: role::shared-lib

Package: libui
Recommends: base, editor-data | nowhere

Package: libterm
Provides: mail-agent
Suggests: libtext (= 1) | libui
Tag: role::shared-lib, rare::tag

Package: base
Tag: rare::other

Package: alone
Depends: alone, nowhere, mail-agent
Tag: role::program
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_debian_graph", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def index(script: ModuleType) -> Any:
    return script.read_index(INDEX.split("\n"), release="a test", min_holders=1)


@pytest.fixture(scope="module")
def embedded() -> Graph:
    return debian.debian_graph()


def edges_of(graph: Graph) -> set[tuple[object, object]]:
    ids = graph.node_ids
    return {
        (ids[node], ids[int(other)])
        for node in range(graph.num_nodes)
        for other in graph.neighbours(node)
        if node < other
    }


def test_links_become_edges(index: Any) -> None:
    graph = debian.graph_of(index)
    # Alone names only itself, a missing and a virtual package: it has no edge, so no node.
    assert index.packages == ["base", "editor", "libterm", "libtext", "libui"]
    assert edges_of(graph) == {
        ("editor", "libtext"),
        ("editor", "libui"),
        ("editor", "libterm"),
        ("base", "editor"),
        ("base", "libui"),
        ("libterm", "libtext"),
        ("libterm", "libui"),
    }
    assert len(index.links) == 7  # editor -- libtext is named from both sides and stored once


def test_tags_become_labels_with_three_states(index: Any) -> None:
    graph = debian.graph_of(index)
    labels = graph.labels
    assert labels.names == (
        "interface::graphical",
        "interface::text-mode",
        "rare::other",
        "rare::tag",
        "role::program",
        "role::shared-lib",
        "use::editing",
    )
    held = {str(graph.node_ids[n]): labels.held_by(n) for n in range(graph.num_nodes)}
    assert held["editor"] == [
        "interface::graphical",
        "interface::text-mode",
        "role::program",
        "use::editing",
    ]
    editor, untagged = graph.node_ids.positions(["editor", "libui"])
    program, shared = labels.position("role::program"), labels.position("role::shared-lib")
    assert labels.states(editor, [program, shared]).tolist() == [HOLDS, LACKS]
    assert labels.states(untagged, [program, shared]).tolist() == [UNKNOWN, UNKNOWN]


def test_rare_tags_go_but_their_packages_stay_annotated(script: ModuleType) -> None:
    index = script.read_index(INDEX.split("\n"), release="a test", min_holders=2)
    assert index.tags == ["role::shared-lib"]
    labels = debian.graph_of(index).labels
    base = index.packages.index("base")  # holds a rare tag only
    assert labels.states([base], 0).tolist() == [LACKS]


@pytest.mark.parametrize(
    ("field", "tags"),
    [
        (" a::b", {"a::b"}),
        (" a::b, c::{d, e},\n f::g:h, i::c++", {"a::b", "c::d", "c::e", "f::g:h", "i::c++"}),
        ("", set()),
    ],
)
def test_tag_fields(script: ModuleType, field: str, tags: set[str]) -> None:
    assert script.tags_of(field) == tags


def test_the_file_holds_what_went_in(index: Any) -> None:
    back = debian.decode(debian.encode(index))
    for name in ("release", *debian.LISTS):
        assert getattr(back, name) == getattr(index, name)
    for name in debian.ARRAYS:
        np.testing.assert_array_equal(getattr(back, name), getattr(index, name))


def test_numbers_past_two_bytes_survive(index: Any) -> None:
    wide = replace(index, links=index.links + 70_000)
    np.testing.assert_array_equal(debian.decode(debian.encode(wide)).links, wide.links)


def test_the_script_gives_the_same_bytes_each_time(tmp_path: Path) -> None:
    """With other hash seeds and the stanzas in another order, so no set order can leak."""
    source = tmp_path / "index.txt"
    outputs = []
    for seed, text in (("1", INDEX), ("2", "\n\n".join(INDEX.strip().split("\n\n")[::-1]))):
        source.write_text(text)
        outputs.append(tmp_path / f"{seed}.xz")
        subprocess.run(
            [sys.executable, SCRIPT, "--index", source, "--release", "x", "--output", outputs[-1]],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_an_empty_index_is_refused(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, SCRIPT, "--index", "-", "--release", "x", "--output", tmp_path / "x"],
        input=b"",
        capture_output=True,
        check=False,
    )
    assert run.returncode == 1
    assert b"apt-get update" in run.stderr


def test_the_embedded_numbers(embedded: Graph) -> None:
    labels = embedded.labels
    assert (embedded.num_nodes, embedded.num_edges, labels.num_labels) == (60_376, 295_301, 259)
    assert labels.unannotated is not None
    assert int(labels.unannotated.sum()) == 30_538
    assert labels.num_holders.min() == 40
    assert int(labels.num_holders.sum()) == 105_362
    assert embedded.degrees.min() == 1
    embedded.verify()


def test_an_embedded_package(embedded: Graph) -> None:
    (bash,) = embedded.node_ids.positions(["bash"])
    near = set(embedded.node_ids.take(embedded.neighbours(int(bash))))
    assert {"libc6", "base-files", "bash-completion", "bash-doc"} <= near
    assert "implemented-in::c" in embedded.labels.held_by(int(bash))


def test_the_file_is_small() -> None:
    path = Path(debian.__file__).parent / "data" / debian.FILE
    assert path.stat().st_size < 1_000_000


def test_damage_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "SHA256", "0" * 64)
    with pytest.raises(DatasetError, match="the embedded graph is damaged"):
        debian.debian_graph()


def test_another_format_is_refused(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = debian.encode(index)
    monkeypatch.setattr(debian, "FORMAT_VERSION", 2)
    with pytest.raises(DatasetError, match="version 2, found metatne-debian, version 1"):
        debian.decode(data)
