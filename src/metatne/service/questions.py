"""What may be asked: the bodies of requests, checked field by field."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)
from pydantic_core import PydanticCustomError

from metatne.service.answers import Project
from metatne.service.limits import (
    MAX_ASKED_SUPPORTS,
    MAX_CANDIDATES,
    MAX_EGO_NODES,
    MAX_EGO_SHOWN,
    MAX_FIELDS,
    MAX_ID_LENGTH,
    MAX_MAP_NODES,
    MAX_NAME_LENGTH,
    MAX_NOTES_LENGTH,
    MAX_QUERY_LENGTH,
    MAX_SUGGESTED,
    MAX_SUPPORTS,
    MAX_TOP,
)

INT64_END = 2**63 - 1

NodeId = (
    Annotated[StrictInt, Field(ge=-INT64_END - 1, le=INT64_END)]
    | Annotated[StrictStr, Field(min_length=1, max_length=MAX_ID_LENGTH)]
)
Label = Annotated[StrictStr, Field(min_length=1, max_length=MAX_ID_LENGTH)]
Nodes = Annotated[list[NodeId], Field(fail_fast=True)]
"""The first bad one is told: to tell of all in a long list would take seconds."""

Supports = Annotated[Nodes, Field(max_length=MAX_ASKED_SUPPORTS)]


def _few_in_all(negatives: list[NodeId], info: Any) -> list[NodeId]:
    """The limit is one of both sides, and the later one is that which goes beyond it."""
    # `info` is pydantic's ValidationInfo, a protocol that cannot be checked at run time.
    found = len(info.data.get("positives", ())) + len(negatives)
    if found > MAX_ASKED_SUPPORTS:
        raise PydanticCustomError(
            "too_long",
            "expected at most {expected} examples in all, found {found}",
            {"expected": f"{MAX_ASKED_SUPPORTS:,}", "found": f"{found:,}"},
        )
    return negatives


OtherSupports = Annotated[Supports, AfterValidator(_few_in_all)]
"""Negatives, which with the positives before them are not too many."""

StoredSupports = Annotated[Nodes, Field(max_length=MAX_SUPPORTS)]
Prior = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Version = Annotated[StrictInt, Field(ge=1, le=INT64_END)]


class Body(BaseModel):
    """A body without fields that nobody knows: a misspelt one would be silently ignored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, data: Any) -> Any:
        """To tell of each that nobody knows would take seconds, too."""
        if isinstance(data, dict) and len(data) > MAX_FIELDS:
            raise ValueError(f"expected at most {MAX_FIELDS} fields, found {len(data):,}")
        return data


class Examples(Body):
    """The novel label: nodes that hold it and nodes that lack it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"positives": ["ann", "bob"], "negatives": ["dan"]}]}
    )

    positives: Annotated[Supports, Field(description="Nodes that hold the label, at least one.")]
    negatives: Annotated[
        OtherSupports,
        Field(description="Nodes that lack it; without any, nodes drawn at random stand in."),
    ] = []


class PriorExamples(Examples):
    """Examples, and the share of nodes that hold the label."""

    prior: Annotated[
        Prior | None,
        Field(description="Share of nodes that hold the label; that of a known label if null."),
    ] = None


class RowFilter(Body):
    """Which of the ranked nodes to return; their ranks stay those among all."""

    holds: Annotated[Label | None, Field(description="Only nodes that hold this label.")] = None
    lacks: Annotated[Label | None, Field(description="Only nodes known to lack it.")] = None
    annotated: Annotated[
        StrictBool | None, Field(description="Only nodes whose labels are known, or unknown.")
    ] = None
    min_degree: Annotated[StrictInt | None, Field(ge=0, le=INT64_END)] = None
    contains: Annotated[
        Annotated[StrictStr, Field(max_length=MAX_QUERY_LENGTH)] | None,
        Field(description="Only nodes whose id has this text in it, in any case."),
    ] = None


class TableQuestion(PriorExamples):
    """Rank the nodes for the novel label."""

    candidates: Annotated[
        Annotated[Nodes, Field(max_length=MAX_CANDIDATES)] | None,
        Field(description="Rank these nodes only; all that are no examples if null."),
    ] = None
    threshold: Annotated[
        Share | None,
        Field(description="Nodes of at least this probability hold it; the model decides if null."),
    ] = None
    offset: Annotated[StrictInt, Field(ge=0, le=INT64_END, description="Rows to pass over.")] = 0
    filter: RowFilter | None = None


class RankQuestion(TableQuestion):
    """Rank the nodes for the novel label, and return a page of the table."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"positives": ["ann", "bob"], "negatives": ["dan"], "top": 20}]
        }
    )

    top: Annotated[StrictInt, Field(ge=1, le=MAX_TOP, description="Rows to return.")] = 50


class ExportQuestion(TableQuestion):
    """Rank the nodes for the novel label, and write the table to a file."""

    top: Annotated[
        StrictInt | None, Field(ge=1, le=INT64_END, description="Rows to write; all if null.")
    ] = None


class ExplainQuestion(PriorExamples):
    """Why the node has its probability."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"node": "eve", "positives": ["ann"], "negatives": []}]}
    )

    node: NodeId


class RelateQuestion(Examples):
    """Which known labels speak for the novel one, and which against it."""

    top: Annotated[StrictInt, Field(ge=1, le=MAX_TOP, description="Labels at either end.")] = 20


class SuggestQuestion(PriorExamples):
    """Which nodes to label next."""

    number: Annotated[StrictInt, Field(ge=1, le=MAX_SUGGESTED)] = 10


class MapQuestion(PriorExamples):
    """Where the examples and these nodes lie, before and after the examples were given."""

    nodes: Annotated[Nodes, Field(max_length=MAX_MAP_NODES)] = []


class EgoQuestion(Body):
    """The graph around these nodes; with positives, its nodes have probabilities."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"nodes": ["eve"], "positives": ["ann"], "max_nodes": 30}]}
    )

    nodes: Annotated[Nodes, Field(min_length=1, max_length=MAX_EGO_NODES)]
    positives: Supports = []
    negatives: OtherSupports = []
    prior: Prior | None = None
    max_nodes: Annotated[StrictInt, Field(ge=1, le=MAX_EGO_SHOWN)] = 60


Name = Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
Notes = Annotated[StrictStr, Field(max_length=MAX_NOTES_LENGTH)]


class ProjectContent(Body):
    """What a user writes down of a novel label."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "plays chess", "model": "town", "positives": ["ann"]}]
        },
    )

    name: Name
    model: Annotated[Name, Field(description="The model that it is about.")]
    positives: StoredSupports = []
    negatives: StoredSupports = []
    notes: Notes = ""
    threshold: Annotated[
        Share | None, Field(description="Where the user has put the decision line.")
    ] = None
    prior: Prior | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_what_the_service_sets(cls, data: Any) -> Any:
        """A project as it was read may be sent back whole; any other field is a misspelt one."""
        if not isinstance(data, dict):
            return data
        read_only = Project.model_fields.keys() - cls.model_fields.keys()
        return {name: value for name, value in data.items() if name not in read_only}


class ProjectChange(ProjectContent):
    """A whole project, with the version of it that was read.

    Both sides are there, be they empty: what is left out would be lost.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "plays chess",
                    "model": "town",
                    "positives": ["ann", "bob"],
                    "negatives": [],
                    "version": 1,
                }
            ]
        },
    )

    positives: StoredSupports
    negatives: StoredSupports
    version: Version
    accepts_graph: Annotated[
        StrictBool,
        Field(description="The graph that is served now is the one that the project is about."),
    ] = False


class AtVersion(Body):
    """The version that was read, so that nobody's change is lost."""

    version: Version
