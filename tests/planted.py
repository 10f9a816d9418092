"""How a planted graph of 20 labels is split and fitted in tests of the default head."""

from __future__ import annotations

from typing import Any

import numpy as np

from metatne.sampling.splits import LabelSplit

SPLIT = LabelSplit(np.arange(12), np.arange(12, 16), np.arange(16, 20))
SETTINGS: dict[str, Any] = {"positives": 5, "negatives": 8, "head_steps": 60, "head_tasks": 100}
SETTINGS |= {"validation_tasks": 60, "seed": 3}
