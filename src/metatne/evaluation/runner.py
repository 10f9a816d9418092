"""Many trials, some at a time, each written down as it ends."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from metatne.config import make_config
from metatne.device import one_thread
from metatne.errors import RunError
from metatne.evaluation.protocol import TrialResult, TrialSettings, method_settings, run_trial
from metatne.evaluation.results import ResultsFile, trial_key
from metatne.graph.datasets import open_graph
from metatne.graph.store import Graph
from metatne.parallel import num_threads


def evaluate(
    reference: str,
    settings: TrialSettings,
    trials: Iterable[int],
    *,
    results: ResultsFile,
    jobs: int = 1,
    data_dir: Path | None = None,
    on_result: Callable[[dict[str, Any]], None] = lambda row: None,
) -> list[dict[str, Any]]:
    """Run the trials that `results` does not have yet, and return the rows of all of them.

    More than one job means processes, which share the cores; no result depends on how many
    jobs or cores there are.
    """
    graph = open_graph(reference, data_dir=data_dir)
    wanted = [_row_key(graph, settings, trial) for trial in trials]
    done = {trial_key(row): row for row in results.rows()}
    missing = [key for key in wanted if trial_key(key) not in done]

    def finish(key: dict[str, Any], result: TrialResult) -> None:
        row = key | {k: v for k, v in asdict(result).items() if k != "trial"}
        results.append(row)
        done[trial_key(row)] = row
        on_result(row)

    if jobs == 1 or len(missing) < 2:
        for key in missing:
            with one_thread():
                result = run_trial(graph, key["trial"], settings)
            finish(key, result)
    else:
        others = set(multiprocessing.active_children())
        workers = min(jobs, len(missing))
        with ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_prepare_worker,
            initargs=(max(1, num_threads() // workers),),
        ) as pool:
            futures = {
                pool.submit(_run_elsewhere, reference, data_dir, key["trial"], settings): key
                for key in missing
            }
            try:
                for future in as_completed(futures):
                    finish(futures[future], future.result())
            except BrokenProcessPool as error:
                raise RunError(
                    "a worker process died (out of memory?); finished trials are kept, "
                    "run the same command again, with fewer jobs"
                ) from error
            except BaseException:
                # Ctrl-C or a trial that failed: unstopped, workers would end what is queued.
                for worker in set(multiprocessing.active_children()) - others:
                    worker.terminate()
                raise
    return [done[trial_key(key)] for key in wanted]


def _row_key(graph: Graph, settings: TrialSettings, trial: int) -> dict[str, Any]:
    """The part of a row that is known before the trial is run."""
    return {
        "dataset": graph.name,
        "method": settings.method,
        "preset": settings.preset,
        "positives": settings.positives,
        "negatives": settings.negatives,
        "tasks": settings.num_tasks,
        "trial": trial,
        "config_hash": config_hash(graph, settings, trial),
    }


def config_hash(graph: Graph, settings: TrialSettings, trial: int) -> str:
    """Names all that a row's other fields do not say: settings, label 0, the very graph."""
    config = make_config(method_settings(settings, graph.name, trial))
    text = f"{config.hash()}/{settings.draws_label_zero}/{graph.fingerprint}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _prepare_worker(threads: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupts are the parent's business


@cache
def _open(reference: str, data_dir: Path | None) -> Graph:
    return open_graph(reference, data_dir=data_dir)


def _run_elsewhere(
    reference: str, data_dir: Path | None, trial: int, settings: TrialSettings
) -> TrialResult:
    with one_thread():
        return run_trial(_open(reference, data_dir), trial, settings)
