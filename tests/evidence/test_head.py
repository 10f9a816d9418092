"""The head against a general solver, and what a trained model promises."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Float64
from scipy.optimize import minimize

from metatne.config import Config, HeadPart
from metatne.estimator import MetaTNE
from metatne.evidence.adaptation import adapt
from metatne.evidence.description import NO_LABEL, OWN, nobody
from metatne.evidence.fitting import fit_evidence
from metatne.evidence.head import VERSION, Encoded, EvidenceHead
from metatne.evidence.learning import make_episodes
from metatne.evidence.model import EvidenceModel
from metatne.evidence.reach import reach_of
from metatne.evidence.storage import from_tensors, to_tensors
from metatne.graph.labels import Labels
from metatne.graph.store import Graph
from metatne.metrics import f1, roc_auc
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.seeding import numpy_generator
from planted import SETTINGS, SPLIT


@pytest.fixture(scope="module")
def graph(twenty_labels: Graph) -> Graph:
    return twenty_labels


@pytest.fixture(scope="module")
def model(evidence_model: EvidenceModel) -> EvidenceModel:
    return evidence_model


def test_the_head_is_the_best_of_its_loss() -> None:
    """Against a solver that knows the loss alone: squared, of negatives one-sided, both signs
    alike.
    """
    generator = np.random.default_rng(1)
    blocks = [generator.normal(size=(20, 4)), generator.normal(size=(20, 3))]
    blocks.append(generator.normal(size=(20, 3)))
    products = Encoded(
        [torch.from_numpy(block[None]) for block in blocks], torch.zeros(1, 20, 2), (1, 2)
    ).products(9)
    traits, columns = generator.normal(size=(20, 2)), generator.normal(size=(20, 3))
    head = EvidenceHead(3, 2, 3, mixed=(1, 2))
    with torch.no_grad():
        head.log_weights.copy_(torch.tensor([0.2, -0.5, -2.0]))
        head.mixing.copy_(torch.tensor([0.6, -0.3]))
        head.by_trait.copy_(torch.tensor([0.3, -0.2]))
        head.by_column.copy_(torch.tensor([0.1, 0.0, 0.2]))
        head.level.fill_(-1.5)
        head.log_reach.copy_(torch.tensor([0.4, 0.7]).log())
    reach = generator.uniform(size=(11, 2))
    inputs = (torch.as_tensor(part[None]).float() for part in (traits, columns, reach))
    found = head(products.float(), *inputs, 4).detach().numpy()[0]

    vectors = np.hstack(
        [
            *(
                block * math.exp(log / 2)
                for block, log in zip(blocks, (0.2, -0.5, -2), strict=True)
            ),
            0.6 * blocks[1] - 0.3 * blocks[2],
            np.ones((20, 1)),
        ]
    )
    prior = traits @ [0.3, -0.2] + columns @ [0.1, 0.0, 0.2]
    is_positive = np.arange(9) < 4
    shares = np.where(is_positive, 9 / 8, 9 / 10)
    prior = prior - np.average(prior[:9], weights=shares) - 1.5

    def gaps(weights: Float64[np.ndarray, " column"]) -> Float64[np.ndarray, " support"]:
        scores = prior[:9] + vectors[:9] @ weights
        found: Float64[np.ndarray, " support"] = np.where(
            is_positive, scores - 1, np.maximum(scores + 1, 0)
        )
        return found

    def loss(weights: Float64[np.ndarray, " column"]) -> float:
        return float(shares @ np.square(gaps(weights)) + weights @ weights)

    best = minimize(loss, np.zeros(14), tol=1e-12).x
    silent = gaps(best)[4:] == 0
    assert set(silent) == {True, False}
    by_walks = reach @ [0.4, -0.7]
    np.testing.assert_allclose(found, prior[9:] + vectors[9:] @ best + by_walks, atol=1e-4)


def test_a_negative_never_speaks_for_the_label(graph: Graph, model: EvidenceModel) -> None:
    """However low the level was learned, what is like a negative is not raised by it."""
    tasks = TaskSampler(graph.labels, SPLIT.test, TaskShape(5, 8, 5, 10)).draw(
        50, numpy_generator(2, "test")
    )
    head = model.annotated.head
    episodes = make_episodes(model.annotated.encoding, model.description, tasks, nobody(50))
    with torch.no_grad():
        kernel = head.kernel(episodes.products)[:, :13]
        prior = head.prior(episodes.traits, episodes.prior_rows)[:, :13]
        alpha = head.adapt(kernel, prior, 5).alpha
        alone = [head.adapt(kernel[[i]], prior[[i]], 5).alpha[0] for i in range(50)]
    assert (alpha[:, 5:] <= 0).all()
    assert (alpha[:, 5:] < 0).any()
    assert (alpha[:, 5:] == 0).any()
    np.testing.assert_allclose(alpha, torch.stack(alone), atol=1e-5)


def test_what_is_learned_ranks_novel_labels(graph: Graph, model: EvidenceModel) -> None:
    tasks = TaskSampler(graph.labels, SPLIT.test, TaskShape(5, 8, 5, 10)).draw(
        100, numpy_generator(0, "test")
    )
    scores = model.score_tasks(tasks)
    assert roc_auc(scores, tasks.is_positive).mean() > 0.8
    assert f1(scores > 0, tasks.is_positive).mean() > 0.6


def test_nodes_and_tasks_are_scored_alike(graph: Graph, model: EvidenceModel) -> None:
    """The vector that an adapted head comes to says what the kernel says."""
    tasks = TaskSampler(graph.labels, SPLIT.test, TaskShape(5, 8, 5, 10)).draw(
        3, numpy_generator(1, "test")
    )
    for number in range(3):
        of_nodes = model.score_nodes(
            tasks.positives[number], [tasks.negatives[number]], tasks.queries[number], prior=5 / 13
        )
        expected = model.score_tasks(tasks[number : number + 1])[0]
        np.testing.assert_allclose(
            (of_nodes.evidence - of_nodes.threshold)[0], expected, rtol=1e-3, atol=1e-3
        )


def test_the_same_with_nodes_that_nobody_annotated(graph: Graph) -> None:
    """Whose own labels say nothing, while those of the supports are seen."""
    some = np.arange(graph.num_nodes) % 2 == 1
    partly = graph.with_labels(graph.labels.forget(SPLIT.known, some))
    model = fit_evidence(partly, SPLIT, Config(**SETTINGS | {"head_steps": 20}))[0]
    assert model.unannotated.encoding.with_own_labels
    nodes = np.arange(100)[None]
    rows = model.unannotated.encoding(model.description, nodes, nobody(1)).rows
    for own in rows[: len(OWN)]:
        assert not own[0, some[:100]].any()
        assert own[0, ~some[:100]].any(dim=1).all()
    positives, negatives, queries = np.arange(0, 10, 2), np.arange(10, 26, 2), np.arange(31, 61, 2)
    tasks = Tasks(
        np.array([0]), positives[None], negatives[None], queries[None], np.zeros((1, 15), bool)
    )
    found = model.score_nodes(positives, [negatives], queries, prior=5 / 13)
    np.testing.assert_allclose(
        (found.evidence - found.threshold)[0], model.score_tasks(tasks)[0], rtol=1e-3, atol=1e-3
    )


def test_the_error_is_that_of_leaving_supports_out(graph: Graph, model: EvidenceModel) -> None:
    positives, negatives = np.arange(4), np.arange(10, 15)
    candidates = np.arange(20, 40)
    found = model.score_nodes(positives, [negatives], candidates)
    supports = np.concatenate((positives, negatives))
    slope = model.annotated.calibration.slope(4, 5)
    ways = []
    for left_out in supports:
        kept = [part[part != left_out] for part in (positives, negatives)]
        one = adapt(
            model.annotated,
            model.description,
            np.concatenate(kept),
            len(kept[0]),
            with_error=False,
        )
        score = (model.vectors_of_annotated(candidates) @ one.by_column + one.constant)[:, 0]
        reached = reach_of(model.description.reach.everywhere([kept[0]])[candidates, 0])
        ways.append(score + model.annotated.head.by_reach()[0].item() * reached)
    spread = np.stack(ways) - np.mean(ways, axis=0)
    expected = slope * np.sqrt(8 / 9 * np.square(spread).sum(axis=0))
    few = 3.182446 / 1.959964  # 95 % of Student's t of four positives, and of a normal
    np.testing.assert_allclose(found.error[0], few * expected, rtol=1e-3)


def test_order_does_not_matter(model: EvidenceModel) -> None:
    """Of supports not in a bit, and of candidates hardly: they move between pieces."""
    positives, negatives = np.arange(60), np.arange(70, 100)
    candidates = np.arange(100, 300)
    plain = model.score_nodes(positives, [negatives], candidates)
    turned = model.score_nodes(positives[::-1].copy(), [negatives[::-1].copy()], candidates)
    for ours, theirs in zip(plain, turned, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    shuffled = np.random.default_rng(0).permutation(200)
    other = model.score_nodes(positives, [negatives], candidates[shuffled])
    np.testing.assert_allclose(other.evidence, plain.evidence[:, shuffled], atol=1e-4)


def test_one_vector_a_node_says_what_the_products_say(graph: Graph, model: EvidenceModel) -> None:
    nodes = np.arange(40).reshape(2, 20)
    for expert in (model.annotated, model.unannotated):
        encoded = expert.encoding(model.description, nodes, np.array([3, NO_LABEL]))
        with torch.no_grad():
            plain = expert.head.kernel(encoded.products(6))
            np.testing.assert_allclose(encoded.kernel(expert.head, 6), plain, atol=1e-4)
            weighted = zip(encoded.rows, encoded.weighted(expert.head), strict=True)
            by_block = sum(rows @ others[:, :6].mT for rows, others in weighted)
            bias = expert.head.log_bias.exp()
            np.testing.assert_allclose(by_block + bias, plain, atol=1e-4)


def test_nodes_without_labels_are_judged_without_them(graph: Graph) -> None:
    """A node that lost its labels is scored by the other head, not as one that holds none."""
    asked = np.zeros(graph.num_nodes, dtype=bool)
    asked[::3] = True
    gone = graph.with_labels(graph.labels.forget(SPLIT.known, asked))
    split = LabelSplit(SPLIT.known, SPLIT.validation, SPLIT.test, asked=asked)
    model = fit_evidence(gone, split, Config(**SETTINGS))[0]
    assert not model.description.is_annotated[asked].any()
    tasks = TaskSampler(gone.labels, SPLIT.test, TaskShape(5, 8, 5, 10), asked=asked).draw(
        100, numpy_generator(2, "test")
    )
    assert roc_auc(model.score_tasks(tasks), tasks.is_positive).mean() > 0.75


# Calibration.


def test_rarer_labels_need_more_evidence(model: EvidenceModel) -> None:
    needed = [model.annotated.calibration.threshold(5, 8, prior) for prior in (0.4, 0.1, 0.01)]
    assert needed[0] <= needed[1] <= needed[2]
    assert needed[0] < needed[2]


def test_beyond_the_shapes_seen_nothing_is_extrapolated(model: EvidenceModel) -> None:
    calibration = model.annotated.calibration
    most = np.max(calibration.shapes, axis=0)
    assert calibration.slope(5_000, 10_000) == calibration.slope(*most.tolist())
    assert calibration.slope(1, 1) > 0


def test_one_example_of_a_sign_says_nothing_of_its_error(model: EvidenceModel) -> None:
    found = model.score_nodes(np.array([1]), [np.array([2, 3])], np.arange(10, 20))
    assert np.isinf(found.error).all()
    assert np.isfinite(found.evidence).all()


@pytest.mark.parametrize("part", ["degree", "mixture"])
def test_the_degree_and_the_mixture_can_be_left_out(graph: Graph, part: HeadPart) -> None:
    config = Config(**SETTINGS | {"head_without": (part,), "head_steps": 5})
    expert = fit_evidence(graph, SPLIT, config)[0].annotated
    head, is_degree = expert.head, part == "degree"
    names = [block.name for block in expert.encoding.blocks]
    assert (head.log_weights[names.index("degree")] < -40) == is_degree
    assert (head.by_trait[2:4] == 0).all() == is_degree
    assert (head.mixing == 0).all() != is_degree


def test_what_is_expected_by_place_can_be_left_out_alone(graph: Graph) -> None:
    config = Config(**SETTINGS | {"head_without": ("expected by place",), "head_steps": 5})
    head = fit_evidence(graph, SPLIT, config)[0].annotated.head
    assert head.log_weights[-1] < -40
    assert head.log_weights[:-1].min() > -10
    assert head.mixing[-1] == 0
    assert head.mixing[:-1].all()


def test_parts_that_are_left_out_say_nothing(graph: Graph) -> None:
    config = Config(**SETTINGS | {"head_without": ("own labels", "level"), "head_steps": 5})
    expert = fit_evidence(graph, SPLIT, config)[0].annotated
    assert expert.head.mixing[0] == 0  # of own labels
    assert expert.head.mixing[1:].all()
    width = len(expert.encoding.means[0])
    assert expert.head.level == 0
    assert expert.head.log_weights[:2].max() < -40
    assert expert.head.log_weights[2:].min() > -10
    assert not expert.head.by_column[:width].any()
    assert expert.head.by_column[width:].any()
    assert not expert.head.by_trait[:2].any()


# As users meet it.


def test_the_ranking_has_intervals_and_decisions(graph: Graph) -> None:
    model = MetaTNE(**SETTINGS).fit(graph)
    nodes = graph.node_ids.take(graph.labels.holders(19)[:5].astype(np.int64))
    table = model.rank(positives=nodes)
    assert list(table.columns) == ["node", "probability", "low", "high", "holds", "rank"]
    assert (table["low"] <= table["probability"]).all()
    assert (table["probability"] <= table["high"]).all()
    assert table["probability"].is_monotonic_decreasing
    likelier = model.rank(positives=nodes, prior=0.5).set_index("node")["probability"]
    assert (likelier >= table.set_index("node")["probability"].reindex(likelier.index)).all()
    assert model.num_steps_ == SETTINGS["head_steps"]
    assert model.embeddings_.shape[0] == graph.num_nodes


def test_the_same_seed_gives_the_same_model(graph: Graph) -> None:
    first, second = (MetaTNE(**SETTINGS).fit(graph) for _ in range(2))
    question: dict[str, Any] = {"positives": ["1", "2", "3"], "negatives": ["7", "9"]}
    assert first.rank(**question).equals(second.rank(**question))


def test_nodes_that_hold_one_label_each(graph: Graph) -> None:
    """Classes, known of some nodes alone: masked, no node would be left that is annotated."""
    generator = np.random.default_rng(0)
    community = np.argsort(np.argsort(graph.adjacency().sum(axis=0))) * 8 // graph.num_nodes
    known = generator.random(graph.num_nodes) < 0.6
    labels = Labels.from_statements(
        [f"class {number}" for number in range(8)],
        graph.num_nodes,
        np.flatnonzero(known),
        community[known],
        unannotated=~known,
    )
    assert labels.is_known_by_holding
    model = MetaTNE(**SETTINGS).fit(graph.with_labels(labels))
    trained = model.trained_.scorer
    assert isinstance(trained, EvidenceModel)
    assert trained.annotated is trained.unannotated
    assert not trained.annotated.encoding.with_own_labels  # nobody learned what those say
    assert 0 <= model.history_["auc"].iloc[-1] <= 1
    again = from_tensors(to_tensors(trained), trained.label_names)
    assert again.annotated is again.unannotated
    examples: dict[str, Any] = {"positives": graph.node_ids.take(np.arange(4))}
    assert np.isfinite(model.rank(**examples)["probability"]).all()
    assert len(model.relate(**examples)) == labels.num_labels
    assert len(model.explain(graph.node_ids[9], **examples)) > 4


def test_a_head_that_scores_otherwise_has_another_version(
    model: EvidenceModel, graph: Graph
) -> None:
    """Results are named by the version: whoever changes these numbers raises it, and then them."""
    holders = graph.labels.holders(17).astype(np.int64)
    others = np.setdiff1d(np.arange(graph.num_nodes), holders)
    asked = np.concatenate((holders[5:10], others[8:13]))
    found = model.score_nodes(holders[:5], [others[:8]], asked)
    of_holders = [0.308, 0.746, 1.106, 0.915, 0.864]
    of_others = [-2.479, -0.014, -1.150, -0.254, -0.767]
    assert VERSION == 5
    np.testing.assert_allclose(found.evidence[0], of_holders + of_others, atol=5e-3)
    np.testing.assert_allclose(found.threshold[0], 0.376, atol=5e-3)
