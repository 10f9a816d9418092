"""`MetaTNE`: fit a graph once, then rank its nodes for any novel label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from jaxtyping import Float32

from metatne.config import TAKE_THE_PAPERS_HEAD, make_config
from metatne.device import one_thread, resolve_device
from metatne.errors import (
    ConfigError,
    GraphError,
    GraphMismatchError,
    NotFittedError,
    SupportError,
)
from metatne.evidence.fitting import fit_evidence
from metatne.evidence.growth import grown
from metatne.evidence.lessons import task_shape
from metatne.evidence.model import EvidenceModel
from metatne.graph.store import Graph
from metatne.model import MetaTNENetwork
from metatne.parallel import Progress
from metatne.prediction.explanation import behind, explanation, relation, suggestion
from metatne.prediction.ranking import rank_table, score_candidates
from metatne.prediction.support import (
    NodeId,
    Support,
    check_prior,
    check_top,
    resolve_asked,
    resolve_candidates,
    resolve_support,
    with_weak_negatives,
)
from metatne.quality import Quality, Scored, judge
from metatne.sampling.splits import LabelSplit, split_for_use
from metatne.sampling.tasks import Tasks
from metatne.saved import TrainedModel, load_model, save_model
from metatne.scoring import score_tasks
from metatne.training.checkpoint import Checkpointer, restore_checkpoint
from metatne.training.memory import GraphSize, check_memory, estimate_training_bytes
from metatne.training.team import Team, check_team
from metatne.training.trainer import (
    Observer,
    Trainer,
    Validation,
    history_rows,
    largest_shape,
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
        set aside to measure, or to choose the best step; if the model is no better on them than
        controls, a `QualityWarning` says so (`quality_`). The default head then takes these for
        known labels too; with a `split`, what is known of a node is `split.known` alone, while
        weights are learned from tasks of both. It learns in seconds, at one go. The rest is for
        the paper's head: with a `checkpoint` file the training is saved there now and then; when
        `should_stop` turns true, it is saved and `Stopped` raised; `resume` goes on from that file
        and ends with the numbers of an unbroken run. The workers of a `team` all call `fit` alike;
        the first of them alone saves.
        """
        _check_graph("fit", graph)
        if resume and (checkpoint is None or not checkpoint.exists()):
            raise ConfigError(
                f"resume: there is no checkpoint at {checkpoint}; train without resume"
            )
        if self.config.head == "evidence" and resume:
            raise ConfigError(
                "resume: the head 'evidence' is learned in seconds and keeps no checkpoint; give "
                f"the settings of the training that was stopped ({TAKE_THE_PAPERS_HEAD}), or train "
                "without resume"
            )
        if team is not None:
            check_team(self.config)
        is_evidence = self.config.head == "evidence"
        is_for_use = split is None  # and not one of many trials
        split = split or split_for_use(
            graph,
            task_shape(self.config) if is_evidence else largest_shape(self.config),
            share=self.config.validation_share,
            seed=self.config.seed,
        )
        check_memory(estimate_training_bytes(GraphSize.of(graph), self.config))
        learned: tuple[MetaTNENetwork | EvidenceModel, int, list[Validation], Scored | None]
        with one_thread():
            if is_evidence:
                learned = self._fit_evidence(
                    graph, split, observers, should_stop, is_for_use=is_for_use
                )
            else:
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
                of_validation = partial(score_tasks, network), trainer.validation_tasks
                state = trainer.state
                learned = network, state.best_step, state.history, of_validation
            scorer, best_step, history, scored = learned
            quality = judge(scored, graph, split) if is_for_use and scored else None
        self.trained_ = TrainedModel(
            scorer=scorer,
            config=self.config,
            node_ids=graph.node_ids,
            graph_name=graph.name,
            fingerprint=graph.fingerprint,
            known_labels=[graph.labels.names[label] for label in split.known],
            validation_labels=[graph.labels.names[label] for label in split.validation],
            best_step=best_step,
            history=history_rows(history),
            quality=quality,
        )
        return self

    def _fit_evidence(
        self,
        graph: Graph,
        split: LabelSplit,
        observers: Sequence[Observer],
        should_stop: Callable[[], bool],
        *,
        is_for_use: bool,
    ) -> tuple[EvidenceModel, int, list[Validation], Scored | None]:
        resolve_device(self.config.device)  # a name that is none is a mistake on the CPU too
        model, measured = fit_evidence(
            graph, split, self.config, is_for_use=is_for_use, should_stop=should_stop
        )
        step = self.config.head_steps
        if measured is None:
            return model, step, [], None
        validation = Validation(
            step=step,
            tau=0.0,
            structural_loss=None,
            meta_loss=measured.loss,
            auc=measured.auc,
            f1=measured.f1,
            seconds=measured.seconds,
        )
        for observer in observers:
            observer.on_validation(validation, is_best=True)
        return model, step, [validation], (lambda _: measured.scores, measured.tasks)

    def rank(
        self,
        *,
        positives: Sequence[NodeId],
        negatives: Sequence[NodeId] | None = None,
        candidates: Sequence[NodeId] | None = None,
        top: int | None = None,
        prior: float | None = None,
        progress: Progress | None = None,
    ) -> pd.DataFrame:
        """Nodes by how likely they hold the novel label: columns node, probability, rank.

        With the head `evidence` also `low` and `high`, an interval of 95 % (NaN where either sign
        has a single example), and `holds`, a decision for about the best F1. All nodes that are
        not examples are ranked, or just the `candidates`; `top` cuts the table. The `prior` is
        the share of nodes that hold the label, by default that of a typical known label (with the
        paper's head, of the supports it was trained with). Without negatives, weak ones are drawn
        from the rest of the graph, and the table's `attrs["weak_negatives"]` names them;
        `attrs["decision_line"]` is the probability from which on most nodes are taken to hold it,
        `attrs["num_holding"]` how many are, whatever `top` is, and `attrs["prior"]` the share.
        `progress` is told how many nodes are scored and how many there are; what it raises ends
        the ranking.
        """
        trained = self._fitted()
        check_top(top)
        check_prior(prior)
        support = self._support(positives, negatives)
        scores = score_candidates(
            trained.scorer,
            support,
            resolve_candidates(trained.node_ids, candidates, support),
            prior=prior,
            progress=progress,
        )
        return rank_table(trained.node_ids, scores, top)

    def explain(
        self,
        node: NodeId | np.integer[Any],
        *,
        positives: Sequence[NodeId],
        negatives: Sequence[NodeId] = (),
        prior: float | None = None,
    ) -> pd.DataFrame:
        """Why the node has its probability: parts that add up to its log-odds.

        A row for the prior, one for how likely the node is to hold any label, and one for each
        example, with what that adds (`contribution`) and how much of it each block has. What lies
        behind them is in the table's `attrs`: `shared_neighbours`, each with the examples that it
        is shared with (the first hundred of `num_shared_neighbours`; None if the model does not
        keep the graph's edges), and the known `labels` that it holds, with their weight in
        `relate`.
        """
        check_prior(prior)
        model, ids = self._evidence(), self._fitted().node_ids
        support = self._support(positives, negatives)
        plain = node.item() if isinstance(node, np.integer) else node
        place = resolve_asked(ids, plain, support)
        table = explanation(model, ids, support, place, prior=prior)
        table.attrs.update(behind(model, ids, support, place))
        return table

    def relate(
        self, *, positives: Sequence[NodeId], negatives: Sequence[NodeId] = ()
    ) -> pd.DataFrame:
        """Which known labels speak for the novel one: columns label, weight, the largest first.

        The weight is the log evidence that holding the known label, or having it around, adds.
        """
        return relation(self._evidence(), self._support(positives, negatives))

    def suggest(
        self,
        number: int = 10,
        *,
        positives: Sequence[NodeId],
        negatives: Sequence[NodeId] = (),
        candidates: Sequence[NodeId] | None = None,
        prior: float | None = None,
    ) -> list[NodeId]:
        """The nodes to label next: those that would help most, most helpful first.

        Doubt counts, and variety: a node unlike those named before it may come before one that
        is less certain. While no node is likelier than not to hold the label, as of most rare
        ones, the least certain are the likeliest holders.
        """
        if number < 1:
            raise SupportError(f"number: expected at least 1, found {number}")
        check_prior(prior)
        model, ids = self._evidence(), self._fitted().node_ids
        support = self._support(positives, negatives)
        nodes = resolve_candidates(ids, candidates, support)
        chosen: list[NodeId] = ids.take(suggestion(model, support, nodes, number, prior=prior))
        return chosen

    def update(self, graph: Graph) -> Self:
        """A model of a graph that has grown: new nodes, new edges, nothing learned anew.

        Nodes of before keep their place, new ones get that of their neighbours, and labels and
        surroundings are looked up again. Known labels are found by name; where the new graph
        says nothing of a new node, its labels are unknown only if it says so (`unannotated`).
        """
        _check_graph("update", graph)
        trained = self._fitted()
        model = grown(self._evidence(), trained.node_ids, graph)
        other = type(self)(**self.get_params())
        other.trained_ = replace(
            trained,
            scorer=model,
            node_ids=graph.node_ids,
            graph_name=graph.name,
            fingerprint=graph.fingerprint,
            graph_source=None,
        )
        return other

    def _evidence(self) -> EvidenceModel:
        scorer = self._fitted().scorer
        if not isinstance(scorer, EvidenceModel):
            raise ConfigError(
                "this model has the paper's head, which cannot explain, relate, suggest or be "
                "updated; train one with the head 'evidence' (the preset default)"
            )
        return scorer

    def _support(self, positives: Sequence[NodeId], negatives: Sequence[NodeId] | None) -> Support:
        """The examples by position; without negatives, with drawn ones that stand for them."""
        trained = self._fitted()
        return with_weak_negatives(
            resolve_support(
                trained.node_ids, positives, negatives if negatives is not None else []
            ),
            num_nodes=len(trained.node_ids),
            size=trained.config.negatives,
            seed=trained.config.seed,
        )

    def score_tasks(self, tasks: Tasks) -> Float32[np.ndarray, "task query"]:
        """Scores of every query of every task; above 0 the node is taken to hold the label.

        They are log-odds, less the line that validation chose where there is one.
        """
        scorer = self._fitted().scorer
        if isinstance(scorer, EvidenceModel):
            return scorer.score_tasks(tasks)
        return score_tasks(scorer, tasks) - np.float32(scorer.line.item())

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
        scorer = self._fitted().scorer
        if isinstance(scorer, EvidenceModel):
            return scorer.description.place.rows.copy()
        return scorer.embeddings.detach().cpu().numpy().copy()

    @property
    def history_(self) -> pd.DataFrame:
        """What each validation saw: step, tau, losses, auc, f1, seconds; of the default head
        nothing, where a `split` was given.
        """
        return pd.DataFrame(self._fitted().history)

    @property
    def best_step_(self) -> int:
        """The step whose network was kept, chosen on the validation labels."""
        return self._fitted().best_step

    @property
    def quality_(self) -> Quality | None:
        """How the model did beside controls; None if nobody looked (a `split` was given)."""
        return self._fitted().quality

    @property
    def num_steps_(self) -> int:
        """Steps of training that were done, up to the last validation."""
        history = self._fitted().history
        return int(history[-1]["step"]) if history else self.best_step_

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


def _check_graph(where: str, graph: object) -> None:
    if not isinstance(graph, Graph):
        raise GraphError(
            f"{where}: expected a Graph, found {graph!r}; "
            "open a saved one with Graph.open, or read files with read_graph"
        )
