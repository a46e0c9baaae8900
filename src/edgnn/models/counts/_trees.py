"""Trees: the trees of a forest, or of boosting, as flat arrays, which a run folder can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn.models.counts._table_learners import Array, Table

_AT_ONCE = 2**22  # items times trees


@dataclass(frozen=True, eq=False)
class Trees:
    """The nodes of all trees, one tree behind the other.

    An item goes to the left child of a node where its value of ``feature`` is at most
    ``threshold``; at a leaf, ``left`` and ``right`` are the leaf itself. Values of items are
    float32, and so are thresholds: rounded down to the next float32, they divide the same items.

    Shapes
    ------
    roots (trees,); feature, threshold, left, right (nodes,); value (nodes, width)
    """

    roots: Array
    feature: Array
    threshold: Array
    left: Array
    right: Array
    value: Array

    @classmethod
    def of_forest(cls, forest: Any) -> Trees:
        """Take the trees out of a fitted random forest of scikit-learn.

        The width of ``value`` is the number of classes that a classifier has seen, or the number of
        outputs of a regressor.
        """
        trees = [estimator.tree_ for estimator in forest.estimators_]
        return cls._joined(
            [tree.feature for tree in trees],
            [tree.threshold for tree in trees],
            [_child(tree.children_left) for tree in trees],
            [_child(tree.children_right) for tree in trees],
            [tree.value.reshape(tree.node_count, -1) for tree in trees],
        )

    @classmethod
    def of_boosting(cls, boosting: Any) -> Trees:
        """Take the trees out of a fitted ``HistGradientBoosting...`` of scikit-learn.

        Trees stand by iteration, and within it by output. The table must have had no NaN.
        """
        trees = [tree.nodes for iteration in boosting._predictors for tree in iteration]
        return cls._joined(
            [tree["feature_idx"] for tree in trees],
            [np.where(tree["is_leaf"], 0, tree["num_threshold"]) for tree in trees],
            [_or_own(tree["left"], tree["is_leaf"]) for tree in trees],
            [_or_own(tree["right"], tree["is_leaf"]) for tree in trees],
            [tree["value"][:, None] for tree in trees],
        )

    @classmethod
    def _joined(
        cls,
        feature: Sequence[Array],
        threshold: Sequence[Array],
        left: Sequence[Array],
        right: Sequence[Array],
        value: Sequence[Array],
    ) -> Trees:
        """Put trees one behind the other; children count from the root of their tree."""
        sizes = np.array([len(nodes) for nodes in feature], dtype=np.int64)
        roots = np.cumsum(sizes) - sizes
        first = np.repeat(roots, sizes)
        return cls(
            roots,
            np.maximum(_concatenated(feature), 0).astype(np.int32),
            _rounded_down(_concatenated(threshold)),
            _narrow(_concatenated(left) + first),
            _narrow(_concatenated(right) + first),
            np.concatenate(value) if value else np.zeros((0, 1)),
        )

    @classmethod
    def joined(cls, groups: Sequence[Trees]) -> Trees:
        """Put several groups of trees one behind the other, values filled up with zeros."""
        if not groups:
            return cls._joined([], [], [], [], [])
        widest = max(trees.value.shape[1] for trees in groups)
        sizes = np.array([len(trees.feature) for trees in groups], dtype=np.int64)
        moved = list(zip(groups, np.cumsum(sizes) - sizes, strict=True))
        return cls(
            np.concatenate([trees.roots + by for trees, by in moved]),
            np.concatenate([trees.feature for trees in groups]),
            np.concatenate([trees.threshold for trees in groups]),
            _narrow(np.concatenate([trees.left + by for trees, by in moved])),
            _narrow(np.concatenate([trees.right + by for trees, by in moved])),
            np.concatenate([_widened(trees.value, widest) for trees in groups]),
        )

    def __len__(self) -> int:
        return len(self.roots)

    def check(self, columns: int) -> None:
        """Raise where the arrays make no trees on a table of so many columns.

        Children stand behind their parents, so that every item arrives at a leaf.
        """
        own = np.arange(len(self.feature))
        inside = all(
            array.shape == own.shape
            and array.dtype.kind in "iu"
            and (array >= low).all()
            and array.max(initial=0) < max(high, 1)
            for array, low, high in (
                (self.feature, 0, columns),
                (self.left, own, len(own)),
                (self.right, own, len(own)),
            )
        )
        shapes = self.threshold.shape == own.shape and self.value.shape[:1] == own.shape
        if not inside or not shapes or self.value.ndim != 2 or not self._roots_are_nodes(len(own)):
            raise ValueError("the stored trees are damaged: nodes do not fit together")
        if not ((self.left == own) == (self.right == own)).all():
            raise ValueError("the stored trees are damaged: a node has one child")
        if not np.isfinite(self.threshold).all() or not np.isfinite(self.value).all():
            raise ValueError("the stored trees are damaged: numbers are NaN or infinite")

    def _roots_are_nodes(self, nodes: int) -> bool:
        if self.roots.ndim != 1 or self.roots.dtype.kind not in "iu":
            return False
        return not len(self.roots) or bool(0 <= self.roots.min() <= self.roots.max() < nodes)

    def rows_at_once(self) -> int:
        """Return how many items :meth:`leaves` may be asked for without taking much memory."""
        return max(1, _AT_ONCE // max(1, len(self)))

    def leaves(self, values: Array) -> Array:
        """Return the leaf of each item in each tree.

        Shapes
        ------
        (n, features) → (n, trees)
        """
        item = np.repeat(np.arange(len(values)), len(self))
        node = np.tile(self.roots, len(values))
        moving = np.arange(len(node))
        while len(moving):
            here = node[moving]
            goes_left = values[item[moving], self.feature[here]] <= self.threshold[here]
            below = np.where(goes_left, self.left[here], self.right[here])
            node[moving] = below
            moving = moving[below != here]  # most trees are done long before the deepest
        return node.reshape(len(values), len(self))

    def add_to(self, total: Array, values: Array, output: Array) -> None:
        """Add what each tree says of each item to a total.

        Trees are added one after the other, as scikit-learn does, for the same bits.

        Parameters
        ----------
        total : array
            Changed in place.
        values : array
            One row per item.
        output : array of int
            Which columns of the total the values of each tree belong to; −1: to none.

        Shapes
        ------
        total (n, outputs), values (n, features), output (trees, width)
        """
        for tree, leaf in enumerate(self.leaves(values).T):
            columns = output[tree]
            used = columns >= 0
            total[:, columns[used]] += self.value[leaf][:, used]

    def predict_proba(self, table: Table) -> Array:
        """Return the mean of what the trees say, such as the class frequencies of a forest.

        Parameters
        ----------
        table : array or sparse matrix of float32
            One row per item.

        Shapes
        ------
        (n, features) → (n, width)
        """
        rows, width = self.rows_at_once(), self.value.shape[1]
        output = np.tile(np.arange(width), (len(self), 1))
        total: Array = np.zeros((table.shape[0], width))
        for start in range(0, len(total), rows):
            piece = table[start : start + rows]
            values = piece.toarray() if hasattr(piece, "toarray") else piece
            self.add_to(total[start : start + rows], values, output)
        return total / len(self)


def _child(children: Array) -> Array:
    """Return the children of a tree's nodes, a leaf being its own child."""
    return _or_own(children, children < 0)


def _or_own(children: Array, is_leaf: Array) -> Array:
    return np.where(is_leaf, np.arange(len(children)), children.astype(np.int64))


def _narrow(children: Array) -> Array:
    """Return node numbers in half the bytes where they are small enough."""
    return children.astype(np.int32 if children.max(initial=0) < 2**31 else np.int64)


def _widened(value: Array, width: int) -> Array:
    return np.pad(value, ((0, 0), (0, width - value.shape[1])))


def _concatenated(arrays: Sequence[Array]) -> Array:
    return np.concatenate(arrays) if arrays else np.zeros(0)


def _rounded_down(threshold: Array) -> Array:
    """Return the largest float32 that is at most the threshold."""
    nearest: Array = threshold.astype(np.float32)
    return np.where(nearest > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)
