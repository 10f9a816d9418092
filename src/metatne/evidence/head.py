"""The head, from top to bottom: blocks, their kernel, a prior, the supports' say, a score.

Kernel ridge regression around a prior that says what a node's score is before any support is seen,
and what walks from the supports say besides. Supports that hold the label are to stand at +1, those
that lack it at -1 or below:

    score(q) = prior(q) + sum over supports s of alpha_s k(q, s) + r+ reach+(q) - r- reach-(q),
    alpha    = (k(A, A) + R)^-1 (y - prior(A)), and 0 outside A,
    k(q, s)  = sum over blocks b of w_b <x_b(q), x_b(s)> + <m(q), m(s)> + bias,
    m(q)     = sum over mixed blocks b of c_b x_b(q).

Mixed blocks are of labels: those that a node holds, those around it, those that one would expect
of it. So what holders of the novel label hold themselves also speaks for a node whose neighbours
hold it, and for one of whose labels nobody knows anything.

A, those that speak, are all positives and the negatives that would else stand above -1. So a
negative's alpha is never above 0: it lowers what is like it or says nothing. (Squared hinge loss
of the negatives, squared loss of the positives: one convex problem; `speaking` finds A.)

reach+ is how well walks from the positives reach a node, reach- from the negatives (`reach`). Both
r are above 0, so that here too a negative lowers what is near it.

The prior's level t is learned as well. Since nodes are described by how they differ from the mean
of all, and a novel label is rare, "differs in nothing" is evidence against the label: learned
levels lie below -1, so that positives pull and negatives correct. Everything in Greek or called
learned here is meta-learned over tasks from known labels, but for alpha, which is solved for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor, nn

from metatne.config import HeadPart
from metatne.evidence.description import (
    OTHERS,
    OWN,
    OWN_TRAITS,
    TRAITS,
    Block,
    Description,
    Masked,
    Nodes,
    mixed_places,
    nobody,
)
from metatne.evidence.speaking import find_speaking
from metatne.seeding import numpy_generator

NODES_FOR_MEANS = 20_000
NOTHING = -50.0
"""The logarithm of a weight that counts for nothing."""

VERSION = 5
"""Of what is learned and how: part of what names a result. 1 had neither degree nor mixture, 2 hid
the labels of one set of nodes alone, 3 had no labels expected by place alone, and a
smaller ridge of what place lets one expect, 4 had no walks."""

FIRST_MIXING = 0.1
"""c of all mixed blocks before anything is learned."""

FIRST_REACH = 0.1
"""r of either sign before anything is learned."""


class Encoding:
    """How rows of a description become vectors: around the mean of all, blocks of equal size."""

    def __init__(
        self,
        means: list[Float32[np.ndarray, " _"]],
        scales: list[float],
        *,
        with_own_labels: bool,
        asks_annotated: bool,
    ) -> None:
        self.means, self.scales = means, scales
        self.with_own_labels, self.asks_annotated = with_own_labels, asks_annotated
        self.blocks: tuple[Block, ...] = (OWN if with_own_labels else ()) + OTHERS
        self.mixed = mixed_places(self.blocks)

    @classmethod
    def of(
        cls, description: Description, *, with_own_labels: bool, asks_annotated: bool, seed: int
    ) -> Encoding:
        """With means and sizes as the nodes have them that are asked about, or that have labels.

        Supports may have labels of their own (`with_own_labels`) where the nodes asked about have
        none; the prior, which is about the latter, then does not look at them.
        """
        encoding = cls([], [], with_own_labels=with_own_labels, asks_annotated=asks_annotated)
        for block in encoding.blocks:
            of_annotated = asks_annotated or block in OWN
            nodes = _some_nodes(description, of_annotated=of_annotated, seed=seed)
            rows = description.block(block, nodes[None], nobody(1))[0]
            mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
            size = math.sqrt(float(np.square(rows - mean).sum(axis=1).mean()))
            encoding.means.append(mean)
            encoding.scales.append(1.0 / size if size > 0 else 0.0)
        return encoding

    def __call__(self, description: Description, nodes: Nodes, masked: Masked) -> Encoded:
        """The nodes of some tasks, each task without its own label."""
        kept = description.unmasked(masked)
        is_annotated = description.annotated(nodes, masked)[..., None]
        rows = []
        for block, mean, scale in zip(self.blocks, self.means, self.scales, strict=True):
            vectors = (description.block(block, nodes, masked) - mean) * np.float32(scale)
            if block.is_of_labels:
                vectors *= kept
            if block in OWN:  # what nobody has looked at says nothing
                vectors *= is_annotated
            rows.append(torch.from_numpy(vectors.astype(np.float32)))
        traits = description.traits(nodes, masked)
        if not self.asks_annotated:
            traits = traits[..., OWN_TRAITS:]
        return Encoded(rows, torch.from_numpy(np.ascontiguousarray(traits)), self.mixed)

    @property
    def traits(self) -> tuple[tuple[str, HeadPart], ...]:
        """Those that the prior looks at."""
        return TRAITS if self.asks_annotated else TRAITS[OWN_TRAITS:]

    @property
    def num_pairs(self) -> int:
        """Pairs of blocks whose products make up the kernel."""
        return len(block_pairs(len(self.blocks), self.mixed))

    @property
    def num_prior_columns(self) -> int:
        """Columns that the prior looks at."""
        return sum(len(self.means[block]) for block in self.of_prior)

    @property
    def of_prior(self) -> list[int]:
        """Blocks on which the prior depends, column by column: own labels and the place."""
        place = len(OWN) if self.with_own_labels else 0
        return [0, place] if self.asks_annotated else [place]


def _some_nodes(
    description: Description, *, of_annotated: bool, seed: int
) -> Int64[np.ndarray, " node"]:
    nodes = np.arange(description.num_nodes)
    if of_annotated and description.is_annotated.any():
        nodes = nodes[description.is_annotated]
    if len(nodes) <= NODES_FOR_MEANS:
        return nodes
    generator = numpy_generator(seed, "means")
    return np.sort(generator.choice(nodes, NODES_FOR_MEANS, replace=False))


def block_pairs(num_blocks: int, mixed: Sequence[int]) -> list[tuple[int, int]]:
    """Blocks whose products make up the kernel: each with itself, and any two mixed ones."""
    return [*((block, block) for block in range(num_blocks)), *combinations(mixed, 2)]


class Encoded(NamedTuple):
    """Nodes of tasks as vectors, block by block, and their traits."""

    rows: list[Float[Tensor, "task token _"]]
    traits: Float[Tensor, "task token trait"]
    mixed: tuple[int, ...]

    def products(self, num_supports: int) -> Float[Tensor, "pair task token support"]:
        """Inner products of all tokens with the supports, which come first.

        Of a pair of two blocks, the sum of both ways round.
        """
        pairs = block_pairs(len(self.rows), self.mixed)
        first = self.rows[0]
        products = first.new_empty(len(pairs), *first.shape[:2], num_supports)
        for product, (one, other) in zip(products, pairs, strict=True):
            torch.bmm(self.rows[one], self.rows[other][:, :num_supports].mT, out=product)
            if one != other:
                product.baddbmm_(self.rows[other], self.rows[one][:, :num_supports].mT)
        return products

    def weighted(self, head: EvidenceHead) -> list[Float[Tensor, "task token _"]]:
        """What stands against each block of another node: products with its rows add up to the
        kernel, but for the bias.
        """
        weights = head.log_weights.exp()
        found = [weight * rows for weight, rows in zip(weights, self.rows, strict=True)]
        mixture = self._mixture(head)
        for factor, block in zip(head.mixing, self.mixed, strict=True):
            found[block] = found[block] + factor * mixture
        return found

    def vectors(self, head: EvidenceHead) -> Float[Tensor, "task token _"]:
        """One vector a node, whose inner products are the kernel, but for the bias."""
        sizes = head.log_weights.exp().sqrt()
        parts = [size * rows for size, rows in zip(sizes, self.rows, strict=True)]
        return torch.cat([*parts, self._mixture(head)], dim=-1)

    def kernel(self, head: EvidenceHead, num_supports: int) -> Float[Tensor, "task token support"]:
        """Closeness of tokens and supports: what the head makes of `products`, at less cost."""
        vectors = self.vectors(head)
        return vectors @ vectors[:, :num_supports].mT + head.log_bias.exp()

    def _mixture(self, head: EvidenceHead) -> Float[Tensor, "task token column"]:
        """m of every node."""
        pairs = zip(head.mixing, self.mixed, strict=True)
        return torch.stack([factor * self.rows[block] for factor, block in pairs]).sum(dim=0)

    def for_prior(self, blocks: list[int]) -> Float[Tensor, "task token column"]:
        """The columns that the prior looks at."""
        return torch.cat([self.rows[block] for block in blocks], dim=-1)


class Adapted(NamedTuple):
    """What the supports of tasks come to."""

    alpha: Float[Tensor, "task support"]
    shift: Float[Tensor, " task"]
    """What is taken off the prior, so that it has mean 0 over the supports of either sign."""

    level: Float[Tensor, ""]


class EvidenceHead(nn.Module):
    """Block weights, mixture, ridge, bias and prior: the numbers that are meta-learned."""

    def __init__(
        self,
        num_blocks: int,
        num_traits: int,
        num_prior_columns: int,
        mixed: Sequence[int],
    ) -> None:
        super().__init__()
        self.log_weights = nn.Parameter(torch.full((num_blocks,), -math.log(num_blocks)))
        self.mixing = nn.Parameter(torch.full((len(mixed),), FIRST_MIXING))
        self._mixed = list(mixed)
        self._pairs = torch.tensor(block_pairs(num_blocks, mixed)).T
        self.log_ridge = nn.Parameter(torch.zeros(()))
        self.log_bias = nn.Parameter(torch.zeros(()))
        self.level = nn.Parameter(torch.tensor(-1.0))
        self.by_trait = nn.Parameter(torch.zeros(num_traits))
        self.by_column = nn.Parameter(torch.zeros(num_prior_columns))
        self.log_reach = nn.Parameter(torch.full((2,), math.log(FIRST_REACH)))

    def leave_out(self, parts: Sequence[HeadPart], encoding: Encoding) -> None:
        """Do without some parts, now and while learning: with the blocks of a part goes what the
        prior has of their columns and traits.
        """
        if not parts:
            return
        is_kept = [float(block.part not in parts) for block in encoding.blocks]
        of_blocks = torch.tensor(is_kept)
        of_columns = torch.cat(
            [torch.full((len(encoding.means[b]),), is_kept[b]) for b in encoding.of_prior]
        )
        of_traits = torch.tensor([float(part not in parts) for _, part in encoding.traits])
        of_mixing = of_blocks[self._mixed] * ("mixture" not in parts)
        of_level = torch.tensor(float("level" not in parts))
        of_reach = torch.full((2,), float("walks" not in parts))
        with torch.no_grad():
            self.log_reach.copy_(torch.where(of_reach > 0, self.log_reach, NOTHING))
            self.log_weights.copy_(torch.where(of_blocks > 0, self.log_weights, NOTHING))
            self.mixing.mul_(of_mixing)
            self.level.mul_(of_level)
        for parameter, kept in (
            (self.log_weights, of_blocks),
            (self.mixing, of_mixing),
            (self.by_column, of_columns * ("columns" not in parts)),
            (self.by_trait, of_traits * ("traits" not in parts)),
            (self.level, of_level),
            (self.log_reach, of_reach),
        ):
            # Without a gradient a number stays as it is: of mixture and prior, at 0.
            parameter.register_hook(partial(torch.mul, kept))

    def forward(
        self,
        products: Float[Tensor, "pair task token support"],
        traits: Float[Tensor, "task token trait"],
        prior_rows: Float[Tensor, "task token column"],
        reach: Float[Tensor, "task query sign"],
        num_positives: int,
    ) -> Float[Tensor, "task query"]:
        """Scores of the tokens that follow the supports."""
        num_supports = products.shape[3]
        kernel = self.kernel(products)
        prior = self.prior(traits, prior_rows)
        adapted = self.adapt(kernel[:, :num_supports], prior[:, :num_supports], num_positives)
        evidence = torch.einsum("tqs,ts->tq", kernel[:, num_supports:], adapted.alpha)
        evidence = evidence + reach @ self.by_reach()
        return prior[:, num_supports:] - adapted.shift.unsqueeze(1) + adapted.level + evidence

    def weights(self) -> Float[Tensor, "block block"]:
        """What a product of two blocks counts: w on the diagonal, and c c' of mixed ones."""
        mixing = torch.zeros_like(self.log_weights)
        mixing[self._mixed] = self.mixing
        return torch.diag(self.log_weights.exp()) + torch.outer(mixing, mixing)

    def by_reach(self) -> Float[Tensor, " sign"]:
        """What the reach of positives and of negatives counts: r+ and -r-."""
        return self.log_reach.exp() * self.log_reach.new_tensor([1.0, -1.0])

    def kernel(
        self, products: Float[Tensor, "pair task token support"]
    ) -> Float[Tensor, "task token support"]:
        """Closeness of tokens and supports, all blocks together."""
        one, other = self._pairs
        weights = self.weights()[one, other]
        # Products of a pair are next to each other, so of some tasks too this is one product.
        return (weights @ products.flatten(1)).view(products.shape[1:]) + self.log_bias.exp()

    def prior(
        self,
        traits: Float[Tensor, "task token trait"],
        prior_rows: Float[Tensor, "task token column"],
    ) -> Float[Tensor, "task token"]:
        """How likely a node is to hold any label, up to a constant."""
        return traits @ self.by_trait + prior_rows @ self.by_column

    def adapt(
        self,
        kernel: Float[Tensor, "task support support"],
        prior: Float[Tensor, "task support"],
        num_positives: int,
    ) -> Adapted:
        """Find who speaks, and solve for alpha; both signs count alike, however many nodes they
        have.
        """
        num_supports = kernel.shape[1]
        is_positive = torch.arange(num_supports) < num_positives
        truth = torch.where(is_positive, 1.0, -1.0)
        shares = torch.where(
            is_positive,
            num_supports / (2 * num_positives),
            num_supports / (2 * max(num_supports - num_positives, 1)),
        )
        shift = (prior * shares).sum(dim=1) / shares.sum()
        residual = truth - (prior - shift.unsqueeze(1)) - self.level
        ridge = self.log_ridge.exp() / shares
        # A choice, which has no gradient.
        kernel_, ridge_, residual_ = (
            part.detach().contiguous().numpy() for part in (kernel, ridge, residual)
        )
        speaks = torch.from_numpy(find_speaking(kernel_, ridge_, residual_, num_positives))
        alpha = _solve(kernel, ridge, residual, speaks)
        # Should Newton's steps have gone round in a circle, of the wrong sign at least is nobody.
        alpha = torch.where(is_positive, alpha, alpha.clamp(max=0))
        return Adapted(alpha, shift, self.level)


def _solve(
    kernel: Float[Tensor, "task support support"],
    ridge: Float[Tensor, " support"],
    residual: Float[Tensor, "task support"],
    speaks: Bool[Tensor, "task support"],
) -> Float[Tensor, "task support"]:
    """Alpha of those that speak; of the others, 0."""
    pairs = speaks.unsqueeze(1) & speaks.unsqueeze(2)
    system = kernel * pairs + torch.diag_embed(torch.where(speaks, ridge, 1.0))
    alpha: Tensor = torch.linalg.solve(system, residual * speaks)
    return alpha


def new_head(encoding: Encoding) -> EvidenceHead:
    """A head of the right size, before it has learned anything."""
    return EvidenceHead(
        len(encoding.blocks), len(encoding.traits), encoding.num_prior_columns, encoding.mixed
    )
