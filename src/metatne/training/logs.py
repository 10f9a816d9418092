"""Training written to a directory: JSON lines, and events for TensorBoard."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from tensorboardX import SummaryWriter

from metatne.storage import new_file
from metatne.training.trainer import Validation


class DirectoryLog:
    """An observer that writes every validation to `training.jsonl` and to TensorBoard events.

    A resumed training goes back to its checkpoint, and a new one to step 0: what the
    directory has from there on is of a run that did not end, and is replaced.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._lines = directory / "training.jsonl"
        self._events: SummaryWriter | None = None

    def __enter__(self) -> Self:
        """The log itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the events, however training ended."""
        if self._events is not None:
            self._events.close()

    def on_step(self, step: int, num_steps: int, tau: float) -> None:
        """Nothing: validations are what is worth keeping."""

    def on_validation(self, validation: Validation, *, is_best: bool) -> None:
        """Append one line, and one point to every curve."""
        if self._events is None:
            self._drop_lines_from(validation.step)
            self._events = SummaryWriter(str(self._directory), purge_step=validation.step)
        row = asdict(validation)
        with self._lines.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row | {"is_best": is_best}) + "\n")
        for name in ("auc", "f1", "tau", "structural_loss", "meta_loss"):
            if row[name] is not None:
                self._events.add_scalar(name, row[name], global_step=validation.step)

    def _drop_lines_from(self, step: int) -> None:
        if self._lines.exists():
            lines = self._lines.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [
                line for line in lines if line.endswith("\n") and json.loads(line)["step"] < step
            ]
            with new_file(self._lines) as temporary:
                temporary.write_text("".join(kept), encoding="utf-8")
