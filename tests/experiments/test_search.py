"""The search for hyper-parameters: what it writes, when, and what it does not try again."""

from __future__ import annotations

import gc
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray import cloudpickle, tune
from ray.tune.experiment import Trial as Attempt

from metatne.cluster.session import ray_session
from metatne.errors import RunError
from metatne.experiments import search as module
from metatne.experiments import search_space
from metatne.experiments.search import Writer, search
from metatne.experiments.search_space import (
    SPACE,
    config_hash,
    draw_points,
    point_hash,
    points_to_try,
    published_point,
    search_file,
    settings_of,
)
from metatne.graph.planted import planted_graph
from metatne.schedule import structural_probability

FACTS = {"dataset": "mine", "trial": 1, "num_steps": 9, "validation_tasks": 5, "config_hash": "c"}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("graphs") / "graph"
    planted_graph(300, num_labels=15, num_communities=5, seed=2).graph.save(path)
    return str(path)


@pytest.fixture
def ray() -> Iterator[None]:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
    with ray_session(num_cpus=2):
        yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        gc.collect()  # Ray leaves files open, which would be another test's warning


@pytest.mark.slow
@pytest.mark.usefixtures("ray")
def test_what_was_tried_is_not_tried_again(
    graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph is found by a relative path too, though trainings work in directories of Ray's."""
    monkeypatch.chdir(Path(graph).parent)
    lines = search_file(tmp_path / "search.jsonl")

    def run(num_samples: int) -> list[dict[str, Any]]:
        size: dict[str, Any] = {"num_samples": num_samples, "num_steps": 10, "validation_tasks": 5}
        return search(Path(graph).name, 1, lines, data_dir=None, seconds=600, **size)

    found = run(1)
    before = lines.path.read_text()
    assert run(1) == found
    assert lines.path.read_text() == before
    more = run(2)
    assert lines.path.read_text().startswith(before)
    assert (len(found), len(more)) == (2, 3)
    assert [row["score"] for row in more] == sorted((row["score"] for row in more), reverse=True)
    for row in more:
        assert row["point"].keys() == SPACE.keys()
        assert all(row["point"][name] in values for name, values in SPACE.items())
        assert 0 <= row["step"] <= row["steps"] <= 10


def told_twice(then: Any) -> Any:
    """A training that tells of two validations, and then does this."""

    def attempt(config: dict[str, Any], **_: Any) -> None:
        for step in (0, 1):
            tune.report({"score": 1.0, "auc": 0.5, "f1": 0.5, "step": step, "clock": step + 1})
        then()

    return attempt


def fail() -> None:
    raise MemoryError("no more of it")


def go_on_for_ever() -> None:
    time.sleep(1_000)


@pytest.mark.slow
@pytest.mark.usefixtures("ray")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Ray's open logs
@pytest.mark.parametrize(
    ("then", "seconds", "message"),
    [(fail, 600, r"2 of 2 .* failed.*no more of it"), (go_on_for_ever, 12, "more minutes")],
)
def test_what_failed_or_was_cut_off_is_tried_again(
    graph: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    then: Any,
    seconds: float,
    message: str,
) -> None:
    lines = search_file(tmp_path / "search.jsonl")
    size: dict[str, Any] = {"num_samples": 1, "num_steps": 10, "validation_tasks": 5}
    with monkeypatch.context() as patched:
        patched.setattr(module, "_attempt", told_twice(then))
        with pytest.raises(RunError, match=f"(?s){message}"):
            search(graph, 1, lines, data_dir=None, seconds=seconds, **size)
    assert lines.rows() == []
    monkeypatch.setattr(module, "_attempt", told_twice(lambda: None))
    found = search(graph, 1, lines, data_dir=None, seconds=600, **size)
    assert [(row["step"], row["steps"]) for row in found] == [(0, 1), (0, 1)]


def test_a_point_is_written_when_its_training_ends_with_the_best_it_had(tmp_path: Path) -> None:
    lines = search_file(tmp_path / "search.jsonl")
    told: list[dict[str, Any]] = []
    writer = Writer(lines, FACTS, told.append)
    attempts = [
        Attempt("any", trial_id=name, config={"point": {"l2": value}}, stub=True)
        for name, value in (("a", 0.1), ("b", 0.01))
    ]
    for step, score in ((0, 0.5), (3, 0.9), (9, 0.7)):
        for attempt in attempts:
            result = {"score": score, "auc": score / 2, "f1": score / 2, "step": step}
            writer.on_trial_result(0, [], attempt, result | {"time_total_s": float(step)})
    assert lines.rows() == []
    writer.on_trial_complete(0, [], attempts[0])
    (row,) = lines.rows()
    assert (row["score"], row["step"], row["steps"], row["seconds"]) == (0.9, 3, 9, 9.0)
    assert row["point"] == {"l2": 0.1}
    assert writer.num_written == 1
    assert told == [row]


def test_more_points_begin_with_the_same_ones() -> None:
    few, many = draw_points(3, seed=1), draw_points(8, seed=1)
    assert many[:3] == few
    assert len({point_hash(point) for point in many}) > 4
    assert draw_points(3, seed=2) != few
    assert published_point("ppi")["tasks_per_step"] == 128


def test_the_schedule_is_shortened_with_the_training() -> None:
    point = published_point("ppi")
    assert settings_of(point, 40_000) == point
    short = settings_of(point, 2_000)
    assert short == point | {"decay_period": 50}
    for share in (0.1, 0.5, 1.0):
        assert structural_probability(
            int(share * 2_000), decay_rate=0.1, decay_period=int(short["decay_period"])
        ) == structural_probability(
            int(share * 40_000), decay_rate=0.1, decay_period=int(point["decay_period"])
        )
    assert settings_of(point, 10)["decay_period"] == 1


def test_a_training_of_the_search_has_the_shortened_schedule(
    graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[dict[str, Any]] = []

    class Recorder:
        def __init__(self, **settings: Any) -> None:
            trained.append(settings)

        def fit(self, *_: Any, **__: Any) -> None:
            """Nothing."""

    monkeypatch.setattr(module, "MetaTNE", Recorder)
    point = published_point("ppi")
    size = {"num_steps": 400, "validation_tasks": 5}
    module._attempt({"point": point}, reference=graph, trial=1, data_dir=None, **size)
    (settings,) = trained
    assert settings["decay_period"] == point["decay_period"] / 100
    assert (settings["num_steps"], settings["seed"]) == (400, 1)


def test_no_point_is_ended_before_a_quarter_of_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(
        module, "AsyncHyperBandScheduler", lambda **settings: asked.update(settings)
    )

    class Tuner:
        def __init__(self, *_: Any, **__: Any) -> None:
            """Nothing."""

        def fit(self) -> Any:
            return SimpleNamespace(errors=[])

    monkeypatch.setattr("ray.tune.Tuner", Tuner)
    writer = Writer(search_file(tmp_path / "search.jsonl"), FACTS)
    module._tune(told_twice(fail), [], writer, num_steps=800, seconds=1)
    assert (asked["grace_period"], asked["max_t"], asked["reduction_factor"]) == (200, 800, 2)


def test_a_point_that_is_drawn_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_space, "draw_points", lambda count, seed: [{"l2": 1.0}] * count)
    points = points_to_try("ppi", 3, seed=1)
    assert [*points.values()] == [published_point("ppi"), {"l2": 1.0}]
    assert all(name == point_hash(point) for name, point in points.items())


def test_another_graph_of_that_name_is_another_search() -> None:
    graphs = [planted_graph(50, num_labels=5, num_communities=3, seed=s).graph for s in (1, 1, 2)]
    same, again, other = map(config_hash, graphs)
    assert same == again != other
