"""Color counts as features and kernels, with the face of scikit-learn."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Input, Multiplicity, Nodes, joined
from edgnn.wl._coloring import Coloring, refine
from edgnn.wl._discretize import Discretizer
from edgnn.wl._neighborhood import Scheme

_Array = np.ndarray[Any, Any]


class _NotFitted(GraphError, NotFittedError):  # type: ignore[misc]
    """An estimator that was asked for results before it was fitted."""


class WLVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Count the Weisfeiler–Lehman colors of graphs or nodes.

    A column is one color of one round, 0 to ``depth``. A graph's row says how many of its nodes
    have the color; a node's row marks its own colors. The rows' inner product is the WL subtree
    kernel.

    Parameters
    ----------
    depth : int
        Number of rounds.
    scheme : {"node", "separate", "joint"}
        As in :func:`edgnn.wl.refine`; ``"node"`` ignores edge labels and directions.
    multiplicity : {"once", "per-edge"}
        Whether a neighbor counts once or once per edge.
    edge_labels : bool
        ``False`` takes all edge labels as equal.
    unseen : {"ignore", "count"}
        What :meth:`transform` does with colors that :meth:`fit` has not seen: leave them out, or
        count them in one more column per round.
    discretize : int, optional
        Turn continuous features into this many bins each. Without it, graphs with features are
        refused.

    Attributes
    ----------
    coloring_ : Coloring
        The colors of the graphs that were fitted.
    """

    def __init__(
        self,
        depth: int = 3,
        scheme: Scheme = "separate",
        *,
        multiplicity: Multiplicity = "once",
        edge_labels: bool = True,
        unseen: Literal["ignore", "count"] = "ignore",
        discretize: int | None = None,
    ) -> None:
        self.depth = depth
        self.scheme = scheme
        self.multiplicity = multiplicity
        self.edge_labels = edge_labels
        self.unseen = unseen
        self.discretize = discretize

    def fit(self, X: Input, y: Any = None) -> WLVectorizer:
        """Learn the colors of ``X``."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Input, y: Any = None) -> csr_array:
        """Learn the colors of ``X`` and return its features."""
        if self.unseen not in ("ignore", "count"):
            raise GraphError(f"unseen={self.unseen!r}: choose 'ignore' or 'count'")
        items = joined(X)
        graphs = _graphs(items)
        self._discretizer = (
            None if self.discretize is None else Discretizer(self.discretize).fit(graphs)
        )
        self.coloring_ = refine(
            self._prepared(graphs), self.depth, self.scheme, multiplicity=self.multiplicity
        )
        colors = _rounds(self.coloring_)
        self._colors = [_distinct(of_round) for of_round in colors]
        return self._counts(colors, items)

    def transform(self, X: Input) -> csr_array:
        """Return the features of ``X`` in the columns that :meth:`fit` learned."""
        if not hasattr(self, "coloring_"):
            raise _NotFitted("this WLVectorizer is not fitted yet: call fit first")
        items = joined(X)
        return self._counts(_rounds(self.coloring_.extend(self._prepared(_graphs(items)))), items)

    def get_feature_names_out(self, input_features: Any = None) -> _Array:
        """Return the columns' names, ``round:color``."""
        if not hasattr(self, "coloring_"):
            raise _NotFitted("this WLVectorizer is not fitted yet: call fit first")
        names = [
            f"{round}:{color}"
            for round, colors in enumerate(self._colors)
            for color in colors.tolist()
        ]
        if self.unseen == "count":
            names += [f"{round}:unseen" for round in range(self.depth + 1)]
        return np.array(names, dtype=object)

    def _prepared(self, graphs: Graphs) -> Graphs:
        if self._discretizer is not None:
            graphs = self._discretizer.transform(graphs)
        return graphs if self.edge_labels else graphs.with_edge_labels(None)

    def _counts(self, rounds: list[_Array], items: Graphs | Nodes) -> csr_array:
        if isinstance(items, Nodes):
            rounds = [colors[items.index.cpu().numpy()] for colors in rounds]
        owner = (
            np.arange(len(items)) if isinstance(items, Nodes) else items.graph_of_node.cpu().numpy()
        )
        known, cells, start = sum(map(len, self._colors)), [], 0
        width = known + (self.depth + 1 if self.unseen == "count" else 0)
        bits = width.bit_length()
        small = len(items) << bits < 2**31  # sorting half as many bytes takes half as long
        row = (owner.astype(np.int32) if small else owner) << bits
        for round, (colors, of_round) in enumerate(zip(self._colors, rounds, strict=True)):
            column = _columns(of_round, colors, start)
            unseen = column < 0
            if self.unseen == "count":
                column[unseen] = known + round
            cell = row + column.astype(row.dtype)
            if self.unseen == "ignore" and unseen.any():
                cell = cell[~unseen]
            cells.append(cell)
            start += len(colors)
        return _counted(np.concatenate(cells), bits, len(items), width)


def _rounds(coloring: Coloring) -> list[_Array]:
    return [coloring.at(round).cpu().numpy() for round in range(coloring.rounds + 1)]


def _distinct(colors: _Array) -> _Array:
    """Return the colors that occur, rising; colors are small numbers, so no sorting is needed."""
    occurs = np.zeros(int(colors.max(initial=-1)) + 1, dtype=bool)
    occurs[colors] = True
    return np.flatnonzero(occurs)


def _columns(colors: _Array, known: _Array, start: int) -> _Array:
    """Return the column of each color, from ``start`` on; −1 for those not known."""
    table = np.full(max(int(colors.max(initial=-1)), int(known.max(initial=-1))) + 1, -1)
    table[known] = np.arange(start, start + len(known))
    columns: _Array = table[colors]
    return columns


def _counted(cells: _Array, bits: int, height: int, width: int) -> csr_array:
    """Return a sparse matrix that counts cells, each given as row · 2^bits + column."""
    cells.sort()
    new = np.ones(len(cells), dtype=bool)
    new[1:] = cells[1:] != cells[:-1]
    begin = np.flatnonzero(new)
    row, column = cells[begin] >> bits, cells[begin] & ((1 << bits) - 1)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=height))))
    counts = np.diff(begin, append=len(cells)).astype(np.float64)
    return csr_array(
        (counts, column.astype(np.int32), indptr.astype(np.int32)), shape=(height, width)
    )


class WLKernel(BaseEstimator):  # type: ignore[misc]
    """The Weisfeiler–Lehman subtree kernel: how many colors two graphs (or nodes) share, over all rounds.

    ``kernel(X, Y)`` returns the Gram matrix; :meth:`fit_transform` and :meth:`transform` serve
    ``SVC(kernel="precomputed")`` in a pipeline.

    Parameters
    ----------
    depth, scheme, multiplicity, edge_labels, discretize
        As in :class:`WLVectorizer`.
    normalize : bool
        Divide by the lengths, so that every item that has nodes has similarity 1 with itself.
    """

    def __init__(
        self,
        depth: int = 3,
        scheme: Scheme = "separate",
        *,
        normalize: bool = False,
        multiplicity: Multiplicity = "once",
        edge_labels: bool = True,
        discretize: int | None = None,
    ) -> None:
        self.depth = depth
        self.scheme = scheme
        self.normalize = normalize
        self.multiplicity = multiplicity
        self.edge_labels = edge_labels
        self.discretize = discretize

    def __call__(self, X: Input, Y: Input | None = None) -> _Array:
        """Return the kernel values of all pairs of ``X`` and ``Y`` (default: ``X`` itself).

        Shapes
        ------
        → (len(X), len(Y))
        """
        vectorizer = self._vectorizer()
        rows = vectorizer.fit_transform(X)
        if Y is None:
            return self._gram(rows, rows, rows, rows)
        return self._gram(
            rows,
            vectorizer.transform(Y),
            rows,
            self._own(vectorizer, Y) if self.normalize else rows,
        )

    def fit(self, X: Input, y: Any = None) -> WLKernel:
        """Remember ``X`` as the columns of the kernel matrix."""
        self._fitted = self._vectorizer()
        self._columns = self._fitted.fit_transform(X)
        return self

    def fit_transform(self, X: Input, y: Any = None) -> _Array:
        """Remember ``X`` and return its kernel matrix."""
        self.fit(X)
        return self._gram(self._columns, self._columns, self._columns, self._columns)

    def transform(self, X: Input) -> _Array:
        """Return the kernel values of ``X`` against what was fitted.

        Shapes
        ------
        → (len(X), number of items fitted)
        """
        if not hasattr(self, "_fitted"):
            raise _NotFitted("this WLKernel is not fitted yet: call fit first")
        own = self._own(self._fitted, X) if self.normalize else self._columns
        return self._gram(self._fitted.transform(X), self._columns, own, self._columns)

    def _own(self, fitted: WLVectorizer, X: Input) -> csr_array:
        """Return all colors of ``X``, also those that ``fitted`` has not seen, on the labels that it gives them."""
        items = joined(X)
        graphs = fitted._prepared(_graphs(items))
        vectorizer = WLVectorizer(self.depth, self.scheme, multiplicity=self.multiplicity)
        return vectorizer.fit_transform(
            Nodes(graphs, items.index) if isinstance(items, Nodes) else graphs
        )

    def _vectorizer(self) -> WLVectorizer:
        return WLVectorizer(
            self.depth,
            self.scheme,
            multiplicity=self.multiplicity,
            edge_labels=self.edge_labels,
            discretize=self.discretize,
        )

    def _gram(
        self, rows: csr_array, columns: csr_array, row_lengths: csr_array, column_lengths: csr_array
    ) -> _Array:
        gram: _Array = np.asarray((rows @ columns.T).todense())
        if not self.normalize:
            return gram
        lengths = [
            np.sqrt(np.asarray(part.multiply(part).sum(axis=1)).ravel())
            for part in (row_lengths, column_lengths)
        ]
        scale = np.outer(
            np.where(lengths[0] > 0, lengths[0], 1), np.where(lengths[1] > 0, lengths[1], 1)
        )
        normalized: _Array = gram / scale
        return normalized


def _graphs(items: Graphs | Nodes) -> Graphs:
    graphs = items.graphs if isinstance(items, Nodes) else items
    return graphs._with(node_names=None, graph_names=None)
