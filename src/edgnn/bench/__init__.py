"""One file per question; peers imported lazily; every figure a ratio in the same run."""

from collections.abc import Callable, Iterator
from typing import Any

from edgnn.bench._fleet import fleet
from edgnn.bench._fleet import plot as plot_fleet
from edgnn.bench._harness import Memory, Row, Skipped, Traffic, document, save
from edgnn.bench._history import append_history, read_history
from edgnn.bench._io import io
from edgnn.bench._layer import layer
from edgnn.bench._layer import plot as plot_layer
from edgnn.bench._rivals import rivals
from edgnn.bench._timing import copy_bandwidth
from edgnn.bench._wl import plot as plot_wl
from edgnn.bench._wl import wl

QUESTIONS: dict[str, Callable[..., Iterator[Any]]] = {
    "io": io,
    "wl": wl,
    "layer": layer,
    "fleet": fleet,
    "rivals": rivals,
}
#: Drawings of a question's rows, kept beside them.
PLOTS: dict[str, Callable[[list[Any]], str]] = {"wl": plot_wl, "layer": plot_layer, "fleet": plot_fleet}

__all__ = [
    "PLOTS",
    "QUESTIONS",
    "Memory",
    "Row",
    "Skipped",
    "Traffic",
    "append_history",
    "copy_bandwidth",
    "document",
    "fleet",
    "io",
    "layer",
    "read_history",
    "rivals",
    "save",
    "wl",
]
