"""An expert that has seen a novel label's supports: from then on a score is an inner product, and
what walks from the supports say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64, Int64
from scipy import stats
from torch import Tensor

from metatne.evidence.calibration import Calibration
from metatne.evidence.description import Description, nobody
from metatne.evidence.head import Adapted, Encoding, EvidenceHead
from metatne.evidence.reach import Reach, reach_of
from metatne.evidence.vectors import NodeVectors

MAX_GROUPS = 50
"""Groups of supports that are left out in turn, to see how much the answer hangs on them: single
supports, unless there are more."""

MANY_SUPPORTS = 200
GROUPS_OF_MANY = 10
"""Of so many supports, fewer groups: each is solved for, in time that grows with the cube."""

Supports = Int64[np.ndarray, " support"]


@dataclass(frozen=True)
class Expert:
    """A head with its encoding and its calibration."""

    encoding: Encoding
    head: EvidenceHead
    calibration: Calibration


class Linear(NamedTuple):
    """Scores of any node as a sum over its vector: all that an adapted head comes to, but for what
    walks say.
    """

    constant: Float64[np.ndarray, " way"]
    by_column: Float32[np.ndarray, "column way"]
    """Of `NodeVectors`. A way is a set of supports: all of them, then all but each group."""

    def of_block(self, encoding: Encoding, number: int) -> Float32[np.ndarray, "_ way"]:
        """The weights of one block's columns."""
        sizes = [len(encoding.traits), *(len(mean) for mean in encoding.means)]
        start = sum(sizes[: number + 1])
        return self.by_column[start : start + sizes[number + 1]]


class SupportReach:
    """How well every node is reached from the supports, all of them and in each way without some.

    Of negatives the walks are those of all of a set in every way: the error is that of leaving
    positives out, as far as walks go. What negatives' walks count is a fifth of it or less, and
    leaving these out too moved the error by less than a hundredth (PPI).
    """

    def __init__(
        self,
        reach: Reach,
        positives: Int64[np.ndarray, " positive"],
        negative_sets: Sequence[Int64[np.ndarray, " negative"]],
        *,
        with_error: bool,
        on_step: Callable[[], None] = lambda: None,
    ) -> None:
        members = np.sort(positives)  # as `adapt` has them
        num_supports = len(positives) + len(negative_sets[0])
        is_kept = np.zeros((len(positives), 0), dtype=bool)
        for way in _ways(num_supports, len(positives), with_error=with_error):
            kept = np.isin(np.arange(len(positives)), way)
            is_kept = np.column_stack((is_kept, kept))
        # Positives that are always left out together walk together, and are added up by way.
        together, part_of = np.unique(is_kept, axis=0, return_inverse=True)
        parts = [members[part_of.ravel() == part] for part in range(len(together))]
        sizes = np.array([len(part) for part in parts], dtype=np.float32)
        of_ways = together * sizes[:, None]
        self._to_ways = np.asarray(of_ways / of_ways.sum(axis=0), dtype=np.float32)
        self._visits = reach.everywhere([*parts, *negative_sets], on_step)

    def __call__(
        self, nodes: Int64[np.ndarray, " node"]
    ) -> tuple[Float32[np.ndarray, "node way"], Float32[np.ndarray, "node set"]]:
        """Of these nodes, from the positives in every way and from each set of negatives."""
        visits = self._visits[nodes]
        num_parts = len(self._to_ways)
        return reach_of(visits[:, :num_parts] @ self._to_ways), reach_of(visits[:, num_parts:])


class AdaptedExpert:
    """Evidence of nodes by one expert, against each set of negatives."""

    def __init__(
        self,
        expert: Expert,
        vectors: NodeVectors,
        reach: SupportReach,
        positives: Int64[np.ndarray, " positive"],
        negative_sets: Sequence[Int64[np.ndarray, " negative"]],
        *,
        prior: float,
        with_error: bool,
    ) -> None:
        ways = [
            adapt(
                expert,
                vectors.description,
                np.concatenate((np.sort(positives), np.sort(negatives))),  # in whatever order given
                len(positives),
                with_error=with_error,
            )
            for negatives in negative_sets
        ]
        self._constants = np.stack([way.constant for way in ways])
        self._by_column = np.concatenate([way.by_column for way in ways], axis=1)
        self._vectors, self._reach = vectors, reach
        self._by_reach = expert.head.by_reach().detach().numpy()
        self._calibration = expert.calibration
        self._shape = len(positives), len(negative_sets[0])
        self._threshold = expert.calibration.threshold(*self._shape, prior)

    def __call__(self, nodes: Int64[np.ndarray, " node"]) -> Float64[np.ndarray, "3 set node"]:
        """Evidence, its error (1.96 of which are 95 %), and what a decision needs."""
        products = self._vectors(nodes) @ self._by_column
        scores = products.reshape(len(nodes), *self._constants.shape) + self._constants
        of_positives, of_negatives = self._reach(nodes)
        scores += self._by_reach[0] * of_positives[:, None, :]
        scores += self._by_reach[1] * of_negatives[:, :, None]
        evidence = self._calibration.evidence(scores[..., 0], *self._shape)
        error = self._calibration.slope(*self._shape) * _jackknife(scores)
        error *= _doubt_of_few(self._shape[0])
        return np.stack((evidence.T, error.T, np.full_like(error.T, self._threshold)))


def adapt(
    expert: Expert,
    description: Description,
    supports: Supports,
    num_positives: int,
    *,
    with_error: bool,
) -> Linear:
    """The head, adapted to all supports and, for the error, to all but each group of them."""
    ways = _ways(len(supports), num_positives, with_error=with_error)
    encoded = expert.encoding(description, supports[None], nobody(1))
    head = expert.head
    with torch.no_grad():
        kernel = encoded.kernel(head, len(supports))[0]
        prior = head.prior(encoded.traits, encoded.for_prior(expert.encoding.of_prior))[0]
        alphas = torch.zeros(len(supports), len(ways))
        constants = np.zeros(len(ways))
        for number, way in enumerate(ways):
            kept = torch.from_numpy(way)
            adapted = head.adapt(
                kernel[kept][:, kept][None], prior[kept][None], int((way < num_positives).sum())
            )
            alphas[kept, number] = adapted.alpha[0]
            constants[number] = _constant(head, adapted)
        by_block = [rows[0].T @ alphas for rows in encoded.weighted(head)]
        for block, columns in _prior_columns(expert):
            by_block[block] += columns.unsqueeze(1)
        by_trait = head.by_trait.unsqueeze(1).expand(-1, len(ways))
        by_column = torch.cat([by_trait, *by_block]).numpy()
    return Linear(constants, by_column)


def _constant(head: EvidenceHead, adapted: Adapted) -> float:
    """What every node's score has in common."""
    bias = head.log_bias.exp() * adapted.alpha.sum()
    return float(bias - adapted.shift[0] + adapted.level)


def _prior_columns(expert: Expert) -> list[tuple[int, Float[Tensor, " _"]]]:
    """The prior's weights by column, for each block that it looks at."""
    blocks = expert.encoding.of_prior
    sizes = [len(expert.encoding.means[block]) for block in blocks]
    return list(zip(blocks, torch.split(expert.head.by_column, sizes), strict=True))


def _ways(
    num_supports: int, num_positives: int, *, with_error: bool
) -> list[Int64[np.ndarray, " kept"]]:
    """All supports and, for the error, all without each of some groups of equal size, or one more;
    none of these if a sign has a single support, since nothing then says how much hangs on that.
    """
    everyone = np.arange(num_supports)
    num_negatives = num_supports - num_positives
    if not with_error or num_positives == 1 or num_negatives == 1:
        return [everyone]
    most = MAX_GROUPS if num_supports < MANY_SUPPORTS else GROUPS_OF_MANY
    num_groups = min(most, num_supports)
    group = everyone % num_groups
    ways = [np.flatnonzero(group != number) for number in range(num_groups)]
    return [everyone] + [
        way
        for way in ways
        if (way < num_positives).any() and (not num_negatives or (way >= num_positives).any())
    ]


def _jackknife(
    scores: Float64[np.ndarray, "node set way"],
) -> Float64[np.ndarray, "node set"]:
    left_out = scores[..., 1:]
    num_ways = left_out.shape[-1]
    if num_ways < 2:
        return np.full(scores.shape[:2], np.inf)  # nothing to tell it from
    error: Float64[np.ndarray, "node set"] = np.sqrt(num_ways - 1) * left_out.std(axis=-1)
    return error


def _doubt_of_few(num_positives: int) -> float:
    """How much larger than a normal's an error is that was told from so few: Student's t.

    Positives are what most of it comes from. Without it intervals of 95 % hold 88 to 92 (LOG.md).
    """
    if num_positives < 2:
        return 1.0  # the error is infinite already
    return float(stats.t.ppf(0.975, num_positives - 1) / stats.norm.ppf(0.975))
