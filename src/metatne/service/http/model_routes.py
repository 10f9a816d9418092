"""Routes about models: what they are, their nodes, and every question that can be asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from metatne.parallel import Progress
from metatne.service.answers import (
    Answer,
    EgoAnswer,
    ExplainAnswer,
    FoundLabels,
    FoundNodes,
    MapAnswer,
    ModelFacts,
    Models,
    NodeCard,
    RankAnswer,
    RelateAnswer,
    SuggestAnswer,
)
from metatne.service.egos import draw_ego
from metatne.service.exports import FORMATS, export_ranking
from metatne.service.http.asking import EVENTS, answer, run, stream
from metatne.service.http.documented import OF_QUESTIONS, OF_READING, errors
from metatne.service.http.problems import Json
from metatne.service.limits import MAX_FOUND, MAX_ID_LENGTH, MAX_QUERY_LENGTH
from metatne.service.maps import draw_map
from metatne.service.questions import (
    EgoQuestion,
    Examples,
    ExplainQuestion,
    ExportQuestion,
    MapQuestion,
    PriorExamples,
    RankQuestion,
    RelateQuestion,
    SuggestQuestion,
)
from metatne.service.reasons import explain_node, relate_labels, suggest_nodes
from metatne.service.refusals import Refusal
from metatne.service.scoring import Question, resolve_question
from metatne.service.state import ServiceState

MODELS = "Models, nodes and labels"
QUESTIONS = "Questions"

PartOfName = Annotated[str, Query(max_length=MAX_QUERY_LENGTH, description="Part of a name.")]
MostFound = Annotated[int, Query(ge=1, le=MAX_FOUND)]


def model_routes(state: ServiceState) -> APIRouter:
    """The routes over the models of a service."""
    router = APIRouter(prefix="/api/v1/models")
    catalogue, jobs, desk = state.catalogue, state.jobs, state.desk

    async def ask(
        model: str,
        body: Examples,
        request: Request,
        work: Callable[[Question, Progress], Answer],
    ) -> Response:
        """What `work` finds for the examples, which are looked up beside the event loop too."""
        served = catalogue.get(model)
        prior = body.prior if isinstance(body, PriorExamples) else None

        def resolve_and_work(progress: Progress) -> Answer:
            return work(resolve_question(served, body, prior=prior), progress)

        return await answer(request, jobs, resolve_and_work)

    @router.get("", tags=[MODELS], response_model=Models, responses=errors())
    async def models() -> Response:
        """Every model, and what it can be asked."""
        catalogue.check_ready()
        facts: list[ModelFacts] = [served.facts() for served in catalogue.all()]
        return Json(Models(models=facts))

    @router.get("/{model}/nodes", tags=[MODELS], response_model=FoundNodes, responses=OF_READING)
    async def nodes(model: str, q: PartOfName = "", limit: MostFound = 20) -> Response:
        """Nodes whose name begins with the text, then those that have it; in any case."""
        return Json(await run_in_threadpool(catalogue.get(model).find_nodes, q, limit))

    @router.get("/{model}/labels", tags=[MODELS], response_model=FoundLabels, responses=OF_READING)
    async def labels(model: str, q: PartOfName = "", limit: MostFound = 20) -> Response:
        """Known labels by name, as nodes are found, with the number of nodes that hold each."""
        return Json(await run_in_threadpool(catalogue.get(model).find_labels, q, limit))

    @router.get("/{model}/node", tags=[MODELS], response_model=NodeCard, responses=OF_READING)
    async def node(
        model: str,
        id: Annotated[str, Query(min_length=1, max_length=MAX_ID_LENGTH)],
    ) -> Response:
        """What is known of a node; ids that are integers are given as text too."""
        served = catalogue.get(model)

        def card() -> NodeCard:
            try:
                return served.card(served.position(id, "id"))
            except Refusal as refusal:
                refusal.status = 404  # here the node is what is asked for
                raise

        return Json(await run_in_threadpool(card))

    @router.post("/{model}/rank", tags=[QUESTIONS], response_model=RankAnswer, responses=OF_RANK)
    async def rank(model: str, body: RankQuestion, request: Request) -> Response:
        """The nodes by how likely they hold the novel label.

        With `Accept: text/event-stream`, events `progress` while it goes on, then `result` or
        `error`.
        """
        served = catalogue.get(model)

        def work(progress: Progress) -> RankAnswer:
            started = time.perf_counter()
            question = resolve_question(served, body, prior=body.prior, candidates=body.candidates)
            ranking = desk.rank(question, progress).decided_at(body.threshold)
            found = ranking.page(body.filter, body.offset, body.top)
            found.seconds = round(time.perf_counter() - started, 4)
            return found

        is_stream = EVENTS in request.headers.get("accept", "")
        return await (stream if is_stream else answer)(request, jobs, work)

    @router.post(
        "/{model}/explain", tags=[QUESTIONS], response_model=ExplainAnswer, responses=OF_QUESTIONS
    )
    async def explain(model: str, body: ExplainQuestion, request: Request) -> Response:
        """Why a node has its probability: parts that add up to its log-odds."""
        return await ask(
            model, body, request, lambda found, told: explain_node(desk, found, body.node, told)
        )

    @router.post(
        "/{model}/relate", tags=[QUESTIONS], response_model=RelateAnswer, responses=OF_QUESTIONS
    )
    async def relate(model: str, body: RelateQuestion, request: Request) -> Response:
        """Which known labels speak for the novel one, and which against it."""
        return await ask(
            model, body, request, lambda found, told: relate_labels(desk, found, body.top, told)
        )

    @router.post(
        "/{model}/suggest", tags=[QUESTIONS], response_model=SuggestAnswer, responses=OF_QUESTIONS
    )
    async def suggest(model: str, body: SuggestQuestion, request: Request) -> Response:
        """What to label next, the most helpful first."""
        return await ask(
            model, body, request, lambda found, told: suggest_nodes(desk, found, body.number, told)
        )

    @router.post("/{model}/map", tags=[QUESTIONS], response_model=MapAnswer, responses=OF_QUESTIONS)
    async def map_(model: str, body: MapQuestion, request: Request) -> Response:
        """Where the examples and some nodes lie, before and after the examples were given."""

        def work(question: Question, progress: Progress) -> MapAnswer:
            nodes = question.served.positions(body.nodes, "nodes")
            return draw_map(desk, question, nodes, progress)

        return await ask(model, body, request, work)

    @router.post("/{model}/ego", tags=[QUESTIONS], response_model=EgoAnswer, responses=OF_QUESTIONS)
    async def ego(model: str, body: EgoQuestion, request: Request) -> Response:
        """The graph around some nodes; with positives, its nodes have probabilities.

        Negatives or a prior without positives are refused: they would change nothing.
        """
        served = catalogue.get(model)

        def work(progress: Progress) -> EgoAnswer:
            _ = served.needed_graph
            ranking = None
            positives = negatives = np.empty(0, dtype=np.int64)
            if body.positives or body.negatives or body.prior is not None:
                examples = Examples(positives=body.positives, negatives=body.negatives)
                question = resolve_question(served, examples, prior=body.prior)
                positives, negatives = question.support.positives, question.support.negatives
                ranking = desk.rank(question, progress)
            asked = served.positions(body.nodes, "nodes")
            return draw_ego(served, asked, positives, negatives, ranking, body.max_nodes)

        return await answer(request, jobs, work)

    @router.post("/{model}/export", tags=[QUESTIONS], response_class=Response, responses=OF_EXPORT)
    async def export(
        model: str,
        body: ExportQuestion,
        request: Request,
        format: Annotated[Literal["csv", "parquet", "json"], Query()] = "csv",
    ) -> Response:
        """The ranking as a file; a spreadsheet that opens the CSV runs none of it."""
        served = catalogue.get(model)

        def work(progress: Progress) -> bytes:
            question = resolve_question(served, body, prior=body.prior, candidates=body.candidates)
            ranking = desk.rank(question, progress).decided_at(body.threshold)
            return export_ranking(ranking, body.filter, body.offset, body.top, format)

        data = await run(request, jobs, lambda job: work(job.report))
        name = f"ranking.{format}"
        return Response(
            data,
            media_type=FORMATS[format].media_type,
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    return router


OF_RANK = OF_QUESTIONS | {
    200: {
        "model": RankAnswer,
        "description": "A page of the table; as events if `text/event-stream` is accepted.",
        "content": {EVENTS: {"schema": {"type": "string"}}},
    }
}
OF_EXPORT = OF_QUESTIONS | {
    200: {
        "description": "The file.",
        "content": {
            kind.media_type.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}
            for kind in FORMATS.values()
        },
    }
}
