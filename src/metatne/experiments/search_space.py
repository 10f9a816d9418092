"""The space of the paper's search for hyper-parameters (Table 4), and the lines it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metatne.config import Config, hash_settings, preset
from metatne.evaluation.results import ResultsFile
from metatne.graph.store import Graph
from metatne.seeding import numpy_generator

SPACE: Mapping[str, tuple[float, ...]] = {
    "pairs_per_step": (512, 1024, 2048),
    "tasks_per_step": (32, 64, 128),
    "num_heads": (1, 2, 4),
    "attention_dim": (128, 256),
    "feedforward_dim": (256, 512),
    "num_blocks": (1, 2, 3),
    "l2": (0.001, 0.01, 0.1),
    "structural_rate": (0.0001, 0.001),
    "meta_rate": (0.0001, 0.001),
    "decay_period": (500, 1000, 1500, 2000),
}
"""Table 4."""

VERSION = 2
"""Of how points are tried: in 1 the schedule was not shortened with the training."""

SEARCH_FILE = "search.jsonl"
KEY = ("dataset", "trial", "num_steps", "validation_tasks", "config_hash", "point_hash")
"""`config_hash` names the very graph, and the settings that no point has."""

MEASURED = ("point", "score", "auc", "f1", "step", "steps", "seconds")

Point = dict[str, float]
Row = dict[str, Any]


def draw_points(count: int, *, seed: int) -> list[Point]:
    """Points of the space, each drawn by itself: more of them begin with the same ones."""
    generators = (numpy_generator(seed, "search", number) for number in range(count))
    return [
        {name: values[generator.integers(len(values))] for name, values in SPACE.items()}
        for generator in generators
    ]


def published_point(dataset: str) -> Point:
    """Where in the space the paper's settings for a data set are."""
    settings = Config(**preset("paper", dataset)).model_dump()
    return {name: settings[name] for name in SPACE}


PAPER_STEPS = Config(**preset("paper")).num_steps


def settings_of(point: Point, num_steps: int) -> Point:
    """A point's settings for so many steps, of which the same share is structural as of 40,000.

    All steps of the first `decay_period` are. As it stands, a training that is much shorter than
    the paper's would take hardly a meta step, and points would be ended before their first.
    """
    return point | {"decay_period": max(1, round(point["decay_period"] * num_steps / PAPER_STEPS))}


def point_hash(point: Point) -> str:
    """12 hex digits that name a point."""
    return hash_settings(point)


def points_to_try(dataset: str, num_samples: int, *, seed: int) -> dict[str, Point]:
    """The published point and so many drawn ones by their hash: one drawn twice is one."""
    points = [published_point(dataset), *draw_points(num_samples, seed=seed)]
    return {point_hash(point): point for point in points}


def config_hash(graph: Graph) -> str:
    """12 hex digits that name the very graph, and the settings around a point."""
    around = {k: v for k, v in preset("paper", graph.name).items() if k not in SPACE}
    return hash_settings(around | {"graph": graph.fingerprint, "version": VERSION})


def search_file(path: Path) -> ResultsFile:
    """The file with one line a point that was tried."""
    return ResultsFile(path, key=KEY, measured=MEASURED)


def best_first(rows: list[Row]) -> list[Row]:
    """Rows by what selection maximises."""
    return sorted(rows, key=lambda row: -float(row["score"]))
