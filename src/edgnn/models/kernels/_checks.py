"""Parameters of the closed forms and kernel methods, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs

Array = np.ndarray[Any, Any]


def refuse_features(graphs: Graphs, instead: str) -> None:
    """Raise where graphs have continuous features, which colors and subgraphs do not show."""
    if graphs.node_features is not None or graphs.edge_features is not None:
        raise EstimatorError(
            "these graphs have continuous features, which this model does not compare: "
            f"turn them into labels with edgnn.wl.Discretizer, or {instead}"
        )


def candidates(values: Any, name: str, lowest: int, highest: int) -> list[int]:
    """Return one whole number, or several, as a rising list without repetition."""
    several = [values] if isinstance(values, int | np.integer) else values
    whole = isinstance(several, Sequence | np.ndarray) and all(
        is_whole(value, lowest, highest) for value in several
    )
    if not whole or not len(several):
        raise EstimatorError(
            f"{name}={values!r}: give a whole number from {lowest} to {highest}, "
            "or several to choose from"
        )
    return sorted({int(value) for value in several})


def numbers(values: Any) -> Array:
    """Return one number, or several, as an array; empty if they are none."""
    try:
        found: Array = np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        found = np.zeros(0)
    return found


def flag(value: Any, name: str) -> bool:
    """Return a truth value that is one."""
    if not isinstance(value, bool | np.bool_):
        raise EstimatorError(f"{name}={value!r}: choose True or False")
    return bool(value)


def check_whole(model: Any, name: str, lowest: int, highest: int | None = None) -> None:
    """Raise where a parameter of a model is no whole number within limits."""
    value = getattr(model, name)
    if not is_whole(value, lowest, 2**31 - 1 if highest is None else highest):
        limits = f"from {lowest} on" if highest is None else f"from {lowest} to {highest}"
        raise EstimatorError(f"{name}={value!r}: give a whole number {limits}")


def check_choice(model: Any, name: str, choices: Sequence[str]) -> None:
    """Raise where a parameter of a model is none of the words to choose from."""
    value = getattr(model, name)
    if not isinstance(value, str) or value not in choices:
        raise EstimatorError(f"{name}={value!r}: choose {' or '.join(map(repr, choices))}")


def is_whole(value: Any, lowest: int, highest: int) -> bool:
    """Return whether a value is a whole number within limits."""
    return (
        isinstance(value, int | np.integer)
        and not isinstance(value, bool)
        and lowest <= int(value) <= highest
    )


def positive(value: Any, name: str) -> float:
    """Return a finite number above zero, or say that it is none."""
    if (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and 0 < value < np.inf
    ):
        return float(value)
    raise EstimatorError(f"{name}={value!r}: give a finite number above 0")


def chosen_words(value: Any, name: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return one or several different words out of those that are allowed."""
    words = (value,) if isinstance(value, str) else value
    known = isinstance(words, tuple | list) and all(
        isinstance(word, str) and word in allowed for word in words
    )
    if not known or not words or len(set(words)) < len(words):
        listed = f"{', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}"
        raise EstimatorError(f"{name}={value!r}: choose {listed}, or several of them, each once")
    return tuple(words)
