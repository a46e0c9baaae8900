"""One file per question; peers imported lazily; every figure a ratio in the same run."""

from collections.abc import Callable, Iterator
from typing import Any

from edgnn.bench._fleet import fleet
from edgnn.bench._harness import Row, Skipped, document, save
from edgnn.bench._io import io
from edgnn.bench._layer import layer
from edgnn.bench._rivals import rivals
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
PLOTS: dict[str, Callable[[list[Any]], str]] = {"wl": plot_wl}

__all__ = ["PLOTS", "QUESTIONS", "Row", "Skipped", "document", "fleet", "io", "layer", "rivals", "save", "wl"]
