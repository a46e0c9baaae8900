"""What run folders keep of models: parameters as JSON, arrays and graphs as tensors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

import numpy as np
import torch
from torch import Tensor

from edgnn._json import parsed
from edgnn._words import short
from edgnn.errors import RunError
from edgnn.graphs import Graphs, Nodes
from edgnn.models._coder import Coder
from edgnn.models._items import Items, graphs_of, positions_of
from edgnn.models._targets import Encoding
from edgnn.nn import LayerKind
from edgnn.training import decode_value, decode_vocabulary, encode_value, encode_vocabulary

_T = TypeVar("_T")
_Array = np.ndarray[Any, Any]

_GRAPH_ARRAYS = (
    "node_label",
    "edge_source",
    "edge_target",
    "edge_label",
    "graph_offset",
    "node_features",
    "edge_features",
    "graph_features",
)
_ATTRIBUTES = ("node_attributes", "edge_attributes")
_NAMES = ("node_names", "graph_names")
_COLUMN_NAMES = ("node_attribute_names", "edge_attribute_names", "graph_feature_names")
#: As ``dtype.str`` writes it; numpy reads many other spellings, some of them with warnings.
_CLASS_TYPE = re.compile(r"[<>|][biufUSO]\d{0,8}")


# Parameters


def encode_parameter(name: str, value: Any) -> Any:
    """Return a parameter of a model as JSON."""
    if hasattr(value, "get_params"):
        return {"estimator": type(value).__name__, "parameters": encode_parameters(value)}
    if isinstance(value, Mapping):
        return [[encode_value(key), float(weight)] for key, weight in value.items()]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    try:
        return encode_value(_as_tuple(value))
    except RunError:
        raise RunError(
            f"the parameter {name}={short(value)} is a {type(value).__name__}, which a run folder "
            "cannot store: use text, numbers, truth values, None or tuples of them"
        ) from None


def encode_parameters(model: Any) -> dict[str, Any]:
    """Return all parameters of a model as JSON; of a ``RandomState``, the seed drawn from it."""
    parameters = model.get_params(deep=False)
    if isinstance(parameters.get("random_state"), np.random.RandomState):
        parameters["random_state"] = getattr(model, "_seed", None)
    if "conv" in parameters:
        parameters["conv"] = LayerKind.of(parameters["conv"]).stored_name
    return {name: encode_parameter(name, value) for name, value in parameters.items()}


def decode_parameters(stored: Mapping[str, Any], nested: Any) -> dict[str, Any]:
    """Return the parameters that :func:`encode_parameters` stored.

    Parameters
    ----------
    stored : mapping
        What was stored.
    nested : callable
        Makes the model of a stored class name and parameters, for models inside models.
    """
    parameters: dict[str, Any] = {}
    for name, value in stored.items():
        if isinstance(value, dict) and "estimator" in value:
            parameters[name] = nested(value["estimator"], value["parameters"])
        elif name == "class_weight" and isinstance(value, list):
            parameters[name] = {decode_value(key): weight for key, weight in value}
        else:
            parameters[name] = decode_value(value)
    return parameters


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list | tuple) else value


# Arrays and graphs


def pack_text(value: Any) -> Tensor:
    """Return a JSON value as bytes: thousands of names would make ``config.json`` unreadable."""
    return torch.tensor(bytearray(json.dumps(value, allow_nan=False).encode()), dtype=torch.uint8)


def unpack_text(stored: Tensor) -> Any:
    """Return the value that :func:`pack_text` stored."""
    return parsed(stored.numpy().tobytes())


def pack_items(items: Items, prefix: str = "items.") -> dict[str, Tensor]:
    """Return graphs, or nodes with their graphs, as tensors."""
    graphs = graphs_of(items)
    tensors = {name: getattr(graphs, name) for name in _GRAPH_ARRAYS}
    tensors |= {name: _narrow(getattr(graphs, name)) for name in _ATTRIBUTES}
    tensors["nodes"] = positions_of(items)
    texts: dict[str, Any] = {
        "node_labels": encode_vocabulary(graphs.node_vocabulary),
        "edge_labels": encode_vocabulary(graphs.edge_vocabulary),
    }
    for name in _NAMES:
        names = getattr(graphs, name)
        if names is not None:
            texts[name] = [encode_value(value) for value in names.tolist()]
    for name in _COLUMN_NAMES:
        if columns := getattr(graphs, name):
            texts[name] = list(columns)
    tensors["texts"] = pack_text(texts)
    return {f"{prefix}{name}": value for name, value in tensors.items() if value is not None}


def unpack_items(tensors: Mapping[str, Tensor], prefix: str = "items.") -> Items:
    """Return the items that :func:`pack_items` stored; arrays that make no graphs are an error."""
    texts = unpack_text(tensors[f"{prefix}texts"])
    arrays: dict[str, Any] = {name: tensors.get(f"{prefix}{name}") for name in _GRAPH_ARRAYS}
    for name in _ATTRIBUTES:
        stored = tensors.get(f"{prefix}{name}")
        arrays[name] = None if stored is None else _widened(stored)
    names: dict[str, Any] = {name: _objects(texts[name]) for name in _NAMES if name in texts}
    names |= {name: tuple(texts[name]) for name in _COLUMN_NAMES if name in texts}
    graphs = Graphs(
        node_vocabulary=decode_vocabulary(texts["node_labels"]),
        edge_vocabulary=decode_vocabulary(texts["edge_labels"]),
        **arrays,
        **names,
    )
    index = tensors.get(f"{prefix}nodes")
    return graphs if index is None else Nodes(graphs, index)


def _narrow(array: Tensor | None) -> Tensor | None:
    """Return whole numbers in the smallest type that holds them; attributes are small numbers."""
    if array is None or not array.numel():
        return array
    low, high = int(array.min()), int(array.max())
    for dtype in (torch.int8, torch.int16, torch.int32):
        bounds = torch.iinfo(dtype)
        if bounds.min <= low and high <= bounds.max:
            return array.to(dtype)
    return array


def _widened(array: Tensor) -> Tensor:
    if array.dtype not in (torch.int8, torch.int16, torch.int32, torch.int64):
        raise ValueError(f"attributes are whole numbers, not {array.dtype}")
    return array.to(torch.int64)


def pack_fields(record: Any, prefix: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the fields of a dataclass: arrays as tensors, all others as JSON.

    Those of a dataclass inside it have the name of its field before theirs.
    """
    facts: dict[str, Any] = {}
    tensors: dict[str, Tensor] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if is_dataclass(value):
            facts[field.name], inner = pack_fields(value, f"{prefix}{field.name}.")
            tensors |= inner
        elif isinstance(value, np.ndarray | np.generic):
            tensors[f"{prefix}{field.name}"] = to_tensor(value)
        elif isinstance(value, dict):
            facts[field.name] = {key: encode_value(entry) for key, entry in value.items()}
        else:
            facts[field.name] = encode_value(value)
    return facts, tensors


def unpack_fields(
    kind: type[_T], facts: Mapping[str, Any], tensors: Mapping[str, Tensor], prefix: str
) -> _T:
    """Return the dataclass that :func:`pack_fields` stored."""
    values: dict[str, Any] = {}
    types = get_type_hints(kind)
    for field in fields(kind):  # type: ignore[arg-type]
        name = field.name
        if is_dataclass(types[name]):
            inner: Any = types[name]
            values[name] = unpack_fields(inner, facts[name], tensors, f"{prefix}{name}.")
        elif f"{prefix}{name}" in tensors:
            values[name] = tensors[f"{prefix}{name}"].numpy()
        elif name == "chosen" and isinstance(facts[name], dict):
            values[name] = {key: decode_value(entry) for key, entry in facts[name].items()}
        elif field.type == "float":
            values[name] = float(facts[name])
        else:
            values[name] = decode_value(facts[name])
    return kind(**values)


def to_tensor(array: Any) -> Tensor:
    """Return an array of numbers as a tensor of its own."""
    return torch.from_numpy(np.array(array, order="C"))


# Labels and targets


def coder_facts(coder: Coder) -> dict[str, Any]:
    """Return how labels are numbered, as JSON."""
    return {
        "node_labels": encode_vocabulary(coder.node_vocabulary),
        "edge_labels": encode_vocabulary(coder.edge_vocabulary),
        "node_features": coder.node_features,
        "edge_features": coder.edge_features,
        "degree_labels": coder.degree_labels,
        "multiplicity": coder.multiplicity,
        "identity": coder.identity,
    }


def coder_from(facts: Mapping[str, Any]) -> Coder:
    """Return the coder that :func:`coder_facts` stored."""
    widths = facts["node_features"], facts["edge_features"]
    if not all(type(width) is int for width in widths):
        raise ValueError(f"{short(widths)} are no numbers of features")
    for name, choices in (
        ("degree_labels", (None, "in", "out", "both")),
        ("multiplicity", ("once", "per-edge")),
    ):
        if facts[name] not in choices:
            raise ValueError(f"{name} is {short(facts[name])}, which is none of {choices}")
    return Coder(
        decode_vocabulary(facts["node_labels"]),
        decode_vocabulary(facts["edge_labels"]),
        *widths,
        facts["degree_labels"],
        facts["multiplicity"],
        bool(facts.get("identity", False)),
    )


def encoding_facts(encoding: Encoding) -> dict[str, Any]:
    """Return what the targets are, as JSON."""
    return {
        "task": encoding.task,
        "classes": [encode_value(value) for value in encoding.classes.tolist()],
        "class_type": _narrow_type(encoding.classes).str,
        "flat": encoding.flat,
        "outputs": encoding.outputs,
    }


def encoding_from(facts: Mapping[str, Any]) -> Encoding:
    """Return the encoding that :func:`encoding_facts` stored."""
    classes, task, outputs = _objects(facts["classes"]), facts["task"], facts["outputs"]
    if task not in ("classes", "labels", "values") or type(outputs) is not int:
        raise ValueError(f"{short(task)} with {short(outputs)} outputs is no kind of targets")
    if len(classes) != (0 if task == "values" else outputs):
        raise ValueError(f"there are {len(classes)} classes for {outputs} outputs")
    kind = _class_type(facts["class_type"], classes)
    return Encoding(task, classes.astype(kind), bool(facts["flat"]), outputs)


def _objects(stored: list[Any]) -> _Array:
    values: _Array = np.empty(len(stored), dtype=object)
    values[:] = [decode_value(value) for value in stored]
    return values


def _narrow_type(classes: _Array) -> np.dtype[Any]:
    """Return the type of the classes; of texts, one that is no wider than they are."""
    kind: np.dtype[Any] = classes.dtype
    if kind.kind in "US":
        kind = np.array(classes.tolist(), dtype=kind.kind).dtype
    return kind


def _class_type(stored: Any, classes: _Array) -> np.dtype[Any]:
    """Return the type of the classes; one that takes far more memory than they need is refused."""
    lengths = [len(value) for value in classes if isinstance(value, str | bytes)]
    longest = 4 * max(8, *lengths, 0)
    if isinstance(stored, str) and _CLASS_TYPE.fullmatch(stored):
        kind = np.dtype(stored)
        if kind.itemsize <= longest:
            return kind
    raise ValueError(f"{short(stored)} is no type of classes")
