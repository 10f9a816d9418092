"""Embeddings that depend on the graph alone, so that trials share them; and what scores by them."""

from __future__ import annotations

import fcntl
import hashlib
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Float32
from platformdirs import user_cache_path
from pydantic import Field

from metatne.baselines.base import Baseline, BaselineSettings
from metatne.baselines.logistic import score_by_logistic_regression
from metatne.config import hash_settings
from metatne.graph.store import Graph
from metatne.sampling.tasks import Tasks
from metatne.storage import new_file

Vectors = Float32[np.ndarray, "node dim"]

VERSION = 1
"""To be raised when what is made of the same settings changes: older files are then not read."""


def structure_digest(graph: Graph) -> str:
    """16 hex digits of nodes and edges; labels and ids do not count."""
    digest = hashlib.sha256(str(graph.num_nodes).encode())
    for array in (graph.indptr, graph.indices, graph.weights):
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def cached_vectors(
    graph: Graph, name: str, settings: Mapping[str, Any], make: Callable[[], Vectors]
) -> Vectors:
    """What `make` makes of this graph with these settings, from disk if it was made before.

    The file is written whole or not at all; one that cannot be read is made again. Whoever
    else wants it in the meantime waits.
    """
    folder = user_cache_path("metatne") / "embeddings"
    facts = hash_settings({**settings, "version": VERSION})
    path = folder / f"{name}-{structure_digest(graph)}-{facts}.npy"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given back when the file is closed, even by a crash
        found = _read(path, graph.num_nodes)
        if found is not None:
            return found
        vectors = np.ascontiguousarray(make(), dtype=np.float32)
        with new_file(path) as temporary, temporary.open("wb") as file:
            np.save(file, vectors)
        return vectors


def _read(path: Path, num_nodes: int) -> Vectors | None:
    try:
        vectors = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    is_sound = vectors.dtype == np.float32 and vectors.ndim == 2 and len(vectors) == num_nodes
    return vectors if is_sound else None


class EmbeddingSettings(BaselineSettings):
    """Settings of methods that embed the graph and then fit a logistic regression."""

    dim: int = Field(128, ge=2, description="size of a node's embedding")
    strength: float = Field(1.0, gt=0, description="C of the logistic regression")
    graph_seed: int = Field(
        0, ge=0, description="the seed of the embedding, the same in all trials, which share it"
    )


class EmbeddingBaseline(Baseline):
    """Embeds the graph, then fits an L2-regularised logistic regression on the supports."""

    kind_of_settings: ClassVar[type[BaselineSettings]] = EmbeddingSettings
    settings: EmbeddingSettings
    vectors_: Vectors

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """Log-odds by the regression on each task's supports."""
        return score_by_logistic_regression(self.vectors_, tasks, strength=self.settings.strength)

    @abstractmethod
    def embed(self, graph: Graph) -> Vectors:
        """The embedding of every node."""
