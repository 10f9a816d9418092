"""Where the workers of a training and the command that started it leave word for each other."""

from __future__ import annotations

from typing import Any

import ray

from metatne.errors import MetaTNEError


class Board:
    """Messages of the first worker until they are taken, a wish to stop, and a hopeless error.

    A Ray actor, since it has to outlive any worker. Messages are plain values, so that its
    process need not load PyTorch.
    """

    def __init__(self) -> None:
        self._messages: list[tuple[str, dict[str, Any]]] = []
        self._is_stop_asked = False
        self._error: MetaTNEError | None = None

    def tell(self, kind: str, facts: dict[str, Any]) -> None:
        """Leave a message for the command."""
        self._messages.append((kind, facts))

    def take(self) -> list[tuple[str, dict[str, Any]]]:
        """The messages since the last time."""
        taken, self._messages = self._messages, []
        return taken

    def ask_to_stop(self) -> None:
        """Let the workers stop at the end of a step."""
        self._is_stop_asked = True

    def is_stop_asked(self) -> bool:
        """Whether the command wants the workers to stop."""
        return self._is_stop_asked

    def give_up(self, error: MetaTNEError) -> None:
        """Remember an error that would come again, however often workers were restarted."""
        self._error = self._error or error

    def error(self) -> MetaTNEError | None:
        """The error that makes going on hopeless, if there is one."""
        return self._error


def new_board() -> Any:
    """A handle of a board that the workers can be given."""
    return ray.remote(num_cpus=0)(Board).remote()
