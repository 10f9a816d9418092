"""Algorithm 1: what a step changes, what is selected, and that a seed decides all of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from metatne.config import Config, make_config
from metatne.errors import LabelError, TrainingError
from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.losses import structural_loss
from metatne.metrics import f1, roc_auc
from metatne.model import MetaTNENetwork, initial_table
from metatne.sampling.pairs import PairSampler
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import TaskSampler, TaskShape
from metatne.schedule import annealing, structural_probability
from metatne.scoring import score_tasks
from metatne.seeding import numpy_generator, torch_seed
from metatne.training.trainer import Stopped, Trainer, Validation, training_shape, validation_shape
from reference import meta_loss

SPLIT = LabelSplit(known=np.arange(7), validation=np.arange(7, 10), test=np.arange(0))
META_FROM_STEP_1 = {"decay_rate": 1e9, "decay_period": 1}
STRUCTURAL_ONLY = {"decay_rate": 0.0}
TINY = 1e-12


def trainer_of(graph: Graph, settings: dict[str, Any], **changed: Any) -> Trainer:
    return Trainer(graph, SPLIT, make_config(settings | changed))


def weights_of(network: MetaTNENetwork) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in network.state_dict().items()}


def assert_near(ours: Tensor, theirs: Tensor, name: str) -> None:
    gap = (ours - theirs).abs().max().item()
    assert gap < 1e-6, f"{name} is off by {gap}"


def assert_same(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    different = [name for name in ours if not torch.equal(ours[name], theirs[name])]
    assert different == []


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
            loss.backward()  # type: ignore[no-untyped-call]
            structural.step(share)
        else:
            kinds.append("meta")
            tasks = sampler.draw(config.tasks_per_step, numpy_generator(config.seed, "tasks", step))
            nodes = (tasks.positives, tasks.negatives, tasks.queries)
            logits = network(*(torch.from_numpy(part) for part in nodes))
            truth = torch.from_numpy(tasks.is_positive).to(logits.dtype)
            loss = meta_loss(logits, truth, penalised, l2=config.l2)
            loss.backward()  # type: ignore[no-untyped-call]
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
    num_steps = 40
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


def test_the_spectral_start_is_added_to_the_random_one(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    starts = [
        trainer_of(planted, small_settings, spectral_scale=scale).network.embeddings.detach()
        for scale in (0.0, 0.3)
    ]
    assert starts[0].abs().max().item() <= 0.5 / 16
    added = (starts[1] - starts[0]) / 0.3
    torch.testing.assert_close(added.square().mean(dim=1), torch.ones(300), rtol=1e-3, atol=0)


def test_the_spectral_start_knows_the_known_labels_alone(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    """With validation labels in it, the validation would choose what has learned nothing."""

    def start(known: list[int], validation: int) -> Tensor:
        split = LabelSplit(np.array(known), np.array([validation]), np.arange(0))
        trainer = Trainer(planted, split, make_config(small_settings))
        return trainer.network.embeddings.detach()

    assert torch.equal(start([1, 2], 7), start([1, 2], 8))
    assert not torch.equal(start([1, 2], 7), start([1, 3], 7))


def test_structural_steps_leave_the_transformation(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    trainer = trainer_of(planted, small_settings, **STRUCTURAL_ONLY, num_steps=5)
    before, contexts = weights_of(trainer.network), trainer.contexts.clone()
    steps: list[dict[str, Tensor]] = []
    trainer.run(at_step_end=lambda t: steps.append(weights_of(t.network)))
    changed = [name for name in before if not torch.equal(steps[-1][name], before[name])]
    assert changed == ["embeddings"]
    assert not torch.equal(trainer.contexts, contexts)
    validation = trainer.state.history[-1]
    assert validation.meta_loss is None
    assert validation.structural_loss is not None


def test_meta_steps_leave_the_contexts(planted: Graph, small_settings: dict[str, Any]) -> None:
    trainer = trainer_of(planted, small_settings, **META_FROM_STEP_1, num_steps=5)
    contexts: list[Tensor] = []
    weights: list[dict[str, Tensor]] = []

    def look(trainer: Trainer) -> None:
        contexts.append(trainer.contexts.clone())
        weights.append(weights_of(trainer.network))

    trainer.run(at_step_end=look)
    assert torch.equal(contexts[0], contexts[-1])
    unchanged = [name for name in weights[0] if torch.equal(weights[0][name], weights[-1][name])]
    # Its shift moves query and prototype alike, so the last norm may keep it.
    assert set(unchanged) <= {"transformation.last_norm.bias"}


def test_the_penalty_is_on_all_matrices_and_nothing_else(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    """The first meta loss with and without it differs by the squares at the start."""
    losses = {}
    for l2 in (0.0, 2.0):
        trainer = trainer_of(
            planted, small_settings, **META_FROM_STEP_1, num_steps=2, l2=l2, num_blocks=2
        )
        start = weights_of(trainer.network)
        trainer.run()
        losses[l2] = trainer.state.history[-1].meta_loss
    matrices = [w for name, w in start.items() if w.ndim == 2 and name != "embeddings"]
    assert len(matrices) == 2 * 6
    squares = sum(float(matrix.square().sum()) for matrix in matrices)
    assert losses[0.0] is not None
    assert losses[2.0] is not None
    assert losses[2.0] - losses[0.0] == pytest.approx(squares, rel=1e-5)


def test_the_best_step_by_validation_is_returned(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    trainer = trainer_of(planted, small_settings, num_steps=25, validate_every=7)
    seen = {0: weights_of(trainer.network)}
    network = trainer.run(at_step_end=lambda t: seen.update({t.state.step: weights_of(t.network)}))
    history = trainer.state.history
    assert [validation.step for validation in history] == [0, 7, 14, 21, 25]
    scores = [validation.auc + validation.f1 for validation in history]
    assert trainer.state.best_step == history[int(np.argmax(scores))].step
    assert_same(weights_of(network), seen[trainer.state.best_step])
    assert not network.training

    tasks = TaskSampler(planted.labels, SPLIT.validation, validation_shape(trainer.config)).draw(
        trainer.config.validation_tasks, numpy_generator(trainer.config.seed, "validation tasks")
    )
    logits = score_tasks(network, tasks)
    best = max(history, key=lambda validation: validation.score)
    assert best.auc == pytest.approx(roc_auc(logits, tasks.is_positive).mean(), abs=1e-6)
    assert best.f1 == pytest.approx(f1(logits > 0, tasks.is_positive).mean(), abs=1e-6)


def test_a_start_that_training_spoils_is_kept(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    spoilt = {"structural_rate": 10.0, "meta_rate": 10.0, "num_steps": 8, "validate_every": 4}
    trainer = trainer_of(planted, small_settings, **spoilt)
    start = weights_of(trainer.network)
    network = trainer.run()
    assert [validation.step for validation in trainer.state.history] == [0, 4, 8]
    assert trainer.state.best_step == 0
    assert_same(weights_of(network), start)


class Notebook:
    """An observer that writes everything down."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, float]] = []
        self.validations: list[tuple[Validation, bool]] = []

    def on_step(self, step: int, num_steps: int, tau: float) -> None:
        self.steps.append((step, num_steps, tau))

    def on_validation(self, validation: Validation, *, is_best: bool) -> None:
        self.validations.append((validation, is_best))


def test_observers_see_every_step_and_validation(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    notebook = Notebook()
    trainer = trainer_of(planted, small_settings, num_steps=12, validate_every=5, decay_period=5)
    trainer.run([notebook])
    taus = [structural_probability(s, decay_rate=0.1, decay_period=5) for s in range(12)]
    assert notebook.steps == [(step + 1, 12, taus[step]) for step in range(12)]
    assert [validation for validation, _ in notebook.validations] == trainer.state.history
    assert [v.tau for v, _ in notebook.validations] == [1.0, taus[4], taus[9], taus[11]]
    best = -math.inf
    for validation, is_best in notebook.validations:
        assert is_best == (validation.score > best)
        best = max(best, validation.score)


@pytest.mark.parametrize("patience", [1, 2, 4])
def test_patience_ends_training(
    planted: Graph, small_settings: dict[str, Any], patience: int
) -> None:
    settings = small_settings | {"validate_every": 2, "meta_rate": 1e-3}
    patient = trainer_of(planted, settings)
    patient.run()
    trainer = trainer_of(planted, settings, patience=patience)
    trainer.run()
    scores = [validation.score for validation in patient.state.history]
    waited, expected = 0, len(scores)
    for number, score in enumerate(scores):
        waited = 0 if score > max(scores[:number], default=-math.inf) else waited + 1
        if waited == patience:
            expected = number + 1
            break
    assert expected < len(scores), "choose settings that get worse now and then"
    assert [validation.score for validation in trainer.state.history] == scores[:expected]


def test_the_seed_decides_bit_for_bit(planted: Graph, small_settings: dict[str, Any]) -> None:
    def trained(seed: int) -> tuple[dict[str, Tensor], list[Any]]:
        trainer = trainer_of(planted, small_settings, seed=seed, num_steps=20, validate_every=10)
        torch.rand(seed + 3)  # what others draw must not matter
        network = trainer.run()
        numbers = [(v.auc, v.f1, v.meta_loss or 0.0) for v in trainer.state.history]
        return weights_of(network), numbers

    first, second, other = trained(0), trained(0), trained(1)
    assert_same(first[0], second[0])
    assert first[1] == second[1]
    assert first[1] != other[1]


def test_the_number_of_threads_does_not_change_a_bit(
    planted: Graph, small_settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    networks = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        trainer = trainer_of(planted, small_settings, num_steps=8, validate_every=4)
        networks.append(weights_of(trainer.run()) | {"contexts": trainer.contexts})
        assert min(len(trainer.state.history), trainer.state.num_structural) > 1
    assert_same(networks[0], networks[1])


def test_meta_steps_are_noisy_and_validations_are_not(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    changed = META_FROM_STEP_1 | {"num_steps": 2, "identity_start": False}
    quiet, noisy = (
        trainer_of(planted, small_settings, dropout=dropout, **changed) for dropout in (0.0, 0.5)
    )
    quiet.run()
    noisy.run()
    before = [(v.auc, v.f1) for v in (quiet.state.history[0], noisy.state.history[0])]
    assert before[0] == before[1]
    assert quiet.state.history[1].meta_loss != noisy.state.history[1].meta_loss


def test_training_leaves_the_callers_generators_alone(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    trainer_of(planted, small_settings, num_steps=10).run()
    assert torch.rand(2).tolist() == expected


@pytest.mark.parametrize("kind", ["structural", "meta"])
def test_a_rate_that_is_too_high(planted: Graph, small_settings: dict[str, Any], kind: str) -> None:
    trainer = trainer_of(planted, small_settings, **{f"{kind}_rate": 1e20}, validate_every=100)
    message = rf"the {kind} loss became \S+ at step \d+: .* smaller {kind}_rate than 1e\+20"
    with pytest.raises(TrainingError, match=message):
        trainer.run()


def test_a_rate_that_is_too_high_in_the_last_step(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    trainer = trainer_of(planted, small_settings, structural_rate=1e30, num_steps=1)
    with pytest.raises(TrainingError, match=r"not finite at step 1: .* structural_rate=1e\+30"):
        trainer.run()


def test_only_labels_of_the_split_are_used(planted: Graph, small_settings: dict[str, Any]) -> None:
    """Without its other labels the graph trains to the same network."""
    kept = np.array([0, 1, 2, 7, 8])
    split = LabelSplit(known=kept[:3], validation=kept[3:], test=np.array([9]))
    config = make_config(small_settings | {"num_steps": 20})
    whole = Trainer(planted, split, config).run()
    part = Trainer(
        planted.with_labels(planted.labels.select(kept)),
        LabelSplit(known=np.arange(3), validation=np.arange(3, 5), test=np.arange(0)),
        config,
    ).run()
    assert_same(weights_of(whole), weights_of(part))


def test_shapes_of_tasks() -> None:
    sizes: dict[str, Any] = {"positives": 3, "negatives": 7}
    config = make_config(sizes | {"query_positives": None, "query_negatives": None})
    assert training_shape(config) == validation_shape(config) == TaskShape(3, 7, 3, 7)
    config = make_config(sizes | {"query_positives": 1, "query_negatives": 2})
    assert training_shape(config) == TaskShape(3, 7, 1, 2)
    assert validation_shape(config) == TaskShape(3, 7, 3, 7)


def test_too_few_holders_are_told_before_training(friends: Graph) -> None:
    with pytest.raises(LabelError, match=r"at least 21 holders .*'right' \(4\), 'left' \(4\)"):
        MetaTNE().fit(friends)
