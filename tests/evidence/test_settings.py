"""The head reads no setting that does not count for what names its results."""

from __future__ import annotations

from typing import Any

import pytest

from metatne.config import Config, make_config, used_settings
from metatne.evidence.fitting import fit_evidence
from metatne.graph.store import Graph
from metatne.sampling.splits import split_for_use
from metatne.sampling.tasks import TaskShape

READ: set[str] = set()


class Noting(Config):
    """Settings that note which of them are read."""

    def __getattribute__(self, name: str) -> Any:
        if name in Config.model_fields:
            READ.add(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize("is_for_use", [False, True])
def test_settings_that_are_read_are_settings_that_count(planted: Graph, is_for_use: bool) -> None:
    small = {"positives": 4, "negatives": 6, "head_steps": 2, "head_tasks": 8}
    config = Noting(**make_config(small | {"validation_tasks": 4}).model_dump())
    split = split_for_use(planted, TaskShape(4, 6, 4, 6), share=0.3, seed=0)
    READ.clear()
    fit_evidence(planted, split, config, is_for_use=is_for_use)
    assert {"head_steps", "positives", "seed"} <= READ
    assert used_settings(config.model_dump()).keys() >= READ
