"""Where a graph came from, so that a model can find it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metatne.graph.datasets import DATASETS, load_dataset
from metatne.graph.store import Graph


@dataclass(frozen=True)
class GraphSource:
    """A graph's directory or the name of a data set, and labels that were held out of it."""

    reference: str
    without: tuple[str, ...] = ()
    """Labels that the model has never seen, as if nobody had come up with them yet."""

    @classmethod
    def of(cls, reference: str, *, without: Sequence[str] = ()) -> GraphSource:
        """What `open_graph` would open for `reference`, from any working directory."""
        path = Path(reference).expanduser()
        is_name = not (path / "graph.json").exists() and reference.lower() in DATASETS
        return cls(reference.lower() if is_name else str(path.absolute()), tuple(without))

    def open(self, *, data_dir: Path | str | None = None) -> Graph:
        """The graph as the model saw it; nothing is downloaded."""
        if self.reference in DATASETS:
            graph = load_dataset(self.reference, data_dir=data_dir, download=False)
        else:
            graph = Graph.open(self.reference)
        return without_labels(graph, self.without)

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's header."""
        return {"reference": self.reference, "without": list(self.without)}

    @classmethod
    def from_json(cls, value: Any) -> GraphSource:
        """What `to_json` gave; ValueError for anything else."""
        reference = value.get("reference") if isinstance(value, dict) else None
        without = value.get("without", []) if isinstance(value, dict) else None
        if (
            not isinstance(reference, str)
            or not isinstance(without, list)
            or not all(isinstance(label, str) for label in without)
        ):
            raise ValueError(f"expected a graph's reference and the labels left out, found {value}")
        return cls(reference, tuple(without))


def without_labels(graph: Graph, names: Sequence[str]) -> Graph:
    """The graph as it was before anybody came up with these labels."""
    if not names:
        return graph
    gone = {graph.labels.position(name) for name in names}
    others = [label for label in range(graph.labels.num_labels) if label not in gone]
    return graph.with_labels(graph.labels.before_others(others))
