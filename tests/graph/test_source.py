"""A model knows where its graph came from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from metatne.errors import DatasetError, GraphError, LabelError, ModelFormatError
from metatne.estimator import MetaTNE
from metatne.graph.source import GraphSource, without_labels
from metatne.graph.store import Graph


def test_a_directory_is_found_from_anywhere(
    friends: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    friends.save(tmp_path / "graph")
    monkeypatch.chdir(tmp_path)
    source = GraphSource.of("graph")
    assert source.reference == str(tmp_path / "graph")
    monkeypatch.chdir("/")
    assert source.open().fingerprint == friends.fingerprint
    with pytest.raises(GraphError):
        GraphSource(str(tmp_path / "gone")).open()


def test_a_name_is_kept_and_a_directory_of_that_name_goes_first(
    friends: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert GraphSource.of("PPI").reference == "ppi"
    friends.save(tmp_path / "ppi")
    assert GraphSource.of("ppi").reference == str(tmp_path / "ppi")


def test_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("METATNE_DATA", raising=False)
    with pytest.raises(DatasetError, match="is not in"):
        GraphSource.of("flickr").open()


def test_held_out_labels_are_left_out(friends: Graph, tmp_path: Path) -> None:
    friends.save(tmp_path / "graph")
    opened = GraphSource.of(str(tmp_path / "graph"), without=["rare"]).open()
    assert opened.labels.names == ("left", "right")
    assert opened.fingerprint == without_labels(friends, ["rare"]).fingerprint
    assert without_labels(friends, []) is friends
    with pytest.raises(LabelError):
        without_labels(friends, ["rarer"])


def test_a_saved_model_keeps_it(fitted: MetaTNE, tmp_path: Path) -> None:
    model = MetaTNE(**fitted.get_params())
    source = GraphSource("/somewhere", ("chess",))
    model.trained_ = replace(fitted.trained_, graph_source=source)
    model.save(tmp_path / "model")
    assert MetaTNE.load(tmp_path / "model").trained_.graph_source == source
    fitted.save(tmp_path / "plain")
    assert MetaTNE.load(tmp_path / "plain").trained_.graph_source is None


@pytest.mark.parametrize(
    "value", [3, {"reference": 3}, {"without": []}, {"reference": "x", "without": [1]}]
)
def test_a_damaged_source_is_named(fitted: MetaTNE, tmp_path: Path, value: object) -> None:
    fitted.save(tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    header = json.loads(file.read_text())
    header["graph"]["source"] = value
    file.write_text(json.dumps(header))
    with pytest.raises(ModelFormatError, match=r"model\.json is damaged"):
        MetaTNE.load(tmp_path / "model")
