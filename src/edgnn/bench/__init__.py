"""One file per question; peers imported lazily; every figure a ratio in the same run."""

from collections.abc import Callable, Iterator
from typing import Any

from edgnn.bench._fleet import fleet
from edgnn.bench._fleet import plot as plot_fleet
from edgnn.bench._harness import Memory, Row, Skipped, Traffic, as_far_as_it_goes, document, save
from edgnn.bench._history import append_history, read_history
from edgnn.bench._io import io
from edgnn.bench._layer import layer
from edgnn.bench._layer import plot as plot_layer
from edgnn.bench._markdown import fill, markdown, stored
from edgnn.bench._order import order
from edgnn.bench._rivals import rivals
from edgnn.bench._scale import plot as plot_scale
from edgnn.bench._scale import scale
from edgnn.bench._serve import serve
from edgnn.bench._timing import copy_bandwidth
from edgnn.bench._wl import plot as plot_wl
from edgnn.bench._wl import wl

QUESTIONS: dict[str, Callable[..., Iterator[Any]]] = {
    "io": io,
    "wl": wl,
    "layer": layer,
    "fleet": fleet,
    "scale": scale,
    "order": order,
    "rivals": rivals,
    "serve": serve,
}
#: Drawings of a question's rows, kept beside them where there is something to draw.
PLOTS: dict[str, Callable[[list[Any]], str]] = {
    "wl": plot_wl,
    "layer": plot_layer,
    "fleet": plot_fleet,
    "scale": plot_scale,
}

__all__ = [
    "PLOTS",
    "QUESTIONS",
    "Memory",
    "Row",
    "Skipped",
    "Traffic",
    "append_history",
    "as_far_as_it_goes",
    "copy_bandwidth",
    "document",
    "fill",
    "fleet",
    "io",
    "layer",
    "markdown",
    "order",
    "read_history",
    "rivals",
    "save",
    "scale",
    "serve",
    "stored",
    "wl",
]
