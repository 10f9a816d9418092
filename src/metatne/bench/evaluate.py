"""1,000 tasks of PPI scored and measured, against tiled supports and a metric call a task."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import torch
from jaxtyping import Float, Float32

from metatne.bench.data import paper_graph
from metatne.bench.figure import Figure, Skipped
from metatne.bench.measuring import once, seconds
from metatne.bench.naive import naive_logits
from metatne.config import make_config, preset
from metatne.metrics import average_precision, f1, recall, roc_auc
from metatne.model import MetaTNENetwork
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.scoring import score_tasks
from metatne.seeding import numpy_generator, torch_seed

NUM_TASKS = 1_000
GOAL = 2.0
"""Seconds for all tasks, at the paper's 10/20."""

REPEATS = 5

TASKS_PER_BATCH = 50
"""Of the plain way: more of them need gigabytes, fewer are no faster."""


def measure(quick: bool) -> Iterator[Figure | Skipped]:
    """Seconds of scoring, of the metrics, and of both."""
    graph = paper_graph("ppi")
    if isinstance(graph, Skipped):
        yield graph
        return
    network = _network(graph.num_nodes)
    for positives, negatives in [(10, 20)] if quick else [(10, 20), (10, 40)]:
        shape = TaskShape(positives, negatives, positives, negatives)
        everything = np.arange(graph.labels.num_labels)
        tasks = TaskSampler(graph.labels, everything, shape).draw(
            NUM_TASKS, numpy_generator(0, "benchmark tasks")
        )
        case = f"ppi {positives}/{negatives}, {NUM_TASKS:,} tasks"
        yield from _compare(case, network, tasks)


def _network(num_nodes: int) -> MetaTNENetwork:
    """PPI's network of the paper; training would change no time."""
    with torch_seed(0, "benchmark network"):
        return MetaTNENetwork(num_nodes, make_config(preset("paper", "ppi")))


def _compare(case: str, network: MetaTNENetwork, tasks: Tasks) -> Iterator[Figure | Skipped]:
    scoring = seconds(lambda: score_tasks(network, tasks), repeats=REPEATS)
    scores = score_tasks(network, tasks)
    naive_scores(network, tasks[:TASKS_PER_BATCH])  # warms up
    naive, plain_scores = once(lambda: naive_scores(network, tasks))
    yield _held_against(case, "scored", scoring, naive, np.abs(scores - plain_scores))

    measuring = seconds(lambda: measured(scores, tasks), repeats=REPEATS)
    if find_spec("sklearn") is None:
        yield Figure(case, "measured", measuring, "s")
        yield Figure(case, "scored and measured", scoring + measuring, "s", goal=GOAL)
        yield Skipped(case, "scikit-learn is not installed, so its metrics are not compared")
        return
    plainly_measured(scores[:1], tasks[:1])
    plain, expected = once(lambda: plainly_measured(scores, tasks))
    apart = np.abs(measured(scores, tasks) - expected)
    yield _held_against(case, "measured", measuring, plain, apart)

    both, plain_both = scoring + measuring, naive + plain
    yield Figure(
        case,
        "scored and measured",
        both,
        "s",
        against=plain_both,
        ratio=plain_both / both,
        goal=GOAL,
    )


def _held_against(
    case: str, quantity: str, ours: float, plain: float, apart: Float[np.ndarray, "*any"]
) -> Figure:
    return Figure(
        case,
        quantity,
        ours,
        "s",
        against=plain,
        ratio=plain / ours,
        details={"largest difference of the results": float(apart.max())},
    )


def measured(
    scores: Float[np.ndarray, "task query"], tasks: Tasks
) -> Float[np.ndarray, "metric task"]:
    """AUC, average precision, F1 and recall of every task."""
    truth, decisions = tasks.is_positive, scores > 0
    return np.stack(
        (
            roc_auc(scores, truth),
            average_precision(scores, truth),
            f1(decisions, truth),
            recall(decisions, truth),
        )
    )


@torch.inference_mode()
def naive_scores(network: MetaTNENetwork, tasks: Tasks) -> Float32[np.ndarray, "task query"]:
    """Log-odds of every query, the supports tiled for each of them."""
    batches = (tasks[i : i + TASKS_PER_BATCH] for i in range(0, len(tasks), TASKS_PER_BATCH))
    logits = [
        naive_logits(
            network,
            network.embeddings[torch.from_numpy(batch.positives)],
            network.embeddings[torch.from_numpy(batch.negatives)],
            network.embeddings[torch.from_numpy(batch.queries)],
        )
        for batch in batches
    ]
    return torch.cat(logits).numpy()


def plainly_measured(
    scores: Float[np.ndarray, "task query"], tasks: Tasks
) -> Float[np.ndarray, "metric task"]:
    """What `measured` gives, by scikit-learn, task by task."""
    from sklearn.metrics import average_precision_score, f1_score, recall_score, roc_auc_score

    rows = [
        (
            roc_auc_score(truth, row),
            average_precision_score(truth, row),
            f1_score(truth, row > 0),
            recall_score(truth, row > 0),
        )
        for row, truth in zip(scores, tasks.is_positive, strict=True)
    ]
    return np.array(rows).T
