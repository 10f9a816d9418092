"""Every method that can be evaluated, by name, behind one contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float

from metatne.config import not_one_of, preset
from metatne.evidence.head import VERSION
from metatne.extras import needs_extra
from metatne.graph.store import Graph
from metatne.prediction.support import NodeId
from metatne.sampling.splits import LabelSplit
from metatne.sampling.tasks import Tasks


@runtime_checkable
class Method(Protocol):
    """What a method must do to be evaluated, and to be used on one's own graph.

    The constructor takes settings by name and only stores them: `positives`, `negatives` and
    `seed`, and those of its own.
    """

    def get_params(self) -> dict[str, Any]:
        """All settings by name."""

    def fit(self, graph: Graph, *, split: LabelSplit | None = None) -> FittedMethod:
        """Learn from `split.known`; choose on tasks of `split.validation`, or learn from these."""

    def score_tasks(self, tasks: Tasks) -> Float[np.ndarray, "task query"]:
        """A score for every query; above 0 it is taken to hold the label."""

    def rank(
        self,
        *,
        positives: Sequence[NodeId],
        negatives: Sequence[NodeId] | None = None,
        candidates: Sequence[NodeId] | None = None,
        top: int | None = None,
    ) -> pd.DataFrame:
        """Nodes by how likely they hold the novel label: columns node, probability, rank."""


@runtime_checkable
class FittedMethod(Method, Protocol):
    """A method that has learned."""

    @property
    def num_steps_(self) -> int:
        """Steps of training that `fit` took; 0 where there is nothing to train."""


@dataclass(frozen=True)
class Entry:
    """Where a method is, and what the paper calls it."""

    title: str
    module: str
    kind: str
    is_in_paper: bool = True
    has_presets: bool = False
    preset: str | None = None
    """What the preset `default` stands for with this method."""

    shares_trainings: bool = False
    """Whether cells of a trial that differ in their shots share a training, in one process."""

    version: int = 1
    """Of what the method does with its settings: another one makes other trials."""

    in_paper_as: str | None = None
    """What the paper's tables call it, where that is not the title."""

    @property
    def paper_title(self) -> str:
        """Its name in the paper's tables, if it is in them."""
        return self.in_paper_as or self.title


METHODS = {
    "lp": Entry("LP", "metatne.baselines.propagation", "LabelPropagation"),
    "line": Entry("LINE", "metatne.baselines.line", "LINE"),
    "node2vec": Entry("Node2vec", "metatne.baselines.node2vec", "Node2vec"),
    "planetoid": Entry(
        "Planetoid", "metatne.baselines.planetoid", "Planetoid", shares_trainings=True
    ),
    # 1 had one rate.
    "gcn": Entry("GCN", "metatne.baselines.gcn", "GCN", shares_trainings=True, version=2),
    # 1 counted all supports alike, 2 had one meta rate.
    "metagnn": Entry("Meta-GNN", "metatne.baselines.metagnn", "MetaGNN", version=3),
    "metatne": Entry("MetaTNE", "metatne.estimator", "MetaTNE", has_presets=True),
    "metatne-paper": Entry(
        "MetaTNE of the paper",
        "metatne.estimator",
        "MetaTNE",
        has_presets=True,
        preset="paper-small",
        in_paper_as="MetaTNE",
    ),
    "ridge": Entry("Kernel ridge", "metatne.baselines.ridge", "KernelRidge", is_in_paper=False),
    "ppr": Entry("PageRank", "metatne.baselines.pagerank", "PageRank", is_in_paper=False),
    "degree": Entry("Degree", "metatne.baselines.controls", "Degree", is_in_paper=False),
    "unlabelled": Entry(
        "No known label", "metatne.baselines.controls", "NoKnownLabel", is_in_paper=False
    ),
}


_VARIANTS_OF_METATNE = {
    "v1": "NoTransformation",
    "v2": "OneAttention",
    "v3": "SumOfLosses",
    "v4": "FrozenEmbeddings",
    "v5": "OneHotInput",
}
# 1 of V3 trained in full with every factor, of V4 took half of its steps for the structure.
_VARIANT_VERSIONS = {"v3": 2, "v4": 2}
VARIANTS = {
    name: Entry(
        name.upper(),
        "metatne.variants",
        kind,
        has_presets=True,
        preset="paper-small",
        version=_VARIANT_VERSIONS.get(name, 1),
    )
    for name, kind in _VARIANTS_OF_METATNE.items()
}
"""MetaTNE with a part taken out, for the paper's ablation study."""


def check_method(name: str) -> Entry:
    """The entry of a method; an unknown name is refused with those that there are."""
    known = METHODS | VARIANTS
    if name not in known:
        raise not_one_of("method", name, known)
    return known[name]


def new_method(name: str, settings: dict[str, Any]) -> Method:
    """A method with these settings; its libraries are loaded now, not before."""
    entry = check_method(name)
    with needs_extra("baselines", f"the method {name!r}"):
        kind = getattr(import_module(entry.module), entry.kind)
    method: Method = kind(**settings)
    return method


def shipped_version(name: str, params: Mapping[str, Any]) -> int:
    """Of what a method does with its settings; of MetaTNE with evidence, that of the head."""
    return VERSION if params.get("head") == "evidence" else check_method(name).version


def preset_of(name: str, preset_name: str, dataset: str) -> dict[str, Any]:
    """The settings of a preset for a method on a data set; most methods have none."""
    chosen = effective_preset(name, preset_name)
    return preset(chosen, dataset) if check_method(name).has_presets else {}


def effective_preset(name: str, preset_name: str) -> str:
    """The preset that a method runs with where the user said this one; `default` if it has none."""
    entry = check_method(name)
    if not entry.has_presets:
        return "default"
    return entry.preset if entry.preset and preset_name == "default" else preset_name
