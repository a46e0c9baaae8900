"""The parameters of the estimators with their defaults, and the rules their values keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgnn._rules import FLAG, NOT_NEGATIVE, POSITIVE, RATE, Rules, number, one_of, whole
from edgnn.graphs import Direction, Multiplicity
from edgnn.models._seeds import RANDOM_STATE
from edgnn.nn import ACTIVATIONS


@dataclass(kw_only=True, eq=False, repr=False)
class SharedParameters:
    """Parameters of all estimators; :class:`~edgnn.GraphClassifier` explains each."""

    layers: int = 2
    hidden: int = 64
    conv: Any = "edgnn"
    activation: str = "relu"
    dropout: float = 0.0
    input_dropout: float = 0.0
    batch_norm: bool = False
    bias: bool = False
    embedding: int | None = None
    edge_embedding: int | None = None
    direction: Literal["both", "in"] = "both"
    multiplicity: Multiplicity = "once"
    bases: int | Literal["relations"] | None = None
    degree_labels: Direction | Literal["auto"] | None = None
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    batch_size: int | None = None
    max_epochs: int = 40
    patience: int | None = None
    clip_norm: float | None = None
    validation: float | None = 0.1
    members: int = 1
    unknown: Literal["zero", "silent", "error"] = "zero"
    precision: str = "float32"
    device: str = "cpu"
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False, repr=False)
class GraphParameters(SharedParameters):
    """Further parameters of estimators for whole graphs, and their own defaults."""

    readout: str = "sum"
    include_input: bool = True
    batch_norm: bool = True
    weight_decay: float = 5e-4
    batch_size: int | None = 8


@dataclass(kw_only=True, eq=False, repr=False)
class NodeParameters(SharedParameters):
    """Further parameters of estimators for nodes, and their own defaults."""

    head: str = "linear"
    fanout: int | tuple[int | None, ...] | None = None
    degree_labels: Direction | Literal["auto"] | None = "auto"
    dropout: float = 0.5
    learning_rate: float = 5e-3
    max_epochs: int = 400


@dataclass(kw_only=True, eq=False, repr=False)
class ClassifierParameters:
    """Further parameters of classifiers."""

    class_weight: Any = None
    calibrate: bool = False


def plain(value: Any) -> Any:
    """Return a number of numpy as Python's own, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


_FRACTION = number(lambda value: 0 < value < 1, "a share between 0 and 1")

#: Of all estimators; ``device`` and ``class_weight`` are checked where they are used.
RULES: Rules = {
    "layers": whole(1),
    "hidden": whole(1),
    "activation": one_of(*ACTIVATIONS),
    "dropout": RATE,
    "input_dropout": RATE,
    "batch_norm": FLAG,
    "bias": FLAG,
    "embedding": whole(1).or_none("labels as they are, one-hot"),
    "edge_embedding": whole(1).or_none("labels as they are, one-hot"),
    "direction": one_of("both", "in"),
    "multiplicity": one_of("once", "per-edge"),
    "bases": whole(1)
    .or_none("one weight per edge label")
    .or_word("relations", "as many as there are relations"),
    "node_labels": one_of("identity", "given"),
    "degree_labels": one_of("auto", "in", "out", "both", None),
    "readout": one_of("sum", "mean", "max"),
    "include_input": FLAG,
    "head": one_of("linear", "conv"),
    "optimizer": one_of("adam", "adamw"),
    "learning_rate": POSITIVE,
    "weight_decay": NOT_NEGATIVE,
    "batch_size": whole(1).or_none("all at once"),
    "fanout": whole(1).or_none("all neighbors").or_several(least=0),
    "max_epochs": whole(1),
    "patience": whole(1).or_none("all epochs"),
    "clip_norm": POSITIVE.or_none("no clipping"),
    "validation": _FRACTION.or_none("no early stopping"),
    "members": whole(1),
    "calibrate": FLAG,
    "unknown": one_of("zero", "silent", "error"),
    "precision": one_of("float32", "float64", "bfloat16"),
    "warm_start": FLAG,
    "random_state": RANDOM_STATE,
    "verbose": whole(0),
}
