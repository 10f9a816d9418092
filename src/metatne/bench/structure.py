"""Structural pairs a second as the graph grows, against Adam on every row at every step."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from metatne.bench.data import paper_graph
from metatne.bench.figure import Figure, Skipped
from metatne.bench.measuring import once, seconds
from metatne.config import Config, make_config, preset
from metatne.device import one_thread
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.sampling.pairs import PairSampler
from metatne.sampling.splits import LabelSplit, paper_split
from metatne.training.row_adam import BETA1, BETA2, EPSILON, RowAdam
from metatne.training.structural import StructuralModule
from metatne.training.trainer import Trainer

SIZES = (10_000, 100_000, 1_000_000)
MEAN_DEGREE, NUM_LABELS = 20.0, 20

GOAL = 1e6
"""Pairs a second, at d = 128 and 5 negatives."""

GROWTH_GOAL = 2.0
"""Times the smallest graph's time per pair, at most, in the largest."""

PAIRS_PER_STEP = 1_024
STEPS_BEFORE, STEPS, REPEATS = 2_000, 200, 7
QUICK_STEPS_BEFORE, QUICK_STEPS, QUICK_REPEATS = 400, 50, 5
DENSE_REPEATS = 3

MORE_STRUCTURAL = {"decay_rate": 0.1, "decay_period": 5}
"""The default preset has a handful of structural steps; with this, nearly half are."""

TRAINING_STEPS, QUICK_TRAINING_STEPS = 200, 100

AUC_GOAL = 0.001
"""How far apart the two validation AUCs may be: training magnifies the rounding of floats."""


def measure(quick: bool) -> Iterator[Figure | Skipped]:
    """Pairs a second by size of graph, how their time grows, and what a training comes to."""
    microseconds = {}
    for num_nodes in SIZES:
        figure = _compare_speed(num_nodes, quick)
        microseconds[num_nodes] = 1e6 / figure.value
        yield figure
    smallest, largest = min(SIZES), max(SIZES)
    yield Figure(
        f"{largest:,} against {smallest:,} nodes",
        "time per pair",
        microseconds[largest] / microseconds[smallest],
        "times",
        goal=GROWTH_GOAL,
        details={f"µs, {size:,} nodes": value for size, value in microseconds.items()},
    )
    yield _compare_quality(QUICK_TRAINING_STEPS if quick else TRAINING_STEPS)


def _compare_speed(num_nodes: int, quick: bool) -> Figure:
    graph = planted_graph(num_nodes, num_labels=NUM_LABELS, mean_degree=MEAN_DEGREE, seed=0).graph
    ours, details = _seconds_a_step(graph, quick)
    plain = seconds(_trainer(DenseTrainer, graph).structural_step, repeats=DENSE_REPEATS)
    return Figure(
        f"{num_nodes:,} nodes",
        "pairs a second",
        PAIRS_PER_STEP / ours,
        "1/s",
        against=PAIRS_PER_STEP / plain,
        ratio=plain / ours,
        goal=GOAL,
        judged="value at least",
        details={"pairs a step": PAIRS_PER_STEP, "edges": graph.num_edges, **details},
    )


def _seconds_a_step(graph: Graph, quick: bool) -> tuple[float, dict[str, float]]:
    trainer = _trainer(Trainer, graph)
    first, _ = once(trainer.structural_step)
    # Until most rows have been touched there is less to read than later on.
    _take_steps(trainer, QUICK_STEPS_BEFORE if quick else STEPS_BEFORE)
    steps = QUICK_STEPS if quick else STEPS
    repeats = QUICK_REPEATS if quick else REPEATS
    ours = seconds(lambda: _take_steps(trainer, steps), repeats=repeats) / steps
    return ours, {
        "contexts touched": trainer.row_optimisers["structural contexts"].num_touched,
        "seconds of the first step, compiled code loaded": first,
    }


def _trainer(kind: type[Trainer], graph: Graph) -> Trainer:
    settings = {"pairs_per_step": PAIRS_PER_STEP, "validation_tasks": 1}
    return kind(graph, paper_split(NUM_LABELS, 1), make_config(preset("paper") | settings))


def _take_steps(trainer: Trainer, number: int) -> None:
    for _ in range(number):
        trainer.structural_step()


def _compare_quality(num_steps: int) -> Figure:
    graph = paper_graph("ppi")
    if isinstance(graph, Skipped):
        graph = planted_graph(4_000, num_labels=50, mean_degree=MEAN_DEGREE, seed=0).graph
    config = make_config(MORE_STRUCTURAL | {"num_steps": num_steps, "validate_every": num_steps})
    split = paper_split(graph.labels.num_labels, 1)
    aucs = []
    for kind in (Trainer, DenseTrainer):
        trainer = kind(graph, split, config)
        with one_thread():
            trainer.run()
        aucs.append(trainer.state.history[-1].auc)
    ours, dense = aucs
    return Figure(
        f"{graph.name}, {config.num_steps} steps",
        "validation AUC apart",
        abs(ours - dense),
        "",
        goal=AUC_GOAL,
        details={
            "AUC": ours,
            "AUC of Adam on every row": dense,
            "AUC before": trainer.state.history[0].auc,
            "structural steps": trainer.state.num_structural,
        },
    )


class DenseTrainer(Trainer):
    """A trainer by PyTorch's gradients of the structural loss, and Adam on whole tables."""

    def __init__(self, graph: Graph, split: LabelSplit, config: Config) -> None:
        super().__init__(graph, split, config)
        dense = {name: DenseAdam(rows) for name, rows in self.row_optimisers.items()}
        self.row_optimisers = dict(dense)
        pairs = PairSampler(
            graph,
            batch_size=config.pairs_per_step,
            num_negatives=config.negatives_per_pair,
            seed=config.seed,
        )
        self._plain = StructuralModule(
            pairs,
            embeddings=dense["structural embeddings"],
            contexts=dense["structural contexts"],
        )

    def structural_step(self) -> None:
        """The same step on the same batch."""
        batch = self._plain.pairs.batch(self.state.num_structural)
        self.state.num_structural += 1
        self.state.losses["structural"].append(self._plain.step_plainly(batch))


class DenseAdam(RowAdam):
    """Adam on every row at every step, as published."""

    def __init__(self, rows: RowAdam) -> None:
        super().__init__(rows.table, rate=rows.rate)
        self.mean, self.square = torch.zeros_like(rows.table), torch.zeros_like(rows.table)

    def settle(self, rows: Int64[Tensor, " row"]) -> None:
        """No row is ever behind."""

    def settle_all(self) -> None:
        """No row is ever behind."""

    @torch.no_grad()
    def step(self, rows: Int64[Tensor, " row"], gradient: Float[Tensor, "row dim"]) -> None:
        """A row without a gradient has one of 0."""
        self.num_steps += 1
        whole = torch.zeros_like(self.table).index_add_(0, rows, gradient)
        self.mean.lerp_(whole, 1.0 - BETA1)
        self.square.mul_(BETA2).addcmul_(whole, whole, value=1.0 - BETA2)
        correction = math.sqrt(1.0 - BETA2**self.num_steps) / (1.0 - BETA1**self.num_steps)
        self.table.addcdiv_(
            self.mean, self.square.sqrt().add_(EPSILON), value=-self.rate * correction
        )
