"""Trials as tasks of Ray: on this machine or on a cluster, with the same rows as result."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ray

from metatne.cluster.session import last_error, plain_errors
from metatne.errors import RunError
from metatne.evaluation.runner import (
    MAX_RESTARTS,
    Engine,
    Outcome,
    Places,
    Trial,
    died_too_often,
    families_of,
    run_one,
)

_LOST = (
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.OutOfMemoryError,
    ray.exceptions.NodeDiedError,
)
"""What Ray raises where a worker is gone, and its trial with it."""


def ray_engine() -> Engine:
    """Trials by workers of the current Ray session, a CPU each.

    A worker takes a family at a time, so that it can use again what it has fitted. One that dies
    is replaced, and its trial is run again; one that ends its worker every time is given up, and
    the others go on. Data sets and graphs must be seen by every machine under the same path.
    """

    def run(trials: Sequence[Trial]) -> Iterator[tuple[int, Outcome]]:
        # Ray would run what has ended again too: which trial is run again is ours to say. And it
        # takes for a generator only what is not wrapped, as tests that check types wrap functions.
        remote = ray.remote(
            num_cpus=1,
            max_retries=0,
            num_returns="streaming",
            runtime_env={"env_vars": {"OMP_NUM_THREADS": "1"}},
        )(inspect.unwrap(_run_in_turn))
        running: dict[Any, Places] = {}
        deaths: Counter[int] = Counter()

        def start(family: Places) -> None:
            if family:
                running[remote.remote(run_one, [trials[place] for place in family])] = family

        with plain_errors():
            for family in families_of(trials):
                start(family)
            while running:
                (stream, *_), _ = ray.wait(list(running), fetch_local=False)
                family = running[stream]
                try:
                    outcome: Outcome = ray.get(next(stream))
                except StopIteration:
                    del running[stream]
                    continue
                except _LOST as error:
                    del running[stream]
                    place = family[0]
                    deaths[place] += 1
                    if deaths[place] <= MAX_RESTARTS:
                        start(family)
                        continue
                    outcome = _given_up(error)
                    place = family.popleft()
                    start(family)
                else:
                    place = family.popleft()
                yield place, outcome

    return run


def _run_in_turn(run: Callable[[Trial], Outcome], trials: Sequence[Trial]) -> Iterator[Outcome]:
    """On a worker: the outcomes of a family, each as it ends."""
    for trial in trials:
        yield run(trial)


def _given_up(error: Exception) -> RunError:
    if isinstance(error, ray.exceptions.WorkerCrashedError):
        return died_too_often()
    return RunError(f"its worker was lost, not for the first time: {last_error(str(error))}")
