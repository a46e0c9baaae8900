"""Answers as the API describes them, and what its description says of the model served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from edgnn.serve._limits import Limits
    from edgnn.serve._model import Served


class Problem(BaseModel):
    """What went wrong: the element, the rule, and how to fix it."""

    error: str


class FamiliarityOut(BaseModel):
    """Whether an item is unlike the training data."""

    first_new_round: int | None = Field(
        description="First round with a color that no training item has; null where all are known."
    )
    seen_share: list[float] = Field(
        description="By round: fraction of the nodes whose color occurs in the training data."
    )


class PredictionOut(BaseModel):
    """What the model says about one item."""

    id: str | int
    graph: str | int | None = Field(None, description="Of nodes of several graphs: which graph.")
    text: str | None = Field(None, description="What people call it, of items of the loaded data.")
    prediction: Any = Field(
        description="The class, or a list of labels (0 or 1), or a value, or several; null where "
        "there is an error."
    )
    probabilities: list[float | None] | None = Field(
        description="In the order of `classes`; null from models of values."
    )
    uncertainty: dict[str, float | list[float | None] | None] = Field(
        description="total_entropy and mutual_information in nats, std of the members of an "
        "ensemble by class; novelty, how unlike the training items it is, from 0 to 1."
    )
    interval: list[float | list[float | None] | None] | None = Field(
        None,
        description="Of values: lower and upper end of an interval that holds the true one nine "
        "times in ten; of several values two lists, null where an end is infinite.",
    )
    set: list[str] | None = Field(
        None, description="Of classes: those that hold the true one nine times in ten."
    )
    familiarity: FamiliarityOut | None = Field(
        description="null where the model does not know what it has seen."
    )
    unseen_labels: int = Field(
        description="Nodes and edges whose label the model has not learned: they count for nothing."
    )
    error: str | None = Field(
        None, description="Why there is no prediction: the output is not a finite number."
    )


class SkippedOut(BaseModel):
    """A molecule that was left out."""

    index: int = Field(
        description="Its position in the list of SMILES, among the rows of a table or the records "
        "of an SD file, from 0."
    )
    input: str = Field(description="Its SMILES, or the title of its record.")
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
    smallest: bool = Field(
        description="Whether all smaller changes were tried, and none turned the prediction over."
    )
    pictures: list[str] = Field(
        description="SVG of the graph before and after, with what is changed outlined."
    )


class ExplainResponse(BaseModel):
    """The explanation of a prediction: which nodes, edges and labels it depends on."""

    prediction: Any
    target: str
    value: float | None = Field(
        description="What is explained: the log-odds of the target class, or the value."
    )
    measure: str = Field(
        description="What `value` is: `log-odds`, `output` of a regressor, `decision` value of a "
        "model without probabilities, or `class`: 1 where the target is predicted, else 0."
    )
    left_out: str = Field(description="What was not tried, as there is too much; mostly empty.")
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
    seen: bool | None = Field(
        description="Whether the training data has all these colors; of a node: its own."
    )
    new_nodes: int | None = Field(description="Nodes whose color the training data has not.")
    meaning: str | None = Field(description="Of a node: what its color stands for.")
    legend: list[ColorOut] = Field(
        description="The colors of the graph, or of a node and its neighbors, the most frequent "
        "first."
    )
    drawn: str | None = Field(description="Of a node: what the picture shows.")
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
    targets: list[str] = Field(description="Columns of the training data that it predicts.")
    members: int
    layers: int | None = Field(description="Of a network; null for other models.")
    conv: str | None
    trained_on: str | None = Field(description="The data it was trained on.")
    trained_items: int | None
    judged: dict[str, Any] | None = Field(
        description="Which set (`part`) it was evaluated on, and the metrics of that."
    )
    node_labels: list[Any] = Field(description="Labels it has learned; the first thousand.")
    edge_labels: list[Any]
    node_label_kind: Literal["label", "degree", "name"] = Field(
        description="What it takes for labels of nodes."
    )
    node_features: int
    edge_features: int
    smiles: bool = Field(description="Whether molecules can be given as SMILES.")
    familiarity: bool = Field(description="Whether it knows what it has seen in training.")
    source: str | None = Field(
        description="The data that is loaded, whose nodes or graphs can be picked by name."
    )
    source_items: int
    limits: dict[str, float] = Field(
        description="What one request may have; bytes, in JSON as many as json says."
    )


# The description of the API, fitted to the model: what it takes, and how much

_MANY = {"smiles": "array", "graphs": "array", "nodes": "array", "examples": "array"}
_ONE = {"smiles": "string", "graph": "object", "node": "string", "example": "string"}


def fit_description(document: dict[str, Any], served: Served, limits: Limits) -> dict[str, Any]:
    """Return FastAPI's OpenAPI document, changed in place to say what this model takes."""
    schemas = document["components"]["schemas"]
    for name in ("PredictRequest", "GraphIn"):
        _add_limits(schemas[name]["properties"], limits)
    for schema in schemas.values():
        if "files" in schema.get("properties", {}):
            _fit_form(schema["properties"], limits)
    schemas["PredictRequest"]["oneOf"] = _choices(served, _MANY)
    for name in ("ExplainRequest", "ColorsRequest"):
        schemas[name]["oneOf"] = _choices(served, _ONE)
    return document


def _add_limits(properties: dict[str, Any], limits: Limits) -> None:
    """Write the limits of lists into the properties of a schema."""
    most = dict.fromkeys(_MANY, limits.items)
    most |= dict.fromkeys(("node_labels", "node_features", "node_names"), limits.nodes)
    most |= dict.fromkeys(("edges", "edge_features"), limits.edges)
    for name in most.keys() & properties.keys():
        schema = properties[name]
        target = schema["anyOf"][0] if "anyOf" in schema else schema  # or null
        target["maxItems"] = most[name]


def _fit_form(properties: dict[str, Any], limits: Limits) -> None:
    """Write the number of files into the schema of a form; forms have no null."""
    properties["files"] |= {"minItems": 1, "maxItems": limits.files}
    for schema in properties.values():
        if "anyOf" in schema:
            schema.update(schema.pop("anyOf")[0])


def _choices(served: Served, types: dict[str, str]) -> list[dict[str, Any]]:
    """Return the ways to name items: the fields of one are given, the others absent or null."""
    smiles, graph, node, example = types
    if served.level == "node":
        choices = [[graph, node]]
        if types is _MANY:
            choices.append([graph])
        if served.catalog:
            choices.append([node])
    else:
        choices = [[graph]]
        if served.smiles:
            choices.append([smiles])
        if served.catalog:
            choices.append([example])
    return [
        {
            "required": fields,
            "properties": {
                name: {"type": kind if name in fields else "null"} for name, kind in types.items()
            },
        }
        for fields in choices
    ]
