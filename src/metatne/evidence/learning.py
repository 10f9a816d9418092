"""Meta-learning of the head: its few numbers, by gradient, over tasks from known labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor
from torch.nn import functional

from metatne.config import HeadPart
from metatne.errors import TrainingError
from metatne.evidence.description import NO_LABEL, Description, nobody
from metatne.evidence.head import Encoding, EvidenceHead, new_head
from metatne.evidence.reach import reach_of
from metatne.sampling.tasks import Tasks

SHARPNESS = 4.0
"""Of the ranking loss: how soon a gap between two scores is large enough."""

PRODUCTS_AT_A_TIME = 500_000
"""Of a node and a support, for each pair of blocks."""


@dataclass(frozen=True)
class Episodes:
    """Tasks with all that a head needs of them, computed once."""

    products: Float[Tensor, "pair task token support"]
    traits: Float[Tensor, "task token trait"]
    prior_rows: Float[Tensor, "task token column"]
    reach: Float[Tensor, "task query sign"]
    num_positives: int
    num_query_positives: int

    def __len__(self) -> int:
        """Number of tasks."""
        return self.products.shape[1]

    def __getitem__(self, part: slice) -> Episodes:
        """Some tasks that follow each other: views, nothing is copied."""
        return replace(
            self,
            products=self.products[:, part],
            traits=self.traits[part],
            prior_rows=self.prior_rows[part],
            reach=self.reach[part],
        )

    def scores(self, head: EvidenceHead) -> Float[Tensor, "task query"]:
        """Of all queries; those that hold the label come first."""
        scores: Tensor = head(
            self.products, self.traits, self.prior_rows, self.reach, self.num_positives
        )
        return scores


def make_episodes(
    encoding: Encoding, description: Description, tasks: Tasks, masked: Int64[np.ndarray, " task"]
) -> Episodes:
    """The tasks as the head sees them, each without the label in its place of `masked`."""
    return interleaved_episodes(encoding, [(description, tasks, masked)])


def interleaved_episodes(
    encoding: Encoding,
    sources: Sequence[tuple[Description, Tasks, Int64[np.ndarray, " task"]]],
) -> Episodes:
    """Equally many tasks of several descriptions in turn: any that follow each other are of all."""
    first = sources[0][1]
    total, num_tokens = len(first) * len(sources), first.nodes_per_task
    num_supports = num_tokens - first.queries.shape[1]
    products = torch.empty(encoding.num_pairs, total, num_tokens, num_supports)
    traits = torch.empty(total, num_tokens, len(encoding.traits))
    prior_rows = torch.empty(total, num_tokens, encoding.num_prior_columns)
    reach = torch.empty(total, first.queries.shape[1], 2)
    size = tasks_at_a_time(first)
    for turn, (description, tasks, masked) in enumerate(sources):
        nodes = np.concatenate((tasks.positives, tasks.negatives, tasks.queries), axis=1)
        for start in range(0, len(first), size):
            some = slice(start, start + size)
            encoded = encoding(description, nodes[some], masked[some])
            places = slice(turn + start * len(sources), (start + size) * len(sources), len(sources))
            products[:, places] = encoded.products(num_supports)
            traits[places] = encoded.traits
            prior_rows[places] = encoded.for_prior(encoding.of_prior)
            reach[places] = torch.from_numpy(_reach(description, tasks[some]))
    return Episodes(
        products,
        traits,
        prior_rows,
        reach,
        num_positives=first.positives.shape[1],
        num_query_positives=int(first.is_positive[0].sum()),
    )


def _reach(description: Description, tasks: Tasks) -> Float32[np.ndarray, "task query sign"]:
    """How well the queries of each task are reached from its positives and from its negatives."""
    signs = (tasks.positives, tasks.negatives)
    visits = [description.reach.at(sets, tasks.queries) for sets in signs]
    return reach_of(np.stack(visits, axis=-1))


def tasks_at_a_time(tasks: Tasks) -> int:
    """So many that their products fit."""
    num_supports = tasks.nodes_per_task - tasks.queries.shape[1]
    return int(max(1, PRODUCTS_AT_A_TIME // (num_supports * tasks.nodes_per_task)))


def masked_columns(
    description: Description, labels: Int64[np.ndarray, " task"]
) -> Int64[np.ndarray, " task"]:
    """The column of each task's label in the description, or NO_LABEL."""
    if not len(description.columns):
        return nobody(len(labels))
    places = np.searchsorted(description.columns, labels)
    places[places == len(description.columns)] = 0
    return np.where(description.columns[places] == labels, places, NO_LABEL)


def learn_head(
    encoding: Encoding,
    pools: list[Episodes],
    *,
    num_steps: int,
    tasks_per_step: int,
    rate: float,
    column_penalty: float,
    without: Sequence[HeadPart] = (),
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[EvidenceHead, float]:
    """The head that ranks the queries of the pools' tasks best, and its last loss.

    Every step takes an equal share of its tasks from each pool, and goes on where the last step
    stopped: the tasks were drawn at random, so those that follow each other are.
    """
    head = new_head(encoding)
    head.leave_out(without, encoding)
    optimiser = torch.optim.Adam(head.parameters(), lr=rate)
    windows = [_windows(len(pool), max(1, tasks_per_step // len(pools))) for pool in pools]
    value = 0.0
    for step in range(num_steps):
        if should_stop():
            break
        for group in optimiser.param_groups:
            group["lr"] = rate * (1 - step / num_steps)
        loss = column_penalty * head.by_column.square().sum()
        for pool, parts in zip(pools, windows, strict=True):
            some = pool[parts[step % len(parts)]]
            try:
                scores = some.scores(head)
            except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined] # not in its stubs
                raise _diverged("the kernel has no inverse", step, rate) from error
            loss = loss + _ranking_loss(scores, some.num_query_positives) / len(pools)
        value = loss.item()
        if not np.isfinite(value):
            raise _diverged(f"the loss became {value}", step, rate)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    return head.eval(), value


def _windows(num_tasks: int, size: int) -> list[slice]:
    """The tasks cut into equal parts of this size or more: never of a few left over."""
    bounds = np.linspace(0, num_tasks, max(1, num_tasks // size) + 1).round().astype(int)
    return [slice(start, end) for start, end in pairwise(bounds.tolist())]


def _diverged(what: str, step: int, rate: float) -> TrainingError:
    return TrainingError(
        f"{what} at step {step}: training diverged. "
        f"Try a smaller head_rate than {rate} (--set head_rate=…)"
    )


def _ranking_loss(scores: Float[Tensor, "task query"], num_positives: int) -> Float[Tensor, ""]:
    """The mean over pairs of a query that holds the label and one that lacks it, softly counted."""
    gaps = scores[:, :num_positives, None] - scores[:, None, num_positives:]
    return functional.softplus(-SHARPNESS * gaps).mean()
