"""Where the time of a meta step goes, at the paper's settings: shares, by kind of work."""

from __future__ import annotations

import os
from collections.abc import Iterator

from torch.profiler import ProfilerActivity, profile

from metatne.bench.data import paper_graph
from metatne.bench.figure import Figure, Skipped
from metatne.bench.measuring import once
from metatne.config import make_config, preset
from metatne.device import one_thread
from metatne.sampling.splits import paper_split
from metatne.training.trainer import Trainer

PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}
FORWARD, BACKWARD = "compiled, forward", "compiled, backward"
MATRICES, TENSORS, REST = "matrix products", "other operations of PyTorch", "Python and NumPy"


def measure(quick: bool) -> Iterator[Figure | Skipped]:
    """The share of each kind, of the steps of one thread: those of several overlap."""
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in ("blogcatalog", "ppi"):
        graph = paper_graph(name)
        if isinstance(graph, Skipped):
            yield graph
            continue
        config = make_config(preset("paper", name))
        trainer = Trainer(graph, paper_split(graph.labels.num_labels, 1), config)
        total, taken = profile_meta_steps(trainer, num_steps=2 if quick else 5)
        for kind, seconds in taken.items():
            yield Figure(
                f"{name} {config.positives}/{config.negatives}",
                kind,
                100 * seconds / total,
                "%",
                details={"seconds of a step": seconds},
            )


def profile_meta_steps(trainer: Trainer, *, num_steps: int) -> tuple[float, dict[str, float]]:
    """Seconds of a step, and of each kind of work in it."""

    def steps() -> None:
        for _ in range(num_steps):
            trainer.meta_step()

    with one_thread():
        trainer.meta_step()  # warms up
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            total, _ = once(steps)
    taken = dict.fromkeys((FORWARD, BACKWARD, MATRICES, TENSORS), 0.0)
    for event in profiler.key_averages():
        taken[kind_of(event.key)] += event.self_cpu_time_total / 1e6
    taken[REST] = total - sum(taken.values())
    return total / num_steps, {kind: spent / num_steps for kind, spent in taken.items()}


def kind_of(event: str) -> str:
    """The kind of work that an event of PyTorch's profiler is."""
    if event in PRODUCTS:
        return MATRICES
    if event.startswith(("aten::", "autograd::", "Optimizer")) or event[-1].isdigit():
        return TENSORS
    return BACKWARD if event.endswith("Backward") else FORWARD  # a `torch.autograd.Function`
