"""A saved model is the same model, those of before load, and a wrong one does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from metatne.config import Config
from metatne.evidence.description import OTHERS, OWN
from metatne.evidence.fitting import fit_evidence
from metatne.evidence.growth import grown
from metatne.evidence.head import NOTHING
from metatne.evidence.model import EvidenceModel
from metatne.evidence.storage import from_tensors, to_tensors
from metatne.graph.labels import Labels
from metatne.graph.store import Graph
from planted import SETTINGS, SPLIT

Tensors = dict[str, torch.Tensor]
EXPERTS = ("annotated", "unannotated")

LATER_BLOCKS = 2
"""The degree, and labels expected by place."""


@pytest.fixture(scope="module")
def graph(twenty_labels: Graph) -> Graph:
    return twenty_labels


@pytest.fixture(scope="module")
def model(evidence_model: EvidenceModel) -> EvidenceModel:
    return evidence_model


def test_saved_and_loaded_to_the_bit(model: EvidenceModel) -> None:
    again = from_tensors(to_tensors(model), model.label_names)
    question = np.arange(5), [np.arange(10, 18)], np.arange(100, 200)
    for ours, theirs in zip(
        model.score_nodes(*question), again.score_nodes(*question), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.fixture(scope="module")
def partly(graph: Graph) -> EvidenceModel:
    """Of a graph of which every other node or so is not annotated."""
    some = np.random.default_rng(5).random(graph.num_nodes) < 0.5
    labels = graph.labels
    partly = graph.with_labels(
        Labels.from_statements(
            labels.names,
            labels.num_nodes,
            labels.holds.nodes[~some[labels.holds.nodes]],
            labels.holds.pair_labels[~some[labels.holds.nodes]],
            unannotated=some,
        )
    )
    model = fit_evidence(partly, SPLIT, Config(**SETTINGS | {"head_steps": 5}))[0]
    assert 0 < model.description.is_annotated[100:200].sum() < 100
    return model


def test_shards_and_kept_vectors_change_no_bit(
    partly: EvidenceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates of either kind, cut at whole pieces; vectors kept, or made each time."""
    monkeypatch.setattr("metatne.evidence.model.NODES_PER_PIECE", 16)
    positives, sets = np.arange(4), [np.arange(10, 15), np.arange(20, 25)]
    candidates = np.arange(100, 200)
    whole = partly.score_nodes(positives, sets, candidates)
    again = partly.score_nodes(positives, sets, candidates)
    shards = [partly.score_nodes(positives, sets, part) for part in np.split(candidates, [32, 80])]
    monkeypatch.setattr("metatne.evidence.vectors.KEPT_BYTES", 0)
    fresh = from_tensors(to_tensors(partly), partly.label_names)
    unkept = fresh.score_nodes(positives, sets, candidates)
    for number in range(3):
        joined = np.concatenate([shard[number] for shard in shards], axis=1)
        for other in (again[number], joined, unkept[number]):
            np.testing.assert_array_equal(other, whole[number])


QUESTION = np.arange(5), [np.arange(10, 18)], np.arange(100, 200)


def test_models_of_before_place_alone_told_of_labels_load(partly: EvidenceModel) -> None:
    """With nothing from that block, which is how it was: not there."""
    tensors = {name: tensor.clone() for name, tensor in to_tensors(partly).items()}
    for name in EXPERTS:
        tensors[f"{name}.head.mixing"][-1] = 0
        tensors[f"{name}.head.log_weights"][-1] = NOTHING
    today = from_tensors(tensors, partly.label_names)
    _same_scores(today, from_tensors(_of_version_3(tensors), partly.label_names))


def test_models_of_before_can_be_updated(graph: Graph, model: EvidenceModel) -> None:
    before = from_tensors(_of_version_3(to_tensors(model)), model.label_names)
    assert not before.description.by_place.any()
    updated = grown(before, graph.node_ids, graph)
    assert updated.description.by_place.any()
    assert np.isfinite(updated.score_nodes(*QUESTION).evidence).all()


def test_models_of_before_walks_load(partly: EvidenceModel) -> None:
    """With nothing from walks, which is how it was."""
    tensors = {name: tensor.clone() for name, tensor in to_tensors(partly).items()}
    for name in EXPERTS:
        tensors[f"{name}.head.log_reach"].fill_(NOTHING)
    today = from_tensors(tensors, partly.label_names)
    before = {name: tensor for name, tensor in tensors.items() if not name.startswith("edges.")}
    for name in EXPERTS:
        del before[f"{name}.head.log_reach"]
    loaded = from_tensors(before, partly.label_names)
    assert not loaded.description.reach.everywhere([np.arange(5)]).any()
    _same_scores(today, loaded)


EDGES: dict[str, tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "of others": ("indices", lambda edges: edges + 10_000),
    "below 0": ("indices", lambda edges: edges - 1),
    "out of order": ("indptr", lambda bounds: bounds.flip(0)),
    "of fewer nodes": ("indptr", lambda bounds: torch.cat((bounds[:-2], bounds[-1:]))),
    "in a table": ("indptr", lambda bounds: bounds[:, None]),
    "of nearly no weight": ("weights", lambda weights: 1e-42 * weights),
    "of too few weights": ("weights", lambda weights: torch.ones(3)),
    "of whole weights": ("weights", lambda weights: weights.long()),
}


@pytest.mark.parametrize("wrong", EDGES)
def test_edges_that_are_none_are_refused(model: EvidenceModel, wrong: str) -> None:
    tensors = to_tensors(model)
    name, spoil = EDGES[wrong]
    if wrong == "of nearly no weight":
        tensors["edges.weights"] = torch.ones(len(tensors["edges.indices"]))
    tensors[f"edges.{name}"] = spoil(tensors[f"edges.{name}"])
    with pytest.raises(ValueError, match="edges: "):
        from_tensors(tensors, model.label_names)


@pytest.mark.parametrize("wrong", ["nothing by place", "a factor too few", "a factor too many"])
def test_what_is_of_no_version_is_refused(model: EvidenceModel, wrong: str) -> None:
    tensors = to_tensors(model)
    if wrong == "nothing by place":
        del tensors["description.by_place"]  # which the heads ask for
    else:
        tensors = _of_version_3(tensors)
        mixing = tensors["unannotated.head.mixing"]
        other = mixing[:-1] if wrong == "a factor too few" else torch.cat((mixing, mixing[:1]))
        tensors["unannotated.head.mixing"] = other
    with pytest.raises(ValueError, match=r"blocks, found|mixing: expected"):
        from_tensors(tensors, model.label_names)


def test_models_of_before_blocks_were_mixed_load(model: EvidenceModel) -> None:
    """With the last blocks and the mixture at nothing, which is how they were: not there."""
    tensors = {name: tensor.clone() for name, tensor in to_tensors(model).items()}
    tensors["annotated.head.mixing"].zero_()
    tensors["annotated.head.log_weights"][-LATER_BLOCKS:] = NOTHING
    today = from_tensors(tensors, model.label_names)
    before = dict(tensors)
    del before["description.by_place"]
    # The other expert had no blocks of own labels, which come first.
    name, own = "unannotated", len(OWN)
    for number in range(len(OTHERS)):
        before[f"{name}.mean.{number}"] = before.pop(f"{name}.mean.{number + own}")
    for part in ("scales", "head.log_weights"):
        before[f"{name}.{part}"] = before[f"{name}.{part}"][own:]
    for name in EXPERTS:
        _drop_last_blocks(before, name, LATER_BLOCKS)
        del before[f"{name}.head.mixing"]
    loaded = from_tensors(before, model.label_names)
    assert not loaded.unannotated.encoding.with_own_labels
    assert len(loaded.unannotated.encoding.blocks) == len(OTHERS)
    assert not loaded.unannotated.head.mixing.any()
    _same_scores(today, loaded)


def _of_version_3(tensors: Tensors) -> Tensors:
    """The tensors of a model of before labels were expected by place alone."""
    before = dict(tensors)
    del before["description.by_place"]
    for name in EXPERTS:
        _drop_last_blocks(before, name, 1)
        before[f"{name}.head.mixing"] = before[f"{name}.head.mixing"][:-1]
    return before


def _drop_last_blocks(tensors: Tensors, name: str, count: int) -> None:
    num_blocks = len(tensors[f"{name}.scales"])
    for number in range(num_blocks - count, num_blocks):
        del tensors[f"{name}.mean.{number}"]
    for part in ("scales", "head.log_weights"):
        tensors[f"{name}.{part}"] = tensors[f"{name}.{part}"][:-count]


def _same_scores(one: EvidenceModel, other: EvidenceModel) -> None:
    for ours, theirs in zip(one.score_nodes(*QUESTION), other.score_nodes(*QUESTION), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_models_of_before_many_supports_load(model: EvidenceModel) -> None:
    """All their shapes were of few; no number of these is refused but one that there is not."""
    tensors = to_tensors(model)
    shapes = len(tensors["annotated.shapes"])
    before = {name: t for name, t in tensors.items() if not name.endswith(".num_few")}
    assert from_tensors(before, model.label_names).annotated.calibration.num_few == shapes
    for wrong in (0, shapes + 1):
        changed = tensors | {"annotated.num_few": torch.tensor(wrong)}
        with pytest.raises(ValueError, match=f"num_few: expected 1 to {shapes}, found {wrong}"):
            from_tensors(changed, model.label_names)


@pytest.mark.parametrize("part", ["mixing", "by_trait", "by_column"])
def test_a_head_of_another_size_is_refused(model: EvidenceModel, part: str) -> None:
    tensors = to_tensors(model)
    tensors[f"unannotated.head.{part}"] = tensors[f"unannotated.head.{part}"][1:]
    with pytest.raises(ValueError, match=f"{part}: expected"):
        from_tensors(tensors, model.label_names)
