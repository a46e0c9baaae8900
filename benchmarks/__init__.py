"""One file per question; peers imported lazily; every figure a ratio in the same run."""

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks._fleet import fleet
from benchmarks._fleet import plot as plot_fleet
from benchmarks._harness import Memory, Row, Skipped, Traffic, as_far_as_it_goes, document, save
from benchmarks._io import io
from benchmarks._layer import layer
from benchmarks._layer import plot as plot_layer
from benchmarks._order import order
from benchmarks._rivals import rivals
from benchmarks._scale import plot as plot_scale
from benchmarks._scale import scale
from benchmarks._serve import serve
from benchmarks._stored import append_history, fill, markdown, read_history, stored
from benchmarks._timing import copy_bandwidth
from benchmarks._wl import plot as plot_wl
from benchmarks._wl import wl

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
