"""The parameters of the estimators with their defaults, and the rules their values keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from edgnn._words import suggestion
from edgnn.errors import EstimatorError, ModelError
from edgnn.graphs import Direction, Multiplicity
from edgnn.nn import ACTIVATIONS, LayerKind

Rule = tuple[Callable[[Any], bool], str]


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


def check_parameters(values: dict[str, Any]) -> None:
    """Check every parameter by its rule; ``device`` and ``class_weight`` are checked later."""
    if "conv" in values:
        _check_layer(values["conv"])
    for name, value in values.items():
        if name in _RULES:
            holds, rule = _RULES[name]
            if not holds(value):
                raise EstimatorError(
                    f"{name}={value!r}: choose {rule}{suggestion(value, _NAMES.get(name, ()))}"
                )


def _check_layer(conv: Any) -> None:
    try:
        LayerKind.of(conv)
    except ModelError as error:
        raise EstimatorError(str(error)) from None


def plain(value: Any) -> Any:
    """Return a number of numpy as Python's own, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _whole(least: int, *, none: str | None = None) -> Rule:
    def holds(value: Any) -> bool:
        return (none is not None and value is None) or (
            isinstance(value, Integral)
            and not isinstance(value, bool | np.bool_)
            and int(value) >= least
        )

    return holds, f"a whole number, {least} or more" + (
        "" if none is None else f", or None ({none})"
    )


def _number(test: Callable[[float], bool], rule: str, *, none: str | None = None) -> Rule:
    def holds(value: Any) -> bool:
        if none is not None and value is None:
            return True
        return (
            isinstance(value, Real)
            and not isinstance(value, bool | np.bool_)
            and test(float(value))
        )

    return holds, rule + ("" if none is None else f", or None ({none})")


def _one_of(*choices: Any) -> Rule:
    shown = ", ".join(map(repr, choices[:-1]))
    return (
        lambda value: isinstance(value, str | None) and value in choices,
        f"{shown} or {choices[-1]!r}",
    )


def _or_word(word: str, meaning: str, rule: Rule) -> Rule:
    holds, text = rule
    return (
        lambda value: (isinstance(value, str) and value == word) or holds(value),
        f"{word!r} ({meaning}), {text}",
    )


def _numbers(rule: Rule) -> Rule:
    holds, text = rule
    return (
        lambda value: all(map(holds, value)) if isinstance(value, tuple | list) else holds(value),
        f"{text}; or several such",
    )


def _flag() -> Rule:
    return lambda value: isinstance(value, bool | np.bool_), "True or False"


def _is_random_state(value: Any) -> bool:
    number = (
        isinstance(value, Integral)
        and not isinstance(value, bool | np.bool_)
        and 0 <= int(value) < 2**64
    )
    return value is None or number or isinstance(value, np.random.RandomState)


_SHARE = _number(lambda value: 0 <= value < 1, "a number from 0 to below 1")
_POSITIVE = _number(lambda value: 0 < value < float("inf"), "a number above 0")

_NAMES = {"activation": tuple(ACTIVATIONS)}
_RULES: dict[str, Rule] = {
    "layers": _whole(1),
    "hidden": _whole(1),
    "activation": _one_of(*ACTIVATIONS),
    "dropout": _SHARE,
    "input_dropout": _SHARE,
    "batch_norm": _flag(),
    "bias": _flag(),
    "embedding": _whole(1, none="labels as they are, one-hot"),
    "edge_embedding": _whole(1, none="labels as they are, one-hot"),
    "direction": _one_of("both", "in"),
    "multiplicity": _one_of("once", "per-edge"),
    "bases": _or_word(
        "relations", "as many as there are relations", _whole(1, none="one weight per edge label")
    ),
    "node_labels": _one_of("identity", "given"),
    "degree_labels": _one_of("auto", "in", "out", "both", None),
    "readout": _one_of("sum", "mean", "max"),
    "include_input": _flag(),
    "head": _one_of("linear", "conv"),
    "optimizer": _one_of("adam", "adamw"),
    "learning_rate": _POSITIVE,
    "weight_decay": _number(lambda value: 0 <= value < float("inf"), "a number, 0 or more"),
    "batch_size": _whole(1, none="all at once"),
    "fanout": _numbers(_whole(1, none="all neighbors")),
    "max_epochs": _whole(1),
    "patience": _whole(1, none="all epochs"),
    "clip_norm": _number(
        lambda value: 0 < value < float("inf"), "a number above 0", none="no clipping"
    ),
    "validation": _number(
        lambda value: 0 < value < 1, "a share between 0 and 1", none="no early stopping"
    ),
    "members": _whole(1),
    "calibrate": _flag(),
    "unknown": _one_of("zero", "silent", "error"),
    "precision": _one_of("float32", "float64", "bfloat16"),
    "warm_start": _flag(),
    "random_state": (_is_random_state, "a whole number from 0, a numpy RandomState, or None"),
    "verbose": _whole(0),
}
