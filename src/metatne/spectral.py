"""A start for the node embeddings that already knows the graph and its labels, in seconds.

The structural module needs many passes over the edges before its embeddings say anything.
The leading eigenvectors of the normalised adjacency say it at once; training goes on from there.
Each known label joins the graph as one more node, linked to its holders: so nodes with the same
labels come close, and so do, less, the nodes around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Float32, Int64
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from metatne.graph.store import Graph
from metatne.seeding import numpy_generator

DEGREE_SHARE = 0.1
"""Share of the mean degree that is added to every degree. Without it each small component
has an eigenvalue of 1, and in a graph of many pieces the pieces use up all dimensions."""

LABEL_SHARE = 0.3
"""Weight of a link to a label, in mean degrees: what a label says against what links say."""

TOLERANCE = 1e-3
SMALL = 512
"""Below so many nodes a dense solver is faster, and needs no iteration."""


def spectral_embeddings(
    graph: Graph, known_labels: Int64[np.ndarray, " label"], dim: int, *, seed: int
) -> Float32[np.ndarray, "node dim"]:
    """The nodes in the leading eigenvectors, each row of mean square 1 (0 for isolated nodes)."""
    matrix = _normalised(_with_labels(graph, known_labels))
    values, vectors = _leading_eigenvectors(matrix, dim, seed)
    # An eigenvalue says how smoothly its vector lies on the graph: rough ones weigh less.
    coordinates = (vectors * np.maximum(values, 0.0))[: graph.num_nodes]
    lengths = np.linalg.norm(coordinates, axis=1, keepdims=True)
    rows = coordinates * (np.sqrt(dim) / np.where(lengths > 0, lengths, 1.0))
    embeddings = np.zeros((graph.num_nodes, dim), dtype=np.float32)
    embeddings[:, : rows.shape[1]] = rows
    return embeddings


def _with_labels(graph: Graph, known_labels: Int64[np.ndarray, " label"]) -> sp.csr_array:
    """The adjacency of nodes and labels together."""
    adjacency = graph.adjacency().astype(np.float64)
    mean_degree = adjacency.sum() / max(graph.num_nodes, 1)
    holds = graph.labels.holds_matrix().astype(np.float64)[:, known_labels]
    links = holds * (LABEL_SHARE * mean_degree)
    blocks: list[list[Any]] = [[adjacency, links], [links.T, None]]
    return sp.csr_array(sp.block_array(blocks))


def _normalised(adjacency: sp.csr_array) -> sp.csr_array:
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    scaling = sp.diags_array(1.0 / np.sqrt(degrees + DEGREE_SHARE * degrees.mean()))
    return sp.csr_array(scaling @ adjacency @ scaling)


def _leading_eigenvectors(
    matrix: sp.csr_array, count: int, seed: int
) -> tuple[Float[np.ndarray, " vector"], Float[np.ndarray, "node vector"]]:
    """The largest eigenvalues, at most `count`, and their vectors, signs settled."""
    num_nodes = matrix.shape[0]
    if num_nodes <= max(SMALL, 2 * count):
        values, vectors = eigh(matrix.toarray())
        values, vectors = values[-count:], vectors[:, -count:]
    else:
        start = numpy_generator(seed, "spectral").standard_normal(num_nodes)
        try:
            values, vectors = eigsh(matrix, k=count, which="LA", v0=start, tol=TOLERANCE)
        except ArpackNoConvergence as unfinished:  # fewer vectors are still a good start
            values, vectors = unfinished.eigenvalues, unfinished.eigenvectors
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return values, vectors * signs
