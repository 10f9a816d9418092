"""Wall time, peak memory of a fresh process, matrix-product peak, and facts of the machine."""

from __future__ import annotations

import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import psutil

from metatne.errors import RunError
from metatne.parallel import num_threads
from metatne.peak import forget_peak, peak_so_far

Returned = TypeVar("Returned")


def seconds(work: Callable[[], object], *, repeats: int) -> float:
    """Median wall seconds of `work`, after one call that is not counted."""
    work()
    return statistics.median(once(work)[0] for _ in range(repeats))


def once(work: Callable[[], Returned]) -> tuple[float, Returned]:
    """Wall seconds of one call, and what it returned: for work that takes long enough."""
    start = time.perf_counter()
    returned = work()
    return time.perf_counter() - start, returned


@dataclass(frozen=True)
class PeakMemory:
    """What a function took in a fresh interpreter; memory is resident memory in bytes."""

    before: int
    """With the function's module imported, before the call."""

    peak: int
    """The most at any moment of the call. Pages of a mapped file count while they are in."""

    seconds: float
    """Wall time of the call alone."""

    result: Any
    """What the function returned."""


def peak_memory(target: str, *args: Any) -> PeakMemory:
    """What `target` ("module:function") takes when a fresh interpreter calls it.

    Arguments and result cross as JSON. A new process, since a peak cannot be told from what
    came before it, and since an allocator rarely gives back what it once had. Memory of
    processes that `target` starts itself is not counted.
    """
    with tempfile.TemporaryDirectory(prefix="metatne-bench-") as directory:
        reply = Path(directory) / "reply.json"
        child = subprocess.run(
            [sys.executable, "-P", "-m", "metatne.bench.measuring", target, reply],
            input=json.dumps(args),
            stdout=subprocess.PIPE,  # kept apart: our own output ends with a line of JSON
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if child.returncode != 0:
            last = child.stdout.strip().splitlines()[-1:]
            raise RunError(": ".join((f"{target} {why_ended(child.returncode)}", *last)))
        return PeakMemory(**json.loads(reply.read_text(encoding="utf-8")))


def why_ended(code: int) -> str:
    """How a process ended that did not end well, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    hint = " (out of memory?)" if code == -signal.SIGKILL else ""
    return f"was ended by {signal.Signals(-code).name}{hint}"


def _answer(target: str, reply: Path) -> None:
    """The child's side of `peak_memory`: arguments from standard input, the reply to a file."""
    module, _, name = target.partition(":")
    function = getattr(import_module(module), name)
    args = json.load(sys.stdin)
    forget_peak()
    before = psutil.Process().memory_info().rss
    taken, result = once(lambda: function(*args))
    answer = PeakMemory(before=before, peak=peak_so_far(), seconds=taken, result=result)
    reply.write_text(json.dumps(asdict(answer)), encoding="utf-8")


@cache
def matmul_peak(threads: int) -> float:
    """GFLOP/s of NumPy's float32 matrix product with so many threads: the machine's limit.

    The best of several, since a limit is asked for; measured once a process.
    """
    import numpy as np
    from threadpoolctl import threadpool_limits

    size = 2048
    left, right = np.random.default_rng(0).random((2, size, size), dtype=np.float32)
    out = np.empty_like(left)
    with threadpool_limits(threads):
        best = min(once(lambda: np.matmul(left, right, out=out))[0] for _ in range(12))
    return 2 * size**3 / best / 1e9


_VERSIONS = ("metatne", "numpy", "scipy", "torch", "numba", "pyarrow", "pandas")


def machine_facts() -> dict[str, Any]:
    """The machine, the versions and the commit that figures belong to."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu_model(),
        "cores": psutil.cpu_count(logical=False) or os.cpu_count() or 1,
        "logical_cores": os.cpu_count() or 1,
        "threads": num_threads(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _VERSIONS},
        "commit": _commit(),
    }


def _cpu_model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of this source tree, "-dirty" when files differ; none outside of a checkout."""
    here = Path(__file__)

    def git(*args: str) -> str:
        return subprocess.run(
            ["git", "-C", here.parent, *args], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)  # an environment may lie in another's tree
        return git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    _answer(sys.argv[1], Path(sys.argv[2]))
