"""Data-parallel training: Ray Train starts the workers, and starts them again when one dies.

Each worker has the whole graph, mapped from a directory that all machines see, and all tables;
it works on its share of every batch and adds up gradients with the others (`training/team.py`).
The checkpoint is that of a training in one process, so either can go on with the other's.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
import torch
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

from metatne.cluster.board import new_board
from metatne.cluster.messages import Listener, Teller
from metatne.cluster.session import cpus_by_machine, last_error, plain_errors
from metatne.cluster.team import ProcessTeam
from metatne.errors import InputError, MetaTNEError, RunError
from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.quality import QualityWarning
from metatne.training.team import Team
from metatne.training.trainer import Observer, Stopped

MAX_RESTARTS = 3
"""Times that the workers are started again after one of them died."""

POLL_SECONDS = 0.2
STEPS_BETWEEN_LOOKS = 10
"""Steps after which the workers agree on whether to stop."""


@dataclass(frozen=True)
class Job:
    """What a worker needs to know; paths are absolute and seen by every machine."""

    settings: dict[str, Any]
    graph: Path
    checkpoint: Path
    result: Path
    board: Any


def fit_on_ray(
    model: MetaTNE,
    graph: Graph,
    *,
    num_workers: int,
    checkpoint: Path,
    resume: bool = False,
    observers: Sequence[Observer] = (),
    on_restart: Callable[[], None] = lambda: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> None:
    """`model.fit(graph, …)` by workers of the current Ray session.

    The folder of the `checkpoint` has to be one that all machines see. `on_restart` is told
    when a worker died and all of them go on from the checkpoint. A meta step is shared by
    pieces of its batch (`training/meta.py`): more workers than pieces have nothing to do in it.
    """
    if num_workers > model.config.pairs_per_step:
        raise InputError(
            f"--workers: {num_workers} workers cannot share {model.config.pairs_per_step} pairs "
            "of nodes; ask for fewer, or for more pairs (--set pairs_per_step=…)"
        )
    checkpoint = checkpoint.resolve()
    folder = checkpoint.parent
    folder.mkdir(parents=True, exist_ok=True)
    if not resume:
        checkpoint.unlink(missing_ok=True)
    work = folder / "ray"
    shutil.rmtree(work, ignore_errors=True)
    try:
        job = Job(
            settings=model.get_params(),
            graph=_on_disk(graph, work / "graph"),
            checkpoint=checkpoint,
            result=work / "model",
            board=new_board(),
        )
        with plain_errors():
            _run(job, num_workers, work, Listener(job.board, observers, on_restart), should_stop)
        if not job.result.exists():
            raise Stopped
        model.trained_ = MetaTNE.load(job.result, device=model.config.device).trained_
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _on_disk(graph: Graph, place: Path) -> Path:
    """A directory with the graph: where it was opened from, else a copy at `place`."""
    if graph.directory is not None:
        return graph.directory.resolve()
    graph.save(place)
    return place


def _run(
    job: Job,
    num_workers: int,
    work: Path,
    listener: Listener,
    should_stop: Callable[[], bool],
) -> None:
    """Run the workers to their end, passing on what they tell."""
    trainer = TorchTrainer(
        train_worker,
        train_loop_config={"job": job},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(
            num_workers=num_workers,
            resources_per_worker={"CPU": cpus_per_worker(num_workers, cpus_by_machine())},
        ),
        run_config=RunConfig(
            name="run",
            storage_path=str(work),
            failure_config=FailureConfig(
                max_failures=MAX_RESTARTS, controller_failure_limit=MAX_RESTARTS
            ),
        ),
    )
    # In a thread of its own, so that this one hears of a wish to stop; Ray Train, too, would
    # take Ctrl-C for itself in the main thread.
    thread = ThreadPoolExecutor(1)
    training = thread.submit(trainer.fit)
    thread.shutdown(wait=False)
    while not training.done():
        wait([training], POLL_SECONDS)
        if should_stop():
            job.board.ask_to_stop.remote()
        listener.listen()
    listener.listen()  # what came in since
    failure = training.exception()
    if (error := ray.get(job.board.error.remote())) is not None:
        raise error
    if failure is not None:
        raise RunError(
            f"training failed {MAX_RESTARTS + 1} times, the last time with: {_reason(failure)}"
        ) from failure


def cpus_per_worker(num_workers: int, cpus: Sequence[int]) -> int:
    """As many CPUs for each worker as machines with so many have for all of them."""
    for each in range(max(cpus, default=0), 0, -1):
        if sum(machine // each for machine in cpus) >= num_workers:
            return each
    raise InputError(
        f"--workers: {num_workers} workers need a CPU each, and the cluster has {sum(cpus)}"
    )


def _reason(failure: BaseException) -> str:
    """What the first of the workers that died said, in a line."""
    causes = list(getattr(failure, "worker_failures", {}).values()) or [failure]
    return last_error(str(causes[0]))


def train_worker(config: dict[str, Any]) -> None:
    """All that one worker does, from its start or from the last checkpoint to the end."""
    job: Job = config["job"]
    if ray.get(job.board.error.remote()) is not None:
        return  # started again in vain
    try:
        _fit(job, ProcessTeam())
    except Stopped:
        return
    except MetaTNEError as error:
        ray.get(job.board.give_up.remote(error))
        raise  # so that Ray Train ends the workers that wait for this one


def _fit(job: Job, team: Team) -> None:
    warnings.simplefilter("ignore", QualityWarning)  # the command says it, not every worker
    model = MetaTNE(**job.settings).fit(
        Graph.open(job.graph),
        observers=[Teller(job.board)] if team.rank == 0 else [],
        checkpoint=job.checkpoint,
        # All look before the first step, and only after it is there something new to see.
        resume=job.checkpoint.exists(),
        should_stop=_StopTogether(team, job.board),
        team=team,
    )
    if team.rank == 0:
        model.save(job.result, overwrite=True)  # a worker may have died after it was written


class _StopTogether:
    """Whether to stop, asked at the end of every step: the same answer for all workers."""

    def __init__(self, team: Team, board: Any) -> None:
        self._team, self._board = team, board
        self._num_asked = 0

    def __call__(self) -> bool:
        self._num_asked += 1
        if self._num_asked % STEPS_BETWEEN_LOOKS:
            return False
        is_asked = self._team.rank == 0 and ray.get(self._board.is_stop_asked.remote())
        votes = torch.tensor([float(is_asked)])
        self._team.add_up([votes])
        return bool(votes.item())
