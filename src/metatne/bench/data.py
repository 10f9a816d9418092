"""The paper's graphs, where they are on this machine: a benchmark downloads nothing."""

from __future__ import annotations

from pathlib import Path

from metatne.bench.figure import Skipped
from metatne.errors import DatasetError
from metatne.graph.datasets import load_dataset
from metatne.graph.store import Graph

BESIDE_THE_CHECKOUT = Path(__file__).parents[4] / "shared" / "datasets"
"""Where developers keep the files; others set METATNE_DATA, or have them in the cache."""


def paper_graph(name: str) -> Graph | Skipped:
    """The data set called `name`, or why a benchmark of it has to be skipped."""
    try:
        return load_dataset(name, data_dir=BESIDE_THE_CHECKOUT, download=False)
    except DatasetError as error:
        return Skipped(name, str(error))
