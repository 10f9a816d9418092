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
    assert [row["step"] for row in rows] == [0, 10, 20, 30]
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


def steps_in(directory: Path) -> list[int]:
    lines = (directory / "training.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["step"] for line in lines]


def write_log(directory: Path, *steps: int) -> None:
    with DirectoryLog(directory) as log:
        for step in steps:
            log.on_validation(validation_at(step), is_best=False)


def test_a_resumed_training_goes_on_from_its_first_line(tmp_path: Path) -> None:
    """What was logged after the checkpoint, before the training broke off, is done again."""
    write_log(tmp_path, 0, 10, 20, 30)
    write_log(tmp_path, 20, 30, 40)
    assert steps_in(tmp_path) == [0, 10, 20, 30, 40]
    write_log(tmp_path, 0, 10)
    assert steps_in(tmp_path) == [0, 10]


def test_half_a_line_is_dropped(tmp_path: Path) -> None:
    write_log(tmp_path, 0, 10)
    with (tmp_path / "training.jsonl").open("a") as file:
        file.write('{"step": 2')
    write_log(tmp_path, 20)
    assert steps_in(tmp_path) == [0, 10, 20]


def test_a_log_without_a_validation_leaves_what_is_there(tmp_path: Path) -> None:
    write_log(tmp_path, 0, 10)
    write_log(tmp_path)
    assert steps_in(tmp_path) == [0, 10]


def test_a_training_that_goes_back_replaces_what_it_had_logged(tmp_path: Path) -> None:
    for steps in ((0, 1, 2, 3), (2, 3)):  # killed after 3, resumed from a checkpoint at 1
        with DirectoryLog(tmp_path) as log:
            for step in steps:
                log.on_validation(validation_at(step), is_best=False)
    lines = (tmp_path / "training.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0, 1, 2, 3]


def test_files_are_closed_when_training_fails(tmp_path: Path) -> None:
    def fail() -> None:
        with DirectoryLog(tmp_path) as log:
            log.on_validation(validation_at(1), is_best=True)
            raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        fail()
    assert len((tmp_path / "training.jsonl").read_text().splitlines()) == 1
