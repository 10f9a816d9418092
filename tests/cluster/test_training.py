"""Workers of Ray train the network of one process, and one that dies is replaced."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from cli.conftest import Town, run, town  # noqa: F401 - fixtures
from cli.running import Run, settings
from metatne.errors import ConfigError, InputError
from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.sampling.tasks import TaskSampler, TaskShape
from metatne.seeding import numpy_generator
from metatne.training.trainer import Stopped

pytest.importorskip("ray", reason="Ray is not installed: pip install 'metatne[cluster]'")

from metatne.cluster.training import fit_on_ray

pytestmark = pytest.mark.usefixtures("ray_of_two")


def together(town: Town, *more: object, num_steps: int) -> tuple[list[object], list[object]]:  # noqa: F811
    """A training in one process, and the same by two workers."""
    slow = {"tasks_per_step": 32, "pairs_per_step": 2048, "validate_every": 25}
    alone = ["train", town.graph, *settings(**slow, num_steps=num_steps, spectral_scale=0.0)]
    return alone, [*alone, "--out", "together", "--engine", "ray", "--workers", 2, *more]


@pytest.mark.slow  # tests/training/test_team.py has the same without Ray
def test_workers_train_the_network_of_one_process(run: Run, town: Town) -> None:  # noqa: F811
    alone, by_two = together(town, num_steps=50)
    trained = run(*by_two)
    assert trained.code == 0, trained.err
    assert "workers: 2" in trained.err
    assert run(*alone, "--out", "alone").code == 0
    assert_same(MetaTNE.load("together"), MetaTNE.load("alone"), Graph.open(town.graph))


@pytest.mark.slow
def test_stopped_resumed_and_killed_a_training_ends_as_in_one_process(
    run: Run,  # noqa: F811
    town: Town,  # noqa: F811
    tmp_path: Path,
) -> None:
    """The command is stopped by Ctrl-C once, and then loses a worker."""
    logs = {name: tmp_path / name for name in ("first", "second")}
    checkpoint = tmp_path / "together.unfinished" / "checkpoint.safetensors"
    alone, by_two = together(town, "--log-dir", num_steps=150)

    with when(lambda: steps_of(logs["first"]), press_control_c):
        stopped = run(*by_two, logs["first"])
    assert stopped.code == 1, stopped.err
    assert "stopped; the training is kept in together.unfinished" in stopped.err
    assert list(checkpoint.parent.iterdir()) == [checkpoint]

    with when(lambda: steps_of(logs["second"]), kill_a_worker):
        finished = run(*by_two, logs["second"], "--resume")
    assert finished.code == 0, finished.err
    assert finished.err.count("a worker died; all go on from the last checkpoint") == 1
    assert steps_of(logs["first"]) + steps_of(logs["second"]) == list(range(0, 175, 25))
    assert not checkpoint.parent.exists()

    assert run(*alone, "--out", "alone").code == 0
    assert_same(MetaTNE.load("together"), MetaTNE.load("alone"), Graph.open(town.graph))


def steps_of(log: Path) -> list[int]:
    """The steps of the validations that were logged."""
    file = log / "training.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)["step"] for line in lines]


@contextmanager
def when(is_time: Callable[[], object], act: Callable[[], None]) -> Iterator[None]:
    """While the block runs, wait until it is time, and then act once."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.05):
            if is_time():
                act()
                return

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        is_over.set()
        watching.join()


def press_control_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def kill_a_worker() -> None:
    """One that trains, as if its machine had failed."""
    workers = [
        process
        for process in psutil.Process().children(recursive=True)
        if any("RayTrainWorker" in part for part in process.cmdline())
    ]
    assert len(workers) == 2
    workers[1].kill()


def assert_same(model: MetaTNE, expected: MetaTNE, graph: Graph) -> None:
    """To rounding, which steps of Adam make more of."""
    shape = TaskShape(4, 6, 4, 6)
    tasks = TaskSampler(graph.labels, range(graph.labels.num_labels), shape).draw(
        100, numpy_generator(0, "compare")
    )
    assert model.best_step_ == expected.best_step_ > 0
    np.testing.assert_allclose(model.history_["auc"], expected.history_["auc"], atol=1e-3)
    np.testing.assert_allclose(model.score_tasks(tasks), expected.score_tasks(tasks), atol=1e-3)


@pytest.mark.slow
def test_an_error_of_ours_in_a_worker_is_told_as_such(
    planted: Graph, small_settings: dict[str, Any], tmp_path: Path
) -> None:
    """And not tried again and again: a checkpoint of other settings, found by the workers."""
    checkpoint = tmp_path / "checkpoint.safetensors"
    with pytest.raises(Stopped):
        MetaTNE(**small_settings).fit(planted, checkpoint=checkpoint, should_stop=lambda: True)
    other = MetaTNE(**small_settings | {"meta_rate": 0.02})
    with pytest.raises(ConfigError, match=r"meta_rate was 0\.01, is 0\.02"):
        fit_on_ray(other, planted, num_workers=1, checkpoint=checkpoint, resume=True)
    assert list(tmp_path.iterdir()) == [checkpoint]


def test_more_workers_than_pairs(
    planted: Graph, small_settings: dict[str, Any], tmp_path: Path
) -> None:
    model = MetaTNE(**small_settings | {"pairs_per_step": 3})
    with pytest.raises(InputError, match="4 workers cannot share 3 pairs"):
        fit_on_ray(model, planted, num_workers=4, checkpoint=tmp_path / "checkpoint")
