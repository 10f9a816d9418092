"""A training's log: JSON lines, and curves for TensorBoard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from metatne.estimator import MetaTNE
from metatne.graph.store import Graph
from metatne.training.logs import DirectoryLog
from metatne.training.trainer import Validation


def test_every_validation_is_a_line_and_a_point(
    planted: Graph, small_settings: dict[str, Any], tmp_path: Path
) -> None:
    directory = tmp_path / "deep" / "log"
    with DirectoryLog(directory) as log:
        model = MetaTNE(**small_settings).fit(planted, observers=[log])
    lines = (directory / "training.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert model.trained_ is not None
    assert [row["step"] for row in rows] == [10, 20, 30]
    assert [{k: v for k, v in row.items() if k != "is_best"} for row in rows] == (
        model.trained_.history
    )
    assert [row["step"] for row in rows if row["is_best"]][-1] == model.trained_.best_step
    events = list(directory.glob("events.out.tfevents.*"))
    assert len(events) == 1
    for curve in (b"auc", b"f1", b"tau", b"structural_loss", b"meta_loss"):
        assert curve in events[0].read_bytes()


def validation_at(step: int) -> Validation:
    return Validation(
        step=step, tau=1.0, structural_loss=0.5, meta_loss=None, auc=0.6, f1=0.4, seconds=1.0
    )


def test_a_line_is_there_before_the_next_step(tmp_path: Path) -> None:
    with DirectoryLog(tmp_path) as log:
        log.on_step(1, 10, 1.0)
        log.on_validation(validation_at(1), is_best=True)
        assert len((tmp_path / "training.jsonl").read_text().splitlines()) == 1


def test_a_resumed_training_adds_to_the_log(tmp_path: Path) -> None:
    for step in (1, 2):
        with DirectoryLog(tmp_path) as log:
            log.on_validation(validation_at(step), is_best=False)
    lines = (tmp_path / "training.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2]
    assert json.loads(lines[0])["meta_loss"] is None


def test_files_are_closed_when_training_fails(tmp_path: Path) -> None:
    def fail() -> None:
        with DirectoryLog(tmp_path) as log:
            log.on_validation(validation_at(1), is_best=True)
            raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        fail()
    assert len((tmp_path / "training.jsonl").read_text().splitlines()) == 1
