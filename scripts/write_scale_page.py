"""Do the arithmetic of docs/scale.md from measured costs: `make docs`.

The prose of the page is written by hand. Between `<!-- name -->` and `<!-- end -->` stands what
this script works out from the costs in results/bench.json and, where that has none, in `LOGGED`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metatne.bench.running import figures_of
from metatne.config import make_config, preset
from metatne.model import MetaTNENetwork
from metatne.spectral import OVERSAMPLING

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "bench.json"
TARGET = ROOT / "docs" / "scale.md"

NODES, EDGES = 1e9, 1e11
MACHINES, CORES, MEMORY = 64, 32, 256e9
NETWORK = 25e9 / 8  # bytes a second and machine, each way
DISK = 3e9  # the same of its disk
READS = 5e5  # random reads a second of it
PRODUCTS = 25  # of the adjacency with a block of vectors, for a spectral start
PASSES = 5  # over all pairs, to learn the structure without it

BENCHED = {
    "pairs": ("structure", "pairs", ""),
    "step": ("train-step", "a meta step", "blogcatalog 10/20"),
    "scored": ("score", "nodes scored a second", ""),
    "lines": ("ingest", "reading and storing", "strings"),
    "reading": ("ingest", "peak memory above start", "strings"),
}
"""Costs by their benchmark, and words of the quantity and the case; the largest case counts."""

LOGGED = {
    "pairs": 2.2e5,
    "step": 0.28,
    "scored": 2.7e4,
    "lines": 4.0e6,
    "reading": 2.2,
    "spectral": 1.9e-6,
}
"""The costs on two cores as LOG.md has them under “beyond one machine”."""

_PART = re.compile(r"(<!-- ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

PAPER, DEFAULT = make_config(preset("paper", "blogcatalog")), make_config({})
ROW = 4 * PAPER.dim
TABLE = NODES * ROW
ROWS_OF_PAIR = 2 + PAPER.negatives_per_pair
STORED = 2 * EDGES * 4 + NODES * 8
BLOCK = NODES * (PAPER.dim + OVERSAMPLING) * 4
NODE_BYTES = 120  # beside the tables: bounds, degrees, tables to draw from, places of moments


@dataclass(frozen=True)
class Cost:
    """What something takes on two cores, and where that is from."""

    value: float
    source: str


def costs_of(report: dict[str, Any]) -> dict[str, Cost]:
    """The costs in a report of `metatne bench`, and those it lacks from the log."""
    costs = {name: Cost(value, "LOG.md") for name, value in LOGGED.items()}
    for name, (bench, quantity, case) in BENCHED.items():
        for of_bench, figure in figures_of(report):
            if of_bench == bench and quantity in figure.quantity and case in figure.case:
                costs[name] = Cost(figure.value, f"`bench {bench}`, {figure.case}")
    return costs


def main() -> None:
    report = json.loads(RESULTS.read_text(encoding="utf-8"))
    TARGET.write_text(page(TARGET.read_text(encoding="utf-8"), report), encoding="utf-8")


def page(text: str, report: dict[str, Any]) -> str:
    """The page with its tables worked out anew."""
    costs = costs_of(report)
    values = {name: cost.value for name, cost in costs.items()}
    parts = {
        "inputs": _inputs(costs),
        "sizes": _sizes(values),
        "limits": _limits(values),
        "messages": _messages(values),
        "hours": _hours(values),
    }
    return _PART.sub(lambda found: f"{found[1]}\n{parts[found[2]]}\n\n{found[3]}", text)


def _inputs(costs: dict[str, Cost]) -> str:
    pairs, step, scored, lines, reading, spectral = (
        costs[name] for name in ("pairs", "step", "scored", "lines", "reading", "spectral")
    )
    tasks = f"{PAPER.tasks_per_step} tasks, {PAPER.positives}/{PAPER.negatives}"
    return _table(
        ("", "what", "value", "from"),
        [
            ("V", "nodes", _count(NODES), "the question"),
            ("E", "edges", _count(EDGES), "the question"),
            ("d", "width of a row", f"{PAPER.dim}", "the paper"),
            ("k", "negatives of a pair", f"{PAPER.negatives_per_pair}", "the paper"),
            ("M", "machines", f"{MACHINES}", "assumed"),
            ("c", "cores of a machine", f"{CORES}", "assumed"),
            ("m", "memory of a machine", _size(MEMORY), "assumed"),
            ("w", "network of a machine, each way", f"{_size(NETWORK)}/s", "assumed"),
            ("o", "disk of a machine, in a row", f"{_size(DISK)}/s", "assumed"),
            ("r", "random reads of it", f"{READS:,.0f}/s", "assumed"),
            ("n", "products with the adjacency for a spectral start", f"{PRODUCTS}", "LOG.md"),
            ("p", "structural pairs a second, 2 cores", _count(pairs.value), pairs.source),
            ("t", f"a meta step, {tasks}, 2 cores", _time(step.value), step.source),
            ("q", "nodes scored a second, 2 cores", _count(scored.value), scored.source),
            ("l", "lines read a second, names, 2 cores", _count(lines.value), lines.source),
            ("g", "memory for that, in stored graphs", f"{reading.value:.1f}", reading.source),
            ("s", "spectral start, an entry, 2 cores", _time(spectral.value), spectral.source),
        ],
    )


def _sizes(costs: dict[str, float]) -> str:
    rows = [
        ("stored graph: neighbours and bounds", "2 E · 4 + V · 8", STORED),
        ("memory to read it", "g · that", costs["reading"] * STORED),
        ("a table of rows, such as U", "V · d · 4", TABLE),
        ("training, default preset: U, C, best U", "3 tables", 3 * TABLE),
        ("training with passes over the pairs: 4 moments more", "7 tables", 7 * TABLE),
        ("spectral start: two blocks", f"2 · V · (d + {OVERSAMPLING}) · 4", 2 * BLOCK),
        ("degrees, tables to draw from and the like", f"V · {NODE_BYTES}", NODE_BYTES * NODES),
        ("candidates of a ranking, as numbers", "V · 8", 8 * NODES),
        ("a ranking: names and log-odds", "V · 24", 24 * NODES),
    ]
    held = STORED + 7 * TABLE + NODE_BYTES * NODES
    return "\n".join(
        (
            _table(
                ("what", "arithmetic", "bytes", "an M-th of it"),
                [
                    (name, text, _size(number), _size(number / MACHINES))
                    for name, text, number in rows
                ],
            ),
            "",
            f"The graph, 7 tables and the rest are {_size(held)}: memory alone asks for "
            f"{math.ceil(held / MEMORY)} machines of {_size(MEMORY)}.",
        )
    )


def _limits(costs: dict[str, float]) -> str:
    limits = {
        "edges read: m / (8 g)": (EDGES, 8 * costs["reading"]),
        f"nodes, default preset: m / (3 · 4 d + {NODE_BYTES})": (NODES, 3 * ROW + NODE_BYTES),
        f"nodes, passes over pairs: m / (7 · 4 d + {NODE_BYTES})": (NODES, 7 * ROW + NODE_BYTES),
    }
    rows = [
        (
            _size(memory),
            *(
                f"{_count(memory / each)} ({memory / each / wanted:.1%})"
                for wanted, each in limits.values()
            ),
        )
        for memory in (24e9, MEMORY, 2e12)
    ]
    return _table(("memory of a machine", *limits), rows)


def _messages(costs: dict[str, float]) -> str:
    transformation = MetaTNENetwork(1, PAPER).transformation
    parameters = sum(parameter.numel() for parameter in transformation.parameters())
    nodes = 2 * (PAPER.positives + PAPER.negatives)
    pairs, tasks = PAPER.pairs_per_step, PAPER.tasks_per_step
    steps = [
        (
            f"structural, {pairs:,} pairs",
            f"{pairs:,} · (2 + k) · 4 d",
            pairs * ROWS_OF_PAIR * ROW,
            pairs / costs["pairs"],
        ),
        (
            f"meta, {tasks} tasks of {nodes} nodes",
            f"{tasks} · {nodes} · 4 d + {parameters:,} · 4",
            tasks * nodes * ROW + parameters * 4,
            costs["step"],
        ),
    ]
    return _table(
        ("step", "gradients to add up", "bytes", "sent: 2 · bytes / w", "the step on 2 cores"),
        [
            (name, arithmetic, _size(message), _time(2 * message / NETWORK), _time(alone))
            for name, arithmetic, message, alone in steps
        ],
    )


@dataclass(frozen=True)
class Work:
    """A part of the whole: seconds of one core, and what all machines move at so much each."""

    name: str
    arithmetic: str
    core_seconds: float
    traffic: str
    moved: float
    rate: float = NETWORK

    @property
    def computing(self) -> float:
        """Seconds of arithmetic on all cores."""
        return self.core_seconds / (MACHINES * CORES)

    @property
    def moving(self) -> float:
        """Seconds of moving by all machines."""
        return self.moved / (MACHINES * self.rate)

    @property
    def seconds(self) -> float:
        """The longer of both: they overlap."""
        return max(self.computing, self.moving)

    def row(self) -> tuple[str, ...]:
        """A row of the table."""
        return (
            self.name,
            f"{self.arithmetic} = {_time(self.core_seconds)}" if self.arithmetic else "",
            _time(self.computing) if self.arithmetic else "",
            self.traffic,
            _time(self.moving),
            _time(self.seconds),
        )


def _hours(costs: dict[str, float]) -> str:
    reading_bytes, blocks = 2 * EDGES * 24, PRODUCTS * MACHINES * BLOCK
    pair_bytes, round_bytes = 2 * EDGES * ROWS_OF_PAIR * ROW * 2, MACHINES * 3 * TABLE
    over_pairs = ("2 E / (p / 2)", 2 * EDGES / (costs["pairs"] / 2))
    reading = Work(
        "reading",
        *("E / (l / 2)", EDGES / (costs["lines"] / 2)),
        f"each edge to the machines of its ends: 2 E · 24 = {_size(reading_bytes)}",
        reading_bytes,
    )
    start = Work(
        "spectral start",
        *("2 E · 2 s", 2 * EDGES * 2 * costs["spectral"]),
        f"each block to each machine: n · M · V · (d + {OVERSAMPLING}) · 4 = {_size(blocks)}",
        blocks,
    )
    by_pair = Work(
        "a pass over all pairs, rows sent for each",
        *over_pairs,
        f"2 E · (2 + k) · 4 d · 2 = {_size(pair_bytes)}",
        pair_bytes,
    )
    by_block = Work(
        "a pass over all pairs, parts of C going round",
        *over_pairs,
        f"C and its moments to each machine: M · 3 V · d · 4 = {_size(round_bytes)}",
        round_bytes,
    )
    reads = Work(
        "the reads of a pass, from a graph that is mapped whole",
        *("", 0.0),
        f"2 E pages, r a second = {_count(2 * EDGES)}",
        2 * EDGES,
        READS,
    )
    checkpoint = Work(
        "a checkpoint, by each machine of its rows",
        *("", 0.0),
        f"7 V · d · 4, to disks = {_size(7 * TABLE)}",
        7 * TABLE,
        DISK,
    )
    ranking = Work(
        "ranking all nodes for one label",
        *("V / (q / 2)", NODES / (costs["scored"] / 2)),
        f"sorted: V · 24 · 2 = {_size(48 * NODES)}",
        48 * NODES,
    )
    tasks = DEFAULT.tasks_per_step, PAPER.tasks_per_step
    steps = DEFAULT.num_steps * costs["step"] * tasks[0] / tasks[1]
    learning = (
        f"{DEFAULT.num_steps} steps of the default preset, on one machine",
        f"{DEFAULT.num_steps} · t · {tasks[0]} / {tasks[1]} on 2 cores",
        *("", "", "", _time(steps)),
    )
    always = reading.seconds + steps + checkpoint.seconds + ranking.seconds
    sums = [
        ("default preset", start.seconds),
        (f"{PASSES} passes over pairs instead of the spectral start", PASSES * by_block.seconds),
        (f"{PASSES} passes, rows sent for each pair", PASSES * by_pair.seconds),
    ]
    works = (reading, start, by_pair, by_block, reads, checkpoint, ranking)
    return _table(
        (
            "part",
            "time of one core",
            f"of {MACHINES * CORES:,} cores",
            "moved",
            f"by {MACHINES} machines",
            "the longer",
        ),
        [
            *(work.row() for work in works),
            learning,
            *(
                (f"**in all, {name}**", "", "", "", "", f"**{_time(always + seconds)}**")
                for name, seconds in sums
            ),
        ],
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _size(num_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if num_bytes < 1000:
            return f"{num_bytes:.3g} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.3g} PB"


def _count(number: float) -> str:
    for unit in ("", " thousand", " million"):
        if number < 1000:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g} billion"


def _time(seconds: float) -> str:
    for unit, length in (("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)):
        if seconds < 120 * length or (unit == "h" and seconds < 48 * length):
            return f"{seconds / length:.3g} {unit}"
    days = seconds / 86_400
    return f"{days:.3g} days" if days < 730 else f"{days / 365:.3g} years"


if __name__ == "__main__":
    main()
