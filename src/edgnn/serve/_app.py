"""The web application: one route per question, errors as one sentence."""

from __future__ import annotations

import json
import platform
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Annotated, Any, Literal

import torch
from fastapi import FastAPI, Form, Query, Request, Response, UploadFile
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

import edgnn
from edgnn.errors import EdgnnError
from edgnn.report import STYLE
from edgnn.serve import _requests as ask
from edgnn.serve import _schemas as schema
from edgnn.serve._bodies import AS_SENT, Route, understood
from edgnn.serve._guard import Guard
from edgnn.serve._leaving import Leaving
from edgnn.serve._limits import LONGEST_LINES, RETRY_SECONDS, Busy, Deadline, Limits, TooLarge
from edgnn.serve._model import Served
from edgnn.serve._openapi import fitted
from edgnn.serve._words import sentence_of
from edgnn.serve._work import Item, Work
from edgnn.serve._workers import Workers

_CSV = {"text/csv": {"schema": {"type": "string"}}}
_ABOUT = (
    "Predictions of one trained model, with uncertainty, explanations, and whether an item is unlike the training data. "
    'Every error is `{"error": "one sentence"}`: 413 for too much at once, 422 for what cannot be read, 503 for busy.'
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
Place = Annotated[
    int,
    Form(
        ge=0,
        le=2**31,
        description="Which graph or node, counted from 0 as /predict/file answers them.",
    ),
]
Target = Annotated[
    str | None, Form(description="The class to explain.", max_length=ask.LONGEST_NAME)
]
Rounds = Annotated[
    int | None, Form(ge=0, le=10, description="Default: as many as the model has layers.")
]


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    words = {
        400: "not understood",
        403: "not from here",
        408: "too slow",
        413: "too much",
        422: "cannot be used",
        503: "busy",
    }
    return {
        status: {"model": schema.Problem, "description": words[status]}
        for status in (403, *statuses)
    }


_BODY = _problems(400, 408, 413, 422, 503)


def build(served: Served, limits: Limits, hosts: Collection[str] | None) -> FastAPI:
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
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        workers.close()

    app = FastAPI(
        title=f"edgnn: {served.path.name}",
        version=edgnn.__version__,
        description=_ABOUT,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.workers = workers
    app.router.route_class = Route
    work = Work(served, limits)
    _add_errors(app)
    _add_about(app, served, limits, workers)
    _add_predictions(app, work, workers, limits)
    _add_explanations(app, work, workers, limits)
    _add_page(app)
    _fit_description(app, served, limits)
    app.add_middleware(Leaving)
    app.add_middleware(Guard, limits=limits, hosts=hosts)
    return app


def _fit_description(app: FastAPI, served: Served, limits: Limits) -> None:
    """Have the interface described as this model has it."""
    general = app.openapi

    def described() -> dict[str, Any]:
        return general() if app.openapi_schema else fitted(general(), served, limits)

    app.openapi = described  # type: ignore[method-assign]


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(EdgnnError)
    async def ours(_: Request, error: EdgnnError) -> Response:
        if isinstance(error, Busy):
            return _problem(503, str(error), {"Retry-After": RETRY_SECONDS})
        return _problem(413 if isinstance(error, TooLarge) else 422, str(error))

    @app.exception_handler(MemoryError)
    async def full(_: Request, error: MemoryError) -> Response:
        return _problem(
            503,
            "there is too little memory for this; send less at once",
            {"Retry-After": RETRY_SECONDS},
        )

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> Response:
        return _problem(422, sentence_of(error))

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        words = {
            404: f"there is no {request.url.path[:100]}; see /openapi.json",
            405: "this address takes another method",
        }
        return _problem(
            error.status_code,
            words.get(error.status_code, str(error.detail)),
            dict(error.headers or {}),
        )


def _add_about(app: FastAPI, served: Served, limits: Limits, workers: Workers) -> None:
    described = served.describe(limits)

    @app.get(
        "/health",
        response_model=schema.Health,
        responses=_problems(),
        summary="Is the server there?",
    )
    async def health() -> Response:
        return _json({"status": "ok", "waiting": workers.waiting})

    @app.get(
        "/version",
        response_model=schema.Version,
        responses=_problems(),
        summary="Which versions are these?",
    )
    async def version() -> Response:
        return _json(
            {
                "edgnn": edgnn.__version__,
                "python": platform.python_version(),
                "torch": torch.__version__,
            }
        )

    @app.get(
        "/model",
        response_model=schema.ModelOut,
        responses=_problems(),
        summary="What is the model?",
    )
    async def model() -> Response:
        return _json(described)

    @app.get(
        "/names",
        response_model=schema.NamesResponse,
        responses=_problems(422, 503),
        summary="Which nodes or graphs of the loaded data have such a name?",
    )
    async def names(
        search: Annotated[str, Query(max_length=1000, description="A part of the name.")] = "",
        limit: Annotated[int, Query(ge=1, le=200)] = 20,
    ) -> Response:
        catalog = served.catalog
        if catalog is None:
            return _json({"source": None, "total": 0, "names": [], "texts": []})
        found = await workers.run(lambda _: catalog.search(search, limit))
        told = {
            "names": [catalog.names[place] for place in found],
            "texts": [catalog.text(place) for place in found],
        }
        return _json({"source": catalog.title, "total": len(catalog), **told})


def _add_predictions(app: FastAPI, work: Work, workers: Workers, limits: Limits) -> None:
    described: dict[int | str, dict[str, Any]] = {200: {"content": _CSV}, **_BODY}

    @app.post(
        "/predict", response_model=schema.PredictResponse, responses=described, summary="Predict"
    )
    async def predict(
        request: Annotated[ask.PredictRequest, AS_SENT], format: Format = "json"
    ) -> Response:
        def answer(deadline: Deadline) -> Response:
            asked = understood(request, ask.PredictRequest, limits, deadline)
            return _table(work.predict(asked, deadline, format), format)

        return await workers.run(answer)

    @app.post(
        "/predict/file",
        response_model=schema.PredictResponse,
        responses=described,
        summary="Predict for a file",
    )
    async def predict_file(
        files: list[UploadFile], nodes: Lines = None, bad: Bad = "error", format: Format = "json"
    ) -> Response:
        uploads = _uploads(files)

        def answer(deadline: Deadline) -> Response:
            return _table(
                work.predict_files(uploads, nodes, deadline, format, skip=bad == "skip"), format
            )

        return await workers.run(answer)


def _add_explanations(app: FastAPI, work: Work, workers: Workers, limits: Limits) -> None:
    @app.post(
        "/explain",
        response_model=schema.ExplainResponse,
        responses=_BODY,
        summary="Why this prediction?",
    )
    async def explain(request: Annotated[ask.ExplainRequest, AS_SENT]) -> Response:
        def answer(deadline: Deadline) -> Response:
            asked = understood(request, ask.ExplainRequest, limits, deadline)
            return _json(
                work.explain(
                    Item(request=asked), asked.target, deadline, change=asked.counter_example
                )
            )

        return await workers.run(answer, "explain")

    @app.post(
        "/explain/file",
        response_model=schema.ExplainResponse,
        responses=_BODY,
        summary="Why, for an item of a file?",
    )
    async def explain_file(
        files: list[UploadFile],
        item: Place = 0,
        target: Target = None,
        counter_example: Annotated[bool, Form()] = False,
        bad: Bad = "error",
    ) -> Response:
        chosen = Item(uploads=_uploads(files), place=item, skip=bad == "skip")
        return await workers.run(
            lambda deadline: _json(work.explain(chosen, target, deadline, change=counter_example)),
            "explain",
        )

    @app.post(
        "/colors",
        response_model=schema.ColorsResponse,
        responses=_BODY,
        summary="Colors, round by round",
    )
    async def colors(request: Annotated[ask.ColorsRequest, AS_SENT]) -> Response:
        def answer(deadline: Deadline) -> Response:
            asked = understood(request, ask.ColorsRequest, limits, deadline)
            return _json(work.colors(Item(request=asked), asked.rounds, deadline))

        return await workers.run(answer, "explain")

    @app.post(
        "/colors/file",
        response_model=schema.ColorsResponse,
        responses=_BODY,
        summary="Colors, for an item of a file",
    )
    async def colors_file(
        files: list[UploadFile], item: Place = 0, rounds: Rounds = None, bad: Bad = "error"
    ) -> Response:
        chosen = Item(uploads=_uploads(files), place=item, skip=bad == "skip")
        return await workers.run(
            lambda deadline: _json(work.colors(chosen, rounds, deadline)), "explain"
        )


def _add_page(app: FastAPI) -> None:
    own = files("edgnn.serve")
    parts = {
        "/": (own.joinpath("page.html").read_bytes(), "text/html; charset=utf-8"),
        "/parts.js": (own.joinpath("parts.js").read_bytes(), "text/javascript; charset=utf-8"),
        "/app.js": (own.joinpath("app.js").read_bytes(), "text/javascript; charset=utf-8"),
        "/app.css": (
            STYLE.encode() + own.joinpath("app.css").read_bytes(),
            "text/css; charset=utf-8",
        ),
        "/icon.svg": (own.joinpath("icon.svg").read_bytes(), "image/svg+xml"),
    }

    def add(path: str, content: bytes, kind: str) -> None:
        @app.get(path, include_in_schema=False)
        async def part() -> Response:
            return Response(content, media_type=kind)

    for path, (content, kind) in parts.items():
        add(path, content, kind)


def _uploads(given: list[UploadFile]) -> list[tuple[str, Any]]:
    return [(file.filename or "", file.file) for file in given]


def _table(found: dict[str, Any] | bytes, format: str) -> Response:
    if format == "csv":
        headers = {"Content-Disposition": 'attachment; filename="predictions.csv"'}
        return Response(found, media_type="text/csv; charset=utf-8", headers=headers)
    return _json(found)


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(text.encode(), status, headers, "application/json")


def _problem(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    return _json({"error": " ".join(sentence.split())}, status, headers)
