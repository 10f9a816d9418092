"""Models and their graphs, found, matched and named."""

from __future__ import annotations

import json
import logging
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metatne.errors import GraphMismatchError, ModelFormatError
from metatne.estimator import MetaTNE
from metatne.graph import source
from metatne.graph.datasets import DATASETS
from metatne.graph.store import Graph
from metatne.integrity import sealed
from metatne.quality import Control, Quality
from metatne.service import catalogue as catalogue_module
from metatne.service.answers import Example
from metatne.service.catalogue import Catalogue, load_served, unique_names, write_example
from metatne.service.refusals import Refusal


def say_graph_is_at(reference: str, model: Path) -> None:
    header = json.loads((model / "model.json").read_text())
    header["graph"]["source"]["reference"] = reference
    del header["checksum"]
    (model / "model.json").write_text(json.dumps(sealed(header)))


def test_names_are_unique() -> None:
    paths = [Path("a/model"), Path("b/model"), Path("c/model-2"), Path("model")]
    assert unique_names(paths) == ["model", "model-2", "model-2-2", "model-3"]


def test_a_graph_is_found_where_it_was_trained(town_model: Path) -> None:
    catalogue = Catalogue()
    with pytest.raises(Refusal, match="still being loaded"):
        catalogue.get("town")
    catalogue.load([town_model])
    assert catalogue.get("town").graph is not None
    with pytest.raises(Refusal, match="did you mean 'town'"):
        catalogue.get("twon")


def test_the_first_to_ask_for_reasons_does_not_wait(town_model: Path) -> None:
    assert "label_gaps" in vars(load_served("town", town_model).evidence)


def test_a_graph_that_moved_can_be_given(
    town_model: Path, tmp_path: Path, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="metatne.service")
    path = tmp_path / "town"
    shutil.copytree(town_model, path)
    say_graph_is_at(str(tmp_path / "gone"), path)
    assert load_served("town", path).graph is None
    assert "cannot be opened" in caplog.text
    assert load_served("town", path, [graph]).graph is graph


def test_a_data_set_is_looked_for_where_it_is_said_to_be(
    town_model: Path, tmp_path: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "town"
    shutil.copytree(town_model, path)
    say_graph_is_at(next(iter(DATASETS)), path)

    def load(name: str, *, data_dir: Path, download: bool) -> Graph:
        assert data_dir == tmp_path
        return graph

    monkeypatch.setattr(source, "load_dataset", load)
    catalogue = Catalogue()
    catalogue.load([path], data_dir=tmp_path)
    assert catalogue.get("town").graph is graph


def test_another_graph_is_never_shown(
    town_model: Path, tmp_path: Path, friends: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="metatne.service")
    path = tmp_path / "town"
    shutil.copytree(town_model, path)
    friends.save(tmp_path / "graph")
    say_graph_is_at(str(tmp_path / "graph"), path)
    assert load_served("town", path).graph is None
    assert "has changed since" in caplog.text
    with pytest.raises(GraphMismatchError, match="no model here was trained on 'friends'"):
        Catalogue().load([town_model], [friends])


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"name": "x"}',
        '{"name": "x", "positives": ["?"], "negatives": []}',
        '{"checksum": "0", "name": "x", "positives": [], "negatives": []}',
        '{"checksun": "0", "name": "x", "positives": [], "negatives": []}',
    ],
)
def test_a_damaged_example_is_named(town_model: Path, tmp_path: Path, content: str) -> None:
    path = tmp_path / "town"
    shutil.copytree(town_model, path)
    (path / "example.json").write_text(content)
    with pytest.raises(ModelFormatError, match=r"example\.json is damaged"):
        load_served("town", path)


def test_model_and_example_are_of_one_training(
    town_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaced in between, they are read again."""
    path, model = tmp_path / "town", MetaTNE.load(town_model)
    shutil.copytree(town_model, path)
    read_example = catalogue_module._read_example
    num_read = 0

    def replace_first(folder: Path, trained: Any) -> Any:
        nonlocal num_read
        num_read += 1
        if num_read == 1:
            model.save(folder, overwrite=True)
            write_example(folder, Example(name="new", positives=[], negatives=[]))
        return read_example(folder, trained)

    monkeypatch.setattr(catalogue_module, "_read_example", replace_first)
    served = load_served("town", path)
    assert num_read == 2
    assert served.example is not None


def test_a_model_that_is_no_better_than_controls_is_told_of(
    town_model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="metatne.service")
    model = MetaTNE.load(town_model)
    control = Control("degree", 10, auc=0.5, gain=0.0, error=0.1)
    model.trained_ = replace(model.trained_, quality=Quality(0.5, 10, 2, (control,)))
    model.save(tmp_path / "town")
    facts = load_served("town", tmp_path / "town").facts()
    assert facts.is_better_than_controls is False
    assert facts.verdict is not None
    assert "no better than its controls (AUC 0.500, degree 0.500" in facts.verdict
    assert facts.verdict in caplog.text
