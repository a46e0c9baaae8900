"""The best accuracy that color refinement lets any bounded model have on its training set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from edgnn.errors import DatasetError
from edgnn.evaluation._splits import Split
from edgnn.evaluation._targets import Array, target_array, task_of
from edgnn.io.datasets import Dataset
from edgnn.wl import ceiling, graph_classes, refine

_colored: WeakKeyDictionary[Dataset, Array] = WeakKeyDictionary()


def training_ceiling(
    data: Dataset, splits: Iterable[Split], *, part: Literal["known", "train"] = "known"
) -> float:
    """Return the best training accuracy of any model bounded by Eq. 2, as a mean over splits.

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
    if data.targets is None or task_of(target_array(data.targets)) != "classes":
        raise DatasetError(
            f"{data.name} has no classes, one per {data.level}, so there is no accuracy to bound"
        )
    targets = target_array(data.targets)
    colors = _colors(data)
    ceilings = []
    for split in splits:
        items: Array = getattr(split, part)
        ceilings.append(ceiling(colors[items], targets[items]))
    if not ceilings:
        raise DatasetError(f"{data.name}: no splits were given; give at least one")
    return float(np.mean(ceilings))


def _colors(data: Dataset) -> Array:
    """Return the color of each graph or labeled node; refined once per data set."""
    if data not in _colored:
        graphs = data.graphs
        if graphs.node_vocabulary.constant:
            graphs = graphs.with_degree_labels("in")
        coloring = refine(graphs)
        if data.nodes is None:
            colors = graph_classes(coloring)
        else:
            colors = coloring.colors[data.nodes.index]
        _colored[data] = np.unique(colors.cpu().numpy(), return_inverse=True)[1]
    return _colored[data]
