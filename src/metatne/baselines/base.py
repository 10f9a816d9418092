"""What all baselines share: settings by name, tasks by the batch, and a ranking for users."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from jaxtyping import Float, Int64
from pydantic import Field

from metatne.config import Settings, make_settings
from metatne.errors import NotFittedError
from metatne.graph.store import Graph
from metatne.prediction.ranking import Scores, rank_table, score_against
from metatne.prediction.support import (
    NodeId,
    check_top,
    resolve_candidates,
    resolve_support,
    with_weak_negatives,
)
from metatne.sampling.splits import LabelSplit, split_for_use
from metatne.sampling.tasks import Tasks, TaskSampler, TaskShape
from metatne.seeding import numpy_generator

VALIDATION_SHARE = 0.2


class BaselineSettings(Settings):
    """The settings that every baseline has."""

    positives: int = Field(10, ge=1, description="K+: positive supports of a task")
    negatives: int = Field(20, ge=1, description="K-: negative supports of a task")
    validation_tasks: int = Field(200, ge=1, description="tasks on which settings are chosen")
    seed: int = Field(0, ge=0, description="the one seed that everything is drawn from")


class Baseline(ABC):
    """A method that scores queries from a few supports; see `metatne.evaluation.methods.Method`."""

    kind_of_settings: ClassVar[type[BaselineSettings]] = BaselineSettings

    needs_labels: ClassVar[bool] = True
    """Whether known labels are learned from, or choose among settings."""

    num_steps_: int
    """Steps of training that `fit` took; 0 where there is nothing to train."""

    def __init__(self, **settings: Any) -> None:
        self.settings = make_settings(self.kind_of_settings, settings, source=type(self).__name__)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings by name (`deep` is scikit-learn's; there is nothing nested here)."""
        return self.settings.model_dump()

    def fit(self, graph: Graph, *, split: LabelSplit | None = None) -> Self:
        """Learn from the graph, and from its known labels if the method does.

        Without a `split`, a fifth of the labels are set aside for choices.
        """
        if split is None and self.needs_labels:
            split = split_for_use(
                graph, self.task_shape, share=VALIDATION_SHARE, seed=self.settings.seed
            )
        none = np.empty(0, dtype=np.int64)
        self.num_steps_ = 0
        self.learn(graph, split or LabelSplit(none, none, none))
        self._graph = graph
        return self

    @abstractmethod
    def learn(self, graph: Graph, split: LabelSplit) -> None:
        """Learn what `score_tasks` needs."""

    @abstractmethod
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
        """Nodes by their score: columns node, probability, rank, as `MetaTNE.rank` has them.

        Without negatives, weak ones are drawn from the rest of the graph.
        """
        graph = self._fitted_graph()
        check_top(top)
        support = with_weak_negatives(
            resolve_support(graph.node_ids, positives, negatives if negatives is not None else []),
            num_nodes=graph.num_nodes,
            size=self.settings.negatives,
            seed=self.settings.seed,
        )
        nodes = resolve_candidates(graph.node_ids, candidates, support)

        def score(
            negatives: Int64[np.ndarray, " negative"], candidates: Int64[np.ndarray, " node"]
        ) -> Float[np.ndarray, " node"]:
            tasks = Tasks(
                labels=np.zeros(1, dtype=np.int64),
                positives=support.positives[None],
                negatives=negatives[None],
                queries=candidates[None],
                is_positive=np.zeros((1, len(candidates)), dtype=bool),
            )
            scores: Float[np.ndarray, " node"] = self.score_tasks(tasks)[0]
            return scores

        logits = score_against(score, support.negative_sets, nodes)
        return rank_table(graph.node_ids, Scores(nodes, logits, support.drawn), top)

    @property
    def task_shape(self) -> TaskShape:
        """Of the tasks that the method draws for itself: as many queries as supports."""
        positives, negatives = self.settings.positives, self.settings.negatives
        return TaskShape(positives, negatives, positives, negatives)

    def draw_validation_tasks(self, graph: Graph, split: LabelSplit) -> Tasks:
        """The tasks on which a method chooses among its settings."""
        return TaskSampler(graph.labels, split.validation, self.task_shape, asked=split.asked).draw(
            self.settings.validation_tasks,
            numpy_generator(self.settings.seed, "validation tasks"),
        )

    def _fitted_graph(self) -> Graph:
        if "_graph" not in self.__dict__:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return self._graph
