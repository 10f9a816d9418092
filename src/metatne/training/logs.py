"""Training written to a directory: JSON lines, and events for TensorBoard."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from tensorboardX import SummaryWriter

from metatne.training.trainer import Validation


class DirectoryLog:
    """An observer that writes every validation to `training.jsonl` and to TensorBoard events."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._lines = (directory / "training.jsonl").open("a", encoding="utf-8")
        self._events = SummaryWriter(str(directory))

    def __enter__(self) -> Self:
        """The log itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close both files, however training ended."""
        self._lines.close()
        self._events.close()

    def on_step(self, step: int, num_steps: int, tau: float) -> None:
        """Nothing: validations are what is worth keeping."""

    def on_validation(self, validation: Validation, *, is_best: bool) -> None:
        """Append one line, and one point to every curve."""
        row = asdict(validation)
        self._lines.write(json.dumps(row | {"is_best": is_best}) + "\n")
        self._lines.flush()
        for name in ("auc", "f1", "tau", "structural_loss", "meta_loss"):
            if row[name] is not None:
                self._events.add_scalar(name, row[name], global_step=validation.step)
