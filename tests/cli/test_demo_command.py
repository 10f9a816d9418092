"""`metatne demo`, on a graph so small that it takes seconds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cli.running import TINY, Run
from metatne.cli import demo
from metatne.cli.demo import own_command
from metatne.estimator import MetaTNE
from metatne.graph.build import build_graph
from metatne.graph.planted import planted_graph
from metatne.graph.raw import RawEdges, RawLabels
from metatne.graph.source import GraphSource
from metatne.graph.store import Graph

NUM_NODES, NUM_UNTAGGED = 200, 60
TAG = "game::[chess]:cat:/go"


class Tiny(MetaTNE):
    """Trained in a second."""

    num_fits = 0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**(TINY | settings))

    def fit(self, *arguments: Any, **options: Any) -> Tiny:
        """Count the calls."""
        Tiny.num_fits += 1
        super().fit(*arguments, **options)
        return self


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Graph:
    """Tagged and untagged packages instead of Debian's."""
    planted = planted_graph(NUM_NODES, num_labels=6, num_communities=5, seed=3).graph
    names = np.array([f"package-{node}" for node in range(NUM_NODES)])
    rows = np.repeat(np.arange(NUM_NODES), planted.degrees)
    tags = [TAG, *(f"use::{label}" for label in range(1, 6))]
    held = [
        (node, tag)
        for label, tag in enumerate(tags)
        for node in planted.labels.holders(label).tolist()
        if node >= NUM_UNTAGGED
    ]
    graph = build_graph(
        RawEdges(sources=pa.array(names[rows]), targets=pa.array(names[planted.indices])),
        RawLabels(
            nodes=pa.array(names[[node for node, _ in held]]),
            labels=pa.array([tag for _, tag in held]),
            unannotated=pa.array(names[:NUM_UNTAGGED]),
            names=tags,
        ),
        name="packages",
    )
    monkeypatch.setattr(demo, "load_dataset", lambda name: graph)
    monkeypatch.setattr(demo, "MetaTNE", Tiny)
    monkeypatch.setattr(Tiny, "num_fits", 0)
    return graph


def test_a_held_out_tag_is_shown_with_the_truth(run: Run, packages: Graph) -> None:
    done = run("demo", "--label", TAG, "--top", 190)
    assert done.code == 0
    tag = packages.labels.position(TAG)
    lines = done.out.splitlines()
    assert lines[0] == f"The tag {TAG} was held out. 10 packages that hold it were given:"
    given = lines[1].strip().split(", ")
    holders = packages.node_ids.take(packages.labels.holders(tag))
    assert len(set(given)) == 10
    assert set(given) <= set(holders)
    assert lines[2] == "and 20 that do not. The likeliest others:"
    assert lines[4].split() == ["rank", "probability", "package", "holds", f"{TAG}?"]

    table = [line.split(maxsplit=3) for line in lines[5 : lines.index("", 4)]]
    assert [int(row[0]) for row in table] == list(range(1, 171))  # all but the examples
    probabilities = [float(row[1]) for row in table]
    assert probabilities == sorted(probabilities, reverse=True)
    assert not {row[2] for row in table} & set(given)
    for _, _, node, mark in table:
        if int(node.removeprefix("package-")) < NUM_UNTAGGED:
            assert mark == "not tagged yet"
        else:
            assert mark == ("yes" if node in holders else "no")
    marks = [mark for *_, mark in table]
    found, tagged = marks.count("yes"), len(marks) - marks.count("not tagged yet")
    assert found == len(holders) - 10
    assert lines[-5].startswith(f"{found} of the {tagged} tagged packages shown truly hold it")
    assert lines[-4].startswith(f"Over all {tagged} other tagged packages: AUC 0.")
    assert "average precision 0." in lines[-4]
    directory = Path("demo/game-[chess]:cat:-go")
    assert lines[-2] == f"Ask it yourself: {own_command()} serve '{directory}'"
    trained = MetaTNE.load(directory).trained_
    assert trained.graph_source == GraphSource("debian", (TAG,))
    example = json.loads((directory / "example.json").read_text())
    assert example["name"] == TAG
    assert example["positives"] == given
    assert len(example["negatives"]) == 20


def test_the_page_is_opened_by_a_command_that_works_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / ".venv" / "bin" / "metatne"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [".venv/bin/metatne", "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert own_command() == ".venv/bin/metatne"
    monkeypatch.chdir(tmp_path / ".venv")
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert own_command() == "bin/metatne"
    monkeypatch.setattr(sys, "argv", ["somewhere/__main__.py"])
    assert own_command() == f"{sys.executable} -m metatne"
    monkeypatch.setenv("PATH", str(program.parent))
    assert own_command() == "metatne"


def test_the_model_never_saw_the_tag_and_is_used_again(run: Run, packages: Graph) -> None:
    first = run("demo", "--label", TAG, "--out", "kept")
    trained = MetaTNE.load("kept/game-[chess]:cat:-go").trained_
    assert trained is not None
    assert TAG not in trained.known_labels + trained.validation_labels
    assert "saved the model in kept/game-[chess]:cat:-go" in first.err
    second = run("demo", "--label", TAG, "--out", "kept")
    assert "using the model in kept/game-[chess]:cat:-go" in second.err
    assert second.out == first.out
    assert Tiny.num_fits == 1
    other = run("demo", "--label", TAG, "--out", "kept", "--seed", 1)
    assert other.out != first.out
    assert Tiny.num_fits == 1


def test_a_model_that_cannot_be_used_is_trained_again(run: Run, packages: Graph) -> None:
    run("demo", "--label", TAG)
    weights = Path("demo/game-[chess]:cat:-go/weights.safetensors")
    weights.write_bytes(b"")
    done = run("demo", "--label", TAG)
    assert done.code == 0
    assert "training again: " in done.err
    assert Tiny.num_fits == 2
    assert weights.stat().st_size


def test_mistakes_are_said_before_anything_is_trained(run: Run, packages: Graph) -> None:
    done = run("demo", "--label", "game::[ches]:cat:/go")
    assert done.code == 2
    assert f"there is no label 'game::[ches]:cat:/go'; did you mean '{TAG}'" in done.err
    Path("demo").touch()
    done = run("demo", "--label", TAG)
    assert done.code == 2
    assert "--out: demo is not a directory" in done.err
    assert Tiny.num_fits == 0


def test_a_model_with_other_settings_is_trained_again(run: Run, packages: Graph) -> None:
    run("demo", "--label", TAG)
    directory = Path("demo/game-[chess]:cat:-go")
    visible = [label for label in range(6) if label != packages.labels.position(TAG)]
    graph = packages.with_labels(packages.labels.before_others(visible))
    MetaTNE(**(TINY | {"num_steps": 10})).fit(graph).save(directory, overwrite=True)
    done = run("demo", "--label", TAG)
    assert done.code == 0
    assert f"training again: the model in {directory} was trained with other settings" in done.err
    assert Tiny.num_fits == 2
    assert MetaTNE.load(directory).config.num_steps == TINY["num_steps"]
