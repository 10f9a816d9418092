"""Trials as tasks of Ray: on this machine or on a cluster, with the same rows as result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import ray

from metatne.cluster.session import last_error, plain_errors
from metatne.errors import RunError
from metatne.evaluation.runner import (
    MAX_RESTARTS,
    Engine,
    Outcome,
    Trial,
    died_too_often,
    run_one,
)


def ray_engine() -> Engine:
    """Trials by workers of the current Ray session, a CPU each.

    A worker that dies is replaced, and its trial is run again; one that ends its worker every time
    is given up, and the others go on (how often one that takes too much memory is run again, Ray
    decides). Data sets and graphs must be seen by every machine under the
    same path.
    """

    def run(trials: Sequence[Trial]) -> Iterator[tuple[int, Outcome]]:
        remote = ray.remote(
            num_cpus=1,
            max_retries=MAX_RESTARTS,
            runtime_env={"env_vars": {"OMP_NUM_THREADS": "1"}},
        )(run_one)
        with plain_errors():
            waiting = {remote.remote(trial): place for place, trial in enumerate(trials)}
            while waiting:
                (ended, *_), _ = ray.wait(list(waiting))
                yield waiting.pop(ended), _outcome(ended)

    return run


def _outcome(ended: ray.ObjectRef[Outcome]) -> Outcome:
    try:
        outcome: Outcome = ray.get(ended)
    except ray.exceptions.WorkerCrashedError:
        return died_too_often()
    except (ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError) as error:
        return RunError(f"its worker was lost, not for the first time: {last_error(str(error))}")
    return outcome
