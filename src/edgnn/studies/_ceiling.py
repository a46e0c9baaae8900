"""How well the training part of a split can be learned at all: the ceiling that color refinement sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from edgnn.errors import DatasetError
from edgnn.evaluation import Split
from edgnn.io.datasets import Dataset
from edgnn.wl import ceiling, graph_classes, refine

_Array = np.ndarray[Any, Any]

_colored: WeakKeyDictionary[Dataset, _Array] = WeakKeyDictionary()


def training_ceiling(
    data: Dataset, splits: Iterable[Split], *, part: Literal["known", "train"] = "known"
) -> float:
    """Return the best accuracy on what it learns from that any model bounded by Eq. 2 can have, as a mean over splits.

    Two graphs or nodes that the stable coloring of the ``separate`` scheme does not tell apart are
    one to every such model, however deep and wide it is. Nodes without labels begin with their
    in-degrees, as in the paper.

    Parameters
    ----------
    data : Dataset
        With one class per graph or labeled node; without continuous features.
    splits : iterable of Split
        What is learned from.
    part : {"known", "train"}
        Whether models learn from the training and validation part together, or have the latter
        choose the epoch only.
    """
    if data.task != "classification" or data.targets is None or data.targets.ndim != 1:
        raise DatasetError(
            f"{data.name} has no classes, one per {data.level}, so there is no accuracy to bound"
        )
    parts = [split.known if part == "known" else split.train for split in splits]
    if not parts:
        raise DatasetError(f"{data.name}: no splits were given; give at least one")
    colors = _colors(data)
    return float(np.mean([ceiling(colors[items], data.targets[items]) for items in parts]))


def _colors(data: Dataset) -> _Array:
    """Return a number per graph or labeled node, the same for those that are not told apart; refined once per data set."""
    if data not in _colored:
        graphs = data.graphs
        coloring = refine(
            graphs.with_degree_labels("in") if graphs.node_vocabulary.constant else graphs
        )
        colors = (
            graph_classes(coloring) if data.nodes is None else coloring.colors[data.nodes.index]
        )
        _colored[data] = np.unique(colors.cpu().numpy(), return_inverse=True)[1]
    return _colored[data]
