"""How much memory a training will need, and a refusal before it starts when that is too much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from metatne.config import Config
from metatne.errors import OutOfMemoryError
from metatne.evidence.description import (
    LABEL_TABLES,
    OTHERS,
    OWN,
    mixed_places,
    num_columns,
)
from metatne.evidence.head import block_pairs
from metatne.evidence.lessons import num_folds
from metatne.evidence.place import PLACE_DIM
from metatne.evidence.reach import walking_floats
from metatne.free_memory import available_memory, format_bytes
from metatne.graph.store import Graph
from metatne.parallel import num_threads
from metatne.schedule import structural_probability
from metatne.spectral import OVERSAMPLING
from metatne.training.meta import PAIRS_PER_PIECE
from metatne.training.trainer import training_shape

_FLOAT = 4
_TABLES = 3
"""Node tables that are there as a whole: U, C, and the best U so far; one more for averages."""

_MOMENTS = 2
"""Vectors that a row optimiser holds of each row that ever had a gradient."""

_BLOCKS = 2
"""Blocks of vectors that a spectral start, or walks from examples, hold at once."""

_NODE_BYTES = 120
"""Beside the tables: bounds, degrees, tables to draw from, where a row's moments are."""

_HELD_BYTES = 40
"""A held pair of a node and a label: by label and by node, to draw from and to look up."""

_OVERHEAD = 600 * 2**20
"""Python, PyTorch, compiled code and their buffers."""


@dataclass(frozen=True)
class GraphSize:
    """What of a graph counts for memory."""

    num_nodes: int
    num_entries: int
    """Of the adjacency: two an edge."""

    num_held: int = 0
    """Pairs of a node and a label that it holds."""

    is_weighted: bool = False
    num_labels: int = 0

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """The size of this graph."""
        return cls(
            graph.num_nodes,
            len(graph.indices),
            len(graph.labels.holds),
            is_weighted=graph.weights is not None,
            num_labels=graph.labels.num_labels,
        )


def estimate_training_bytes(size: GraphSize, config: Config) -> int:
    """Peak resident memory of a training, to within a third; a mapped graph counts as read."""
    if config.head == "evidence":
        return _OVERHEAD + evidence_bytes(size, config)
    entry = _FLOAT + (_FLOAT + 8 if size.is_weighted else 0)  # weights, and their sums
    graph = entry * size.num_entries + _HELD_BYTES * size.num_held
    num_tables = _TABLES + (config.averaging > 0)
    tables = num_tables * _FLOAT * size.num_nodes * config.dim + _moment_bytes(size, config)
    steps = tables + _FLOAT * max(_meta_step_floats(config), _structural_step_floats(config))
    start = 0
    if config.spectral_scale > 0:
        start = _BLOCKS * _FLOAT * size.num_nodes * (config.dim + OVERSAMPLING)
    return _OVERHEAD + graph + _NODE_BYTES * size.num_nodes + max(steps, start)


def evidence_bytes(size: GraphSize, config: Config) -> int:
    """Of a training of the head `evidence`: graph, eigenvectors, descriptions, tasks."""
    entry = _FLOAT + (_FLOAT + 8 if size.is_weighted else 0)
    graph = entry * size.num_entries + _HELD_BYTES * size.num_held
    # One more in strides of two.
    start = (_BLOCKS + 1) * _FLOAT * size.num_nodes * (PLACE_DIM + OVERSAMPLING)
    columns = num_columns(size.num_nodes, size.num_labels)
    place = _FLOAT * size.num_nodes * PLACE_DIM
    # States, three hops and both tables of what is expected, with nobody hidden and by fold, and
    # what it takes to make one.
    descriptions = 1 + num_folds(size.num_nodes) + 4
    tables = descriptions * size.num_nodes * columns * (1 + _FLOAT * LABEL_TABLES)
    supports = config.positives + config.negatives
    # Tasks of known labels and of validation labels: products of blocks, the prior's columns.
    blocks = OWN + OTHERS
    num_pairs = len(block_pairs(len(blocks), mixed_places(blocks)))
    of_node = supports * num_pairs + PLACE_DIM + columns
    tasks = 2 * config.head_tasks * 2 * supports * of_node * _FLOAT
    walks = _BLOCKS * _FLOAT * walking_floats(size.num_nodes)
    return graph + _NODE_BYTES * size.num_nodes + max(start, place + tables + tasks + walks)


def _moment_bytes(size: GraphSize, config: Config) -> int:
    """The moments of rows that will have had a gradient by the last step."""
    taus = (
        structural_probability(step, decay_rate=config.decay_rate, decay_period=config.decay_period)
        for step in range(config.num_steps)
    )
    num_structural = sum(taus)
    num_meta = config.num_steps - num_structural
    shots, queries = _task_nodes(config)
    touched = (  # of U and C in structural steps, of U in meta steps
        num_structural * config.pairs_per_step,
        num_structural * config.pairs_per_step * (1 + config.negatives_per_pair),
        num_meta * config.tasks_per_step * (shots + queries),
    )
    # Of so many draws at random, some draw a row that another one drew.
    shares = [-math.expm1(-draws / max(size.num_nodes, 1)) for draws in touched]
    return int(_MOMENTS * _FLOAT * config.dim * size.num_nodes * sum(shares))


def _task_nodes(config: Config) -> tuple[int, int]:
    """Supports and queries of a training task."""
    shape = training_shape(config)
    return shape.positives + shape.negatives, shape.query_positives + shape.query_negatives


def _meta_step_floats(config: Config) -> int:
    """Of the pieces of a batch of tasks that threads work on at once."""
    shots, queries = _task_nodes(config)
    pairs = queries * (shots + 2)
    held = min(config.tasks_per_step * pairs, num_threads() * max(pairs, PAIRS_PER_PIECE))
    # A pair keeps about six vectors of d and two of d_ff a block for the backward pass,
    # which takes as much again.
    return 2 * held * config.num_blocks * (6 * config.dim + 2 * config.feedforward_dim)


def _structural_step_floats(config: Config) -> int:
    return 2 * config.pairs_per_step * (config.negatives_per_pair + 2) * config.dim


def check_memory(estimate: int) -> None:
    """Raise when `estimate` bytes are more than this process can have."""
    available = available_memory()
    if estimate > available:
        raise OutOfMemoryError(
            f"this training needs about {format_bytes(estimate)}, and {format_bytes(available)} "
            "are free; lower dim or tasks_per_step (--set dim=64), or use a larger machine"
        )
