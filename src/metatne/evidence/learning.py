"""Meta-learning of the head: its few numbers, by gradient, over tasks from known labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn import functional

from metatne.config import HeadPart
from metatne.errors import TrainingError
from metatne.evidence.description import NO_LABEL, Description, nobody
from metatne.evidence.head import Encoding, EvidenceHead, new_head
from metatne.sampling.tasks import Tasks
from metatne.seeding import numpy_generator

SHARPNESS = 4.0
"""Of the ranking loss: how soon a gap between two scores is large enough."""

PRODUCTS_AT_A_TIME = 5_000_000
"""Of a node and a support, for each pair of blocks."""


@dataclass(frozen=True)
class Episodes:
    """Tasks with all that a head needs of them, computed once."""

    products: Float[Tensor, "task token support pair"]
    traits: Float[Tensor, "task token trait"]
    prior_rows: Float[Tensor, "task token column"]
    num_positives: int
    num_query_positives: int

    def __len__(self) -> int:
        """Number of tasks."""
        return self.products.shape[0]

    def draw(self, places: Int64[np.ndarray, " some"]) -> Episodes:
        """Some of the tasks."""
        chosen = torch.from_numpy(places)
        return replace(
            self,
            products=self.products[chosen],
            traits=self.traits[chosen],
            prior_rows=self.prior_rows[chosen],
        )

    def scores(self, head: EvidenceHead) -> Float[Tensor, "task query"]:
        """Of all queries; those that hold the label come first."""
        scores: Tensor = head(self.products, self.traits, self.prior_rows, self.num_positives)
        return scores


def make_episodes(
    encoding: Encoding, description: Description, tasks: Tasks, masked: Int64[np.ndarray, " task"]
) -> Episodes:
    """The tasks as the head sees them, each without the label in its place of `masked`."""
    supports = np.concatenate((tasks.positives, tasks.negatives), axis=1)
    nodes = np.concatenate((supports, tasks.queries), axis=1)
    parts = []
    size = tasks_at_a_time(tasks)
    for start in range(0, len(tasks), size):
        some = slice(start, start + size)
        encoded = encoding(description, nodes[some], masked[some])
        rows = encoded.for_prior(encoding.of_prior)
        parts.append((encoded.products(supports.shape[1]), encoded.traits, rows))
    products, traits, prior_rows = (torch.cat(part) for part in zip(*parts, strict=True))
    return Episodes(
        products,
        traits,
        prior_rows,
        num_positives=tasks.positives.shape[1],
        num_query_positives=int(tasks.is_positive[0].sum()),
    )


def tasks_at_a_time(tasks: Tasks) -> int:
    """So many that their products fit."""
    supports = tasks.positives.shape[1] + tasks.negatives.shape[1]
    return int(max(1, PRODUCTS_AT_A_TIME // (supports * (supports + tasks.queries.shape[1]))))


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
    description: Description,
    pools: list[Episodes],
    *,
    num_steps: int,
    tasks_per_step: int,
    rate: float,
    column_penalty: float,
    without: Sequence[HeadPart] = (),
    seed: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[EvidenceHead, float]:
    """The head that ranks the queries of the pools' tasks best, and its last loss.

    Every step takes an equal share of its tasks from each pool.
    """
    head = new_head(encoding, description)
    head.leave_out(without, encoding)
    optimiser = torch.optim.Adam(head.parameters(), lr=rate)
    generator = numpy_generator(seed, "head steps")
    value = 0.0
    for step in range(num_steps):
        if should_stop():
            break
        for group in optimiser.param_groups:
            group["lr"] = rate * (1 - step / num_steps)
        loss = column_penalty * head.by_column.square().sum()
        for pool in pools:
            chosen = generator.integers(len(pool), size=max(1, tasks_per_step // len(pools)))
            some = pool.draw(chosen)
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


def _diverged(what: str, step: int, rate: float) -> TrainingError:
    return TrainingError(
        f"{what} at step {step}: training diverged. "
        f"Try a smaller head_rate than {rate} (--set head_rate=…)"
    )


def _ranking_loss(scores: Float[Tensor, "task query"], num_positives: int) -> Float[Tensor, ""]:
    """The mean over pairs of a query that holds the label and one that lacks it, softly counted."""
    gaps = scores[:, :num_positives, None] - scores[:, None, num_positives:]
    return functional.softplus(-SHARPNESS * gaps).mean()
