"""Benchmarks run one by one, each in a process of its own, and what they found as JSON.

A process of its own, so that the memory, threads and compiled code of one cannot disturb the
next, and so that one that is killed for its memory does not end the others.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TextIO

from metatne.bench import registry
from metatne.bench.figure import Figure, Skipped
from metatne.bench.measuring import why_ended
from metatne.errors import DatasetError, MetaTNEError


@dataclass(frozen=True)
class Failed:
    """A benchmark did not come to its end."""

    reason: str


Result = Figure | Skipped | Failed

_KINDS = {kind.__name__: kind for kind in (Figure, Skipped, Failed)}


def run(name: str, *, quick: bool) -> Iterator[Result]:
    """What a benchmark finds, as it comes; a failure is its last result, never an exception."""
    module = registry.BENCHMARKS[name].module
    command = [sys.executable, "-P", "-m", "metatne.bench.running", module, str(int(quick))]
    failure = None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            for line in child.stdout:
                kind, values = json.loads(line)
                result = _KINDS[kind](**values)
                failure = result if isinstance(result, Failed) else None
                yield result
        except BaseException:  # Ctrl-C, or whoever asked has seen enough
            child.terminate()
            raise
    if child.returncode != 0 and failure is None:
        yield Failed(why_ended(child.returncode))


def _run_here(module: str, quick: bool, results: TextIO) -> None:
    """The child's side of `run`: a line of JSON a result."""
    try:
        for result in registry.load(module)(quick):
            _send(result, results)
    except DatasetError as error:
        _send(Skipped("what is left", str(error)), results)
    except MetaTNEError as error:
        _send(Failed(str(error)), results)
    except Exception as error:
        traceback.print_exc()
        _send(Failed(f"{type(error).__name__}: {error}"), results)


def _send(result: Result, results: TextIO) -> None:
    line = json.dumps([type(result).__name__, asdict(result)], allow_nan=False)
    print(line, file=results, flush=True)


@dataclass
class Report:
    """All that one call of the command found."""

    bench: str
    """What was asked for: a benchmark's name, or "all"."""

    quick: bool
    machine: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall time of each benchmark, its start included."""

    results: list[tuple[str, Result]] = field(default_factory=list)
    """Each with the name of the benchmark that found it."""

    def collect(self, name: str) -> Iterator[Result]:
        """Run a benchmark and keep what it finds, passed on as it comes."""
        started = time.perf_counter()
        for result in run(name, quick=self.quick):
            self.results.append((name, result))
            yield result
        self.seconds[name] = round(time.perf_counter() - started, 1)

    @property
    def has_failed(self) -> bool:
        """Whether a benchmark did not come to its end; a missed goal is no failure."""
        return any(isinstance(result, Failed) for _, result in self.results)

    def as_json(self) -> dict[str, Any]:
        """What the last line of the output and the committed file hold."""
        return {
            "bench": self.bench,
            "quick": self.quick,
            "machine": self.machine,
            "seconds": round(sum(self.seconds.values()), 1),
            "seconds_by_bench": self.seconds,
            "figures": [
                {"bench": name, **asdict(result), "is_met": result.is_met}
                for name, result in self.results
                if isinstance(result, Figure)
            ],
            "skipped": self._rows(Skipped),
            "failed": self._rows(Failed),
        }

    def _rows(self, kind: type[Skipped] | type[Failed]) -> list[dict[str, Any]]:
        return [
            {"bench": name, **asdict(result)}
            for name, result in self.results
            if isinstance(result, kind)
        ]


def figures_of(report: dict[str, Any]) -> list[tuple[str, Figure]]:
    """The figures of a report as `as_json` has them, each with its benchmark's name."""
    names = [of.name for of in fields(Figure)]
    return [
        (row["bench"], Figure(**{name: row[name] for name in names})) for row in report["figures"]
    ]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is answered by the parent
    # What a benchmark or its libraries print goes to standard error: results are alone here.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        _run_here(sys.argv[1], sys.argv[2] == "1", out)
