"""Trials as tasks of Ray: on this machine or on a cluster, with the same rows as result."""

from __future__ import annotations

import inspect
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import ray

from metatne.cluster.session import plain_errors
from metatne.errors import RunError
from metatne.evaluation.runner import (
    MAX_RESTARTS,
    Engine,
    Outcome,
    Places,
    Trial,
    died_too_often,
    families_of,
    forget,
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
    is replaced, and its trial is run again when some other has ended; one that ends its worker
    every time is given up, and the others go on. Data sets and graphs must be seen by every
    machine under the same path.
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
        name = uuid.uuid4().hex
        running: dict[ray.ObjectRefGenerator, Places] = {}
        ready, lost = families_of(trials), deque[Places]()
        deaths: Counter[int] = Counter()
        has_ended = False
        """Whether any trial has."""
        with plain_errors():
            try:
                while running or ready or lost:
                    if not running:
                        ready.extend(lost)
                        lost.clear()
                    for family in ready:
                        stream = remote.remote(run_one, [trials[place] for place in family], name)
                        running[stream] = family
                    ready.clear()
                    (stream, *_), _ = ray.wait(list(running), fetch_local=False)
                    family = running[stream]
                    try:
                        outcome: Outcome = ray.get(next(stream))
                    except _LOST as error:
                        del running[stream]
                        deaths[family[0]] += 1
                        if deaths[family[0]] <= MAX_RESTARTS:
                            lost.append(family)
                            continue
                        if not has_ended:  # all others have died too: they would fare no better
                            raise _given_up(error) from None
                        outcome = _given_up(error)
                        place = family.popleft()
                        if family:
                            ready.append(family)
                    else:
                        has_ended = True
                        place = family.popleft()
                        if not family:
                            del running[stream]
                    ready.extend(lost)
                    lost.clear()
                    yield place, outcome
            finally:  # nobody would write down what the others come to
                for stream in running:
                    ray.cancel(stream, force=True)

    return run


def _run_in_turn(
    run: Callable[[Trial], Outcome], trials: Sequence[Trial], name: str
) -> Iterator[Outcome]:
    """On a worker: the outcomes of a family, each as it ends."""
    _forget_before(name)
    for trial in trials:
        yield run(trial)


@cache
def _forget_before(name: str) -> None:
    """Once in a worker, for each run that has a name: a graph may have been replaced since."""
    forget()


def _given_up(error: Exception) -> RunError:
    if isinstance(error, ray.exceptions.WorkerCrashedError):
        return died_too_often()
    reason = next((line for line in str(error).splitlines() if line.strip()), repr(error))
    return RunError(f"{died_too_often()}. Ray says: {reason}")
