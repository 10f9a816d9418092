"""Small trainers, and the weights that they arrive at."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from metatne.config import make_config
from metatne.graph.store import Graph
from metatne.model import MetaTNENetwork
from metatne.sampling.splits import LabelSplit
from metatne.training.trainer import Trainer

SPLIT = LabelSplit(known=np.arange(7), validation=np.arange(7, 10), test=np.arange(0))
META_FROM_STEP_1 = {"decay_rate": 1e9, "decay_period": 1}
STRUCTURAL_ONLY = {"decay_rate": 0.0}


def trainer_of(graph: Graph, settings: dict[str, Any], **changed: Any) -> Trainer:
    return Trainer(graph, SPLIT, make_config(settings | changed))


def weights_of(network: MetaTNENetwork) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in network.state_dict().items()}


def assert_same(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    different = [name for name in ours if not torch.equal(ours[name], theirs[name])]
    assert different == []
