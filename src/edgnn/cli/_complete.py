"""What the shell offers behind Tab: names that commands take. Nothing is imported, loaded or fetched for it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path

from edgnn.registry import LAYERS

#: Words by the option that takes them, as the library has them (which a test compares).
WORDS: dict[str, tuple[str, ...]] = {
    "activation": (
        "relu",
        "cosine",
        "elu",
        "gelu",
        "identity",
        "leaky_relu",
        "sigmoid",
        "sign",
        "silu",
        "softplus",
        "tanh",
    ),
    "conv": tuple(LAYERS),
    "degree_labels": ("auto", "in", "out", "both", "none"),
    "device": ("cpu", "cuda", "auto"),
    "direction": ("both", "in"),
    "metric": ("accuracy", "balanced_accuracy", "roc_auc", "pr_auc", "f1", "rmse", "mae", "r2"),
    "model": (
        "edgnn",
        "gnn",
        "joint",
        "ridge",
        "blend",
        "majority",
        "csm",
        "wlsp",
        "rgcn",
        "wl-rdf",
        "rdf2vec",
        "wl-subtree",
        "gin",
    ),
    "precision": ("float32", "float64", "bfloat16"),
    "protocol": ("cv10x10", "train-cv10", "holdout", "split", "scaffold"),
    "question": ("io", "wl", "layer", "fleet", "scale", "order", "rivals", "serve"),
    "readout": ("sum", "mean", "max"),
    "settings": ("paper", "closest", "rgcn"),
    "table": (
        "graph-datasets",
        "node-datasets",
        "graphs",
        "nodes",
        "nodes-repeated",
        "develop",
        "beyond",
    ),
    "unknown": ("zero", "error"),
}


def words(what: str) -> Callable[[str], list[str]]:
    """Return what completes the value of an option."""
    return lambda incomplete: _starting(incomplete, WORDS[what])


def data_sets(incomplete: str) -> list[str]:
    """Complete the name of a data set."""
    return _starting(incomplete, _registered())


def sources(incomplete: str) -> list[str]:
    """Complete a data set's name or a path; nothing where only paths fit, since shells know better how to go into folders."""
    named = data_sets(incomplete)
    if not named or "/" in incomplete:
        return []
    return named + sorted(
        entry.name for entry in _here() if entry.name.startswith(incomplete or "\0")
    )


def several(complete: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Complete the last of some words with commas between them."""

    def last(incomplete: str) -> list[str]:
        before, comma, word = incomplete.rpartition(",")
        return [before + comma + choice for choice in complete(word)]

    return last


def _starting(incomplete: str, choices: tuple[str, ...]) -> list[str]:
    return [choice for choice in choices if choice.startswith(incomplete)]


@cache
def _registered() -> tuple[str, ...]:
    """Return the names of the registered sets; read from the file itself, as the room of data sets imports torch."""
    return tuple(
        tomllib.loads(
            files("edgnn").joinpath("io/datasets/registry.toml").read_text(encoding="utf-8")
        )["sets"]
    )


def _here() -> list[Path]:
    try:
        return list(Path().iterdir())
    except OSError:
        return []
