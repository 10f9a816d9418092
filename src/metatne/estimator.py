"""`MetaTNE`: fit a graph once, then rank its nodes for any novel label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from jaxtyping import Float32

from metatne.config import Config, make_config
from metatne.device import one_thread
from metatne.errors import ConfigError, GraphError, GraphMismatchError, NotFittedError, SupportError
from metatne.graph.store import Graph
from metatne.prediction.ranking import rank_table, score_candidates
from metatne.prediction.support import NodeId, resolve_candidates, resolve_support
from metatne.sampling.splits import LabelSplit, split_for_use
from metatne.sampling.tasks import Tasks, TaskShape
from metatne.saved import TrainedModel, load_model, save_model
from metatne.scoring import score_tasks
from metatne.training.checkpoint import Checkpointer, restore_checkpoint
from metatne.training.memory import GraphSize, check_memory, estimate_training_bytes
from metatne.training.team import Team
from metatne.training.trainer import (
    Observer,
    Trainer,
    history_rows,
    training_shape,
    validation_shape,
)


class MetaTNE:
    """Few-shot classification of nodes for novel labels, meta-learned from the known ones.

    The constructor takes any setting of `metatne.config.Config` by name and only stores it;
    `fit` learns, and leaves what it learned in names that end in `_`.
    """

    _trainer_kind: ClassVar[type[Trainer]] = Trainer
    """Who trains: the paper's procedure, but for its ablation (`variants.py`)."""

    trained_: TrainedModel
    """What `fit` or `load` left: the network, node ids, labels and history."""

    def __init__(self, **settings: Any) -> None:
        self.config = make_config(settings, source="MetaTNE")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings by name (`deep` is scikit-learn's; there is nothing nested here)."""
        return self.config.model_dump()

    def set_params(self, **settings: Any) -> Self:
        """Change some settings; what was learned stays until the next `fit`."""
        self.config = make_config(self.get_params() | settings, source="MetaTNE")
        return self

    def __repr__(self) -> str:
        """The settings that differ from the defaults."""
        changed = self.config.model_dump(exclude_defaults=True)
        inside = ", ".join(f"{name}={value!r}" for name, value in changed.items())
        return f"MetaTNE({inside})"

    def fit(
        self,
        graph: Graph,
        *,
        split: LabelSplit | None = None,
        observers: Sequence[Observer] = (),
        checkpoint: Path | None = None,
        resume: bool = False,
        should_stop: Callable[[], bool] = lambda: False,
        team: Team | None = None,
    ) -> Self:
        """Learn from the graph and its known labels.

        Without a `split`, `validation_share` of the labels that tasks can be drawn from are
        set aside to choose the best step. With a `checkpoint` file the training is saved
        there now and then. When `should_stop` turns true, it is saved and `Stopped` raised;
        `resume` goes on from that file and ends with the numbers of an unbroken run.
        The workers of a `team` all call `fit` alike; the first of them alone saves.
        """
        if not isinstance(graph, Graph):
            raise GraphError(
                f"fit: expected a Graph, found {graph!r}; "
                "open a saved one with Graph.open, or read files with read_graph"
            )
        if resume and (checkpoint is None or not checkpoint.exists()):
            raise ConfigError(
                f"resume: there is no checkpoint at {checkpoint}; train without resume"
            )
        split = split or split_for_use(
            graph,
            _shape_of_all_tasks(self.config),
            share=self.config.validation_share,
            seed=self.config.seed,
        )
        check_memory(estimate_training_bytes(GraphSize.of(graph), self.config))
        with one_thread():
            trainer = self._trainer_kind(graph, split, self.config, team=team)
            if resume and checkpoint is not None:
                restore_checkpoint(checkpoint, trainer, graph.fingerprint, split)
            at_step_end = Checkpointer(
                checkpoint if trainer.team.rank == 0 else None,
                graph.fingerprint,
                split,
                should_stop=should_stop,
            )
            network = trainer.run(observers, at_step_end=at_step_end)
        self.trained_ = TrainedModel(
            network=network,
            config=self.config,
            node_ids=graph.node_ids,
            graph_name=graph.name,
            fingerprint=graph.fingerprint,
            known_labels=[graph.labels.names[label] for label in split.known],
            validation_labels=[graph.labels.names[label] for label in split.validation],
            best_step=trainer.state.best_step,
            history=history_rows(trainer.state.history),
        )
        return self

    def rank(
        self,
        *,
        positives: Sequence[NodeId],
        negatives: Sequence[NodeId] | None = None,
        candidates: Sequence[NodeId] | None = None,
        top: int | None = None,
    ) -> pd.DataFrame:
        """Nodes by how likely they hold the novel label: columns node, probability, rank.

        All nodes that are not examples are ranked, or just the `candidates`; `top` cuts the
        table. Without negatives, weak ones are drawn from the rest of the graph, and the
        table's `attrs["weak_negatives"]` names them.
        """
        trained = self._fitted()
        if top is not None and top < 1:
            raise SupportError(f"top: expected at least 1, found {top}")
        support = resolve_support(
            trained.node_ids, positives, negatives if negatives is not None else []
        )
        scores = score_candidates(
            trained.network,
            support,
            resolve_candidates(trained.node_ids, candidates, support),
            num_nodes=len(trained.node_ids),
            num_weak_negatives=trained.config.negatives,
            seed=trained.config.seed,
        )
        return rank_table(trained.node_ids, scores, top)

    def score_tasks(self, tasks: Tasks) -> Float32[np.ndarray, "task query"]:
        """Log-odds of every query of every task; above 0 the node is taken to hold the label."""
        return score_tasks(self._fitted().network, tasks)

    def save(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write the model as a directory, whole or not at all."""
        save_model(Path(path), self._fitted(), overwrite=overwrite)

    @classmethod
    def load(cls, path: Path | str, *, graph: Graph | None = None, device: str = "auto") -> Self:
        """Read a saved model; with a `graph`, refuse it unless it was trained on that graph."""
        trained = load_model(Path(path), device=device)
        if graph is not None and graph.fingerprint != trained.fingerprint:
            raise GraphMismatchError(
                f"{path} was trained on the graph {trained.graph_name!r} "
                f"(fingerprint {trained.fingerprint[:12]}), not on {graph.name!r} "
                f"({graph.fingerprint[:12]}); train a model on this graph, or give the other one"
            )
        model = cls(**trained.config.model_dump())
        model.trained_ = trained
        return model

    @property
    def embeddings_(self) -> Float32[np.ndarray, "node dim"]:
        """The task-agnostic embedding of every node, in the order of the graph's ids."""
        return self._fitted().network.embeddings.detach().cpu().numpy().copy()

    @property
    def history_(self) -> pd.DataFrame:
        """What each validation saw: step, tau, losses, auc, f1, seconds."""
        return pd.DataFrame(self._fitted().history)

    @property
    def best_step_(self) -> int:
        """The step whose network was kept, chosen on the validation labels."""
        return self._fitted().best_step

    @property
    def num_steps_(self) -> int:
        """Steps of training that were done, up to the last validation."""
        return int(self._fitted().history[-1]["step"])

    def _fitted(self) -> TrainedModel:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                "this MetaTNE is not fitted yet; call fit(graph) first, or MetaTNE.load(directory)"
            )
        return self.trained_

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks every estimator for; only it calls this, so it is there."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is something learned; scikit-learn's tools ask by this name."""
        return "trained_" in self.__dict__


def _shape_of_all_tasks(config: Config) -> TaskShape:
    """The largest task of either kind: a label of either part must have nodes for its tasks."""
    training, validation = training_shape(config), validation_shape(config)
    return TaskShape(
        training.positives,
        training.negatives,
        max(training.query_positives, validation.query_positives),
        max(training.query_negatives, validation.query_negatives),
    )
