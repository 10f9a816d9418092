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


@pytest.mark.parametrize("is_stopped", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_training_that_loses_a_worker_ends_as_in_one_process(
    run: Run,  # noqa: F811
    town: Town,  # noqa: F811
    tmp_path: Path,
    is_stopped: bool,
) -> None:
    """And so does one that was stopped by Ctrl-C before."""
    slow = {"tasks_per_step": 32, "pairs_per_step": 2048, "num_steps": 150, "validate_every": 25}
    command = ["train", town.graph, *settings(**slow, spectral_scale=0.0)]
    together = [*command, "--out", "together", "--engine", "ray", "--workers", 2]
    logs = {name: tmp_path / name for name in ("first", "second")}
    checkpoint = tmp_path / "together.unfinished" / "checkpoint.safetensors"

    if is_stopped:
        with when(lambda: steps_of(logs["first"]), press_control_c):
            stopped = run(*together, "--log-dir", logs["first"])
        assert stopped.code == 1, stopped.err
        assert "stopped; the training is kept in together.unfinished" in stopped.err
        assert list(checkpoint.parent.iterdir()) == [checkpoint]
        together.append("--resume")

    with when(lambda: steps_of(logs["second"]), kill_a_worker):
        finished = run(*together, "--log-dir", logs["second"])
    assert finished.code == 0, finished.err
    assert finished.err.count("a worker died; all go on from the last checkpoint") == 1
    assert "workers: 2" in finished.err
    assert steps_of(logs["first"]) + steps_of(logs["second"]) == list(range(0, 175, 25))
    assert not checkpoint.parent.exists()

    assert run(*command, "--out", "alone").code == 0
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
