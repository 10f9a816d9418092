"""What is answered: the bodies of responses."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

NodeId = int | str

Capability = Literal["rank", "explain", "relate", "suggest", "map", "ego"]
Reason = Literal["prior", "any label", "holds it", "lacks it", "stands for the others"]


class Answer(BaseModel):
    """A body that the service makes, and a client reads."""


class Example(Answer):
    """A novel label to begin with."""

    name: str
    positives: list[NodeId]
    negatives: list[NodeId]


class ModelFacts(Answer):
    """A model and what it can be asked."""

    name: str
    graph: str
    fingerprint: str
    """Of the graph that it was trained on; a project says which one its nodes were marked on."""

    num_nodes: int
    num_known_labels: int
    head: Literal["evidence", "prototypes"]
    can: list[Capability]
    typical_share: float | None
    example: Example | None
    is_better_than_controls: bool | None
    """On labels that it had not seen; None where that was not measured."""

    verdict: str | None


class Models(Answer):
    """All models that are served."""

    models: list[ModelFacts]


class FoundNode(Answer):
    """A node that a search found; without a graph its degree is not known."""

    id: NodeId
    degree: int | None
    labels: list[str]


class FoundNodes(Answer):
    """What a search found: names that begin with the text, then names that contain it."""

    nodes: list[FoundNode]
    more: bool


class FoundLabel(Answer):
    """A known label, and how many nodes hold it."""

    label: str
    num_holders: int


class FoundLabels(Answer):
    """What a search found: labels that begin with the text, then labels that contain it."""

    labels: list[FoundLabel]
    more: bool


class Neighbour(Answer):
    """A neighbour, and the weight of the edge to it."""

    id: NodeId
    weight: float


class NodeCard(Answer):
    """What is known of a node."""

    id: NodeId
    degree: int | None
    neighbours: list[Neighbour]
    num_neighbours: int | None
    labels: list[str]
    is_annotated: bool


class Row(Answer):
    """A ranked node; the paper's head gives no interval."""

    node: NodeId
    rank: int
    probability: float
    low: float | None
    high: float | None
    holds: bool
    labels: list[str]


class RankAnswer(Answer):
    """Rows of the ranking."""

    rows: list[Row]
    num_ranked: int
    """Rows that there are, of which `rows` may be a page; those that pass the filter."""

    num_all: int
    """Nodes among which the ranks are."""

    num_holding: int
    prior: float | None
    threshold: float
    """The probability from which on the model takes most nodes to hold the label.

    Nodes that nobody annotated have another line: a row's `holds` says what was decided. It is the
    model's own, whatever threshold was asked for.
    """

    weak_negatives: list[NodeId]
    seconds: float


class Part(Answer):
    """What one reason adds to the log-odds, and how much of it each block says."""

    reason: Reason
    node: NodeId | None
    contribution: float
    blocks: dict[str, float]


class SharedNeighbour(Answer):
    """A neighbour of the node that is a neighbour of examples too."""

    model_config = ConfigDict(serialize_by_alias=True)

    id: NodeId
    with_: list[NodeId] = Field(alias="with")


class LabelWeight(Answer):
    """A known label, and the log evidence that holding it adds."""

    label: str
    weight: float


class ExplainAnswer(Answer):
    """Why a node has its probability; the parts add up to the log-odds."""

    node: NodeId
    probability: float
    log_odds: float
    parts: list[Part]
    shared_neighbours: list[SharedNeighbour]
    labels: list[str]
    label_weights: list[LabelWeight]


class RelateAnswer(Answer):
    """Known labels that speak for the novel one, then those against it."""

    labels: list[LabelWeight]


class SuggestedNode(Answer):
    """A node whose label would help."""

    id: NodeId
    probability: float
    labels: list[str]


class SuggestAnswer(Answer):
    """What to label next, the most helpful first."""

    nodes: list[SuggestedNode]


class Point(Answer):
    """A node on the map before and after the examples were given."""

    node: NodeId
    before: tuple[float, float]
    after: tuple[float, float]
    probability: float
    role: Literal["positive", "negative", "candidate"]


class MapAnswer(Answer):
    """The points in question; coordinates lie in -1 … 1."""

    points: list[Point]


class EgoNode(Answer):
    """A node of a small graph."""

    id: NodeId
    degree: int
    role: Literal["asked", "positive", "negative", "neighbour"]
    probability: float | None = None


class EgoEdge(Answer):
    """An edge between two of its nodes."""

    source: NodeId
    target: NodeId
    weight: float


class EgoAnswer(Answer):
    """The graph around some nodes; `cut` where it has more nodes than were asked for."""

    nodes: list[EgoNode]
    edges: list[EgoEdge]
    cut: bool


class MarkedGraph(Answer):
    """The graph that a project's nodes were marked on."""

    name: str
    fingerprint: str


class Project(Answer):
    """A label project at one version.

    Where its graph has another fingerprint than the model of this name, another model goes by that
    name now, or the graph has changed: its nodes may be others.
    """

    id: str
    name: str
    model: str
    graph: MarkedGraph | None
    """None for projects that were last changed before this was written down."""

    positives: list[NodeId]
    negatives: list[NodeId]
    notes: str
    threshold: float | None
    prior: float | None
    version: int
    created: str
    changed: str
    deleted: bool
    can_undo: bool
    can_redo: bool


class ProjectSummary(Answer):
    """A label project in a list: its examples are counted, and told when it is opened."""

    id: str
    name: str
    model: str
    graph: MarkedGraph | None
    num_positives: int
    num_negatives: int
    version: int
    created: str
    changed: str
    deleted: bool


class Projects(Answer):
    """Label projects, the last changed first."""

    projects: list[ProjectSummary]
    num_projects: int
    """All that there are, of which `projects` may be a page."""


class Purged(Answer):
    """How many deleted projects are gone for good."""

    num_purged: int


class ProjectVersion(Answer):
    """A line of a project's history."""

    version: int
    changed: str
    name: str
    num_positives: int
    num_negatives: int
    what: str


class ProjectHistory(Answer):
    """All versions of a project, the newest first."""

    versions: list[ProjectVersion]


ErrorCode = Literal[
    "bad_request",
    "unknown_node",
    "unknown_model",
    "unknown_project",
    "bad_support",
    "conflict",
    "nothing_to_undo",
    "too_large",
    "unauthorised",
    "forbidden_origin",
    "overloaded",
    "loading",
    "storage",
    "not_supported",
    "no_graph",
    "cancelled",
    "internal",
]


class ErrorFacts(Answer):
    """What went wrong: what was expected, what came, what to do."""

    code: ErrorCode
    message: str
    field: str | None
    request_id: str


class ErrorAnswer(Answer):
    """The one shape of every error."""

    error: ErrorFacts


class ConflictAnswer(ErrorAnswer):
    """A change that came too late, with both versions."""

    yours: Project | None = None
    theirs: Project | None = None
