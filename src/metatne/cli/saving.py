"""Models as the commands save them: with where their graph is, for `metatne serve` to find it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from metatne.estimator import MetaTNE
from metatne.graph.source import GraphSource


def save_model(model: MetaTNE, source: GraphSource, path: Path, *, overwrite: bool) -> None:
    """Write the model that was trained on the graph of `source`."""
    model.trained_ = replace(model.trained_, graph_source=source)
    model.save(path, overwrite=overwrite)
