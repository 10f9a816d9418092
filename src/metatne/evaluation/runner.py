"""Many trials, some at a time, each written down as it ends."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from metatne.config import hash_settings, used_settings
from metatne.device import one_thread
from metatne.errors import MAX_SHOWN, InputError, MetaTNEError, RunError
from metatne.evaluation.methods import check_method, shipped_version
from metatne.evaluation.protocol import (
    LastFit,
    TrialResult,
    TrialSettings,
    new_trial_method,
    run_trial,
)
from metatne.evaluation.results import ResultsFile, trial_key
from metatne.graph.datasets import open_graph
from metatne.graph.store import Graph
from metatne.parallel import num_threads

MAX_RESTARTS = 2
"""Times that a trial is run again after the worker that had it died."""


@dataclass(frozen=True)
class Trial:
    """A trial to run: on which graph, how, and which."""

    reference: str
    """What `open_graph` takes: a data set's name, or a path."""

    settings: TrialSettings
    number: int
    data_dir: Path | None = None

    @property
    def family(self) -> str:
        """The same for trials that share a fit or a training if one process runs them in turn."""
        alike = replace(self.settings, query_positives=None, query_negatives=None)
        if check_method(alike.method).shares_trainings:
            alike = replace(alike, positives=1, negatives=1)
        return repr(replace(self, settings=alike))


Row = dict[str, Any]
Outcome = TrialResult | MetaTNEError
"""What a trial comes to: one that cannot be run does not end the others."""


@runtime_checkable
class Engine(Protocol):
    """Where trials are run."""

    def __call__(self, trials: Sequence[Trial]) -> Iterator[tuple[int, Outcome]]:
        """The place and the outcome of every trial, in the order in which they end."""


def evaluate(
    reference: str,
    settings: TrialSettings,
    trials: Iterable[int],
    *,
    results: ResultsFile,
    jobs: int = 1,
    data_dir: Path | None = None,
    on_result: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Run the trials of one cell that `results` does not have yet; the rows of all of them."""
    wanted = [Trial(reference, settings, number, data_dir) for number in trials]
    return run_trials(wanted, results=results, engine=local_engine(jobs), on_result=on_result)


def run_trials(
    trials: Sequence[Trial],
    *,
    results: ResultsFile,
    engine: Engine,
    on_result: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Run the trials that `results` does not have yet, and return the rows of all of them.

    A row is on disk before the next is waited for, so whatever happens keeps what is done.
    Trials that fail are told of when all others have ended.
    """
    forget()
    keys = [_row_key(trial) for trial in trials]
    done = {trial_key(row): row for row in results.rows()}
    missing = [place for place, key in enumerate(keys) if trial_key(key) not in done]
    failures: list[tuple[Row, MetaTNEError]] = []
    for place, result in engine([trials[place] for place in missing]):
        if isinstance(result, MetaTNEError):
            failures.append((keys[missing[place]], result))
            continue
        row = keys[missing[place]] | {k: v for k, v in asdict(result).items() if k != "trial"}
        results.append(row)
        done[trial_key(row)] = row
        on_result(row)
    if failures:
        raise _failed(failures, num_run=len(missing))
    return [done[trial_key(key)] for key in keys]


def _failed(failures: list[tuple[Row, MetaTNEError]], *, num_run: int) -> MetaTNEError:
    """The error of a single trial as it is, of several in a sentence."""
    key, first = failures[0]
    if num_run == 1:
        return first
    names = sorted({f"{row['dataset']} {row['method']} {row['trial']}" for row, _ in failures})
    shown = ", ".join(names[:MAX_SHOWN]) + (", …" if len(names) > MAX_SHOWN else "")
    text = (
        f"{len(failures)} of {num_run} trials failed ({shown}); the others are kept. "
        f"Trial {key['trial']} of {key['method']}: {first}"
    )
    return InputError(text) if isinstance(first, InputError) else RunError(text)


_last_fit = LastFit()
"""Of this process, whose trials follow each other."""


def forget() -> None:
    """Let go of graphs, which may have been replaced since, and of the last fit."""
    _open.cache_clear()
    _last_fit.forget()


def local_engine(jobs: int) -> Engine:
    """Trials on this machine, so many at a time.

    More than one means processes, which share the cores; no result depends on how many jobs
    or cores there are. A process that dies is replaced, and its trial is run again; one that ends
    its process every time is given up, and the others go on.
    """

    def run(trials: Sequence[Trial]) -> Iterator[tuple[int, Outcome]]:
        if jobs == 1 or len(trials) < 2:
            for place, trial in enumerate(trials):
                yield place, run_one(trial)
            return
        yield from _in_processes(trials, jobs)

    return run


def run_one(trial: Trial) -> Outcome:
    """A trial here and now; its graph is opened once a process."""
    try:
        with one_thread():
            graph = _open(trial.reference, trial.data_dir)
            return run_trial(graph, trial.number, trial.settings, last_fit=_last_fit)
    except MetaTNEError as error:
        return error


Places = deque[int]
"""Of trials in the list of all."""


def families_of(trials: Sequence[Trial]) -> deque[Places]:
    """Trials of a family together; else in the order given."""
    families: dict[str, Places] = {}
    for place, trial in enumerate(trials):
        families.setdefault(trial.family, deque()).append(place)
    return deque(families.values())


def _in_processes(trials: Sequence[Trial], jobs: int) -> Iterator[tuple[int, Outcome]]:
    """Every worker takes a family at a time, so that it can use again what it has fitted."""
    others = set(multiprocessing.active_children())
    families = families_of(trials)
    workers = min(jobs, len(families))
    running: dict[Future[Outcome], tuple[int, ProcessPoolExecutor, Places]] = {}
    deaths: Counter[int] = Counter()
    started: set[int] = set()
    has_ended = False
    """Whether any trial has."""

    def start() -> ProcessPoolExecutor:
        """A pool of one, so that it is known whose trial ends a worker."""
        pool = ProcessPoolExecutor(
            1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_prepare_worker,
            initargs=(max(1, num_threads() // workers),),
        )
        return pools.enter_context(pool)

    def give(pool: ProcessPoolExecutor, family: Places) -> None:
        family = family or (families.popleft() if families else family)
        if not family:
            return
        place = family.popleft()
        started.add(place)
        try:
            future = pool.submit(run_one, trials[place])
        except BrokenProcessPool:  # it died with its last trial done
            pool.shutdown()
            pool = start()
            future = pool.submit(run_one, trials[place])
        running[future] = place, pool, family

    with ExitStack() as pools:
        try:
            for _ in range(workers):
                give(start(), deque())
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    place, pool, family = running.pop(future)
                    try:
                        result = future.result()
                    except BrokenProcessPool:
                        deaths[place] += 1
                        pool.shutdown()
                        pool = start()
                        if deaths[place] <= MAX_RESTARTS:
                            family.appendleft(place)
                            give(pool, family)
                            continue
                        # No worker lives, whatever it is given: the others would fare no better.
                        if not has_ended and started <= deaths.keys():
                            raise died_too_often() from None
                        result = died_too_often()
                    has_ended = True
                    give(pool, family)
                    yield place, result
        except BaseException:
            # Ctrl-C, or a fault of ours: unstopped, workers would end what is queued.
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise


def died_too_often() -> RunError:
    """What is said of a trial that is given up."""
    return RunError(
        f"its worker process died {1 + MAX_RESTARTS} times (out of memory?); "
        "run the same command again, with fewer trials at a time"
    )


def short_fingerprint(graph: Graph) -> str:
    """Names the very graph: two may have one name."""
    return graph.fingerprint[:8]


def _row_key(trial: Trial) -> Row:
    """The part of a row that is known before the trial is run."""
    graph, settings = _open(trial.reference, trial.data_dir), trial.settings
    method = new_trial_method(settings, graph.name, trial.number)
    return {
        "dataset": graph.name,
        "method": settings.method,
        "preset": settings.preset,
        "positives": settings.positives,
        "negatives": settings.negatives,
        "query_positives": settings.shape.query_positives,
        "query_negatives": settings.shape.query_negatives,
        "protocol": settings.protocol,
        "tasks": settings.num_tasks,
        "trial": trial.number,
        "config_hash": config_hash(graph, settings, trial.number),
        # Told for readers of the line; what names it is the hash.
        "graph": short_fingerprint(graph),
        "settings": dict(settings.settings),
        "version": shipped_version(settings.method, method.get_params()),
    }


def config_hash(graph: Graph, settings: TrialSettings, trial: int) -> str:
    """Names all that a row's other fields do not say: settings, label 0, graph, and the version of
    what is done with the settings.
    """
    method = new_trial_method(settings, graph.name, trial)
    params = method.get_params()
    text = f"{hash_settings(used_settings(params))}/{settings.draws_label_zero}/{graph.fingerprint}"
    version = shipped_version(settings.method, params)
    if params.get("head") == "evidence":
        text += f"/head {version}"
    elif version > 1:  # a method that was changed
        text += f"/version {version}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _prepare_worker(threads: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are the parent's business
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.join,), daemon=True).start()


def _end_with(wait_for_parent: Callable[[], object]) -> None:
    """End this process when the one that asked for its trials is gone, killed perhaps.

    Nobody would write them down, and a worker that waits for the next would wait for ever.
    """
    wait_for_parent()
    os._exit(1)


@cache
def _open(reference: str, data_dir: Path | None) -> Graph:
    return open_graph(reference, data_dir=data_dir)
