"""Requests and answers as the interface describes them; only opened where FastAPI is installed."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    WithJsonSchema,
    model_validator,
)  # fmt: skip

from edgnn.serve._limits import LONGEST_SMILES

LONGEST_NAME = 10_000
_LONGEST_LABEL = 100
_LARGEST = 2**53
_LARGEST_FEATURE = 1e38  # of those that models compute with

_T = TypeVar("_T")


def _is_number(value: Any, largest: float = math.inf) -> bool:
    return (type(value) is int and -_LARGEST <= value <= _LARGEST) or (type(value) is float and -largest < value < largest)


def _is_plain(value: Any) -> bool:
    if type(value) is str:
        return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
    return value is None or type(value) is bool or _is_number(value)


def _label(value: Any) -> Any:
    if _is_plain(value) or (type(value) is list and len(value) <= _LONGEST_LABEL and all(map(_is_plain, value))):
        return value
    raise ValueError(
        f"a label is a text, a number of up to 2**53, true, false, null, or a list of up to {_LONGEST_LABEL} of these"
    )


def _number(value: Any) -> Any:
    if _is_number(value, _LARGEST_FEATURE):
        return value
    raise ValueError(f"write a number below {_LARGEST_FEATURE:g}, whole ones of up to 2**53")


_NUMBERS: list[dict[str, Any]] = [{"type": "integer", "minimum": -_LARGEST, "maximum": _LARGEST}, {"type": "number"}]
_PLAIN: list[dict[str, Any]] = [{"type": "boolean"}, *_NUMBERS, {"type": "string"}, {"type": "null"}]
_LIST = {"type": "array", "items": {"anyOf": _PLAIN}, "maxItems": _LONGEST_LABEL}

#: All that is wrong with a long list would take far more room than the list: the first is told.
Items = Annotated[list[_T], Field(fail_fast=True)]
Label = Annotated[Any, PlainValidator(_label), WithJsonSchema({"anyOf": [*_PLAIN, _LIST]})]
Node = Annotated[StrictInt, Field(ge=0, lt=2**31)]
Number = Annotated[
    Any,
    PlainValidator(_number),
    WithJsonSchema({"type": "number", "exclusiveMinimum": -_LARGEST_FEATURE, "exclusiveMaximum": _LARGEST_FEATURE}),
]
Edge = Annotated[Items[Label], Field(min_length=2, max_length=3)]
Smiles = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_SMILES)]
Name = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_NAME)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        """Name one field that there is not, of any number."""
        strange = next((name for name in given if name not in cls.model_fields), None) if isinstance(given, dict) else None
        if strange is not None:
            raise ValueError(f"there is no field {str(strange)[:100]!r}; there are {', '.join(cls.model_fields)}")
        return given


class GraphIn(_Request):
    """A directed graph with labels.

    Nodes are numbered from 0 in the order of their labels; a bond of a molecule is two edges, one each way.
    """

    node_labels: Items[Label] | None = Field(None, description="One label per node, of the types the model was trained with.")
    edges: Items[Edge] = Field(description="[source, target] or [source, target, label]; all edges with a label, or none.")
    num_nodes: Node | None = Field(None, description="Where nodes have no labels: how many there are.")
    node_features: Items[Items[Number]] | None = Field(None, description="One row of numbers per node.")
    edge_features: Items[Items[Number]] | None = Field(None, description="One row of numbers per edge.")
    node_names: Items[Name] | None = Field(None, description="What nodes are called; for models of nodes.")
    name: Name | None = Field(None, description="What the graph is called.")


class PredictRequest(_Request):
    """What to predict for: exactly one of ``smiles``, ``graphs``, ``nodes`` and ``examples``."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"smiles": ["CCO", "c1ccccc1[N+](=O)[O-]"]}]})

    smiles: Annotated[Items[Smiles], Field(min_length=1)] | None = Field(
        None, description="Molecules, for models of molecules."
    )
    graphs: Annotated[Items[GraphIn], Field(min_length=1)] | None = Field(None, description="Graphs of your own.")
    nodes: Annotated[Items[Name], Field(min_length=1)] | None = Field(
        None, description="For models of nodes: names of nodes, of the graph that is loaded or of the one graph in `graphs`."
    )
    examples: Annotated[Items[Name], Field(min_length=1)] | None = Field(
        None, description="For models of graphs: names of graphs of the data that is loaded; see GET /names."
    )
    bad: Literal["error", "skip"] = Field(
        "error", description="What to do with a SMILES that cannot be read: refuse, or skip it."
    )

    @model_validator(mode="after")
    def _one(self) -> PredictRequest:
        given = [name for name in ("smiles", "graphs", "nodes", "examples") if getattr(self, name) is not None]
        if len(given) != 1 and given != ["graphs", "nodes"]:
            raise ValueError(
                f"give exactly one of smiles, graphs, nodes and examples, not {' and '.join(given) or 'none of them'}"
            )
        return self


class OneRequest(_Request):
    """One molecule, graph or node: exactly one of ``smiles``, ``graph``, ``node`` and ``example``."""

    smiles: Smiles | None = None
    graph: GraphIn | None = None
    node: Name | None = Field(None, description="For models of nodes; of the graph that is loaded, or of `graph`.")
    example: Name | None = None

    @model_validator(mode="after")
    def _one(self) -> OneRequest:
        given = [name for name in ("smiles", "graph", "node", "example") if getattr(self, name) is not None]
        if len(given) != 1 and given != ["graph", "node"]:
            raise ValueError(
                f"give exactly one of smiles, graph, node and example, not {' and '.join(given) or 'none of them'}"
            )
        return self


class ExplainRequest(OneRequest):
    """What to explain."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"smiles": "c1ccccc1[N+](=O)[O-]"}]})

    target: Name | None = Field(None, description="The class to explain; default: the predicted one.")
    counter_example: StrictBool = Field(False, description="Look for the smallest change that turns the prediction over, too.")


class ColorsRequest(OneRequest):
    """What to color."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"smiles": "CCO"}]})

    rounds: Annotated[StrictInt, Field(ge=0, le=10)] | None = Field(
        None, description="Default: as many as the model has layers."
    )


class Problem(BaseModel):
    """What went wrong: the element, the rule, and the way out."""

    error: str


class FamiliarityOut(BaseModel):
    """Whether an item is unlike the training data."""

    first_new_round: int | None = Field(
        description="First round with a color that no training item has; null where all are known."
    )
    seen_share: list[float] = Field(description="By round: share of the nodes whose color occurs in the training data.")


class PredictionOut(BaseModel):
    """What the model says about one item."""

    id: str | int
    graph: str | int | None = Field(None, description="Of nodes of several graphs: which graph.")
    text: str | None = Field(None, description="What people call it, of items of the loaded data.")
    prediction: Any = Field(description="The class, or a list of labels (0 or 1), or a value, or several.")
    probabilities: list[float | None] | None = Field(description="In the order of `classes`; null from models of values.")
    uncertainty: dict[str, float | list[float | None] | None] = Field(
        description="total_entropy and mutual_information in nats, std of the members of an ensemble by class."
    )
    familiarity: FamiliarityOut | None = Field(description="null where the run does not know what it has seen.")
    unseen_labels: int = Field(description="Nodes and edges whose label the model has not learned: they count for nothing.")


class SkippedOut(BaseModel):
    """A SMILES that was left out."""

    index: int
    input: str
    error: str


class PredictResponse(BaseModel):
    """Predictions, in the order of the request."""

    task: Literal["classes", "labels", "values"]
    classes: list[str]
    predictions: list[PredictionOut]
    skipped: list[SkippedOut] = Field(description="What could not be read, with bad=skip.")


class ReasonOut(BaseModel):
    """One of the strongest contributions."""

    kind: str
    words: str
    contribution: float | None


class ChangeOut(BaseModel):
    """A changed graph that the model answers differently about."""

    words: list[str]
    prediction: Any
    probabilities: list[float | None] | None
    smallest: bool = Field(description="Whether all smaller changes were tried, and none turned the prediction over.")
    pictures: list[str] = Field(description="SVG of the graph before and after, with what is changed outlined.")


class ExplainResponse(BaseModel):
    """Which nodes, edges and labels a prediction rests on."""

    prediction: Any
    target: str
    value: float | None = Field(description="What is explained: the log-odds of the target class, or the value.")
    reasons: list[ReasonOut]
    picture: str = Field(description="SVG; of a large graph, the part that matters.")
    counter_example: ChangeOut | None
    searched: bool = Field(description="Whether a counter-example was looked for.")


class ColorOut(BaseModel):
    """One color of a round."""

    fill: str = Field(description="How it is drawn.")
    count: int
    meaning: str
    seen: bool | None = Field(description="Whether the training data has it.")


class RoundOut(BaseModel):
    """One round of color refinement."""

    round: int
    colors: int
    seen: bool | None = Field(description="Whether the training data has all these colors; of a node: its own.")
    new_nodes: int | None = Field(description="Nodes whose color the training data has not.")
    meaning: str | None = Field(description="Of a node: what its color stands for.")
    legend: list[ColorOut] = Field(description="Of a graph: its colors, the most frequent first.")
    picture: str | None


class ColorsResponse(BaseModel):
    """The colors of the nodes, round by round."""

    scheme: str
    rounds: list[RoundOut]


class NamesResponse(BaseModel):
    """Names of nodes or graphs."""

    source: str | None
    total: int
    names: list[str]
    texts: list[str] = Field(description="What people call them, in the same order.")


class Health(BaseModel):
    """Whether the server is there."""

    status: Literal["ok"]
    waiting: int


class Version(BaseModel):
    """Versions."""

    edgnn: str
    python: str
    torch: str


class ModelOut(BaseModel):
    """What the model is."""

    run: str
    estimator: str
    level: Literal["graph", "node"]
    task: Literal["classes", "labels", "values"]
    classes: list[str]
    members: int
    layers: int
    conv: str
    trained_on: str | None = Field(description="The data it was trained on.")
    trained_items: int | None
    judged: dict[str, Any] | None = Field(description="Which part it was judged on, and the metrics of that.")
    node_labels: list[Any] = Field(description="Labels it has learned; the first thousand.")
    edge_labels: list[Any]
    node_label_kind: Literal["label", "degree", "name"] = Field(description="What it takes for labels of nodes.")
    node_features: int
    edge_features: int
    smiles: bool = Field(description="Whether molecules can be given as SMILES.")
    familiarity: bool = Field(description="Whether it knows what it has seen in training.")
    source: str | None = Field(description="The data that is loaded, whose nodes or graphs can be picked by name.")
    source_items: int
    limits: dict[str, float]
