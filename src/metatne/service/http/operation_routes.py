"""Routes for those who run the service, and the page."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from metatne.service.http.metrics import Metrics
from metatne.service.http.page_files import INDEX, PageFiles
from metatne.service.http.problems import Json
from metatne.service.state import ServiceState

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def operation_routes(state: ServiceState, metrics: Metrics, page: PageFiles) -> APIRouter:
    """Health, readiness, figures and files; none of them part of the API's document."""
    router = APIRouter(include_in_schema=False)

    @router.get("/health")
    async def health() -> Response:
        """That the process is alive."""
        return Json(b'{"status":"alive"}')

    @router.get("/ready")
    async def ready() -> Response:
        """Whether questions are answered."""
        state.catalogue.check_ready()
        return Json(b'{"status":"ready"}')

    @router.get("/metrics")
    async def figures() -> Response:
        """Figures for Prometheus."""
        return Response(metrics.text(), media_type=PROMETHEUS)

    @router.get("/")
    async def index(request: Request) -> Response:
        """The page."""
        return page.answer(request, INDEX)

    @router.get("/assets/{name:path}")
    async def asset(name: str, request: Request) -> Response:
        """A file of the page."""
        return page.answer(request, f"assets/{name}")

    return router
