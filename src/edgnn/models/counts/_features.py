"""Numbers beside the counts: features of graphs and of their elements, and descriptors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import EstimatorError
from edgnn.graphs import UNKNOWN, Graphs, Vocabulary

_Array = np.ndarray[Any, Any]

_ROUNDING = 1e-12
#: Standard deviations; what lies beyond counts as so far.
WIDEST = 10.0


def numbers_of(graphs: Graphs, descriptors: bool) -> _Array:
    """Return the numbers of each graph: its features, sums and means of its elements', descriptors.

    Shapes
    ------
    → (G, F)
    """
    columns = [np.zeros((len(graphs), 0))]
    if graphs.graph_features is not None:
        columns.append(graphs.graph_features.cpu().double().numpy())
    owner = graphs.graph_of_node
    if graphs.node_features is not None:
        columns += _sums_and_means(graphs.node_features, owner, len(graphs))
    if graphs.edge_features is not None:
        columns += _sums_and_means(graphs.edge_features, owner[graphs.edge_source], len(graphs))
    if descriptors:
        from edgnn.io import rdkit_descriptors

        columns.append(rdkit_descriptors(_with_any_atoms(graphs))[0])
    return np.hstack(columns)


def _with_any_atoms(graphs: Graphs) -> Graphs:
    """Return molecules with any atom (``*``) and any bond where an explanation hides a label."""
    changes: dict[str, Any] = {}
    for what, stand_in in (("node", "*"), ("edge", "unspecified")):
        vocabulary = list(getattr(graphs, f"{what}_vocabulary"))
        if UNKNOWN not in vocabulary:
            continue
        label, hidden = getattr(graphs, f"{what}_label"), vocabulary.index(UNKNOWN)
        if stand_in in vocabulary:
            same = vocabulary.index(stand_in)
            changes[f"{what}_label"] = torch.where(label == hidden, same, label)
        else:
            vocabulary[hidden] = stand_in
            changes[f"{what}_vocabulary"] = Vocabulary(vocabulary)
    return graphs._with(**changes) if changes else graphs


def number_names(graphs: Graphs, descriptors: bool) -> list[str]:
    """Return what the columns of :func:`numbers_of` are called."""
    names = list(graphs.graph_feature_names)
    if graphs.graph_features is not None and not names:
        names = [f"graph feature {place}" for place in range(graphs.graph_features.shape[1])]
    for what in ("node", "edge"):
        features = getattr(graphs, f"{what}_features")
        places = range(0 if features is None else features.shape[1])
        names += [
            f"{kind} of {what} feature {place}" for kind in ("sum", "mean") for place in places
        ]
    if descriptors:
        from edgnn.io import rdkit_descriptors

        names += rdkit_descriptors(graphs[:0])[1]
    return names


def _sums_and_means(rows: Tensor, owner: Tensor, items: int) -> list[_Array]:
    sums = torch.zeros(items, rows.shape[1], dtype=torch.float64)
    sums.index_add_(0, owner.cpu(), rows.cpu().double())
    counts = torch.bincount(owner.cpu(), minlength=items).clamp(min=1)
    return [sums.numpy(), (sums / counts[:, None]).numpy()]


@dataclass(frozen=True, eq=False)
class Standard:
    """How numbers become comparable: less their mean, over their standard deviation.

    Shapes
    ------
    mean, scale (F,)
    """

    mean: _Array
    scale: _Array

    @classmethod
    def of(cls, numbers: _Array) -> Standard:
        """Learn from training items; a column that does not vary becomes zeros."""
        if not np.isfinite(numbers).all():
            raise EstimatorError("sums of the features are beyond floating point: scale them down")
        with np.errstate(over="ignore", invalid="ignore"):
            mean, scale = numbers.mean(axis=0), numbers.std(axis=0)
        # the mean of equal numbers is not always that number
        varies = np.isfinite(scale) & (scale > _ROUNDING * np.abs(mean))
        return cls(np.where(np.isfinite(mean), mean, 0), np.where(varies, scale, np.inf))

    def __call__(self, numbers: _Array) -> _Array:
        """Return the numbers standardized."""
        if numbers.shape[1] != len(self.mean):
            raise EstimatorError(
                f"the items have {numbers.shape[1]} numbers beside their graphs, those of the "
                f"training set {len(self.mean)}: give the same features and descriptors"
            )
        with np.errstate(over="ignore"):
            standard: _Array = (numbers - self.mean) / self.scale
        return np.nan_to_num(standard).clip(-WIDEST, WIDEST)
