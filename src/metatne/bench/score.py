"""Every node ranked for a novel label (10/20 supports), against tiled supports."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from metatne.bench.figure import Figure
from metatne.bench.measuring import matmul_peak, once, peak_memory
from metatne.bench.naive import naive_logits
from metatne.config import Config, make_config
from metatne.model import MetaTNENetwork
from metatne.parallel import num_threads
from metatne.scoring import score_nodes
from metatne.seeding import numpy_generator, torch_seed

POSITIVES, NEGATIVES = 10, 20
RATIO_GOAL = 15.0
SECONDS_GOAL = {1_000_000: 30.0}
MEMORY_GOAL = 1.0
"""GB beyond the embeddings."""

NAIVE_NODES = 20_000
"""The plain way's cost per node does not depend on the graph; a million would take minutes."""

NAIVE_BATCH = 500
TOLERANCE = 1e-3


def measure(quick: bool) -> Iterator[Figure]:
    """Nodes a second, the share of the machine's peak, and memory beyond the embeddings."""
    config = make_config({"identity_start": False})  # as after training: no branch adds nothing
    _score(_network(2_000, config), 2_000)  # compiles, or loads what was compiled before
    for num_nodes in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        yield from _compare(num_nodes, config)
        peak = peak_memory("metatne.bench.score:score_alone", num_nodes)
        beyond = (peak.peak - peak.before - 4 * config.dim * num_nodes) / 1e9
        yield Figure(
            f"{num_nodes:,} nodes", "memory beyond the embeddings", beyond, "GB", goal=MEMORY_GOAL
        )


def _compare(num_nodes: int, config: Config) -> Iterator[Figure]:
    network = _network(num_nodes, config)
    taken, scores = min(
        (once(lambda: _score(network, num_nodes)) for _ in range(3)), key=lambda run: run[0]
    )
    plain_nodes = min(num_nodes, NAIVE_NODES)
    _naive_scores(network, NAIVE_BATCH)  # warms up
    naive, plain = once(lambda: _naive_scores(network, plain_nodes))
    apart = float(np.abs(scores[:plain_nodes] - plain).max())
    if apart > TOLERANCE:
        raise AssertionError(f"scores differ by {apart} from the plain way's")
    rate, naive_rate = num_nodes / taken, plain_nodes / naive
    peak = matmul_peak(num_threads())
    yield Figure(
        f"{num_nodes:,} nodes",
        "nodes scored a second",
        rate,
        "1/s",
        against=naive_rate,
        ratio=rate / naive_rate,
        goal=RATIO_GOAL,
        judged="ratio at least",
        details={
            "share of the matrix-product peak": flops_of_node(config) * rate / 1e9 / peak,
            "matrix-product peak, GFLOP/s": peak,
            "nodes scored the plain way": plain_nodes,
            "largest difference of the scores": apart,
        },
    )
    yield Figure(f"{num_nodes:,} nodes", "all scored", taken, "s", goal=SECONDS_GOAL.get(num_nodes))


def flops_of_node(config: Config) -> float:
    """Multiplications and additions that the factorised form needs for one more query."""
    d, hidden, heads = config.dim, config.feedforward_dim, config.num_heads
    pairs = (POSITIVES + NEGATIVES + 2) * d * hidden
    projected = 2 * d * config.attention_dim + heads * d * d  # W_Q u, W_K u; W_O W_V u
    folded = (heads + 2) * d * hidden  # V times the values, and times the query for each sign
    return 2.0 * (pairs + projected + folded)


def score_alone(num_nodes: int) -> None:
    """All of a graph's nodes scored in a process of its own, whose memory is looked at."""
    _score(_network(num_nodes, make_config({"identity_start": False})), num_nodes)


def _network(num_nodes: int, config: Config) -> MetaTNENetwork:
    with torch_seed(0, "benchmark network"):
        network = MetaTNENetwork(num_nodes, config)
        network.embeddings.data.normal_()
    return network


def _supports(num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    drawn = numpy_generator(0, "benchmark supports").choice(
        num_nodes, POSITIVES + NEGATIVES, replace=False
    )
    return drawn[:POSITIVES], drawn[POSITIVES:]


def _score(network: MetaTNENetwork, num_nodes: int) -> np.ndarray:
    return score_nodes(network, *_supports(num_nodes), np.arange(num_nodes))


@torch.inference_mode()
def _naive_scores(network: MetaTNENetwork, count: int) -> np.ndarray:
    """The first nodes' scores with the supports tiled for each, on all cores."""
    table = network.embeddings
    positives, negatives = (table[torch.from_numpy(nodes[None])] for nodes in _supports(len(table)))
    batches = [
        table[None, start : min(start + NAIVE_BATCH, count)]
        for start in range(0, count, NAIVE_BATCH)
    ]
    parts = [naive_logits(network, positives, negatives, queries) for queries in batches]
    return torch.cat(parts, dim=1)[0].numpy()
