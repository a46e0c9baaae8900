"""Requests as the interface describes them; only opened where FastAPI is installed."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    WithJsonSchema,
    model_validator,
)

from edgnn.serve._limits import LONGEST_SMILES

LONGEST_NAME = 10_000
_LONGEST_LABEL = 100
_LARGEST = 2**53
_LARGEST_FEATURE = 1e38  # of those that models compute with

_T = TypeVar("_T")


def _is_number(value: Any, largest: float = math.inf) -> bool:
    return (type(value) is int and -_LARGEST <= value <= _LARGEST) or (
        type(value) is float and -largest < value < largest
    )


def _is_plain(value: Any) -> bool:
    if type(value) is str:
        return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
    return value is None or type(value) is bool or _is_number(value)


def _label(value: Any) -> Any:
    if _is_plain(value) or (
        type(value) is list and len(value) <= _LONGEST_LABEL and all(map(_is_plain, value))
    ):
        return value
    raise ValueError(
        f"a label is a text, a number of up to 2**53, true, false, null, or a list of up to {_LONGEST_LABEL} of these"
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


_NUMBERS: list[dict[str, Any]] = [
    {"type": "integer", "minimum": -_LARGEST, "maximum": _LARGEST},
    {"type": "number"},
]
_PLAIN: list[dict[str, Any]] = [
    {"type": "boolean"},
    *_NUMBERS,
    {"type": "string"},
    {"type": "null"},
]
_LIST = {"type": "array", "items": {"anyOf": _PLAIN}, "maxItems": _LONGEST_LABEL}
_LABEL: dict[str, Any] = {"anyOf": [*_PLAIN, _LIST]}
_NODE = {"type": "integer", "minimum": 0, "exclusiveMaximum": 2**31}

#: All that is wrong with a long list would take far more room than the list: the first is told.
Items = Annotated[list[_T], Field(fail_fast=True)]
Label = Annotated[Any, PlainValidator(_label), WithJsonSchema(_LABEL)]
Node = Annotated[StrictInt, Field(ge=0, lt=2**31), BeforeValidator(_whole)]
Number = Annotated[
    Any,
    PlainValidator(_number),
    WithJsonSchema(
        {
            "type": "number",
            "exclusiveMinimum": -_LARGEST_FEATURE,
            "exclusiveMaximum": _LARGEST_FEATURE,
        }
    ),
]
Edge = Annotated[
    Items[Label],
    Field(min_length=2, max_length=3),
    BeforeValidator(_with_whole_ends),
    WithJsonSchema(
        {"type": "array", "prefixItems": [_NODE, _NODE, _LABEL], "minItems": 2, "maxItems": 3}
    ),
]
Smiles = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_SMILES)]
Name = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_NAME)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        """Name one field that there is not, of any number."""
        strange = (
            next((name for name in given if name not in cls.model_fields), None)
            if isinstance(given, dict)
            else None
        )
        if strange is not None:
            raise ValueError(
                f"there is no field {str(strange)[:100]!r}; there are {', '.join(cls.model_fields)}"
            )
        return given


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
        None, description="What nodes are called; for models of nodes."
    )
    name: Name | None = Field(None, description="What the graph is called.")


class PredictRequest(_Request):
    """What to predict for: exactly one of ``smiles``, ``graphs``, ``nodes`` and ``examples``."""

    smiles: Annotated[Items[Smiles], Field(min_length=1)] | None = Field(
        None, description="Molecules, for models of molecules."
    )
    graphs: Annotated[Items[GraphIn], Field(min_length=1)] | None = Field(
        None, description="Graphs of your own."
    )
    nodes: Annotated[Items[Name], Field(min_length=1)] | None = Field(
        None,
        description="For models of nodes: names of nodes, of the graph that is loaded or of the one graph in `graphs`.",
    )
    examples: Annotated[Items[Name], Field(min_length=1)] | None = Field(
        None,
        description="For models of graphs: names of graphs of the data that is loaded; see GET /names.",
    )
    bad: Literal["error", "skip"] = Field(
        "error", description="What to do with a SMILES that cannot be read: refuse, or skip it."
    )

    @model_validator(mode="after")
    def _one(self) -> PredictRequest:
        given = [
            name
            for name in ("smiles", "graphs", "nodes", "examples")
            if getattr(self, name) is not None
        ]
        if len(given) != 1 and given != ["graphs", "nodes"]:
            raise ValueError(
                f"give exactly one of smiles, graphs, nodes and examples, not {' and '.join(given) or 'none of them'}"
            )
        return self


class OneRequest(_Request):
    """One molecule, graph or node: exactly one of ``smiles``, ``graph``, ``node`` and ``example``."""

    smiles: Smiles | None = None
    graph: GraphIn | None = None
    node: Name | None = Field(
        None, description="For models of nodes; of the graph that is loaded, or of `graph`."
    )
    example: Name | None = None

    @model_validator(mode="after")
    def _one(self) -> OneRequest:
        given = [
            name
            for name in ("smiles", "graph", "node", "example")
            if getattr(self, name) is not None
        ]
        if len(given) != 1 and given != ["graph", "node"]:
            raise ValueError(
                f"give exactly one of smiles, graph, node and example, not {' and '.join(given) or 'none of them'}"
            )
        return self


class ExplainRequest(OneRequest):
    """What to explain."""

    target: Name | None = Field(
        None, description="The class to explain; default: the predicted one."
    )
    counter_example: StrictBool = Field(
        False, description="Look for the smallest change that turns the prediction over, too."
    )


class ColorsRequest(OneRequest):
    """What to color."""

    rounds: Annotated[StrictInt, Field(ge=0, le=10), BeforeValidator(_whole)] | None = Field(
        None, description="Default: as many as the model has layers."
    )
