"""Which labels are trained on, which choose the step, and which are kept for the test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from metatne.errors import LabelError
from metatne.graph.store import Graph
from metatne.sampling.tasks import TaskShape, too_few_holders, usable_labels
from metatne.seeding import numpy_generator


@dataclass(frozen=True)
class LabelSplit:
    """Disjoint sets of label indices."""

    known: Int64[np.ndarray, " known"]
    validation: Int64[np.ndarray, " validation"]
    test: Int64[np.ndarray, " test"]
    asked: Bool[np.ndarray, " node"] | None = None
    """Nodes that validation and test tasks ask about, and from which no support is drawn;
    None where support and query come from the same nodes."""


def paper_split(num_labels: int, trial: int) -> LabelSplit:
    """The split of the paper's trial 1, 2, …: 60 % known, 20 % test, the rest validation.

    The order of the parts and NumPy's old generator are the published code's, so that
    trial s here is trial s there.
    """
    order = np.random.RandomState(trial).permutation(num_labels).astype(np.int64)
    num_known, num_test = int(0.6 * num_labels), int(0.2 * num_labels)
    return LabelSplit(
        known=order[:num_known],
        test=order[num_known : num_known + num_test],
        validation=order[num_known + num_test :],
    )


def validation_split(labels: Int64[np.ndarray, " label"], *, share: float, seed: int) -> LabelSplit:
    """The labels cut into known and validation, for a model that is to be used, not tested.

    There must be two labels at least; both parts then get one at least.
    """
    order = numpy_generator(seed, "label split").permutation(labels)
    num_validation = min(max(1, round(share * len(labels))), len(labels) - 1)
    none = np.empty(0, dtype=np.int64)
    return LabelSplit(known=order[num_validation:], validation=order[:num_validation], test=none)


def split_for_use(graph: Graph, shape: TaskShape, *, share: float, seed: int) -> LabelSplit:
    """`validation_split` of the labels from which tasks of this shape can be drawn."""
    labels = graph.labels
    if not labels.num_labels:
        raise LabelError(
            f"the graph {graph.name!r} has no labels to learn from; read it with labels "
            "(metatne graph import … --labels FILE)"
        )
    if labels.num_labels == 1:
        raise LabelError(
            f"the graph {graph.name!r} has one label, {labels.names[0]!r}; two at least are "
            "needed, to learn from one and to measure on another: give more labels"
        )
    usable = usable_labels(labels, range(labels.num_labels), shape)
    if len(usable) >= 2:
        return validation_split(usable, share=share, seed=seed)
    if len(usable) == 1:
        raise LabelError(
            f"only the label {labels.names[usable[0]]!r} has enough holders to train on, "
            "and one more is needed to measure on, or to choose the best step; give more labels, "
            f"or ask for fewer positives than {shape.positives} (--set positives=…)"
        )
    raise too_few_holders(labels, range(labels.num_labels), shape)
