"""Workers that train one network together, each on its share of every batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar, runtime_checkable

from torch import Tensor

from metatne.config import TAKE_THE_PAPERS_HEAD, Config
from metatne.errors import ConfigError

Piece = TypeVar("Piece")


@runtime_checkable
class Team(Protocol):
    """What a step needs to know of the other workers.

    All draws depend on the seed and the step alone, so every worker knows the whole batch, works
    on its share, and after adding up has the gradient of one worker with all of it.
    """

    @property
    def rank(self) -> int:
        """Which worker this is, from 0."""

    @property
    def size(self) -> int:
        """How many workers there are."""

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over the workers."""


class Alone:
    """The team of one."""

    rank = 0
    size = 1

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Nothing to add."""


def take_from_first(team: Team, tensors: Sequence[Tensor]) -> None:
    """Give all workers the first one's numbers: other processors may round theirs otherwise."""
    if team.size == 1:
        return
    for tensor in tensors:
        if team.rank != 0:
            tensor.zero_()
        team.add_up([tensor])


def share(team: Team, pieces: Sequence[Piece]) -> Sequence[Piece]:
    """This worker's share of the pieces of a batch."""
    return pieces[team.rank :: team.size]


def check_team(config: Config) -> None:
    """Refuse settings that no team can train with."""
    if config.head == "evidence":
        raise ConfigError(
            "head: 'evidence' is learned in seconds by one process, and no team can share it; "
            f"leave --engine ray out, or take the paper's head ({TAKE_THE_PAPERS_HEAD})"
        )
