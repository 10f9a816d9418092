"""Algorithm 1: training equals it step by step, on whole tables and in double precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from metatne.config import Config
from metatne.graph.store import Graph
from metatne.losses import structural_loss
from metatne.model import MetaTNENetwork, initial_table
from metatne.sampling.pairs import PairSampler
from metatne.sampling.tasks import TaskSampler
from metatne.schedule import annealing, structural_probability
from metatne.seeding import numpy_generator, torch_seed
from metatne.training.trainer import Stopped, Trainer, Validation, training_shape
from reference import meta_loss
from training.trainers import SPLIT, trainer_of

TINY = 1e-12


class PlainAdam:
    """Adam on whole tables, with its epsilon where the published code has it."""

    def __init__(self, tables: list[Tensor], rate: float) -> None:
        self.tables, self.rate, self.num_steps = tables, rate, 0
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in tables]

    def step(self, share: float) -> None:
        self.num_steps += 1
        rate = self.rate * math.sqrt(1 - 0.999**self.num_steps) / (1 - 0.9**self.num_steps)
        with torch.no_grad():
            for table, (m, v) in zip(self.tables, self.moments, strict=True):
                assert table.grad is not None
                m.mul_(0.9).add_(0.1 * table.grad)
                v.mul_(0.999).add_(0.001 * table.grad**2)
                table.sub_(share * rate * m / (v.sqrt() + TINY))


def train_plainly(graph: Graph, config: Config, num_steps: int) -> tuple[Any, Tensor, list[str]]:
    """Algorithm 1 on whole tables: the network, the contexts, and what each step was."""
    with torch_seed(config.seed, "network"):
        network = MetaTNENetwork(graph.num_nodes, config)
    with torch_seed(config.seed, "contexts"):
        C = initial_table(graph.num_nodes, config.dim)
    U = network.embeddings
    theta = dict(network.transformation.named_parameters())
    matrices = ("to_query", "to_key", "to_value", "to_output", "widen", "narrow")
    penalised = [p for name, p in theta.items() if name.endswith(matrices)]
    structural = PlainAdam([U, C], config.structural_rate)
    meta = PlainAdam([U], config.meta_rate)
    meta_theta = torch.optim.Adam(theta.values(), lr=config.meta_rate, eps=TINY)
    pairs = PairSampler(
        graph,
        batch_size=config.pairs_per_step,
        num_negatives=config.negatives_per_pair,
        seed=config.seed,
    )
    sampler = TaskSampler(graph.labels, SPLIT.known, training_shape(config))
    kinds: list[str] = []
    for step in range(num_steps):
        share = annealing(step, config.num_steps) if config.anneal else 1.0
        tau = structural_probability(
            step, decay_rate=config.decay_rate, decay_period=config.decay_period
        )
        for parameter in (U, C, *theta.values()):
            parameter.grad = None
        if numpy_generator(config.seed, "schedule", step).random() < tau:
            batch = pairs.batch(kinds.count("structural"))
            kinds.append("structural")
            loss = structural_loss(U[batch.nodes], C[batch.neighbours], C[batch.negatives])
            loss.backward()
            structural.step(share)
        else:
            kinds.append("meta")
            tasks = sampler.draw(config.tasks_per_step, numpy_generator(config.seed, "tasks", step))
            nodes = (tasks.positives, tasks.negatives, tasks.queries)
            logits = network(*(torch.from_numpy(part) for part in nodes))
            truth = torch.from_numpy(tasks.is_positive).to(logits.dtype)
            loss = meta_loss(logits, truth, penalised, l2=config.l2)
            loss.backward()
            meta.step(share)
            meta_theta.param_groups[0]["lr"] = share * config.meta_rate
            meta_theta.step()
    return network, C, kinds


@pytest.fixture
def _exact_adam(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Double precision, as Adam magnifies the rounding of small gradients; and an epsilon
    too small for RowAdam's one approximation to show."""
    monkeypatch.setattr("metatne.training.row_adam.EPSILON", TINY)
    monkeypatch.setattr("metatne.training.trainer.EPSILON", TINY)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("_exact_adam")
@pytest.mark.parametrize("is_papers", [True, False])
def test_training_is_the_papers_procedure(
    planted: Graph, small_settings: dict[str, Any], is_papers: bool
) -> None:
    """Also where Tr starts as the identity and the rates fall."""
    num_steps = 30
    changed: dict[str, Any] = {"dropout": 0.0, "l2": 0.05, "pairs_per_step": 30, "num_blocks": 2}
    changed |= {"spectral_scale": 0.0, "identity_start": not is_papers, "anneal": not is_papers}
    changed |= {"num_steps": num_steps + 1, "validate_every": 100}  # stopped before a validation

    def stop(trainer: Trainer) -> None:
        if trainer.state.step == num_steps:
            raise Stopped

    trainer = trainer_of(planted, small_settings, **changed)
    start = trainer.network.embeddings.detach().clone()
    # Validations are in single precision; with one in its history none is made of the start.
    trainer.state.history.append(Validation(0, 1.0, None, None, auc=0.5, f1=0.5, seconds=0.0))
    with pytest.raises(Stopped):
        trainer.run(at_step_end=stop)
    for rows in trainer.row_optimisers.values():
        rows.settle_all()
    network, contexts, kinds = train_plainly(planted, trainer.config, num_steps)
    assert kinds[0] == "structural"
    assert min(kinds.count("meta"), kinds.count("structural")) > 10
    ours = trainer.network.state_dict() | {"contexts": trainer.contexts}
    theirs = network.state_dict() | {"contexts": contexts.detach()}
    for name, tensor in theirs.items():
        assert_near(ours[name], tensor, name)
    assert (theirs["embeddings"] - start).abs().max() > 0.05


def assert_near(ours: Tensor, theirs: Tensor, name: str) -> None:
    gap = (ours - theirs).abs().max().item()
    assert gap < 1e-6, f"{name} is off by {gap}"
