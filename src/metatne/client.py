"""Ask a running `metatne serve` from Python, with the library's own exceptions.

from metatne.client import Client

with Client("http://127.0.0.1:8000") as client:
    answer = client.rank("town", positives=["ann", "bob"], negatives=["dan"])
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote

from pydantic import ValidationError

from metatne.errors import (
    ConflictError,
    GraphError,
    InputError,
    MetaTNEError,
    MissingExtraError,
    ModelFormatError,
    ProjectError,
    ServiceError,
    SupportError,
    UnknownNodeError,
)
from metatne.service.answers import (
    Answer,
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

try:
    import httpx
except ImportError as error:
    raise MissingExtraError(
        "httpx is not installed, and the client needs it: pip install 'metatne[client]'"
    ) from error

Given = TypeVar("Given", bound=Answer)
Nodes = Sequence[NodeId]
Progress = Callable[[int, int], None]


class Client:
    """A service at an address; used in a `with`, or closed by hand."""

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 60.0) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout)

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
        self._http.close()

    def is_ready(self) -> bool:
        """Whether the service answers questions yet."""
        try:
            return self._http.get("/ready").status_code == 200
        except httpx.TransportError:
            return False

    def models(self) -> list[ModelFacts]:
        """Every model, and what it can be asked."""
        return self._get(Models, "/models").models

    def find_nodes(self, model: str, text: str, *, limit: int = 20) -> FoundNodes:
        """Nodes whose name begins with the text, then those that have it."""
        return self._get(FoundNodes, f"/models/{_part(model)}/nodes", q=text, limit=limit)

    def find_labels(self, model: str, text: str = "", *, limit: int = 20) -> FoundLabels:
        """Known labels whose name begins with the text, then those that have it."""
        return self._get(FoundLabels, f"/models/{_part(model)}/labels", q=text, limit=limit)

    def node(self, model: str, node: NodeId) -> NodeCard:
        """What is known of a node."""
        return self._get(NodeCard, f"/models/{_part(model)}/node", id=str(node))

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
            return self._post(RankAnswer, place, body)
        return self._stream(RankAnswer, place, body, progress)

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
        return self._post(ExplainAnswer, f"/models/{_part(model)}/explain", body)

    def relate(
        self, model: str, *, positives: Nodes, negatives: Nodes = (), top: int = 20
    ) -> list[LabelWeight]:
        """Known labels that speak for the novel one, then those against it."""
        body = {"positives": list(positives), "negatives": list(negatives), "top": top}
        return self._post(RelateAnswer, f"/models/{_part(model)}/relate", body).labels

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
        return self._post(SuggestAnswer, f"/models/{_part(model)}/suggest", body).nodes

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
        return self._post(MapAnswer, f"/models/{_part(model)}/map", body)

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
        return self._post(EgoAnswer, f"/models/{_part(model)}/ego", body)

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
        return self._send("POST", place, json=body, params={"format": format}).content

    def projects(self, *, deleted: bool = False, model: str | None = None) -> list[ProjectSummary]:
        """All label projects, or those that were deleted; `project` has the examples of one."""
        found: list[ProjectSummary] = []
        query = {"deleted": deleted} | ({} if model is None else {"model": model})
        while True:
            page = self._get(Projects, "/projects", **query, offset=len(found))
            found += page.projects
            if not page.projects or len(found) >= page.num_projects:
                return found

    def purge_projects(self) -> int:
        """Remove every deleted project for good; how many there were."""
        return _read(Purged, self._send("POST", "/projects/purge").content).num_purged

    def project(self, project: str) -> Project:
        """The newest version of a project."""
        return self._get(Project, f"/projects/{_part(project)}")

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
        return self._post(Project, "/projects", body)

    def save_project(self, project: Project) -> Project:
        """The project as it is given; `ConflictError` if it is not the newest version."""
        sent = self._send("PUT", f"/projects/{project.id}", json=project.model_dump(mode="json"))
        return _read(Project, sent.content)

    def undo(self, project: Project) -> Project:
        """The project as it was before its last change."""
        return self._post(Project, f"/projects/{project.id}/undo", {"version": project.version})

    def redo(self, project: Project) -> Project:
        """The project as it was before the last undo."""
        return self._post(Project, f"/projects/{project.id}/redo", {"version": project.version})

    def delete_project(self, project: Project) -> Project:
        """The project, marked as deleted."""
        place = f"/projects/{project.id}"
        sent = self._send("DELETE", place, params={"version": project.version})
        return _read(Project, sent.content)

    def restore_project(self, project: str) -> Project:
        """The project, deleted no more."""
        return _read(Project, self._send("POST", f"/projects/{_part(project)}/restore").content)

    def history(self, project: str) -> ProjectHistory:
        """Every version of a project, the newest first."""
        return self._get(ProjectHistory, f"/projects/{_part(project)}/history")

    def project_csv(self, project: str) -> str:
        """The project's examples as CSV."""
        return self._send("GET", f"/projects/{_part(project)}/csv").text

    def import_project(self, name: str, model: str, csv: str) -> Project:
        """A new project from CSV."""
        sent = self._send(
            "POST",
            "/projects/import",
            params={"name": name, "model": model},
            content=csv.encode(),
            headers={"Content-Type": "text/csv"},
        )
        return _read(Project, sent.content)

    def _get(self, kind: type[Given], place: str, **query: Any) -> Given:
        return _read(kind, self._send("GET", place, params=query).content)

    def _post(self, kind: type[Given], place: str, body: dict[str, Any]) -> Given:
        return _read(kind, self._send("POST", place, json=body).content)

    def _send(self, method: str, place: str, **options: Any) -> httpx.Response:
        try:
            response = self._http.request(method, f"/api/v1{place}", **options)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        if not response.is_success or _is_page(response):
            raise _error_of(response.content, response)
        return response

    def _stream(
        self, kind: type[Given], place: str, body: dict[str, Any], progress: Progress
    ) -> Given:
        headers = {"Accept": "text/event-stream"}
        try:
            with self._http.stream(
                "POST", f"/api/v1{place}", json=body, headers=headers
            ) as response:
                if not response.is_success or _is_page(response):
                    raise _error_of(response.read(), response)
                for name, data in _events(_lines(response.iter_text())):
                    if name == "progress":
                        told = json.loads(data)
                        progress(told["done"], told["total"])
                    elif name == "error":
                        raise _error_of(data.encode(), response)
                    else:
                        return _read(kind, data.encode())
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        raise ServiceError("the service ended the answer before its result; ask again")

    def _unreachable(self, error: httpx.TransportError) -> ServiceError:
        return ServiceError(
            f"there is no answer from {self._http.base_url}: {error or type(error).__name__}; "
            "is `metatne serve` running there?"
        )


def _read(kind: type[Given], content: bytes) -> Given:
    """An answer of the service; anything else may come from whatever stands before it."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise ServiceError(
            f"expected an answer of metatne, found {content[:60]!r}; is there a proxy in between, "
            "or a service of another version?"
        ) from error


def _is_page(response: httpx.Response) -> bool:
    """A page of HTML, such as a proxy shows to whoever has to log in."""
    kind: str = response.headers.get("content-type", "")
    return kind.startswith("text/html")


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


def _lines(parts: Iterator[str]) -> Iterator[str]:
    """Lines as the service ends them; `iter_lines` ends them at U+2028 in a name as well."""
    pending: list[str] = []
    for part in parts:
        first, *others = part.split("\n")
        pending.append(first)
        for line in others:
            yield "".join(pending)
            pending = [line]


def _events(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """The name and data of each event in a stream."""
    name, data = "", ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data = line.removeprefix("data: ")
        elif not line and name:
            yield name, data
            name, data = "", ""


def _error_of(content: bytes, response: httpx.Response) -> MetaTNEError:
    """The exception that the library would have raised."""
    try:
        body = json.loads(content)
        code, message = body["error"]["code"], body["error"]["message"]
    except (ValueError, KeyError, TypeError):
        kind = response.headers.get("content-type", "no content type")
        return ServiceError(
            f"expected an answer of metatne, found status {response.status_code} with {kind}; "
            "is there a proxy in between?"
        )
    if code == "conflict" and body.get("theirs") is not None:
        yours, theirs = (Project.model_validate(body[side]) for side in ("yours", "theirs"))
        return ConflictError(message, yours=yours, theirs=theirs)
    if code == "unknown_node":
        return _unknown_node(message)
    if code in ("overloaded", "loading", "storage", "cancelled", "internal"):
        wait = response.headers.get("retry-after", "")
        return ServiceError(message, retry_after=float(wait) if wait.isdecimal() else None)
    return _KINDS.get(code, InputError)(message)


def _unknown_node(message: str) -> UnknownNodeError:
    """With the service's message, since which nodes it would suggest stands there."""
    error = UnknownNodeError({})
    error.args = (message,)
    return error


_KINDS: dict[str, type[InputError]] = {
    "bad_support": SupportError,
    "unknown_model": ModelFormatError,
    "unknown_project": ProjectError,
    "no_graph": GraphError,
}
