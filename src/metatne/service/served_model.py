"""A model that is asked over HTTP: its nodes, their labels, and the graph where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float32, Int64

from metatne.errors import LabelError, UnknownNodeError
from metatne.estimator import MetaTNE
from metatne.evidence.model import EvidenceModel
from metatne.graph.labels import Labels
from metatne.graph.node_ids import NodeId, NodeIds, nearest_names
from metatne.graph.raw import HOLDS, LACKS
from metatne.graph.store import Graph
from metatne.saved import TrainedModel
from metatne.service.answers import (
    Capability,
    Example,
    FoundLabel,
    FoundLabels,
    FoundNode,
    FoundNodes,
    MarkedGraph,
    ModelFacts,
    Neighbour,
    NodeCard,
)
from metatne.service.limits import MAX_LABELS_SHOWN, MAX_NEIGHBOURS_SHOWN
from metatne.service.name_search import NameSearch
from metatne.service.refusals import Refusal


@dataclass(frozen=True)
class ServedModel:
    """A model with a name; the graph is None where nobody knows where it is."""

    name: str
    model: MetaTNE
    graph: Graph | None
    example: Example | None
    search: NameSearch

    @property
    def trained(self) -> TrainedModel:
        """What the model learned."""
        return self.model.trained_

    @property
    def node_ids(self) -> NodeIds:
        """Of all its nodes."""
        return self.trained.node_ids

    @property
    def evidence(self) -> EvidenceModel:
        """The default head; `Refusal` for the paper's, which has no reasons to tell."""
        scorer = self.trained.scorer
        if not isinstance(scorer, EvidenceModel):
            raise Refusal(
                "not_supported",
                f"the model {self.name!r} has the paper's head, which has no reasons to tell; "
                "ask one that was trained with the preset default",
            )
        return scorer

    @property
    def is_evidence(self) -> bool:
        """Whether it has the default head."""
        return isinstance(self.trained.scorer, EvidenceModel)

    @property
    def needed_graph(self) -> Graph:
        """The graph; `Refusal` where there is none."""
        if self.graph is None:
            raise Refusal(
                "no_graph",
                f"the graph of the model {self.name!r} was not found where it was trained; "
                "start the service with --graph DIR",
            )
        return self.graph

    def facts(self) -> ModelFacts:
        """What the model is and can be asked."""
        scorer = self.trained.scorer
        can: list[Capability] = ["rank", "map"]
        if isinstance(scorer, EvidenceModel):
            can += ["explain", "relate", "suggest"]
        if self.graph is not None:
            can.append("ego")
        quality, names = self.trained.quality, self.trained.known_labels
        if isinstance(scorer, EvidenceModel):  # which takes more of them for known, once measured
            names = list(scorer.label_names)
        return ModelFacts(
            name=self.name,
            graph=self.trained.graph_name,
            fingerprint=self.trained.fingerprint,
            num_nodes=len(self.node_ids),
            num_known_labels=len(names),
            head="evidence" if isinstance(scorer, EvidenceModel) else "prototypes",
            can=can,
            typical_share=scorer.typical_share if isinstance(scorer, EvidenceModel) else None,
            example=self.example,
            is_better_than_controls=None if quality is None else quality.is_better,
            verdict=None if quality is None else quality.verdict(),
        )

    @property
    def marked_graph(self) -> MarkedGraph:
        """What a project keeps of the graph that its nodes are marked on."""
        return MarkedGraph(name=self.trained.graph_name, fingerprint=self.trained.fingerprint)

    def positions(self, ids: Sequence[NodeId], field: str) -> Int64[np.ndarray, " some"]:
        """Where the nodes are; the first unknown one is refused by its place in the field."""
        try:
            return self.node_ids.positions(ids, where=f"the model {self.name!r}")
        except UnknownNodeError as error:
            first = next(place for place, node in enumerate(ids) if node not in self.node_ids)
            raise Refusal("unknown_node", str(error), field=f"{field}[{first}]") from error

    def position(self, node: NodeId, field: str) -> int:
        """Where one node is."""
        try:
            return int(self.node_ids.positions([node], where=f"the model {self.name!r}")[0])
        except UnknownNodeError as error:
            raise Refusal("unknown_node", str(error), field=field) from error

    def vectors(self, nodes: Int64[np.ndarray, " node"]) -> Float32[np.ndarray, "node dim"]:
        """The embeddings of some nodes (`MetaTNE.embeddings_` copies those of all)."""
        scorer = self.trained.scorer
        if isinstance(scorer, EvidenceModel):
            rows: Float32[np.ndarray, "node dim"] = scorer.description.place.rows[nodes]
            return rows
        rows = scorer.embeddings.detach()[nodes].cpu().numpy()
        return rows

    def find_nodes(self, text: str, limit: int) -> FoundNodes:
        """Nodes whose name begins with the text, then those whose name has it."""
        found = self.search.find(text, limit)
        return FoundNodes(
            nodes=[
                FoundNode(
                    id=self.node_ids[node], degree=self.degree(node), labels=self.some_labels(node)
                )
                for node in found.places
            ],
            more=found.more,
        )

    def find_labels(self, text: str, limit: int) -> FoundLabels:
        """Known labels whose name begins with the text, then those whose name has it."""
        found = self._label_search.find(text, limit)
        names = [self.known_labels.names[place] for place in found.places]
        return FoundLabels(
            labels=[FoundLabel(label=name, num_holders=self._num_holders[name]) for name in names],
            more=found.more,
        )

    def card(self, node: int) -> NodeCard:
        """What is known of a node; its neighbours by weight, then by degree."""
        neighbours: list[Neighbour] = []
        if self.graph is not None:
            near, weights = neighbours_of(self.graph, node)
            order = np.lexsort((near, -self.graph.degrees[near], -weights))[:MAX_NEIGHBOURS_SHOWN]
            ids = self.node_ids.take(near[order])
            neighbours = [
                Neighbour(id=name, weight=weight)
                for name, weight in zip(ids, weights[order].tolist(), strict=True)
            ]
        degree = self.degree(node)
        return NodeCard(
            id=self.node_ids[node],
            degree=degree,
            neighbours=neighbours,
            num_neighbours=degree,
            labels=self.labels(node),
            is_annotated=bool(self.is_annotated[node]),
        )

    def degree(self, node: int) -> int | None:
        """How many neighbours the node has, if there is a graph to say so."""
        return None if self.graph is None else int(self.graph.degrees[node])

    def labels(self, node: int) -> list[str]:
        """The known labels that the node holds, the rarest first: they say most."""
        held = self.known_labels.held_by(node)
        return sorted(held, key=lambda name: self._num_holders[name])

    def some_labels(self, node: int) -> list[str]:
        """A few of its labels, for a row."""
        return self.labels(node)[:MAX_LABELS_SHOWN]

    def label_states(self, label: str, state: int, field: str) -> Bool[np.ndarray, " node"]:
        """Which nodes are known to hold the label, or to lack it."""
        labels = self.known_labels
        try:
            number = labels.position(label)
        except LabelError as error:
            raise Refusal("bad_request", str(error), field=field) from error
        is_so: Bool[np.ndarray, " node"] = (
            labels.states(np.arange(len(self.node_ids)), number) == state
        )
        return is_so

    @cached_property
    def known_labels(self) -> Labels:
        """The graph's labels, or those that the model remembers."""
        if self.graph is not None:
            return self.graph.labels
        scorer = self.trained.scorer
        if not isinstance(scorer, EvidenceModel):
            return Labels.none(len(self.node_ids))
        states, unannotated = scorer.description.states, ~scorer.description.is_annotated
        # Of nodes that nobody looked at, the mask says all that there is to say.
        nodes, labels = np.nonzero((states != LACKS) & ~unannotated[:, None])
        return Labels.from_statements(
            scorer.label_names,
            len(states),
            nodes,
            labels,
            states[nodes, labels],
            unannotated=unannotated,
        )

    @cached_property
    def is_annotated(self) -> Bool[np.ndarray, " node"]:
        """Whether anybody looked at each node's labels.

        The model itself may know less: a label with too few holders for tasks is no part of it.
        """
        unannotated = self.known_labels.unannotated
        nobody = np.zeros(len(self.node_ids), dtype=bool)
        return ~(nobody if unannotated is None else unannotated)

    @cached_property
    def _label_search(self) -> NameSearch:
        return NameSearch(pa.array(self.known_labels.names, pa.large_string()))

    @cached_property
    def _num_holders(self) -> dict[str, int]:
        labels = self.known_labels
        return dict(zip(labels.names, labels.num_holders.tolist(), strict=True))


def neighbours_of(
    graph: Graph, node: int
) -> tuple[Int64[np.ndarray, " near"], Float32[np.ndarray, " near"]]:
    """The neighbours of a node and the weights of its edges, all 1 where they have none."""
    near = graph.neighbours(node).astype(np.int64)
    if graph.weights is None:
        return near, np.ones(len(near), dtype=np.float32)
    return near, np.asarray(graph.weights[graph.indptr[node] : graph.indptr[node + 1]])


def label_filter(
    served: ServedModel, holds: str | None, lacks: str | None
) -> list[Bool[np.ndarray, " node"]]:
    """The masks that these two parts of a filter come to."""
    masks = []
    if holds is not None:
        masks.append(served.label_states(holds, HOLDS, "filter.holds"))
    if lacks is not None:
        masks.append(served.label_states(lacks, LACKS, "filter.lacks"))
    return masks


def nearest_model(name: str, names: Sequence[str]) -> str:
    """What may have been meant, as the end of a message."""
    near = nearest_names(name, names)
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else "they are"
    return hint if near else f"{hint} {', '.join(map(repr, names))}"
