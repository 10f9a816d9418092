"""Routes about label projects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from metatne.service.answers import Answer, Project, ProjectHistory, Projects, Purged
from metatne.service.http.asking import beside
from metatne.service.http.documented import Responses, errors
from metatne.service.http.problems import Json, as_json
from metatne.service.limits import MAX_NAME_LENGTH, MAX_PROJECTS
from metatne.service.project_csv import read_examples, write_examples
from metatne.service.project_nodes import check_size, checked_content, graph_of
from metatne.service.questions import INT64_END, AtVersion, ProjectChange, ProjectContent
from metatne.service.state import ServiceState

PROJECTS = "Label projects"
ModelName = Annotated[str, Query(min_length=1, max_length=MAX_NAME_LENGTH)]
OF_NEW = errors(400, 404, 413, 415, 422)
OF_ONE = errors(404, 422)
OF_CHANGE = errors(400, 404, 413, 415, 422, conflict=True)


def project_routes(state: ServiceState) -> APIRouter:
    """The routes over the label projects of a service."""
    router = APIRouter(prefix="/api/v1/projects", tags=[PROJECTS])
    projects, catalogue, jobs = state.projects, state.catalogue, state.project_jobs

    async def answer(work: Callable[[], Answer], status: int = 200) -> Response:
        """What `work` finds; JSON is made in its thread too, since examples may be thousands."""
        return Json(await beside(jobs, lambda: as_json(work())), status)

    @router.get("", response_model=Projects, responses=errors(422))
    async def list_projects(
        deleted: bool = False,
        model: ModelName | None = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PROJECTS)] = 100,
        offset: Annotated[int, Query(ge=0, le=INT64_END)] = 0,
    ) -> Response:
        """The projects that are there, or those that were deleted; the last changed first."""
        return await answer(
            lambda: projects.all(deleted=deleted, model=model, limit=limit, offset=offset)
        )

    @router.post("", status_code=201, response_model=Project, responses=OF_NEW)
    async def create(body: ProjectContent) -> Response:
        """A new project."""

        def work() -> Project:
            content = checked_content(catalogue, body)
            return projects.create(content, graph=graph_of(catalogue, content))

        return await answer(work, 201)

    @router.post(
        "/import",
        status_code=201,
        response_model=Project,
        responses=OF_NEW,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"text/csv": {"schema": {"type": "string"}}},
            }
        },
    )
    async def import_csv(
        request: Request,
        name: Annotated[str, Query(min_length=1, max_length=MAX_NAME_LENGTH)],
        model: ModelName,
    ) -> Response:
        """A new project from CSV: a node and `holds` or `lacks` on each line."""
        data = await request.body()

        def work() -> Project:
            positives, negatives = read_examples(catalogue.get(model), data)
            content = ProjectContent(
                name=name, model=model, positives=positives, negatives=negatives
            )
            check_size(content)
            graph = graph_of(catalogue, content)
            return projects.create(content, graph=graph, what="imported")

        return await answer(work, 201)

    @router.post("/purge", response_model=Purged, responses=errors())
    async def purge() -> Response:
        """Remove every deleted project for good, with its history; this cannot be undone."""
        return await answer(projects.purge)

    @router.get("/{project}", response_model=Project, responses=OF_ONE)
    async def get(project: str) -> Response:
        """The newest version of a project, deleted or not."""
        return await answer(lambda: projects.get(project))

    @router.put("/{project}", response_model=Project, responses=OF_CHANGE)
    async def change(project: str, body: ProjectChange) -> Response:
        """The whole project anew, with the version that was read."""

        def work() -> Project:
            before = projects.get(project)
            content = checked_content(catalogue, body, before=before)
            graph = graph_of(catalogue, content, before=before)
            return projects.change(project, content, body.version, graph=graph)

        return await answer(work)

    @router.post("/{project}/undo", response_model=Project, responses=OF_CHANGE)
    async def undo(project: str, body: AtVersion) -> Response:
        """The project as it was before its last change, as a new version."""
        return await answer(lambda: projects.undo(project, body.version))

    @router.post("/{project}/redo", response_model=Project, responses=OF_CHANGE)
    async def redo(project: str, body: AtVersion) -> Response:
        """The project as it was before the last undo, as a new version."""
        return await answer(lambda: projects.redo(project, body.version))

    @router.delete("/{project}", response_model=Project, responses=errors(404, 422, conflict=True))
    async def delete(project: str, version: Annotated[int, Query(ge=1, le=INT64_END)]) -> Response:
        """The project, marked as deleted; it can be restored."""
        return await answer(lambda: projects.delete(project, version))

    @router.post("/{project}/restore", response_model=Project, responses=OF_ONE)
    async def restore(project: str) -> Response:
        """The project, deleted no more."""
        return await answer(lambda: projects.restore(project))

    @router.get("/{project}/history", response_model=ProjectHistory, responses=OF_ONE)
    async def history(project: str) -> Response:
        """Every version of a project, the newest first."""
        return await answer(lambda: projects.history(project))

    @router.get("/{project}/csv", response_class=Response, responses=OF_ONE | OF_CSV)
    async def csv(project: str) -> Response:
        """The project's examples as CSV: a node and `holds` or `lacks` on each line."""

        def work() -> tuple[str, str]:
            found = projects.get(project)
            return found.name, write_examples(found.positives, found.negatives)

        called, text = await beside(jobs, work)
        name = re.sub(r"[^A-Za-z0-9]+", "-", called).strip("-") or "project"
        return Response(
            text,
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
        )

    return router


OF_CSV: Responses = {
    200: {"description": "CSV.", "content": {"text/csv": {"schema": {"type": "string"}}}}
}
