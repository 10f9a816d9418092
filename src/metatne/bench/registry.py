"""The benchmarks by name; their modules are imported when one is run."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from metatne.bench.figure import Benchmark
from metatne.errors import InputError


@dataclass(frozen=True)
class Registered:
    """Where a benchmark is, and what it measures."""

    module: str
    """It has a function `measure`, a `Benchmark`."""

    about: str


BENCHMARKS = {
    "train-step": Registered(
        "metatne.bench.train_step", "one meta step: forward, backward and update"
    ),
    "trial": Registered("metatne.bench.trial", "a whole trial of the paper's protocol"),
    "score": Registered("metatne.bench.score", "every node ranked for a novel label"),
    "structure": Registered("metatne.bench.structure", "structural pairs a second"),
    "ingest": Registered("metatne.bench.ingest", "edge lists read into a stored graph"),
    "memory": Registered("metatne.bench.memory", "peak memory of a training"),
    "evaluate": Registered("metatne.bench.evaluate", "1,000 tasks scored and measured"),
    "profile": Registered("metatne.bench.profile", "where the time of a meta step goes"),
    "growth": Registered("metatne.bench.growth", "cost as supports, queries and d grow"),
}


def chosen(name: str) -> list[str]:
    """The benchmarks that `name` stands for: itself, or with "all" every one."""
    if name == "all":
        return list(BENCHMARKS)
    if name not in BENCHMARKS:
        raise InputError(
            f"there is no benchmark {name!r}; expected one of {', '.join(BENCHMARKS)}, all"
        )
    return [name]


def load(module: str) -> Benchmark:
    """The benchmark in a module."""
    benchmark: Benchmark = import_module(module).measure
    return benchmark
