"""The optimisation procedure (Algorithm 1) with selection on validation labels."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from metatne.config import Config
from metatne.decisions import best_line
from metatne.device import resolve_device
from metatne.errors import TrainingError
from metatne.graph.store import Graph
from metatne.metrics import f1, roc_auc
from metatne.model import MetaTNENetwork, initial_table
from metatne.sampling.pairs import PairSampler
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.schedule import annealing, structural_probability
from metatne.scoring import score_tasks
from metatne.seeding import numpy_generator, torch_seed
from metatne.spectral import spectral_embeddings
from metatne.training.averaging import EVERY, AveragedNetwork
from metatne.training.meta import meta_gradients
from metatne.training.row_adam import EPSILON, RowAdam
from metatne.training.structural import StructuralModule
from metatne.training.team import Alone, Team, take_from_first


@dataclass(frozen=True)
class Validation:
    """One look at the validation labels, with the mean losses since the last one."""

    step: int
    tau: float
    structural_loss: float | None
    meta_loss: float | None
    auc: float
    f1: float
    seconds: float

    @property
    def score(self) -> float:
        """What selection maximises."""
        return self.auc + self.f1


@runtime_checkable
class Observer(Protocol):
    """Who wants to know how training goes."""

    def on_step(self, step: int, num_steps: int, tau: float) -> None:
        """A step is done."""

    def on_validation(self, validation: Validation, *, is_best: bool) -> None:
        """A validation is done."""


@dataclass
class TrainingState:
    """All that a step changes; with the seed, all that a resumed run needs."""

    step: int = 0
    num_structural: int = 0
    history: list[Validation] = field(default_factory=list)
    best_step: int = 0
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    seconds: float = 0.0
    losses: dict[str, list[float]] = field(default_factory=lambda: {"structural": [], "meta": []})


class Stopped(Exception):  # noqa: N818 - not an error: the user asked for it
    """Training was asked to stop and did, at a step's end."""


class Trainer:
    """Trains one network; `run` may be called again after it was stopped."""

    network_kind: ClassVar[type[MetaTNENetwork]] = MetaTNENetwork
    start_knows_labels: ClassVar[bool] = True
    """Whether known labels take part in a spectral start."""

    def __init__(
        self, graph: Graph, split: LabelSplit, config: Config, *, team: Team | None = None
    ) -> None:
        self.config = config
        self.team = team or Alone()
        self.device = resolve_device(config.device)
        self._tasks = TaskSampler(graph.labels, split.known, training_shape(config))
        self.validation_tasks = TaskSampler(
            graph.labels, split.validation, validation_shape(config), asked=split.asked
        ).draw(config.validation_tasks, numpy_generator(config.seed, "validation tasks"))
        labels = split.known if self.start_knows_labels else split.known[:0]
        self.network = _starting_network(graph, labels, config, self.network_kind).to(self.device)
        with torch_seed(config.seed, "contexts"):
            contexts = initial_table(graph.num_nodes, config.dim)
        self.contexts = contexts.detach().to(self.device)
        transformation = self.network.transformation
        embeddings = self.network.embeddings.detach()
        self.row_optimisers = {
            "structural embeddings": RowAdam(embeddings, rate=config.structural_rate),
            "structural contexts": RowAdam(self.contexts, rate=config.structural_rate),
            "meta embeddings": RowAdam(embeddings, rate=config.meta_rate),
        }
        self.structural = StructuralModule(
            PairSampler(
                graph,
                batch_size=config.pairs_per_step,
                num_negatives=config.negatives_per_pair,
                seed=config.seed,
            ),
            embeddings=self.row_optimisers["structural embeddings"],
            contexts=self.row_optimisers["structural contexts"],
            also_moved_by=[self.row_optimisers["meta embeddings"]],
            team=self.team,
        )
        self.transformation_optimiser = torch.optim.Adam(
            transformation.parameters(), lr=config.meta_rate, eps=EPSILON
        )
        self.average = (
            AveragedNetwork(self.network, config.averaging) if config.averaging > 0 else None
        )
        self.state = TrainingState()

    @property
    def judged(self) -> MetaTNENetwork:
        """The network that validation scores, and of which the best is returned."""
        return self.network if self.average is None else self.average.network

    def run(
        self,
        observers: Sequence[Observer] = (),
        *,
        at_step_end: Callable[[Trainer], None] | None = None,
    ) -> MetaTNENetwork:
        """Train to the last step (or out of patience) and return the best network by validation.

        `at_step_end` may save a checkpoint, or raise `Stopped`.
        """
        config, state = self.config, self.state
        resumed = time.perf_counter() - state.seconds
        weights = [*self.network.state_dict().values(), self.contexts]
        if self.average is not None:
            weights += self.average.network.state_dict().values()
        take_from_first(self.team, weights)
        if not state.history:  # the start is a candidate too
            self._validate(1.0, observers)
        while state.step < config.num_steps and not self._is_out_of_patience():
            tau = structural_probability(
                state.step, decay_rate=config.decay_rate, decay_period=config.decay_period
            )
            if config.anneal:
                self.scale_rates(annealing(state.step, config.num_steps))
            self.take_step(tau)
            state.step += 1
            is_judged = state.step % config.validate_every == 0 or state.step == config.num_steps
            if self.average is not None and (is_judged or state.step % EVERY == 0):
                self.settle_embeddings()
                self.average.look(self.network, state.step)
            state.seconds = time.perf_counter() - resumed
            if is_judged:
                self._validate(tau, observers)
            for observer in observers:
                observer.on_step(state.step, config.num_steps, tau)
            if at_step_end is not None:
                at_step_end(self)
        self.network.load_state_dict(state.best_weights)
        return self.network.eval()

    def take_step(self, tau: float) -> None:
        """A structural step with probability tau, else a meta step."""
        if numpy_generator(self.config.seed, "schedule", self.state.step).random() < tau:
            self.structural_step()
        else:
            self.meta_step()

    def scale_rates(self, share: float) -> None:
        """Let all rates be this share of those that were asked for."""
        for name, rows in self.row_optimisers.items():
            is_structural = name.startswith("structural")
            rate = self.config.structural_rate if is_structural else self.config.meta_rate
            rows.rate = share * rate
        for group in self.transformation_optimiser.param_groups:
            group["lr"] = share * self.config.meta_rate

    def structural_step(self) -> None:
        """One step of the structural module, on the rows of U and C that its pairs touch."""
        loss = self.structural.step(self.state.num_structural)
        self.state.num_structural += 1
        self.note_loss(loss, "structural")

    def tasks_of_step(self, step: int) -> Tasks:
        """The tasks that `step` learns from, if it is a meta step."""
        generator = numpy_generator(self.config.seed, "tasks", step)
        return self._tasks.draw(self.config.tasks_per_step, generator)

    def meta_step(self) -> None:
        """One step of the meta-learning module, on Tr and the embeddings of the tasks' nodes."""
        step = self.state.step
        tasks = self.tasks_of_step(step)
        batch = np.concatenate((tasks.positives, tasks.negatives, tasks.queries), axis=1)
        nodes, places = torch.unique(torch.from_numpy(batch).to(self.device), return_inverse=True)
        rows = self.row_optimisers["meta embeddings"]
        self.row_optimisers["structural embeddings"].settle(nodes)
        rows.settle(nodes)
        embeddings = rows.table[nodes]
        gradients = meta_gradients(
            self.network,
            tasks,
            embeddings[places],
            self.config,
            step=step,
            team=self.team,
        )
        self.note_loss(gradients.loss.item(), "meta")
        for parameter, gradient in zip(
            self.network.transformation.parameters(), gradients.parameters, strict=True
        ):
            parameter.grad = gradient
        self.transformation_optimiser.step()
        by_rows = torch.zeros_like(embeddings)
        by_rows.index_add_(0, places.flatten(), gradients.nodes.flatten(0, 1))
        rows.step(nodes, by_rows)

    def note_loss(self, value: float, kind: str) -> None:
        """Remember a loss until the next validation; refuse to go on from one that is no number."""
        if not math.isfinite(value):
            rate = f"{kind}_rate"
            raise TrainingError(
                f"the {kind} loss became {value} at step {self.state.step}: training diverged. "
                f"Try a smaller {rate} than {getattr(self.config, rate)} (--set {rate}=…)"
            )
        self.state.losses[kind].append(value)

    def _validate(self, tau: float, observers: Sequence[Observer]) -> None:
        state, tasks = self.state, self.validation_tasks
        logits = self.score_validation_tasks()
        # Rows that no validation task has may have diverged too.
        weights = self.network.state_dict().values()
        if not np.isfinite(logits).all() or not all(w.isfinite().all() for w in weights):
            raise TrainingError(
                f"weights, or scores of validation tasks, are not finite at step {state.step}: "
                "training diverged. Try smaller rates than "
                f"structural_rate={self.config.structural_rate} "
                f"and meta_rate={self.config.meta_rate}"
            )
        line = _line_of(logits, tasks.is_positive) if self.config.validated_line else 0.0
        means = {kind: sum(v) / len(v) if v else None for kind, v in state.losses.items()}
        validation = Validation(
            step=state.step,
            tau=tau,
            structural_loss=means["structural"],
            meta_loss=means["meta"],
            auc=float(roc_auc(logits, tasks.is_positive).mean()),
            f1=float(f1(logits > line, tasks.is_positive).mean()),
            seconds=state.seconds,
        )
        best = max((v.score for v in state.history), default=-math.inf)
        is_best = validation.score > best
        state.history.append(validation)
        state.losses = {kind: [] for kind in state.losses}
        if is_best:
            state.best_step = state.step
            for name, weight in self.judged.state_dict().items():
                # In place: no further table of U's size, not even for a moment.
                if name in state.best_weights:
                    state.best_weights[name].copy_(weight)
                else:
                    state.best_weights[name] = weight.detach().clone()
            if self.config.validated_line:  # the network's own stays 0 while it learns
                state.best_weights["line"].fill_(line)
        for observer in observers:
            observer.on_validation(validation, is_best=is_best)

    def settle_embeddings(self) -> None:
        """Bring every row of U up to date, with both of its optimisers."""
        for kind in ("structural embeddings", "meta embeddings"):
            self.row_optimisers[kind].settle_all()

    def score_validation_tasks(self) -> Float32[np.ndarray, "task query"]:
        """Log-odds of all queries of the validation tasks, each worker's share by that worker.

        All get the same sum of shares, so that all agree on the best step and when to end.
        """
        for optimiser in self.row_optimisers.values():
            optimiser.settle_all()
        tasks = self.validation_tasks
        rank, size = self.team.rank, self.team.size
        mine = slice(rank * len(tasks) // size, (rank + 1) * len(tasks) // size)
        logits = torch.zeros(tasks.queries.shape)
        if mine.start < mine.stop:
            logits[mine] = torch.from_numpy(score_tasks(self.judged, tasks[mine]))
        self.team.add_up([logits])
        return logits.numpy()

    def _is_out_of_patience(self) -> bool:
        if self.config.patience is None:
            return False
        waited = sum(validation.step > self.state.best_step for validation in self.state.history)
        return waited >= self.config.patience


def _starting_network(
    graph: Graph,
    known_labels: Int64[np.ndarray, " label"],
    config: Config,
    kind: type[MetaTNENetwork],
) -> MetaTNENetwork:
    """The network before the first step, drawn on the CPU: every device starts from the same."""
    start = None
    if config.spectral_scale > 0:  # before there is a U: it takes more memory than it returns
        start = spectral_embeddings(graph, known_labels, config.dim, seed=config.seed)
    with torch_seed(config.seed, "network"):
        network = kind(graph.num_nodes, config)
    if start is not None:
        network.embeddings.data.add_(torch.from_numpy(start), alpha=config.spectral_scale)
    return network


def _line_of(
    logits: Float32[np.ndarray, "task query"], is_positive: Bool[np.ndarray, "task query"]
) -> float:
    """The log-odds above which calling queries positive has about the best F1."""
    exact = logits.astype(np.float64)
    first = best_line(exact[is_positive], exact[~is_positive], float(is_positive.mean())).score
    # Decisions are for what is above the line, and so the first of these queries must be.
    return float(np.nextafter(np.float32(first), np.float32(-np.inf)))


def training_shape(config: Config) -> TaskShape:
    """The shape of the tasks that are trained on."""
    positives = config.query_positives or config.positives
    negatives = config.query_negatives or config.negatives
    most = config.most_queries
    if most is not None and most < positives + negatives:
        share = most * positives / (positives + negatives)
        positives = min(max(1, round(share)), most - 1)
        negatives = most - positives
    return TaskShape(config.positives, config.negatives, positives, negatives)


def validation_shape(config: Config) -> TaskShape:
    """The shape of the tasks that choose the best step: as many queries as supports."""
    return TaskShape(config.positives, config.negatives, config.positives, config.negatives)


def largest_shape(config: Config) -> TaskShape:
    """The largest task of either kind: a label of either part must have nodes for its tasks."""
    training, validation = training_shape(config), validation_shape(config)
    return TaskShape(
        training.positives,
        training.negatives,
        max(training.query_positives, validation.query_positives),
        max(training.query_negatives, validation.query_negatives),
    )


def history_rows(history: Sequence[Validation]) -> list[dict[str, Any]]:
    """The history as plain rows, for files and tables."""
    return [asdict(validation) for validation in history]
