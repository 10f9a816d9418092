"""Embeddings that tests make are kept apart from the user's."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def folder(name: str) -> Path:
        return tmp_path / "cache" / name

    monkeypatch.setattr("metatne.baselines.embedding.user_cache_path", folder)
