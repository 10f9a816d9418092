"""Saved models: what comes back, and what is refused with the file named."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from metatne.errors import GraphMismatchError, ModelFormatError, OutputExistsError
from metatne.estimator import MetaTNE
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.integrity import sealed
from metatne.saved import load_model

HEADER, WEIGHTS, IDS = "model.json", "weights.safetensors", "ids.arrow"


@pytest.fixture(scope="module")
def saved(fitted: MetaTNE, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model"
    fitted.save(path)
    return path


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def change_header(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """As by someone who mends the checksum too."""
    header = json.loads((path / HEADER).read_text(encoding="utf-8"))
    del header["checksum"]
    change(header)
    (path / HEADER).write_text(json.dumps(sealed(header)), encoding="utf-8")


def test_a_model_comes_back_as_it_was(fitted: MetaTNE, saved: Path, planted: Graph) -> None:
    loaded = MetaTNE.load(saved, graph=planted, device="cpu")
    for positives, negatives in (([1, 2], [3]), ([7], [])):
        before = fitted.rank(positives=positives, negatives=negatives)
        after = loaded.rank(positives=positives, negatives=negatives)
        assert before.equals(after)
        assert before.attrs == after.attrs
    assert loaded.get_params() == fitted.get_params()
    assert loaded.history_.equals(fitted.history_)
    assert (loaded.best_step_, loaded.num_steps_) == (fitted.best_step_, fitted.num_steps_)
    assert loaded.trained_.known_labels == fitted.trained_.known_labels
    assert loaded.trained_.validation_labels == fitted.trained_.validation_labels
    assert set(loaded.trained_.known_labels).isdisjoint(loaded.trained_.validation_labels)
    assert (loaded.trained_.graph_name, loaded.trained_.fingerprint) == (
        planted.name,
        planted.fingerprint,
    )


def test_saving_what_was_loaded_changes_no_byte(saved: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    MetaTNE.load(saved).save(again)
    for name in (HEADER, WEIGHTS, IDS):
        assert (again / name).read_bytes() == (saved / name).read_bytes()


def test_the_header_can_be_read_by_people(saved: Path, planted: Graph) -> None:
    header = json.loads((saved / HEADER).read_text(encoding="utf-8"))
    assert (header["format"], header["version"]) == ("metatne-model", 3)
    assert header["graph"] == {
        "name": "planted",
        "fingerprint": planted.fingerprint,
        "num_nodes": 300,
    }
    assert header["config"]["dim"] == 16
    assert set(header["libraries"]) == {"metatne", "torch", "numpy", "safetensors", "python"}


def test_nothing_is_pickled(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("a stranger's pickle can run any code")

    for owner, name in (
        (pickle, "load"),
        (pickle, "loads"),
        (pickle, "Unpickler"),
        (torch, "load"),
    ):
        monkeypatch.setattr(owner, name, refuse)
    assert sorted(file.name for file in saved.iterdir()) == [IDS, HEADER, WEIGHTS]
    MetaTNE.load(saved).rank(positives=[1], top=3)


def test_another_graph_is_refused(saved: Path) -> None:
    other = planted_graph(300, num_labels=10, num_communities=6, seed=2).graph
    with pytest.raises(GraphMismatchError, match=r"was trained on the graph 'planted' .* not on"):
        MetaTNE.load(saved, graph=other)


def test_the_same_graph_with_other_labels_is_refused(saved: Path, planted: Graph) -> None:
    other = planted.with_labels(planted.labels.select([0, 1]))
    with pytest.raises(GraphMismatchError, match="was trained on"):
        MetaTNE.load(saved, graph=other)


@pytest.mark.parametrize("name", [WEIGHTS, IDS])
def test_a_file_that_was_cut_short(copy: Path, name: str) -> None:
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[:-10])
    size = len(content)
    with pytest.raises(ModelFormatError, match=rf"{name} is damaged: .*{size}.*{size - 10}.*cut"):
        MetaTNE.load(copy)


@pytest.mark.parametrize("name", [WEIGHTS, IDS])
def test_a_flipped_bit(copy: Path, name: str) -> None:
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(ModelFormatError, match=f"{name} is damaged: its content is not what"):
        MetaTNE.load(copy)


@pytest.mark.parametrize("name", [WEIGHTS, IDS])
def test_a_missing_file(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(ModelFormatError, match=f"{name} is damaged: it is missing"):
        MetaTNE.load(copy)


def test_another_models_ids(copy: Path, small_settings: dict[str, Any], tmp_path: Path) -> None:
    other = planted_graph(320, num_labels=10, num_communities=6, seed=1).graph
    MetaTNE(**(small_settings | {"num_steps": 2})).fit(other).save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / IDS, copy / IDS)
    with pytest.raises(ModelFormatError, match=f"{IDS} is damaged"):
        MetaTNE.load(copy)
    # Even if the header were made to fit, there are more ids than embeddings.
    facts = json.loads((tmp_path / "other" / HEADER).read_text())["files"][IDS]
    change_header(copy, lambda header: header["files"].update({IDS: facts}))
    with pytest.raises(ModelFormatError, match=f"{WEIGHTS} is damaged: it does not fit"):
        MetaTNE.load(copy)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"best_step": ', '"best_step": 1'),
        ('"checksum"', '"checksun"'),
        ('"version": 3', '"version": 2'),
        ('"version": 3', '"version": 1'),
    ],
)
def test_a_header_that_was_changed_is_refused(copy: Path, before: str, after: str) -> None:
    text = (copy / HEADER).read_text(encoding="utf-8")
    (copy / HEADER).write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(ModelFormatError, match=f"{HEADER} is damaged: its content is not what"):
        MetaTNE.load(copy)


@pytest.mark.parametrize("text", ["", "{", "\x00\x01", '{"format": "metatne-model"', "[1, 2"])
def test_a_header_that_is_no_json(copy: Path, text: str) -> None:
    (copy / HEADER).write_text(text)
    with pytest.raises(ModelFormatError, match=f"{HEADER} is damaged: it cannot be read as JSON"):
        MetaTNE.load(copy)


def test_a_header_that_is_no_text(copy: Path) -> None:
    (copy / HEADER).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelFormatError, match=f"{HEADER} is damaged"):
        MetaTNE.load(copy)


@pytest.mark.parametrize("text", ["[]", "3", "null", '{"format": "other"}'])
def test_a_header_of_something_else(copy: Path, text: str) -> None:
    (copy / HEADER).write_text(text)
    with pytest.raises(ModelFormatError, match=f"{HEADER} is not the header of a saved model"):
        MetaTNE.load(copy)


def test_another_version(copy: Path) -> None:
    change_header(copy, lambda header: header.update(version=99))
    with pytest.raises(ModelFormatError, match=f"{HEADER}: expected format version 3, found 99"):
        MetaTNE.load(copy)


@pytest.mark.parametrize(
    "key",
    ["config", "graph", "files", "known_labels", "validation_labels", "best_step", "history"],
)
@pytest.mark.parametrize("value", [None, "text", "missing"])
def test_a_header_with_a_part_missing_or_odd(copy: Path, key: str, value: str | None) -> None:
    if value == "missing":
        change_header(copy, lambda header: header.pop(key))
    else:
        change_header(copy, lambda header: header.update({key: value}))
    with pytest.raises(ModelFormatError, match=f"{HEADER} is damaged: expected '{key}' to be"):
        MetaTNE.load(copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header["graph"].pop("fingerprint"), "name and fingerprint are missing"),
        (lambda header: header["files"].pop(IDS), "expected the facts of"),
        (lambda header: header["config"].update(dim=0), "dim: expected greater than or equal to 1"),
        (lambda header: header["config"].update(tuned=3), "there is no setting 'tuned'"),
        (lambda header: header["config"].update(dim=8), "weights.safetensors is damaged"),
        (lambda header: header["config"].update(num_blocks=2), "weights.safetensors is damaged"),
    ],
)
def test_a_header_that_does_not_fit(
    copy: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    change_header(copy, change)
    with pytest.raises(ModelFormatError, match=message) as raised:
        MetaTNE.load(copy)
    assert str(copy) in str(raised.value)


def test_weights_that_are_no_safetensors(copy: Path) -> None:
    """As by someone who also mended the header."""
    from metatne.saved import _facts

    (copy / WEIGHTS).write_bytes(pickle.dumps({"embeddings": 1}))
    facts = _facts(copy / WEIGHTS)
    change_header(copy, lambda header: header["files"].update({WEIGHTS: facts}))
    with pytest.raises(ModelFormatError, match=f"{copy} is damaged"):
        MetaTNE.load(copy)


def test_no_model_at_all(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match=r"there is no model at .*nowhere; train one"):
        MetaTNE.load(tmp_path / "nowhere")
    with pytest.raises(ModelFormatError, match=f"{tmp_path} is not a saved model: it has no"):
        MetaTNE.load(str(tmp_path))
    (tmp_path / "file").write_text("text")
    with pytest.raises(ModelFormatError, match="file is not a saved model"):
        MetaTNE.load(tmp_path / "file")


def test_a_model_is_not_overwritten_unasked(fitted: MetaTNE, copy: Path) -> None:
    with pytest.raises(OutputExistsError, match="exists already"):
        fitted.save(copy)
    fitted.save(copy, overwrite=True)
    load_model(copy)


def test_only_a_model_is_overwritten(fitted: MetaTNE, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("text")
    with pytest.raises(ModelFormatError, match=f"{tmp_path} is not a saved model, so it is not"):
        fitted.save(tmp_path, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["precious"]


def test_a_failure_while_saving_leaves_the_old_model(
    fitted: MetaTNE, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {file.name: file.read_bytes() for file in copy.iterdir()}

    def fail(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("metatne.saved.write_ids", fail)
    with pytest.raises(OSError, match="disk full"):
        fitted.save(copy, overwrite=True)
    assert {file.name: file.read_bytes() for file in copy.iterdir()} == before
    assert [entry.name for entry in copy.parent.iterdir()] == [copy.name]


@pytest.mark.parametrize("version", [1, 2])
def test_a_model_of_an_earlier_format_still_loads(
    copy: Path, fitted: MetaTNE, version: int
) -> None:
    """They had no checksum, and the first no head to name: the paper's was the only one."""
    header = json.loads((copy / HEADER).read_text(encoding="utf-8")) | {"version": version}
    del header["checksum"]
    if version == 1:
        del header["config"]["head"]
    (copy / HEADER).write_text(json.dumps(header), encoding="utf-8")
    question: dict[str, Any] = {"positives": [1, 2], "negatives": [3]}
    assert MetaTNE.load(copy).rank(**question).equals(fitted.rank(**question))
