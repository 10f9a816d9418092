"""The studies that are no list of trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray.tune.experiment import Trial as Attempt

from metatne.cluster.session import ray_session
from metatne.errors import RunError
from metatne.estimator import MetaTNE
from metatne.experiments.search import _Writer, search
from metatne.experiments.search_space import (
    SPACE,
    draw_points,
    point_hash,
    published_point,
    search_file,
)
from metatne.experiments.visual import _plain_logits, draw_visual, embeddings_of, find_turned
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.model import prototype_closeness
from metatne.sampling.tasks import TaskSampler, TaskShape
from metatne.seeding import numpy_generator


def test_turned_queries_are_wrong_before_and_right_after(planted: Graph, fitted: MetaTNE) -> None:
    tasks = TaskSampler(planted.labels, range(10), TaskShape(4, 6, 4, 6)).draw(
        200, numpy_generator(0, "visual")
    )
    network = fitted.trained_.network
    after = fitted.score_tasks(tasks)
    negative, positive = find_turned(network, tasks, after)
    assert (negative.is_positive, positive.is_positive) == (False, True)
    assert negative.before > 0 > negative.after
    assert positive.before < 0 < positive.after
    for turned in (negative, positive):
        assert after[turned.task, turned.query] == pytest.approx(turned.after)
        _, adapted = embeddings_of(network, tasks, turned)
        closeness = [
            prototype_closeness(*_as_tensors(adapted[sign], adapted[f"? ({sign})"])).item()
            for sign in "+-"
        ]
        assert closeness[0] - closeness[1] == pytest.approx(turned.after, abs=1e-4)
    # With the truth turned round none of these is right any more.
    vectors = network.embeddings.detach().numpy()
    with pytest.raises(RunError, match="is turned right"):
        find_turned(network, tasks, _plain_logits(vectors, tasks).astype(np.float32))


def _as_tensors(supports: Any, query: Any) -> Any:
    import torch

    return torch.from_numpy(supports)[None, None], torch.from_numpy(query)[None]


def test_the_picture(tmp_path: Path) -> None:
    graph = planted_graph(400, num_labels=20, num_communities=5, seed=2).graph
    paths = [tmp_path / "visual.svg", tmp_path / "visual.png"]
    said = draw_visual(graph, 1, paths, changes={"num_steps": 20, "validation_tasks": 10})
    assert "task" in said
    assert paths[0].read_text().lstrip().startswith("<?xml")
    assert paths[1].read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_search(tmp_path: Path) -> None:
    """What it leaves is not tried again, and a budget ends it with what there is."""
    planted_graph(300, num_labels=15, num_communities=5, seed=2).graph.save(tmp_path / "graph")
    lines = search_file(tmp_path / "search.jsonl")

    def run(num_samples: int, *, seconds: float = 600) -> list[dict[str, Any]]:
        return search(
            str(tmp_path / "graph"),
            1,
            lines,
            data_dir=None,
            num_samples=num_samples,
            num_steps=10,
            seconds=seconds,
            validation_tasks=5,
        )

    with ray_session(num_cpus=2):
        found = run(1)
        before = lines.path.read_text()
        assert run(1) == found
        assert lines.path.read_text() == before
        with pytest.raises(RunError, match="the time was over"):
            search(
                str(tmp_path / "graph"),
                2,
                lines,
                data_dir=None,
                num_samples=1,
                num_steps=10,
                seconds=0.1,
            )
        more = run(2)
    assert lines.path.read_text().startswith(before)
    assert (len(found), len(more)) == (2, 3)
    assert [row["score"] for row in more] == sorted((row["score"] for row in more), reverse=True)
    for row in more:
        assert row["point"].keys() == SPACE.keys()
        assert all(row["point"][name] in values for name, values in SPACE.items())
        assert 0 < row["step"] <= row["steps"] <= 10


def test_a_point_is_written_when_its_training_ends_with_the_best_it_had(tmp_path: Path) -> None:
    facts = {"dataset": "mine", "trial": 1, "num_steps": 9, "validation_tasks": 5}
    lines = search_file(tmp_path / "search.jsonl")
    writer = _Writer(lines, facts)
    attempts = [
        Attempt("any", trial_id=name, config={"point": {"l2": value}}, stub=True)
        for name, value in (("a", 0.1), ("b", 0.01))
    ]
    for step, score in ((1, 0.5), (3, 0.9), (9, 0.7)):
        for attempt in attempts:
            result = {"score": score, "auc": score / 2, "f1": score / 2, "step": step}
            writer.on_trial_result(0, [], attempt, result | {"time_total_s": float(step)})
    assert lines.rows() == []
    writer.on_trial_complete(0, [], attempts[0])
    (row,) = lines.rows()
    assert (row["score"], row["step"], row["steps"], row["seconds"]) == (0.9, 3, 9, 9.0)
    assert row["point"] == {"l2": 0.1}
    for name in "ab":
        writer.write(name)
    assert [row["point"]["l2"] for row in lines.rows()] == [0.1, 0.01]


def test_more_points_begin_with_the_same_ones() -> None:
    few, many = draw_points(3, seed=1), draw_points(8, seed=1)
    assert many[:3] == few
    assert len({point_hash(point) for point in many}) > 4
    assert draw_points(3, seed=2) != few
    assert published_point("ppi")["tasks_per_step"] == 128
