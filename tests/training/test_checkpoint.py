"""A training that was stopped goes on as if it had not been, or says why it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from metatne.config import make_config
from metatne.errors import ConfigError, GraphMismatchError, ModelFormatError
from metatne.estimator import MetaTNE
from metatne.graph.planted import planted_graph
from metatne.graph.store import Graph
from metatne.sampling.splits import LabelSplit
from metatne.training.checkpoint import Checkpointer, restore_checkpoint, save_checkpoint
from metatne.training.trainer import Stopped, Trainer

SPLIT = LabelSplit(known=np.arange(7), validation=np.arange(7, 10), test=np.arange(0))


def after(num_calls: int) -> Callable[[], bool]:
    """Says stop at the call of this number."""
    calls = iter(range(1, 10**6))
    return lambda: next(calls) == num_calls


def assert_same_training(ours: MetaTNE, theirs: MetaTNE) -> None:
    mine, other = (model.trained_.network.state_dict() for model in (ours, theirs))
    assert [name for name in mine if not torch.equal(mine[name], other[name])] == []
    assert ours.best_step_ == theirs.best_step_
    history = [model.history_.drop(columns="seconds") for model in (ours, theirs)]
    assert history[0].equals(history[1])


@pytest.mark.parametrize("stops", [[1], [10], [17, 2], [30]])
def test_stopped_and_resumed_is_as_if_never_stopped(
    planted: Graph,
    fitted: MetaTNE,
    small_settings: dict[str, Any],
    tmp_path: Path,
    stops: list[int],
) -> None:
    """At the first step, at a validation, twice between validations, and after the last step."""
    checkpoint = tmp_path / "checkpoint.safetensors"
    model = MetaTNE(**small_settings)
    for number, stop in enumerate(stops):
        with pytest.raises(Stopped):
            model.fit(planted, checkpoint=checkpoint, resume=number > 0, should_stop=after(stop))
        assert not hasattr(model, "trained_")
        torch.rand(7)  # another process would draw other numbers
    model = MetaTNE(**small_settings).fit(planted, checkpoint=checkpoint, resume=True)
    assert_same_training(model, fitted)
    assert model.history_["seconds"].is_monotonic_increasing


def test_a_line_of_validation_tasks_is_resumed_saved_and_loaded(
    planted: Graph, small_settings: dict[str, Any], tmp_path: Path
) -> None:
    settings = small_settings | {"validated_line": True}
    checkpoint = tmp_path / "checkpoint.safetensors"
    unbroken = MetaTNE(**settings).fit(planted)
    with pytest.raises(Stopped):
        MetaTNE(**settings).fit(planted, checkpoint=checkpoint, should_stop=after(12))
    resumed = MetaTNE(**settings).fit(planted, checkpoint=checkpoint, resume=True)
    assert_same_training(resumed, unbroken)
    unbroken.save(tmp_path / "model")
    assert_same_training(MetaTNE.load(tmp_path / "model"), unbroken)


def test_without_resume_training_starts_anew(
    planted: Graph, small_settings: dict[str, Any], tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint.safetensors"
    with pytest.raises(Stopped):
        MetaTNE(**small_settings).fit(planted, checkpoint=checkpoint, should_stop=after(5))
    other = small_settings | {"seed": 1, "num_steps": 10}
    again = MetaTNE(**other).fit(planted, checkpoint=checkpoint)
    assert_same_training(again, MetaTNE(**other).fit(planted))


def test_there_must_be_something_to_resume(
    planted: Graph, small_settings: dict[str, Any], tmp_path: Path
) -> None:
    for checkpoint in (None, tmp_path / "nothing"):
        with pytest.raises(ConfigError, match=f"resume: there is no checkpoint at {checkpoint}"):
            MetaTNE(**small_settings).fit(planted, checkpoint=checkpoint, resume=True)


def test_a_training_may_be_stopped_without_a_checkpoint(
    planted: Graph, small_settings: dict[str, Any]
) -> None:
    model = MetaTNE(**small_settings)
    with pytest.raises(Stopped):
        model.fit(planted, should_stop=after(3))
    assert not hasattr(model, "trained_")


@pytest.mark.parametrize(("share", "expected"), [(0.5, [5, 10]), (0.125, [5])])
def test_checkpoints_come_now_and_then(
    share: float,
    expected: list[int],
    planted: Graph,
    small_settings: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every 5 seconds, unless saving, which takes a second, would take too large a share."""
    monkeypatch.setattr("metatne.training.checkpoint.SHARE_OF_TIME", share)
    clock = iter(range(10**6))  # a second a look, and one look more at a save
    monkeypatch.setattr("metatne.training.checkpoint.time.monotonic", lambda: next(clock))
    path = tmp_path / "checkpoint.safetensors"
    trainer = Trainer(planted, SPLIT, make_config(small_settings | {"num_steps": 12}))
    checkpointer = Checkpointer(path, "print", SPLIT, every_seconds=5)
    saved = []

    def at_step_end(trainer: Trainer) -> None:
        before = path.stat().st_mtime_ns if path.exists() else 0
        checkpointer(trainer)
        if path.exists() and path.stat().st_mtime_ns != before:
            saved.append(trainer.state.step)

    trainer.run(at_step_end=at_step_end)
    assert saved == expected
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.fixture(scope="module")
def stopped(planted: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint at step 3."""
    path = tmp_path_factory.mktemp("stopped") / "checkpoint.safetensors"
    trainer = Trainer(planted, SPLIT, make_config(SETTINGS))
    with pytest.raises(Stopped):
        trainer.run(
            at_step_end=Checkpointer(path, planted.fingerprint, SPLIT, should_stop=after(3))
        )
    return path


SETTINGS: dict[str, Any] = {
    "dim": 8,
    "attention_dim": 8,
    "num_heads": 2,
    "feedforward_dim": 8,
    "positives": 4,
    "negatives": 6,
    "query_positives": 4,
    "query_negatives": 6,
    "decay_rate": 0.1,
    "decay_period": 100,
    "num_steps": 10,
    "device": "cpu",
}


def test_a_restored_trainer_stands_where_it_stood(planted: Graph, stopped: Path) -> None:
    trainer = Trainer(planted, SPLIT, make_config(SETTINGS))
    restore_checkpoint(stopped, trainer, planted.fingerprint, SPLIT)
    assert trainer.state.step == 3
    assert trainer.state.num_structural == 3
    assert len(trainer.state.losses["structural"]) == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"meta_rate": 0.5}, "meta_rate was 0.001, is 0.5"),
        ({"num_steps": 11}, "num_steps was 10, is 11"),
        ({"seed": 3}, "seed was 0, is 3"),
    ],
)
def test_other_settings_are_refused(
    planted: Graph, stopped: Path, changed: dict[str, Any], message: str
) -> None:
    trainer = Trainer(planted, SPLIT, make_config(SETTINGS | changed))
    with pytest.raises(ConfigError, match=message) as raised:
        restore_checkpoint(stopped, trainer, planted.fingerprint, SPLIT)
    assert str(stopped) in str(raised.value)


def test_another_device_is_no_other_setting(planted: Graph, stopped: Path) -> None:
    trainer = Trainer(planted, SPLIT, make_config(SETTINGS | {"device": "auto"}))
    restore_checkpoint(stopped, trainer, planted.fingerprint, SPLIT)
    assert trainer.state.step == 3


def test_another_graph_is_refused(stopped: Path) -> None:
    graph = planted_graph(300, num_labels=10, num_communities=6, seed=2).graph
    trainer = Trainer(graph, SPLIT, make_config(SETTINGS))
    with pytest.raises(GraphMismatchError, match="on another graph or other labels"):
        restore_checkpoint(stopped, trainer, graph.fingerprint, SPLIT)


def test_another_split_is_refused(planted: Graph, stopped: Path) -> None:
    split = replace(SPLIT, known=SPLIT.known[:-1])
    trainer = Trainer(planted, split, make_config(SETTINGS))
    with pytest.raises(GraphMismatchError, match="on another graph or other labels"):
        restore_checkpoint(stopped, trainer, planted.fingerprint, split)


def test_a_checkpoint_that_is_not_whole_is_refused(
    planted: Graph, stopped: Path, tmp_path: Path
) -> None:
    trainer = Trainer(planted, SPLIT, make_config(SETTINGS))
    content = stopped.read_bytes()
    broken = tmp_path / "broken.safetensors"
    for part in (content[: len(content) // 2], b"", b"\x00" * 100, b"{}" * 50):
        broken.write_bytes(part)
        with pytest.raises(ModelFormatError, match=r"broken\.safetensors: not a whole checkpoint"):
            restore_checkpoint(broken, trainer, planted.fingerprint, SPLIT)
    with pytest.raises(ModelFormatError, match="not a whole checkpoint"):
        restore_checkpoint(tmp_path, trainer, planted.fingerprint, SPLIT)
    save_file({"weight": torch.zeros(2)}, broken)
    with pytest.raises(ModelFormatError, match=r"broken\.safetensors: not a whole checkpoint"):
        restore_checkpoint(broken, trainer, planted.fingerprint, SPLIT)


def test_numbers_that_were_changed_are_refused(
    planted: Graph, stopped: Path, tmp_path: Path
) -> None:
    content = bytearray(stopped.read_bytes())
    content[-1] ^= 1  # in the last tensor
    header = stopped.read_bytes().replace(b'\\"step\\": 3', b'\\"step\\": 4')
    trainer = Trainer(planted, SPLIT, make_config(SETTINGS))
    broken = tmp_path / "broken.safetensors"
    for changed in (bytes(content), header):
        assert changed != stopped.read_bytes()
        broken.write_bytes(changed)
        with pytest.raises(
            ModelFormatError, match=r"broken\.safetensors: .* is not what was saved"
        ):
            restore_checkpoint(broken, trainer, planted.fingerprint, SPLIT)


def test_another_version_is_refused(planted: Graph, stopped: Path, tmp_path: Path) -> None:
    with safe_open(stopped, framework="pt") as file:
        header = json.loads(file.metadata()["checkpoint"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    later = tmp_path / "later.safetensors"
    save_file(tensors, later, metadata={"checkpoint": json.dumps(header | {"version": 99})})
    trainer = Trainer(planted, SPLIT, make_config(SETTINGS))
    with pytest.raises(ModelFormatError, match=r"expected checkpoint version \d+, found 99"):
        restore_checkpoint(later, trainer, planted.fingerprint, SPLIT)


def test_a_crash_while_saving_leaves_the_last_checkpoint(
    planted: Graph, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(stopped.read_bytes())

    def write_half(tensors: Any, file: Path, metadata: Any) -> None:
        Path(file).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("metatne.training.checkpoint.save_file", write_half)
    trainer = Trainer(planted, SPLIT, make_config(SETTINGS))
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(path, trainer, planted.fingerprint, SPLIT)
    assert path.read_bytes() == stopped.read_bytes()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
