"""How tests run the command line, and with which settings it is fast."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TINY = {
    "head": "prototypes",
    "dim": 8,
    "attention_dim": 8,
    "num_heads": 2,
    "feedforward_dim": 8,
    "positives": 4,
    "negatives": 6,
    "query_positives": 4,
    "query_negatives": 6,
    "pairs_per_step": 64,
    "tasks_per_step": 2,
    "structural_rate": 0.01,
    "meta_rate": 0.01,
    "decay_period": 5,
    "num_steps": 40,
    "validate_every": 10,
    "validation_tasks": 10,
    "device": "cpu",
}


MAIN = "from metatne.cli import main; main()"


@dataclass(frozen=True)
class Finished:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


Run = Callable[..., Finished]


def settings(**changes: object) -> list[str]:
    """`TINY` with these changes, as options."""
    return [part for key, value in (TINY | changes).items() for part in ("--set", f"{key}={value}")]


def run_process(*arguments: object, cwd: Path, before: str = "") -> Finished:
    """A command in a process of its own, after the Python code `before`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\n{MAIN}", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@contextmanager
def files_up_to(num_bytes: int) -> Iterator[None]:
    """The disk is as good as full: no file may become larger."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
