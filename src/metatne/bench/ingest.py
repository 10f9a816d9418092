"""Edge lists read into a stored graph: lines a second and peak memory, against pandas."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from metatne.bench.edge_files import write_edge_file
from metatne.bench.figure import Figure, Skipped
from metatne.bench.measuring import PeakMemory, peak_memory
from metatne.errors import RunError

NUM_LINES = (1_000_000, 10_000_000, 100_000_000)
PREFIXES = {"integers": "", "strings": "node-"}
GOALS = {"integers": 3e6, "strings": 1e6}
"""Lines a second."""

MEMORY_GOAL = 3.0
"""Times the stored graph."""

SMALL = 1_000
"""Lines of the file that is read first, so that the measured one finds all loaded."""

BYTES_A_LINE = 64
"""Of disk for a file of names and for what both ways store of it; with something to spare."""

PANDAS_BYTES_A_LINE = 160
"""Memory that pandas may need: it took 110 to 140 for 10 million lines."""

REPEATS = 3
"""Fresh processes for a file, of which the fastest counts; the largest files are read once."""

WAYS = "metatne.bench.ingest_ways"


def measure(quick: bool) -> Iterator[Figure | Skipped]:
    """Lines a second and peak memory of both ways, for every size and kind of ids."""
    for num_lines in NUM_LINES[:1] if quick else NUM_LINES:
        for kind in PREFIXES:
            case = f"{num_lines:,} lines, {kind}"
            with tempfile.TemporaryDirectory(prefix="metatne-bench-") as folder:
                free = shutil.disk_usage(folder).free
                if free < BYTES_A_LINE * num_lines:
                    yield Skipped(case, f"{free:,} bytes of disk are free in {folder}")
                    continue
                repeats = REPEATS if num_lines < NUM_LINES[-1] else 1
                yield from _figures(case, Path(folder), num_lines, kind, repeats)


def _figures(case: str, folder: Path, num_lines: int, kind: str, repeats: int) -> Iterator[Figure]:
    files = _Files(folder / "small.tsv", folder / "edges.tsv", folder)
    write_edge_file(files.small, SMALL, prefix=PREFIXES[kind])
    write_edge_file(files.large, num_lines, prefix=PREFIXES[kind])
    ours = files.best(f"{WAYS}:ours", repeats)
    pandas: PeakMemory | None = None
    needed, free = PANDAS_BYTES_A_LINE * num_lines, psutil.virtual_memory().available
    comparison = "the same graph"
    if needed > free:
        comparison = f"not run: it may need {needed:,} bytes, and {free:,} are free"
    else:
        try:
            pandas = files.best(f"{WAYS}:with_pandas", repeats)
        except RunError as error:
            comparison = f"failed: {error}"
        else:
            _check_equal(ours, pandas)
    seconds, stored = ours.result["seconds"], ours.result["stored"]
    yield Figure(
        case,
        "reading and storing",
        num_lines / seconds,
        "lines/s",
        against=None if pandas is None else num_lines / pandas.result["seconds"],
        ratio=None if pandas is None else pandas.result["seconds"] / seconds,
        goal=GOALS[kind],
        judged="value at least",
        details={
            "seconds": seconds,
            "start_seconds": ours.result["start_seconds"],
            "file_bytes": files.large.stat().st_size,
            "pandas": comparison,
        },
    )
    details = {
        "stored_bytes": stored,
        "peak_bytes": ours.peak,
        "start_bytes": ours.result["start_memory"],
    }
    # Python with its libraries is most of the memory of a small import, whatever the import does.
    for quantity, is_above_start in (("peak memory", False), ("peak memory above start", True)):
        yield Figure(
            case,
            quantity,
            _times_stored(ours, stored, is_above_start),
            "x stored graph",
            against=None if pandas is None else _times_stored(pandas, stored, is_above_start),
            ratio=None
            if pandas is None
            else _memory(pandas, is_above_start) / _memory(ours, is_above_start),
            goal=MEMORY_GOAL,
            details=details,
        )


@dataclass(frozen=True)
class _Files:
    """A small file, a large one, and where to store their graphs."""

    small: Path
    large: Path
    folder: Path

    def best(self, way: str, repeats: int) -> PeakMemory:
        """The fastest run of a way, each in a fresh process."""
        runs = []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory(dir=self.folder) as out:
                runs.append(peak_memory(way, str(self.small), str(self.large), out))
        return min(runs, key=lambda run: float(run.result["seconds"]))


def _memory(run: PeakMemory, is_above_start: bool) -> int:
    """Peak memory in bytes, not 0 even where nothing came on top of the start."""
    return max(run.peak - (run.result["start_memory"] if is_above_start else 0), 1)


def _times_stored(run: PeakMemory, stored: int, is_above_start: bool) -> float:
    return _memory(run, is_above_start) / stored


def _check_equal(ours: PeakMemory, pandas: PeakMemory) -> None:
    for count in ("num_nodes", "num_edges"):
        if ours.result[count] != pandas.result[count]:
            raise RunError(
                f"the two ways differ: {count} {ours.result[count]:,} and {pandas.result[count]:,}"
            )
