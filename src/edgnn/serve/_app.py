"""The web application: one route per question, errors as one sentence."""

from __future__ import annotations

import logging
import platform
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib.resources import files as resource_files
from typing import Annotated, Any, Literal

import torch
from fastapi import Depends, FastAPI, Form, Query, Request, Response, UploadFile
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

import edgnn
from edgnn.errors import DeadlineError, EdgnnError
from edgnn.io import Deadline
from edgnn.report import STYLE
from edgnn.serve import _schemas as schema
from edgnn.serve._limits import LONGEST_LINES, Busy, ClientGone, Limits, TooLarge, Workers
from edgnn.serve._middleware import SECURITY_HEADERS, BodyLimit, Guard, json_answer, problem
from edgnn.serve._model import Served
from edgnn.serve._requests import (
    LONGEST_NAME,
    UNREAD,
    BodyRoute,
    ColorsRequest,
    ExplainRequest,
    PredictRequest,
    parse,
    sentence_of,
)
from edgnn.serve._work import UploadedItem, Work

_LOG = logging.getLogger(__name__)
_ABOUT = (
    "Predictions of one trained model, with uncertainty, explanations, and whether an item is "
    'unlike the training data. Every error is `{"error": "one sentence"}`: 413 for too much at '
    "once, 422 for what cannot be read, 503 for busy."
)

Bad = Annotated[
    Literal["error", "skip"],
    Form(
        description="What to do with molecules that cannot be read: refuse the file, or skip them."
    ),
]
Format = Annotated[
    Literal["json", "csv"], Query(description="csv: the table that `edgnn predict` prints.")
]
Lines = Annotated[
    str | None,
    Form(
        description="For models of nodes: names, one per line; default: all nodes.",
        max_length=LONGEST_LINES,
    ),
]
ItemNumber = Annotated[
    int,
    Form(
        ge=0,
        le=2**31,
        description="Which graph or node, counted from 0 as /predict/file answers them.",
    ),
]


async def _uploaded_item(
    files: list[UploadFile], item: ItemNumber = 0, bad: Bad = "error"
) -> UploadedItem:
    return UploadedItem(_uploads(files), item, bad == "skip")


Uploaded = Annotated[UploadedItem, Depends(_uploaded_item)]
Target = Annotated[str | None, Form(description="The class to explain.", max_length=LONGEST_NAME)]
Rounds = Annotated[
    int | None, Form(ge=0, le=10, description="Default: as many as the model has layers.")
]

_STATUSES = {
    400: "not understood",
    403: "not from here",
    408: "too slow",
    413: "too much",
    422: "cannot be used",
    503: "busy",
}


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors of routes for their description."""
    return {
        status: {"model": schema.Problem, "description": _STATUSES[status]} for status in statuses
    }


_BODY = _problems(400, 408, 413, 422, 503)
_TABLE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
    **_BODY,
}


def build_app(served: Served, limits: Limits, hosts: Collection[str] | None) -> FastAPI:
    """Return the application.

    Parameters
    ----------
    served : Served
        The model.
    limits : Limits
        What one request may ask for.
    hosts : collection of str, optional
        Names that the server may be asked for by; ``None`` for any.
    """
    workers = Workers(limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workers.close()

    app = FastAPI(
        title=f"edgnn: {served.path.name}",
        version=edgnn.__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses=_problems(403),  # any request may be refused for its host
        separate_input_output_schemas=False,
    )
    app.state.workers = workers
    app.router.route_class = BodyRoute
    work = Work(served, limits)
    _add_errors(app)
    _add_about(app, served, limits, workers)
    _add_predictions(app, work, workers, limits)
    _add_explanations(app, work, workers, limits)
    _add_colors(app, work, workers, limits)
    _add_page(app)
    _fit_description(app, served, limits)
    app.add_middleware(BodyLimit, limits=limits)
    app.add_middleware(Guard, hosts=hosts)
    return app


def _fit_description(app: FastAPI, served: Served, limits: Limits) -> None:
    """Let the API be described as this model has it."""
    general = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        return schema.fit_description(general(), served, limits)

    app.openapi = openapi  # type: ignore[method-assign]


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(EdgnnError)
    async def refused(_: Request, error: EdgnnError) -> Response:
        statuses = {Busy: 503, DeadlineError: 503, TooLarge: 413, ClientGone: 499}
        return problem(statuses.get(type(error), 422), str(error))

    @app.exception_handler(MemoryError)
    async def out_of_memory(_: Request, error: MemoryError) -> Response:
        return problem(503, "there is too little memory for this; send less at once")

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> Response:
        return problem(422, sentence_of(error))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        sentences = {
            404: f"there is no {request.url.path[:100]}; see /openapi.json",
            405: "this address takes another method",
        }
        sentence = sentences.get(error.status_code, str(error.detail))
        return problem(error.status_code, sentence, dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> Response:
        _LOG.error("a request failed", exc_info=error)
        sentence = (
            "the server failed at this request; "
            "the reason stands on the terminal that it was started from"
        )
        # Starlette answers this outside of all middleware, so the headers are set here.
        return problem(500, sentence, SECURITY_HEADERS)


def _add_about(app: FastAPI, served: Served, limits: Limits, workers: Workers) -> None:
    description = served.describe(limits)

    @app.get("/health", response_model=schema.Health)
    async def health() -> Response:
        return json_answer({"status": "ok", "waiting": workers.waiting})

    @app.get("/version", response_model=schema.Version)
    async def version() -> Response:
        return json_answer(
            {
                "edgnn": edgnn.__version__,
                "python": platform.python_version(),
                "torch": torch.__version__,
            }
        )

    @app.get("/model", response_model=schema.ModelOut)
    async def model() -> Response:
        return json_answer(description)

    @app.get("/names", response_model=schema.NamesResponse, responses=_problems(422, 503))
    async def names(
        http: Request,
        search: Annotated[str, Query(max_length=1000, description="A part of the name.")] = "",
        limit: Annotated[int, Query(ge=1, le=200)] = 20,
    ) -> Response:
        catalog = served.catalog
        if catalog is None:
            return json_answer({"source": None, "total": 0, "names": [], "texts": []})
        matches = await workers.run(lambda _: catalog.search(search, limit), http.receive)
        return json_answer(
            {
                "source": catalog.title,
                "total": len(catalog),
                "names": [catalog.names[number] for number in matches],
                "texts": [catalog.text(number) for number in matches],
            }
        )


def _add_predictions(app: FastAPI, work: Work, workers: Workers, limits: Limits) -> None:
    @app.post("/predict", response_model=schema.PredictResponse, responses=_TABLE)
    async def predict(
        http: Request, request: Annotated[PredictRequest, UNREAD], format: Format = "json"
    ) -> Response:
        def answer(deadline: Deadline) -> Response:
            parsed = parse(request, PredictRequest, limits, deadline)
            return _table(work.predict(parsed, deadline, format))

        return await workers.run(answer, http.receive)

    @app.post("/predict/file", response_model=schema.PredictResponse, responses=_TABLE)
    async def predict_file(
        http: Request,
        files: list[UploadFile],
        nodes: Lines = None,
        bad: Bad = "error",
        format: Format = "json",
    ) -> Response:
        uploads = _uploads(files)

        def answer(deadline: Deadline) -> Response:
            skip = bad == "skip"
            return _table(work.predict_files(uploads, nodes, deadline, format, skip=skip))

        return await workers.run(answer, http.receive)


def _add_explanations(app: FastAPI, work: Work, workers: Workers, limits: Limits) -> None:
    @app.post("/explain", response_model=schema.ExplainResponse, responses=_BODY)
    async def explain(http: Request, request: Annotated[ExplainRequest, UNREAD]) -> Response:
        def answer(deadline: Deadline) -> Response:
            item = parse(request, ExplainRequest, limits, deadline)
            change = item.counter_example
            return json_answer(work.explain(item, item.target, deadline, change=change))

        return await workers.run(answer, http.receive, "explain")

    @app.post("/explain/file", response_model=schema.ExplainResponse, responses=_BODY)
    async def explain_file(
        http: Request,
        item: Uploaded,
        target: Target = None,
        counter_example: Annotated[bool, Form()] = False,
    ) -> Response:
        def answer(deadline: Deadline) -> Response:
            return json_answer(work.explain(item, target, deadline, change=counter_example))

        return await workers.run(answer, http.receive, "explain")


def _add_colors(app: FastAPI, work: Work, workers: Workers, limits: Limits) -> None:
    @app.post("/colors", response_model=schema.ColorsResponse, responses=_BODY)
    async def colors(http: Request, request: Annotated[ColorsRequest, UNREAD]) -> Response:
        def answer(deadline: Deadline) -> Response:
            item = parse(request, ColorsRequest, limits, deadline)
            return json_answer(work.colors(item, item.rounds, deadline))

        return await workers.run(answer, http.receive, "explain")

    @app.post("/colors/file", response_model=schema.ColorsResponse, responses=_BODY)
    async def colors_file(http: Request, item: Uploaded, rounds: Rounds = None) -> Response:
        def answer(deadline: Deadline) -> Response:
            return json_answer(work.colors(item, rounds, deadline))

        return await workers.run(answer, http.receive, "explain")


def _add_page(app: FastAPI) -> None:
    page_files = {
        "/": ("page.html", "text/html; charset=utf-8"),
        "/parts.js": ("parts.js", "text/javascript; charset=utf-8"),
        "/app.js": ("app.js", "text/javascript; charset=utf-8"),
        "/app.css": ("app.css", "text/css; charset=utf-8"),
        "/icon.svg": ("icon.svg", "image/svg+xml"),
    }

    def add(path: str, content: bytes, media_type: str) -> None:
        @app.get(path, include_in_schema=False)
        async def page_file() -> Response:
            return Response(content, media_type=media_type)

    for path, (name, media_type) in page_files.items():
        content = resource_files("edgnn.serve").joinpath(name).read_bytes()
        if name == "app.css":
            content = STYLE.encode() + content
        add(path, content, media_type)


def _uploads(files: list[UploadFile]) -> list[tuple[str, Any]]:
    return [(file.filename or "", file.file) for file in files]


def _table(answers: dict[str, Any] | bytes) -> Response:
    if isinstance(answers, bytes):
        headers = {"Content-Disposition": 'attachment; filename="predictions.csv"'}
        return Response(answers, media_type="text/csv; charset=utf-8", headers=headers)
    return json_answer(answers)
