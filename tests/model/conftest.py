"""Draws that every run repeats, and which form of the network was taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from metatne.model import Transformation


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture
def is_fused(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Which form was taken, one entry a call."""
    forms: list[bool] = []
    for name, fused in (("_plain_closeness", False), ("_fused_closeness", True)):
        form = getattr(Transformation, name)

        def watch(*arguments: Any, form: Any = form, fused: bool = fused) -> Any:
            forms.append(fused)
            return form(*arguments)

        monkeypatch.setattr(Transformation, name, watch)
    return forms
