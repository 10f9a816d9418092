"""A saved model is the same model, those of before load, and a wrong one does not."""

from __future__ import annotations

import numpy as np
import pytest

from metatne.config import Config
from metatne.evidence.description import OTHERS, OWN
from metatne.evidence.fitting import fit_evidence
from metatne.evidence.head import NOTHING
from metatne.evidence.model import EvidenceModel
from metatne.evidence.storage import from_tensors, to_tensors
from metatne.graph.labels import Labels
from metatne.graph.store import Graph
from planted import SETTINGS, SPLIT


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


def test_shards_and_kept_vectors_change_no_bit(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates of either kind, cut at whole pieces; vectors kept, or made each time."""
    monkeypatch.setattr("metatne.evidence.model.NODES_PER_PIECE", 16)
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
    positives, sets = np.arange(4), [np.arange(10, 15), np.arange(20, 25)]
    candidates = np.arange(100, 200)
    whole = model.score_nodes(positives, sets, candidates)
    again = model.score_nodes(positives, sets, candidates)
    shards = [model.score_nodes(positives, sets, part) for part in np.split(candidates, [32, 80])]
    monkeypatch.setattr("metatne.evidence.vectors.KEPT_BYTES", 0)
    fresh = from_tensors(to_tensors(model), model.label_names)
    unkept = fresh.score_nodes(positives, sets, candidates)
    for number in range(3):
        joined = np.concatenate([shard[number] for shard in shards], axis=1)
        for other in (again[number], joined, unkept[number]):
            np.testing.assert_array_equal(other, whole[number])


def test_models_of_before_blocks_were_mixed_load(model: EvidenceModel) -> None:
    """With the degree and the mixture at nothing, which is how they were: not there."""
    tensors = {name: tensor.clone() for name, tensor in to_tensors(model).items()}
    name, place = "annotated", len(model.annotated.encoding.blocks) - 1
    tensors[f"{name}.head.mixing"].zero_()
    tensors[f"{name}.head.log_weights"][place] = NOTHING
    today = from_tensors(tensors, model.label_names)
    before = dict(tensors)
    del before[f"{name}.head.mixing"], before[f"{name}.mean.{place}"]
    for part in ("scales", "head.log_weights"):
        before[f"{name}.{part}"] = before[f"{name}.{part}"][:place]
    # The other expert had no blocks of own labels, which come first.
    name, own = "unannotated", len(OWN)
    for number in range(place - own):
        before[f"{name}.mean.{number}"] = before[f"{name}.mean.{number + own}"]
    for part in ("scales", "head.log_weights"):
        before[f"{name}.{part}"] = before[f"{name}.{part}"][own:place]
    del before[f"{name}.head.mixing"]
    loaded = from_tensors(before, model.label_names)
    assert not loaded.unannotated.encoding.with_own_labels
    assert len(loaded.unannotated.encoding.blocks) == len(OTHERS)
    assert not loaded.unannotated.head.mixing.any()
    question = np.arange(5), [np.arange(10, 18)], np.arange(100, 200)
    for ours, theirs in zip(
        today.score_nodes(*question), loaded.score_nodes(*question), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("part", ["by_trait", "by_column"])
def test_a_head_of_another_size_is_refused(model: EvidenceModel, part: str) -> None:
    tensors = to_tensors(model)
    tensors[f"unannotated.head.{part}"] = tensors[f"unannotated.head.{part}"][1:]
    with pytest.raises(ValueError, match=f"{part}: expected"):
        from_tensors(tensors, model.label_names)
