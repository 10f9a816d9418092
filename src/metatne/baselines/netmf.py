"""NetMF: what DeepWalk factorises, factorised at once (Qiu et al., 2018), some rows at a time."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float32, Float64
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from metatne.baselines.embedding import Vectors, cached_vectors
from metatne.graph.store import Graph
from metatne.seeding import numpy_generator

WINDOW = 10
NUM_EIGENPAIRS = 256
OVERSAMPLING = 16
NUM_PASSES = 3
"""Over the matrix, after the first; its leading vectors stand out, so few are enough."""

ROWS_AT_A_TIME = 1_024


def netmf_vectors(graph: Graph, dim: int) -> Vectors:
    """An embedding whose inner products come close to the logarithms of co-visits on walks.

    The matrix, log max(1, vol / T * sum over r in 1..T of P^r D^-1), is taken from the leading
    eigenpairs of the normalised adjacency and never held as a whole: cost grows with |V|^2,
    memory with |V|.
    """
    facts = {"dim": dim, "window": WINDOW, "eigenpairs": NUM_EIGENPAIRS, "passes": NUM_PASSES}
    return cached_vectors(graph, "netmf", facts, lambda: _netmf(graph, dim))


def _netmf(graph: Graph, dim: int) -> Vectors:
    factor = _matrix_root(graph)
    num_nodes = graph.num_nodes
    width = min(dim + OVERSAMPLING, num_nodes)
    block = numpy_generator(0, "NetMF").standard_normal((num_nodes, width), dtype=np.float32)
    for _ in range(NUM_PASSES):
        block = np.linalg.qr(_times(factor, block))[0]
    images = _times(factor, block)
    values, rotation = eigh(block.T @ images)
    leading = np.argsort(-np.abs(values))[:dim]
    vectors = np.zeros((num_nodes, dim), dtype=np.float32)
    scales = np.sqrt(np.abs(values[leading]))
    vectors[:, : len(leading)] = (block @ rotation[:, leading]) * scales
    return vectors


Factor = tuple[Float32[np.ndarray, "node pair"], Float32[np.ndarray, " pair"]]


def _matrix_root(graph: Graph) -> Factor:
    """X and f with X diag(f) X' the matrix before its logarithm."""
    adjacency = graph.adjacency().astype(np.float64)
    degrees = np.asarray(adjacency.sum(axis=1))
    inverse = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    scaling = sp.diags_array(inverse)
    normalised = (scaling @ adjacency @ scaling).tocsr()
    num_pairs = min(NUM_EIGENPAIRS, graph.num_nodes - 1)
    if graph.num_nodes <= 2 * NUM_EIGENPAIRS:
        values, vectors = eigh(normalised.toarray())
    else:
        start = numpy_generator(0, "NetMF eigenpairs").standard_normal(graph.num_nodes)
        values, vectors = eigsh(normalised, k=num_pairs, which="LA", v0=start)
    walks: Float64[np.ndarray, " pair"] = np.mean(
        [values**power for power in range(1, WINDOW + 1)], axis=0
    )
    factors = float(degrees.sum()) * walks
    return (vectors * inverse[:, None]).astype(np.float32), factors.astype(np.float32)


def _times(factor: Factor, block: Float32[np.ndarray, "node column"]) -> Vectors:
    """The matrix, with its logarithms, times a block."""
    vectors, factors = factor
    weighted = (vectors * factors).T
    product = np.empty_like(block)
    for start in range(0, len(vectors), ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        part = vectors[rows] @ weighted
        np.maximum(part, 1.0, out=part)
        np.log(part, out=part)
        product[rows] = part @ block
    return product
