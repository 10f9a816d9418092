"""The nodes of a label project, held against the model that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from metatne.service.answers import MarkedGraph, Project
from metatne.service.catalogue import Catalogue
from metatne.service.limits import MAX_PROJECT_BYTES, MAX_SUPPORTS
from metatne.service.questions import NodeId, ProjectChange, ProjectContent
from metatne.service.refusals import Refusal
from metatne.service.served_model import ServedModel

Content = TypeVar("Content", bound=ProjectContent)


def checked_content(
    catalogue: Catalogue, content: Content, *, before: Project | None = None
) -> Content:
    """The content with its nodes as the graph writes them (12, not "12"), each marked once.

    A change is held against the model only as far as it is new: a project must stay readable
    and mendable when its model is not served any more, or has lost a node.
    """
    if before is None or content.model != before.model:
        served: ServedModel | None = catalogue.get(content.model)
        known: set[NodeId] = set()
    else:
        served = catalogue.find(content.model)
        known = {*before.positives, *before.negatives}
    # Here and not in `ProjectContent`, so that what is stored stays readable whatever the limit is.
    if (number := len(content.positives) + len(content.negatives)) > MAX_SUPPORTS:
        raise Refusal(
            "too_large",
            f"expected at most {MAX_SUPPORTS:,} examples in all, found {number:,}",
            field="negatives",
        )
    check_size(content)
    sides: dict[str, list[NodeId]] = {}
    seen: dict[NodeId, str] = {}
    for field in ("positives", "negatives"):
        nodes: list[NodeId] = getattr(content, field)
        if served is not None:
            nodes = _as_in_graph(served, nodes, known, field)
        for place, node in enumerate(nodes):
            if node in seen:
                raise Refusal(
                    "bad_support",
                    f"{field}[{place}]: expected each node once, "
                    f"found {node!r} in {seen[node]} already",
                    field=f"{field}[{place}]",
                )
            seen[node] = field
        sides[field] = nodes
    return content.model_copy(update=sides)


def check_size(content: ProjectContent) -> None:
    """Refuse a project that is too large to be kept, be it written or imported."""
    size = len(content.model_dump_json().encode())
    if size > MAX_PROJECT_BYTES:
        raise Refusal(
            "too_large",
            f"expected a project of at most {MAX_PROJECT_BYTES:,} bytes, found {size:,}; "
            "make two of it",
        )


def graph_of(
    catalogue: Catalogue, content: ProjectContent, *, before: Project | None = None
) -> MarkedGraph | None:
    """The graph that the nodes are marked on: that of before, until somebody accepts another.

    A model is called like its directory, so another graph may be served by the same name.
    """
    served = catalogue.find(content.model)
    if served is None:
        return None if before is None else before.graph
    is_new = before is None or before.graph is None or before.model != content.model
    if is_new or (isinstance(content, ProjectChange) and content.accepts_graph):
        return served.marked_graph
    return before.graph if before is not None else None


def _as_in_graph(
    served: ServedModel, nodes: Sequence[NodeId], known: set[NodeId], field: str
) -> list[NodeId]:
    found = served.node_ids.find(nodes)
    for place in np.flatnonzero(found < 0).tolist():
        if nodes[place] not in known:
            served.position(nodes[place], f"{field}[{place}]")  # which refuses it
    names = served.node_ids.take(np.maximum(found, 0))
    return [
        name if place >= 0 else node
        for name, place, node in zip(names, found.tolist(), nodes, strict=True)
    ]
