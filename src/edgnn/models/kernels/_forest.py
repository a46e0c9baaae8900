"""Forest: the trees of a random forest as flat arrays, which a run folder can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn.models.kernels._checks import Array

_AT_ONCE = 2**22  # items times trees


@dataclass(frozen=True, eq=False)
class Forest:
    """The nodes of all trees, one tree behind the other.

    An item goes to the left child of a node where its value of ``feature`` is at most
    ``threshold``; at a leaf, ``left`` and ``right`` are the leaf itself.

    Shapes
    ------
    roots (trees,); feature, threshold, left, right (nodes,); value (nodes, classes)
    """

    roots: Array
    feature: Array
    threshold: Array
    left: Array
    right: Array
    value: Array

    @classmethod
    def of(cls, forest: Any) -> Forest:
        """Take the trees out of a fitted ``sklearn.ensemble.RandomForestClassifier``."""
        trees = [estimator.tree_ for estimator in forest.estimators_]
        sizes = np.array([tree.node_count for tree in trees])
        roots = np.cumsum(sizes) - sizes
        children = [
            (_child(tree.children_left) + root, _child(tree.children_right) + root)
            for tree, root in zip(trees, roots, strict=True)
        ]
        left, right = (np.concatenate(side) for side in zip(*children, strict=True))
        return cls(
            roots,
            np.maximum(np.concatenate([tree.feature for tree in trees]), 0).astype(np.int64),
            np.concatenate([tree.threshold for tree in trees]),
            left,
            right,
            np.concatenate([tree.value[:, 0, :] for tree in trees]),
        )

    def check(self, columns: int) -> None:
        """Raise where the arrays make no trees on a table of so many columns.

        Children stand behind their parents, so that every item arrives at a leaf.
        """
        own = np.arange(len(self.feature))
        inside = all(
            array.shape == own.shape and (array >= low).all() and array.max(initial=0) < high
            for array, low, high in (
                (self.feature, 0, max(columns, 1)),
                (self.left, own, len(own)),
                (self.right, own, len(own)),
            )
        )
        leaves = (self.left == own) == (self.right == own)
        sizes = {len(own), len(self.threshold), len(self.value)}
        roots = len(self.roots) and 0 <= self.roots.min() <= self.roots.max() < len(own)
        if not inside or not roots or not leaves.all() or len(sizes) > 1:
            raise ValueError("the stored forest is damaged")

    def predict_proba(self, table: Any) -> Array:
        """Return the mean of the trees' class frequencies.

        Parameters
        ----------
        table : array or sparse matrix of float32
            One row per item.

        Shapes
        ------
        (n, features) → (n, classes)
        """
        rows = max(1, _AT_ONCE // len(self.roots))
        pieces = [
            self._piece(table[start : start + rows]) for start in range(0, table.shape[0], rows)
        ]
        return np.concatenate([np.zeros((0, self.value.shape[1])), *pieces])

    def _piece(self, table: Any) -> Array:
        values = table.toarray() if hasattr(table, "toarray") else table
        item = np.arange(len(values))[:, None]
        node = np.tile(self.roots, (len(values), 1))
        while True:
            goes_left = values[item, self.feature[node]] <= self.threshold[node]
            below = np.where(goes_left, self.left[node], self.right[node])
            if (below == node).all():
                break
            node = below
        total: Array = np.zeros((len(values), self.value.shape[1]))
        for leaf in node.T:  # in the order of scikit-learn, for the same bits
            total += self.value[leaf]
        return total / len(self.roots)


def _child(children: Array) -> Array:
    """Return the children of a tree's nodes, a leaf being its own child."""
    own = np.arange(len(children))
    return np.where(children < 0, own, children)
