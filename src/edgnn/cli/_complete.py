"""What the shell offers behind Tab: names that commands take.

Names come from the registries and from data files; neither torch nor numpy is imported for them.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from edgnn.errors import EdgnnError
from edgnn.registry import LAYERS, MODELS, Registry

#: Values of options that live in packages that import torch; a test compares them.
_VALUES: dict[str, tuple[str, ...]] = {
    "activation": (
        *("relu", "cosine", "elu", "gelu", "identity", "leaky_relu"),
        *("sigmoid", "sign", "silu", "softplus", "tanh"),
    ),
    "degree_labels": ("auto", "in", "out", "both", "none"),
    "device": ("cpu", "cuda", "auto"),
    "direction": ("both", "in"),
    "metric": ("accuracy", "balanced_accuracy", "roc_auc", "pr_auc", "f1", "rmse", "mae", "r2"),
    "precision": ("float32", "float64", "bfloat16"),
    "protocol": ("cv10x10", "train-cv10", "holdout", "split", "scaffold", "scaffold-fixed"),
    "readout": ("sum", "mean", "max"),
    "unknown": ("zero", "silent", "error"),
}


def names(option: str) -> Sequence[str]:
    """Return the values that an option takes, or nothing where they cannot be listed."""
    listed: dict[str, Callable[[], Iterable[str]]] = {
        "model": lambda: _registered(MODELS),
        "conv": lambda: _registered(LAYERS),
        "dataset": lambda: _stored("io/datasets/registry.toml")["sets"],
        "settings": _settings,
        "table": lambda: _stored("studies/tables.toml")["tables"],
    }
    if option in listed:
        return tuple(listed[option]())
    return _VALUES.get(option, ())


def _settings() -> list[str]:
    return [row for row in _stored("studies/settings.toml") if row != "search"]


def _registered(registry: Registry[Any]) -> Iterable[str]:
    """Return the names in a registry; a broken plugin is a warning, and the others still work."""
    try:
        return list(registry)
    except EdgnnError as error:
        warnings.warn(str(error), stacklevel=2)
        return list(registry)


def model_lines() -> str:
    """Return the models of the registry for a help text, with one line about each."""
    return "\n\n".join(f"{name}: {MODELS[name].summary}." for name in _registered(MODELS))


def words(option: str) -> Callable[[str], list[str]]:
    """Return what completes the value of an option."""
    return lambda incomplete: _starting(incomplete, names(option))


def sources(incomplete: str) -> list[str]:
    """Complete a data set's name or a path.

    Nothing is offered where only paths fit: shells know better how to go into folders.
    """
    named = _starting(incomplete, names("dataset"))
    if not named or "/" in incomplete:
        return []
    return named + sorted(_starting(incomplete, _files_here()) if incomplete else [])


def several(complete: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Complete the last of some words with commas between them."""

    def last(incomplete: str) -> list[str]:
        before, comma, word = incomplete.rpartition(",")
        return [before + comma + choice for choice in complete(word)]

    return last


def _starting(incomplete: str, choices: Iterable[str]) -> list[str]:
    return [choice for choice in choices if choice.startswith(incomplete)]


@cache
def _stored(path: str) -> dict[str, Any]:
    """Return a data file of the package; read directly, as the package around it imports torch."""
    return tomllib.loads(files("edgnn").joinpath(path).read_text(encoding="utf-8"))


def _files_here() -> list[str]:
    try:
        return [entry.name for entry in Path().iterdir()]
    except OSError:
        return []
