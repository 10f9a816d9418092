"""Workers with a share of each batch end where one worker with all of it does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from metatne.config import make_config
from metatne.errors import TrainingError
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import TaskSampler
from metatne.scoring import score_tasks
from metatne.seeding import numpy_generator
from metatne.training.team import Alone, Team, share, take_from_first
from metatne.training.trainer import Trainer, training_shape

SPLIT = LabelSplit(known=np.arange(7), validation=np.arange(7, 9), test=np.array([9]))


class Table:
    """Where the workers of one team, each in a thread, lay down what is to be added up."""

    def __init__(self, size: int) -> None:
        self.parts: list[list[Tensor]] = [[] for _ in range(size)]
        self.barrier = threading.Barrier(size, timeout=60)


class ThreadTeam:
    """One worker's view of a team of threads."""

    def __init__(self, table: Table, rank: int) -> None:
        self.rank, self.size = rank, len(table.parts)
        self._table = table

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        self._table.parts[self.rank] = list(tensors)
        self._table.barrier.wait()
        sums = [sum(parts[1:], start=parts[0]) for parts in zip(*self._table.parts, strict=True)]
        self._table.barrier.wait()  # nobody overwrites what another still reads
        for tensor, total in zip(tensors, sums, strict=True):
            tensor.copy_(total)


def train(graph: Graph, settings: dict[str, Any], size: int) -> list[Trainer]:
    """The trainers of a team, whose networks are those of the last step, not of the best."""
    table = Table(size)
    teams: list[Team] = [ThreadTeam(table, rank) for rank in range(size)]
    if size == 1:
        teams = [Alone()]
    config = make_config(settings)
    trainers = [Trainer(graph, SPLIT, config, team=team) for team in teams]
    with ThreadPoolExecutor(size) as threads:
        for running in [threads.submit(run_to_the_last_step, trainer) for trainer in trainers]:
            running.result()
    return trainers


def run_to_the_last_step(trainer: Trainer) -> None:
    last: dict[str, Tensor] = {}

    def keep(trainer: Trainer) -> None:
        last.update({name: w.detach().clone() for name, w in trainer.network.state_dict().items()})

    trainer.run(at_step_end=keep)
    trainer.network.load_state_dict(last)


@pytest.mark.parametrize(
    ("size", "changes"),
    [
        (2, {}),
        (3, {"tasks_per_step": 5, "dropout": 0.5, "pairs_per_step": 65}),
        (4, {"num_blocks": 2, "patience": 1}),  # two of them have no task
        (2, {"averaging": 0.4}),
        (12, {"validation_tasks": 10, "num_steps": 10}),  # nor all a validation task
    ],
)
def test_a_team_trains_the_network_of_one(
    planted: Graph, small_settings: dict[str, Any], size: int, changes: dict[str, Any]
) -> None:
    settings = small_settings | {"identity_start": False} | changes
    (alone,) = train(planted, settings, 1)
    team = train(planted, settings, size)
    tasks = TaskSampler(planted.labels, SPLIT.test, training_shape(alone.config)).draw(
        50, numpy_generator(0, "test")
    )
    expected = score_tasks(alone.network, tasks)
    assert 0 < alone.state.num_structural < alone.state.step, "steps of both kinds"
    for trainer in team:
        np.testing.assert_allclose(score_tasks(trainer.network, tasks), expected, atol=1e-4)
        assert trainer.state.best_step == alone.state.best_step
        np.testing.assert_allclose(numbers(trainer), numbers(alone), rtol=1e-3)


def numbers(trainer: Trainer) -> list[tuple[float, ...]]:
    """What each validation saw; before the first step there are no losses."""
    return [
        (seen.auc, seen.f1, seen.structural_loss or 0.0, seen.meta_loss or 0.0)
        for seen in trainer.state.history
    ]


def test_workers_stay_equal_to_the_last_bit(planted: Graph, small_settings: dict[str, Any]) -> None:
    first, second = train(planted, small_settings, 2)
    assert first.state.history[0].auc == second.state.history[0].auc
    for name, weight in first.network.state_dict().items():
        assert torch.equal(weight, second.network.state_dict()[name]), name


def test_all_workers_see_that_training_diverges(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    table = Table(2)
    config = make_config(small_settings | {"structural_rate": 1e20})
    trainers = [Trainer(planted, SPLIT, config, team=ThreadTeam(table, rank)) for rank in range(2)]
    with ThreadPoolExecutor(2) as threads:
        for running in [threads.submit(trainer.run) for trainer in trainers]:
            with pytest.raises(TrainingError, match="training diverged"):
                running.result()


def test_shares_are_disjoint_and_make_up_the_whole() -> None:
    table = Table(3)
    shares = [share(ThreadTeam(table, rank), list(range(7))) for rank in range(3)]
    assert sorted(piece for pieces in shares for piece in pieces) == list(range(7))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert list(share(Alone(), range(7))) == list(range(7))


def test_all_begin_with_the_numbers_of_the_first() -> None:
    """Though each came to others: another processor may have rounded otherwise."""
    table = Table(3)
    starts = [torch.tensor([1.0, -2.0]) * (1 + rank) for rank in range(3)]
    with ThreadPoolExecutor(3) as threads:
        for running in [
            threads.submit(take_from_first, ThreadTeam(table, rank), [starts[rank]])
            for rank in range(3)
        ]:
            running.result()
    assert [start.tolist() for start in starts] == [[1.0, -2.0]] * 3
