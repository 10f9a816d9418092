"""What a service can be asked, a method each."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import quote

from metatne.client.connection import Connection, Progress, read
from metatne.service.answers import (
    EgoAnswer,
    ExplainAnswer,
    FoundLabels,
    FoundNodes,
    LabelWeight,
    MapAnswer,
    ModelFacts,
    Models,
    NodeCard,
    NodeId,
    Project,
    ProjectHistory,
    Projects,
    ProjectSummary,
    Purged,
    RankAnswer,
    RelateAnswer,
    SuggestAnswer,
    SuggestedNode,
)
from metatne.service.questions import RowFilter

Nodes = Sequence[NodeId]


class Client:
    """A service at an address; used in a `with`, or closed by hand."""

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0) -> None:
        self._service = Connection(url, token=token, timeout=timeout)

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._service.http.close()

    def is_ready(self) -> bool:
        """Whether the service answers questions yet."""
        return self._service.is_ready()

    def models(self) -> list[ModelFacts]:
        """Every model, and what it can be asked."""
        return self._service.get(Models, "/models").models

    def find_nodes(self, model: str, text: str, *, limit: int = 20) -> FoundNodes:
        """Nodes whose name begins with the text, then those that have it."""
        return self._service.get(FoundNodes, f"/models/{_part(model)}/nodes", q=text, limit=limit)

    def find_labels(self, model: str, text: str = "", *, limit: int = 20) -> FoundLabels:
        """Known labels whose name begins with the text, then those that have it."""
        return self._service.get(FoundLabels, f"/models/{_part(model)}/labels", q=text, limit=limit)

    def node(self, model: str, node: NodeId) -> NodeCard:
        """What is known of a node."""
        return self._service.get(NodeCard, f"/models/{_part(model)}/node", id=str(node))

    def rank(
        self,
        model: str,
        *,
        positives: Nodes,
        negatives: Nodes = (),
        candidates: Nodes | None = None,
        top: int = 50,
        offset: int = 0,
        prior: float | None = None,
        threshold: float | None = None,
        filter: RowFilter | dict[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> RankAnswer:
        """The nodes by how likely they hold the label; `progress` is told done and total.

        With a `threshold` that probability decides which hold it, and not the model.
        """
        body = _table(positives, negatives, prior, threshold, candidates, top, offset, filter)
        place = f"/models/{_part(model)}/rank"
        if progress is None:
            return self._service.post(RankAnswer, place, body)
        return self._service.stream(RankAnswer, place, body, progress)

    def explain(
        self,
        model: str,
        node: NodeId,
        *,
        positives: Nodes,
        negatives: Nodes = (),
        prior: float | None = None,
    ) -> ExplainAnswer:
        """Why a node has its probability."""
        body = _examples(positives, negatives, prior) | {"node": node}
        return self._service.post(ExplainAnswer, f"/models/{_part(model)}/explain", body)

    def relate(
        self, model: str, *, positives: Nodes, negatives: Nodes = (), top: int = 20
    ) -> list[LabelWeight]:
        """Known labels that speak for the novel one, then those against it."""
        body = {"positives": list(positives), "negatives": list(negatives), "top": top}
        return self._service.post(RelateAnswer, f"/models/{_part(model)}/relate", body).labels

    def suggest(
        self,
        model: str,
        number: int = 10,
        *,
        positives: Nodes,
        negatives: Nodes = (),
        prior: float | None = None,
    ) -> list[SuggestedNode]:
        """What to label next, the most helpful first."""
        body = _examples(positives, negatives, prior) | {"number": number}
        return self._service.post(SuggestAnswer, f"/models/{_part(model)}/suggest", body).nodes

    def map(
        self,
        model: str,
        nodes: Nodes,
        *,
        positives: Nodes,
        negatives: Nodes = (),
        prior: float | None = None,
    ) -> MapAnswer:
        """Where the examples and some nodes lie, before and after."""
        body = _examples(positives, negatives, prior) | {"nodes": list(nodes)}
        return self._service.post(MapAnswer, f"/models/{_part(model)}/map", body)

    def ego(
        self,
        model: str,
        nodes: Nodes,
        *,
        positives: Nodes = (),
        negatives: Nodes = (),
        max_nodes: int = 60,
        prior: float | None = None,
    ) -> EgoAnswer:
        """The graph around some nodes."""
        body = _examples(positives, negatives, prior)
        body |= {"nodes": list(nodes), "max_nodes": max_nodes}
        return self._service.post(EgoAnswer, f"/models/{_part(model)}/ego", body)

    def export(
        self,
        model: str,
        *,
        positives: Nodes,
        negatives: Nodes = (),
        candidates: Nodes | None = None,
        top: int | None = None,
        offset: int = 0,
        prior: float | None = None,
        threshold: float | None = None,
        filter: RowFilter | dict[str, Any] | None = None,
        format: Literal["csv", "parquet", "json"] = "csv",
    ) -> bytes:
        """The rows that `rank` has, all of them unless `top` is given, as the bytes of a file."""
        body = _table(positives, negatives, prior, threshold, candidates, top, offset, filter)
        place = f"/models/{_part(model)}/export"
        return self._service.send("POST", place, json=body, params={"format": format}).content

    def projects(self, *, deleted: bool = False, model: str | None = None) -> list[ProjectSummary]:
        """All label projects, or those that were deleted; `project` has the examples of one."""
        found: list[ProjectSummary] = []
        query = {"deleted": deleted} | ({} if model is None else {"model": model})
        while True:
            page = self._service.get(Projects, "/projects", **query, offset=len(found))
            found += page.projects
            if not page.projects or len(found) >= page.num_projects:
                return found

    def purge_projects(self) -> int:
        """Remove every deleted project for good; how many there were."""
        return read(Purged, self._service.send("POST", "/projects/purge").content).num_purged

    def project(self, project: str) -> Project:
        """The newest version of a project."""
        return self._service.get(Project, f"/projects/{_part(project)}")

    def create_project(
        self,
        name: str,
        model: str,
        *,
        positives: Nodes = (),
        negatives: Nodes = (),
        notes: str = "",
    ) -> Project:
        """A new project."""
        body = {
            "name": name,
            "model": model,
            "positives": list(positives),
            "negatives": list(negatives),
            "notes": notes,
        }
        return self._service.post(Project, "/projects", body)

    def save_project(self, project: Project) -> Project:
        """The project as it is given; `ConflictError` if it is not the newest version."""
        sent = self._service.send(
            "PUT", f"/projects/{project.id}", json=project.model_dump(mode="json")
        )
        return read(Project, sent.content)

    def undo(self, project: Project) -> Project:
        """The project as it was before its last change."""
        return self._service.post(
            Project, f"/projects/{project.id}/undo", {"version": project.version}
        )

    def redo(self, project: Project) -> Project:
        """The project as it was before the last undo."""
        return self._service.post(
            Project, f"/projects/{project.id}/redo", {"version": project.version}
        )

    def delete_project(self, project: Project) -> Project:
        """The project, marked as deleted."""
        place = f"/projects/{project.id}"
        sent = self._service.send("DELETE", place, params={"version": project.version})
        return read(Project, sent.content)

    def restore_project(self, project: str) -> Project:
        """The project, deleted no more."""
        return read(
            Project, self._service.send("POST", f"/projects/{_part(project)}/restore").content
        )

    def history(self, project: str) -> ProjectHistory:
        """Every version of a project, the newest first."""
        return self._service.get(ProjectHistory, f"/projects/{_part(project)}/history")

    def project_csv(self, project: str) -> str:
        """The project's examples as CSV."""
        return self._service.send("GET", f"/projects/{_part(project)}/csv").text

    def import_project(self, name: str, model: str, csv: str) -> Project:
        """A new project from CSV."""
        sent = self._service.send(
            "POST",
            "/projects/import",
            params={"name": name, "model": model},
            content=csv.encode(),
            headers={"Content-Type": "text/csv"},
        )
        return read(Project, sent.content)


def _examples(positives: Nodes, negatives: Nodes, prior: float | None) -> dict[str, Any]:
    return {"positives": list(positives), "negatives": list(negatives), "prior": prior}


def _table(
    positives: Nodes,
    negatives: Nodes,
    prior: float | None,
    threshold: float | None,
    candidates: Nodes | None,
    top: int | None,
    offset: int,
    filter: RowFilter | dict[str, Any] | None,
) -> dict[str, Any]:
    return _examples(positives, negatives, prior) | {
        "threshold": threshold,
        "candidates": None if candidates is None else list(candidates),
        "top": top,
        "offset": offset,
        "filter": filter.model_dump() if isinstance(filter, RowFilter) else filter,
    }


def _part(text: str) -> str:
    """A name as one part of a path."""
    return quote(text, safe="")
