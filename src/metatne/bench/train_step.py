"""One meta step at the paper's settings, against tiled supports in eager PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch.nn import functional

from metatne.bench.data import paper_graph
from metatne.bench.figure import Figure, Skipped
from metatne.bench.measuring import once, seconds
from metatne.bench.naive import naive_logits
from metatne.config import Config, make_config, preset
from metatne.device import one_thread
from metatne.graph.store import Graph
from metatne.sampling.splits import paper_split
from metatne.seeding import torch_seed
from metatne.training.trainer import Trainer

GOAL = 8.0
REPEATS = 5


def measure(quick: bool) -> Iterator[Figure | Skipped]:
    """Seconds of a step, sampling and update included, on both data sets and support sizes."""
    for name in ("blogcatalog", "ppi"):
        graph = paper_graph(name)
        if isinstance(graph, Skipped):
            yield graph
            continue
        for negatives in (20,) if quick else (20, 40):
            yield _compare(graph, make_config(preset("paper", name) | {"negatives": negatives}))


def _compare(graph: Graph, config: Config) -> Figure:
    trainer = Trainer(graph, paper_split(graph.labels.num_labels, 1), config)
    with one_thread():
        first, _ = once(trainer.meta_step)  # compiles, or loads what was compiled before
        ours = seconds(trainer.meta_step, repeats=REPEATS)
    naive = seconds(lambda: naive_meta_step(trainer), repeats=REPEATS)
    return Figure(
        f"{graph.name} {config.positives}/{config.negatives}, {config.tasks_per_step} tasks",
        "a meta step",
        ours,
        "s",
        against=naive,
        ratio=naive / ours,
        goal=GOAL,
        judged="ratio at least",
        details={"first step of the process, compiled code loaded": first},
    )


def naive_meta_step(trainer: Trainer) -> None:
    """`Trainer.meta_step` with the supports tiled for every query, and ordinary dropout."""
    config, network = trainer.config, trainer.network
    tasks = trainer.tasks_of_step(trainer.state.step)
    nodes = np.concatenate((tasks.positives, tasks.negatives, tasks.queries), axis=1)
    distinct, places = torch.unique(torch.from_numpy(nodes), return_inverse=True)
    rows = trainer.row_optimisers["meta embeddings"]
    trainer.row_optimisers["structural embeddings"].settle(distinct)
    rows.settle(distinct)
    embeddings = rows.table[distinct].requires_grad_()
    sizes = [part.shape[1] for part in (tasks.positives, tasks.negatives, tasks.queries)]
    vectors = functional.embedding(places, embeddings)
    positives, negatives, queries = torch.split(vectors, sizes, dim=1)
    with torch_seed(config.seed, "dropout by pair", trainer.state.step):
        logits = naive_logits(network, positives, negatives, queries, dropout=config.dropout)
    truth = torch.from_numpy(tasks.is_positive).to(logits.dtype)
    matrices = [p for p in network.transformation.parameters() if p.ndim == 2]
    loss = functional.binary_cross_entropy_with_logits(logits, truth) + 0.5 * config.l2 * sum(
        matrix.square().sum() for matrix in matrices
    )
    trainer.transformation_optimiser.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    trainer.transformation_optimiser.step()
    assert embeddings.grad is not None
    rows.step(distinct, embeddings.grad)
