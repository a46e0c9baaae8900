"""Bodies: JSON is kept as it arrives, and understood by the thread that answers; the loop waits only while it is parsed."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError, WrapValidator
from starlette.exceptions import HTTPException

from edgnn.serve._limits import LONGEST_LINES, Deadline, Limits

_T = TypeVar("_T", bound=BaseModel)
_LISTS = {"smiles": "molecules", "graphs": "graphs", "nodes": "nodes", "examples": "graphs"}

#: Marks a body that the interface describes, but that :func:`understood` is to look into.
AS_SENT = WrapValidator(lambda given, _: given)


@dataclass(frozen=True, eq=False)
class _Unread:
    content: bytes


class _Request(Request):
    async def json(self) -> Any:
        return _Unread(await self.body())

    def form(self, **limits: Any) -> Any:
        """Read a form whose fields may be as long as the interface says, in letters of up to four bytes."""
        return super().form(**({"max_part_size": 4 * LONGEST_LINES} | limits))


class Route(APIRoute):
    """A route that leaves JSON unread."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            return await handle(_Request(request.scope, request.receive))

        return answer


def understood(given: Any, kind: type[_T], limits: Limits, deadline: Deadline) -> _T:
    """Return a body as the request that it is, or raise what FastAPI itself would.

    Parameters
    ----------
    given : object
        What a route got for a body that is marked with :data:`AS_SENT`.
    kind : type
        The model of the request.
    limits : Limits
        How much it may ask for.
    deadline : Deadline
        Looked at between the steps.
    """
    with _UNCOLLECTED:
        if isinstance(given, _Unread):
            given = _parsed(given.content)
            deadline.check()
        _check_amount(given, limits)
        try:
            found = kind.model_validate(given, from_attributes=True)
        except ValidationError as error:
            told = [
                problem | {"loc": ("body", *problem["loc"])}
                for problem in error.errors(include_url=False)
            ]
            raise RequestValidationError(told) from None
    deadline.check()
    return found


class _Uncollected:
    """A while without the collector: it would go through all lists of a body again and again, and all threads would wait."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, True

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._before:
                gc.enable()


_UNCOLLECTED = _Uncollected()


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise HTTPException(
            400, f"the body is no JSON: {error.msg} at character {error.pos}"
        ) from None
    except (ValueError, RecursionError):
        raise HTTPException(400, "There was an error parsing the body") from None


def _check_amount(given: Any, limits: Limits) -> None:
    """Raise where there is far too much, before each item is looked at."""
    if not isinstance(given, dict):
        return
    for field, what in _LISTS.items():
        if isinstance(given.get(field), list):
            limits.check_items(len(given[field]), what)
    graphs = [
        graph
        for graph in (*_list(given.get("graphs")), given.get("graph"))
        if isinstance(graph, dict)
    ]
    nodes, edges = (
        sum(len(_list(graph.get(field))) for graph in graphs) for field in ("node_labels", "edges")
    )
    limits.check_sizes(nodes, edges)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
