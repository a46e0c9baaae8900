"""Requests as the API describes them, from bytes to checked values; errors as one sentence."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from starlette.exceptions import HTTPException

from edgnn._words import short
from edgnn.io import Deadline
from edgnn.serve._limits import LONGEST_LINES, LONGEST_SMILES, Limits

LONGEST_NAME = 10_000
_LONGEST_LABEL = 100
_LARGEST = 2**53
_LARGEST_FEATURE = 1e38  # of those that models compute with
_HALF_LETTER = re.compile("[\ud800-\udfff]")  # of a surrogate pair: no text can hold it

_T = TypeVar("_T")
_M = TypeVar("_M", bound=BaseModel)

# Values


def _is_number(value: Any, largest: float = math.inf) -> bool:
    if type(value) is int:
        return -_LARGEST <= value <= _LARGEST
    return type(value) is float and -largest < value < largest


def _is_plain(value: Any) -> bool:
    if type(value) is str:
        return _HALF_LETTER.search(value) is None
    if value is None or type(value) is bool:
        return True
    return _is_number(value)


def _label(value: Any) -> Any:
    parts = value if type(value) is list else [value]
    if len(parts) <= _LONGEST_LABEL and all(map(_is_plain, parts)):
        return value
    raise ValueError(
        "a label is a text, a number of up to 2**53, true, false, null, "
        f"or a list of up to {_LONGEST_LABEL} of these"
    )


def _whole(value: Any) -> Any:
    """Return 3 for 3.0, which is the same number in JSON."""
    return int(value) if type(value) is float and value.is_integer() else value


def _number(value: Any) -> Any:
    if _is_number(value, _LARGEST_FEATURE):
        return value
    raise ValueError(f"write a number below {_LARGEST_FEATURE:g}, whole ones of up to 2**53")


def _with_whole_ends(edge: Any) -> Any:
    return [*map(_whole, edge[:2]), *edge[2:]] if type(edge) is list else edge


_PLAIN: list[dict[str, Any]] = [
    {"type": "boolean"},
    {"type": "integer", "minimum": -_LARGEST, "maximum": _LARGEST},
    {"type": "number"},
    {"type": "string"},
    {"type": "null"},
]
_LIST = {"type": "array", "items": {"anyOf": _PLAIN}, "maxItems": _LONGEST_LABEL}
_LABEL: dict[str, Any] = {"anyOf": [*_PLAIN, _LIST]}
_NODE = {"type": "integer", "minimum": 0, "exclusiveMaximum": 2**31}
_FEATURE = {
    "type": "number",
    "exclusiveMinimum": -_LARGEST_FEATURE,
    "exclusiveMaximum": _LARGEST_FEATURE,
}
_EDGE = {"type": "array", "prefixItems": [_NODE, _NODE, _LABEL], "minItems": 2, "maxItems": 3}

#: All errors of a long list would take far more room than the list, so checks end at the first.
Items = Annotated[list[_T], Field(fail_fast=True)]
Label = Annotated[Any, PlainValidator(_label), WithJsonSchema(_LABEL)]
Node = Annotated[StrictInt, Field(ge=0, lt=2**31), BeforeValidator(_whole)]
Number = Annotated[Any, PlainValidator(_number), WithJsonSchema(_FEATURE)]
Edge = Annotated[
    Items[Label],
    Field(min_length=2, max_length=3),
    BeforeValidator(_with_whole_ends),
    WithJsonSchema(_EDGE),
]
Smiles = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_SMILES)]
Name = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_NAME)]

# Requests


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_fields(cls, given: Any) -> Any:
        """Name one unknown field, of any number of them."""
        if isinstance(given, dict):
            unknown = next((name for name in given if name not in cls.model_fields), None)
            if unknown is not None:
                fields = ", ".join(cls.model_fields)
                raise ValueError(f"there is no field {str(unknown)[:100]!r}; there are {fields}")
        return given

    def _check_one_of(self, names: tuple[str, ...]) -> None:
        """Raise unless one of these is given, or a graph and its nodes: the second and third."""
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != 1 and given != [names[1], names[2]]:
            choice = f"{', '.join(names[:-1])} and {names[-1]}"
            found = " and ".join(given) or "none of them"
            raise ValueError(f"give exactly one of {choice}, not {found}")


class GraphIn(_Request):
    """A directed graph with labels.

    Nodes are numbered from 0 in the order of their labels; a bond of a molecule is two edges, one
    each way.
    """

    node_labels: Items[Label] | None = Field(
        None, description="One label per node, of the types the model was trained with."
    )
    edges: Items[Edge] = Field(
        description="[source, target] or [source, target, label]; all edges with a label, or none."
    )
    num_nodes: Node | None = Field(
        None, description="Where nodes have no labels: how many there are."
    )
    node_features: Items[Items[Number]] | None = Field(
        None, description="One row of numbers per node."
    )
    edge_features: Items[Items[Number]] | None = Field(
        None, description="One row of numbers per edge."
    )
    node_names: Items[Name] | None = Field(
        None, description="Names of the nodes; for models of nodes."
    )
    name: Name | None = Field(None, description="Name of the graph.")


class PredictRequest(_Request):
    """What to predict for: exactly one of ``smiles``, ``graphs``, ``nodes`` and ``examples``."""

    smiles: Annotated[Items[Smiles], Field(min_length=1)] | None = Field(
        None, description="Molecules, for models of molecules."
    )
    graphs: Annotated[Items[GraphIn], Field(min_length=1)] | None = Field(
        None, description="Graphs, spelled out."
    )
    nodes: Annotated[Items[Name], Field(min_length=1)] | None = Field(
        None,
        description="For models of nodes: names of nodes, of the graph that is loaded or of the "
        "one graph in `graphs`.",
    )
    examples: Annotated[Items[Name], Field(min_length=1)] | None = Field(
        None,
        description="For models of graphs: names of graphs of the data that is loaded; "
        "see GET /names.",
    )
    bad: Literal["error", "skip"] = Field(
        "error", description="What to do with a SMILES that cannot be read: refuse, or skip it."
    )

    @model_validator(mode="after")
    def _check(self) -> PredictRequest:
        self._check_one_of(("smiles", "graphs", "nodes", "examples"))
        return self


class ItemRequest(_Request):
    """One item: exactly one of ``smiles``, ``graph``, ``node`` and ``example``."""

    smiles: Smiles | None = None
    graph: GraphIn | None = None
    node: Name | None = Field(
        None, description="For models of nodes; of the graph that is loaded, or of `graph`."
    )
    example: Name | None = None

    @model_validator(mode="after")
    def _check(self) -> ItemRequest:
        self._check_one_of(("smiles", "graph", "node", "example"))
        return self


class ExplainRequest(ItemRequest):
    """What to explain."""

    target: Name | None = Field(
        None, description="The class to explain; default: the predicted one."
    )
    counter_example: StrictBool = Field(
        False, description="Look for the smallest change that turns the prediction over, too."
    )


class ColorsRequest(ItemRequest):
    """What to color."""

    rounds: Annotated[StrictInt, Field(ge=0, le=10), BeforeValidator(_whole)] | None = Field(
        None, description="Default: as many as the model has layers."
    )


# Bodies: FastAPI would parse and check them in the event loop; that is left to the threads


@dataclass(frozen=True, eq=False)
class _Unread:
    content: bytes


#: Marks a body that the API describes, but that only :func:`parse` looks into.
UNREAD = WrapValidator(lambda given, _: given)


class _BodyRequest(Request):
    async def json(self) -> Any:
        return _Unread(await self.body())

    def form(self, **limits: Any) -> Any:
        """Read a form whose fields may have :data:`LONGEST_LINES` letters of up to four bytes."""
        return super().form(**{"max_part_size": 4 * LONGEST_LINES, **limits})


class BodyRoute(APIRoute):
    """A route that leaves JSON unread."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            return await handle(_BodyRequest(request.scope, request.receive))

        return answer


def parse(given: Any, model: type[_M], limits: Limits, deadline: Deadline) -> _M:
    """Return a body as the request that it is, or raise what FastAPI itself would.

    Parameters
    ----------
    given : object
        What a route got for a body that is marked with :data:`UNREAD`.
    model : type
        The model of the request.
    limits : Limits
        How much it may ask for.
    deadline : Deadline
        Looked at between the steps.
    """
    if isinstance(given, _Unread):
        given = _json(given.content)
        deadline.check()
    _check_amount(given, limits)
    try:
        request = model.model_validate(given)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        located = [entry | {"loc": ("body", *entry["loc"])} for entry in problems]
        raise RequestValidationError(located) from None
    deadline.check()
    return request


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        sentence = f"the body is no JSON: {error.msg} at character {error.pos}"
        raise HTTPException(400, sentence) from None
    except (ValueError, RecursionError):
        raise HTTPException(400, "There was an error parsing the body") from None


_LISTS = {"smiles": "molecules", "graphs": "graphs", "nodes": "nodes", "examples": "graphs"}


def _check_amount(given: Any, limits: Limits) -> None:
    """Raise where there is far too much, before each item is looked at."""
    if not isinstance(given, dict):
        return
    for field, what in _LISTS.items():
        limits.check_items(_length(given.get(field)), what)
    graphs = [given.get("graph")]
    if isinstance(given.get("graphs"), list):
        graphs += given["graphs"]
    nodes = edges = 0
    for graph in graphs:
        if isinstance(graph, dict):
            nodes += _length(graph.get("node_labels"))
            edges += _length(graph.get("edges"))
    limits.check_sizes(nodes, edges)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


# Errors in words


def sentence_of(error: RequestValidationError) -> str:
    """Return the first error of a request: the element, and what is asked there."""
    errors = error.errors()
    first: Mapping[str, Any] = errors[0]
    if tuple(first["loc"]) == ("body",) and first["type"] != "value_error":
        return (
            "the body is no JSON object; send one, with the header Content-Type: application/json"
        )
    element = _element(first["loc"])
    if first["type"] == "string_too_short":
        return f"{element} is empty; write it, or leave it out"
    if first["type"] == "string_too_long":
        given, most = first["input"], first["ctx"]["max_length"]
        return (
            f"{element} ({short(given, 20)}) has {len(given):,} characters, "
            f"but {most:,} are the most; leave it out, or shorten it"
        )
    message = str(first["msg"]).removeprefix("Value error, ")
    others = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{element}: {message}{others}; see /openapi.json for what is asked"


def _element(location: tuple[Any, ...]) -> str:
    """Return what people call an element of a request, or else where it is."""
    match location:
        case ("body", "smiles"):
            return "the SMILES"
        case ("body", "smiles", int(number)):
            return f"SMILES {number}"
        case ("body", "nodes" | "examples" as name, int(number)):
            return f"entry {number} of {name}"
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(steps).lstrip(".")[:200]
