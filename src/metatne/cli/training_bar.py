"""What a command shows while it trains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from metatne.cli import console
from metatne.training.trainer import Validation


class TrainingProgress:
    """An observer that draws one bar: steps, time left, tau and the last validation."""

    def __init__(self, progress: Progress, description: str) -> None:
        self._progress = progress
        self._task = progress.add_task(description, total=None, facts="")
        self._facts = ""

    def on_step(self, step: int, num_steps: int, tau: float) -> None:
        """Move the bar."""
        facts = f"tau {tau:.2f}{self._facts}"
        self._progress.update(self._task, completed=step, total=num_steps, facts=facts)

    def on_validation(self, validation: Validation, *, is_best: bool) -> None:
        """Show the losses and the validation beside the bar."""
        losses = (
            f"  {name} {value:.3f}"
            for name, value in (
                ("structural", validation.structural_loss),
                ("meta", validation.meta_loss),
            )
            if value is not None
        )
        star = " *" if is_best else ""
        self._facts = (
            f"{''.join(losses)}  validation AUC {validation.auc:.3f} F1 {validation.f1:.3f}{star}"
        )
        if not self._progress.console.is_terminal:
            console.say(f"step {validation.step}: tau {validation.tau:.2f}{self._facts}")


@contextmanager
def training_progress(description: str = "training") -> Iterator[TrainingProgress]:
    """A progress bar for one training; plain lines where there is no terminal."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[facts]}"),
        console=console.messages,
        disable=not console.messages.is_terminal,
    ) as progress:
        yield TrainingProgress(progress, description)
