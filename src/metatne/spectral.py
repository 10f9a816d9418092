"""A start for the node embeddings that already knows the graph and its labels, in seconds.

The structural module needs many passes over the edges before its embeddings say anything.
The leading eigenvectors of the normalised adjacency say it at once; training goes on from there.
Known labels take part as nodes: so nodes with the same labels come close, and so do, less, the
nodes around them.

The normalised adjacency is D^-1/2 A D^-1/2. Its eigenvectors x are found as y = D^-1/2 x, which
are those of the walk P = D^-1 A (`graph/walk.py`), with the same eigenvalues; in strides of two, of
P^2, whose eigenvalues are squares.

The way to them is *Chebyshev-filtered subspace iteration*. A block of random vectors, a few more
than are wanted, is multiplied by a polynomial of P which stays within 1 on the eigenvalues that
are not wanted, [-1, cut] ([0, cut] of P^2), and grows as fast as polynomials can above: T_k(Q),
where Q is P with that interval mapped to [-1, 1], by T_{j+1} = 2 Q T_j - T_{j-1}. Then the best
approximations within the span of the block are taken (Rayleigh and Ritz: a small dense problem),
the cut rises to the lowest of them, and the next pass begins.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Float32, Float64, Int64
from scipy.linalg import eigh

from metatne.device import one_thread
from metatne.graph.store import Graph
from metatne.graph.walk import Adjacency, Block, Walk
from metatne.parallel import in_threads
from metatne.seeding import numpy_generator

SMALL = 512
"""Up to so many nodes a dense solver is faster, and needs no iteration."""

OVERSAMPLING = 16
"""Vectors of a block beyond those wanted, as the last ones converge slowest."""

GROWTH = 1e4
"""How much a pass lets the leading vector outgrow those that are damped: in single precision
they are lost in its rounding from some 1e6 on."""

MAX_DEGREE = 32
"""Of a pass's polynomial, where eigenvalues close to 1 would ask for more."""

INDEPENDENT = 1e-11
"""Eigenvalues of the vectors' inner products below this share of the largest are rounding."""

SETTLED = 0.02
"""The passes end when the last one added less than this share to the sum of the eigenvalues.
What still turns then are the last vectors, which say least (LOG.md has the scores)."""

MAX_PASSES = 8
ROWS_PER_PIECE = 4_096
PIECES_AT_A_TIME = 64
"""Pieces whose inner products are held at once."""


@one_thread()
def spectral_embeddings(
    graph: Graph,
    known_labels: Int64[np.ndarray, " label"],
    dim: int,
    *,
    seed: int,
    stride: int = 1,
) -> Float32[np.ndarray, "node dim"]:
    """The nodes in the leading eigenvectors, each row of mean square 1 (0 for isolated nodes).

    An eigenvalue says how smoothly its vector lies on the graph: rough ones weigh less. In strides
    of 2 those vectors lead that are smooth from one node to the next but one, be neighbours alike
    in them or opposite.
    The result does not depend on the number of threads.
    """
    walk = Walk(Adjacency.of(graph), graph.labels.holds.select(known_labels), stride=stride)
    if walk.num_rows <= max(SMALL, 2 * (dim + OVERSAMPLING)):
        block, values, to_leading = _dense_eigenvectors(walk, dim)
    else:
        block, values, to_leading = _filtered_eigenvectors(walk, dim, seed)
    to_leading = (to_leading * values ** (1 / stride)).astype(np.float32)
    embeddings = np.zeros((graph.num_nodes, dim), dtype=np.float32)

    def write(rows: slice) -> None:
        # A row's length is not kept, and with it goes the difference between x and y.
        coordinates = block[rows] @ to_leading
        lengths = np.linalg.norm(coordinates, axis=1, keepdims=True)
        coordinates *= math.sqrt(dim) / np.where(lengths > 0, lengths, 1)
        embeddings[rows, : coordinates.shape[1]] = coordinates

    in_threads(write, _row_pieces(graph.num_nodes))
    return embeddings


Leading = tuple[Block, Float64[np.ndarray, " leading"], Float64[np.ndarray, "column leading"]]
"""A block, the leading eigenvalues (none below 0), and how the block makes their vectors."""


def _dense_eigenvectors(walk: Walk, dim: int) -> Leading:
    """All eigenvectors x as a block."""
    identity = np.eye(walk.num_rows, dtype=np.float32)
    matrix = np.zeros_like(identity)
    walk.combine(identity, matrix)
    roots = np.sqrt(walk.degrees)
    values, vectors = eigh(matrix * (roots[:, None] / roots))
    leading = np.maximum(values[::-1][:dim], 0).astype(np.float64)
    return vectors.astype(np.float32), leading, np.eye(walk.num_rows)[:, ::-1][:, :dim]


def _filtered_eigenvectors(walk: Walk, dim: int, seed: int) -> Leading:
    """A block that makes eigenvectors y, close to the true ones."""
    block = _random_block(walk, dim + OVERSAMPLING, seed)
    spare = np.zeros_like(block)
    cut = reached = 0.0
    for number in range(1, MAX_PASSES + 1):
        block, spare = _filtered(walk, block, spare, cut)
        values, rotation = _rayleigh_ritz(walk, block, spare)
        values = np.maximum(values, 0)
        total = float(values[:dim].sum())
        if total - reached <= SETTLED * total or number == MAX_PASSES:
            break
        _rotate(block, rotation)
        cut, reached = float(values[-1]), total
    return block, values[:dim], rotation[:, :dim]


def _random_block(walk: Walk, num_columns: int, seed: int) -> Block:
    """Random vectors y without a part in nodes that have no links: these stay at 0."""
    block = np.empty((walk.num_rows, num_columns), dtype=np.float32)
    scales = (walk.is_linked / np.sqrt(walk.degrees)).astype(np.float32)

    def draw(rows: slice) -> None:
        generator = numpy_generator(seed, "spectral", rows.start)
        generator.random(out=block[rows], dtype=np.float32)
        block[rows] -= 0.5
        block[rows] *= scales[rows, None]

    in_threads(draw, _row_pieces(walk.num_rows))
    return block


def _filtered(walk: Walk, block: Block, spare: Block, cut: float) -> tuple[Block, Block]:
    """T_k(Q) block, and the other of the two arrays; both are overwritten."""
    lowest = walk.lowest if cut > 0 else -1.0  # an interval of no length has no polynomial
    centre, radius = (cut + lowest) / 2, (cut - lowest) / 2
    degree = math.acosh(GROWTH) / math.acosh((1 - centre) / radius)
    walk.combine(block, spare, of_product=1 / radius, of_block=-centre / radius, of_out=0)
    before, current = block, spare
    for _ in range(1, min(int(degree), MAX_DEGREE)):
        walk.combine(
            current, before, of_product=2 / radius, of_block=-2 * centre / radius, of_out=-1
        )
        before, current = current, before
    return current, before


def _rayleigh_ritz(
    walk: Walk, block: Block, spare: Block
) -> tuple[Float64[np.ndarray, " column"], Float64[np.ndarray, "column column"]]:
    """The eigenvalues that the span of the block has, falling, and how it makes their vectors.

    Where its vectors are not independent, values and columns of zeros are left over.
    """
    walk.combine(block, spare)

    def inner_products(rows: slice) -> Float64[np.ndarray, "2 column column"]:
        roots = np.sqrt(walk.degrees[rows, None])
        vectors, images = roots * block[rows], roots * spare[rows]  # x, and its product
        return np.stack((vectors.T @ vectors, vectors.T @ images))

    num_columns = block.shape[1]
    grams = np.zeros((2, num_columns, num_columns))
    pieces = _row_pieces(walk.num_rows)
    for start in range(0, len(pieces), PIECES_AT_A_TIME):
        for part in in_threads(inner_products, pieces[start : start + PIECES_AT_A_TIME]):
            grams += part
    lengths = np.sqrt(np.diag(grams[0]))
    scales = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    spreads, directions = eigh(grams[0] * (scales[:, None] * scales))
    is_independent = spreads > INDEPENDENT * spreads[-1]
    basis = scales[:, None] * directions[:, is_independent] / np.sqrt(spreads[is_independent])
    projected = basis.T @ grams[1] @ basis
    values, vectors = eigh((projected + projected.T) / 2)
    num_left = num_columns - len(values)
    rotation = np.pad((basis @ vectors)[:, ::-1], ((0, 0), (0, num_left)))
    return np.pad(values[::-1], (0, num_left)), rotation


def _rotate(block: Block, rotation: Float[np.ndarray, "column column"]) -> None:
    single = rotation.astype(np.float32)

    def rotate(rows: slice) -> None:
        block[rows] = block[rows] @ single

    in_threads(rotate, _row_pieces(len(block)))


def _row_pieces(num_rows: int) -> list[slice]:
    starts = range(0, num_rows, ROWS_PER_PIECE)
    return [slice(start, min(start + ROWS_PER_PIECE, num_rows)) for start in starts]
