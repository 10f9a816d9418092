"""The service put together: routes inside, the guard around them, the log around all."""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import version

from fastapi import FastAPI, Security
from fastapi.security import HTTPBearer
from starlette.types import ASGIApp

from metatne.service.http.guard import LOOPBACK, Guard
from metatne.service.http.metrics import Metrics
from metatne.service.http.model_routes import model_routes
from metatne.service.http.operation_routes import operation_routes
from metatne.service.http.page_files import PageFiles
from metatne.service.http.problems import install
from metatne.service.http.project_routes import project_routes
from metatne.service.http.request_log import RequestLog
from metatne.service.state import ServiceState

OPENAPI = "/api/v1/openapi.json"


def make_app(
    state: ServiceState,
    *,
    token: str | None = None,
    hosts: Collection[str] | None = LOOPBACK,
    page: PageFiles | None = None,
) -> ASGIApp:
    """An ASGI application over the state; with a `token`, only for those who have it."""
    api = make_api(state, page, has_token=token is not None)
    return RequestLog(Guard(api, token=token, hosts=hosts), api.state.metrics)


def make_api(
    state: ServiceState, page: PageFiles | None = None, *, has_token: bool = False
) -> FastAPI:
    """The routes alone, as the OpenAPI document has them; the guard asks for the token."""
    api = FastAPI(
        title="MetaTNE",
        summary="Rank every node of a graph for a new label, from a handful of examples.",
        version=version("metatne"),
        openapi_url=OPENAPI,
        docs_url=None,  # they would come from somebody else's server
        redoc_url=None,
        redirect_slashes=False,
    )
    install(api)
    api.state.metrics = Metrics(state.jobs, state.desk)
    documented = [Security(HTTPBearer(auto_error=False, scheme_name="token"))] if has_token else []
    api.include_router(model_routes(state), dependencies=documented)
    api.include_router(project_routes(state), dependencies=documented)
    api.include_router(operation_routes(state, api.state.metrics, page or PageFiles()))
    return api
