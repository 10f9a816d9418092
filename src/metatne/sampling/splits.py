"""Which labels are trained on, which choose the step, and which are kept for the test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from metatne.seeding import numpy_generator


@dataclass(frozen=True)
class LabelSplit:
    """Disjoint sets of label indices."""

    known: Int64[np.ndarray, " known"]
    validation: Int64[np.ndarray, " validation"]
    test: Int64[np.ndarray, " test"]


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
