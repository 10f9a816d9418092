"""What the first worker of a training tells the command that started it, by way of the board."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import ray

from metatne.training.trainer import Observer, Validation

BEGUN, STEP, VALIDATION = "begun", "step", "validation"

SECONDS_BETWEEN_STEPS = 0.2
"""Steps that end sooner after one that was told are not told: nobody could watch them."""


class Teller:
    """An observer that tells the board, beginning with that it is there."""

    def __init__(self, board: Any) -> None:
        self._tell = board.tell.remote
        self._told_at = 0.0
        self._tell(BEGUN, {})

    def on_step(self, step: int, num_steps: int, tau: float) -> None:
        """Tell of a step now and then, and of the last."""
        now = time.monotonic()
        if now - self._told_at >= SECONDS_BETWEEN_STEPS or step == num_steps:
            self._told_at = now
            self._tell(STEP, {"step": step, "num_steps": num_steps, "tau": tau})

    def on_validation(self, validation: Validation, *, is_best: bool) -> None:
        """Tell of every validation."""
        self._tell(VALIDATION, {"validation": asdict(validation), "is_best": is_best})


class Listener:
    """Passes the board's messages on to observers, each validation once.

    Workers that were restarted repeat what they did since the checkpoint, with the same
    numbers; what was heard before is not passed on again.
    """

    def __init__(
        self, board: Any, observers: Sequence[Observer], on_restart: Callable[[], None]
    ) -> None:
        self._board, self._observers, self._on_restart = board, observers, on_restart
        self._has_begun = False
        self._last_validation = -1

    def listen(self) -> None:
        """Pass on what has come in since the last time."""
        for kind, facts in ray.get(self._board.take.remote()):
            if kind == STEP:
                for observer in self._observers:
                    observer.on_step(**facts)
            elif kind == VALIDATION:
                self._pass_on(Validation(**facts["validation"]), is_best=facts["is_best"])
            elif self._has_begun:
                self._on_restart()
            self._has_begun = True

    def _pass_on(self, validation: Validation, *, is_best: bool) -> None:
        if validation.step > self._last_validation:
            self._last_validation = validation.step
            for observer in self._observers:
                observer.on_validation(validation, is_best=is_best)
