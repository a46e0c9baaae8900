"""Color counts as sparse matrices, features and kernels, with the scikit-learn API."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError

from edgnn._arrays import changes, runs
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
        discretize: int | None = None,
    ) -> None:
        self.depth = depth
        self.scheme = scheme
        self.multiplicity = multiplicity
        self.edge_labels = edge_labels
        self.discretize = discretize

    def fit(self, X: Input, y: Any = None) -> WLVectorizer:
        """Learn the colors of ``X``."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Input, y: Any = None) -> csr_array:
        """Learn the colors of ``X`` and return its features."""
        items = joined(X)
        graphs = _graphs(items)
        self._discretizer = None
        if self.discretize is not None:
            self._discretizer = Discretizer(self.discretize).fit(graphs)
        self.coloring_ = refine(
            self._prepared(graphs), self.depth, self.scheme, multiplicity=self.multiplicity
        )
        colors = _rounds(self.coloring_)
        self._colors = [_distinct(of_round) for of_round in colors]
        return self._counts(colors, items)

    def transform(self, X: Input) -> csr_array:
        """Return the features of ``X`` in the columns that :meth:`fit` learned, and no others."""
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
        return np.array(names, dtype=object)

    def _prepared(self, graphs: Graphs) -> Graphs:
        if self._discretizer is not None:
            graphs = self._discretizer.transform(graphs)
        return graphs if self.edge_labels else graphs.with_edge_labels(None)

    def _counts(self, rounds: list[_Array], items: Graphs | Nodes) -> csr_array:
        if isinstance(items, Nodes):
            index = items.index.cpu().numpy()
            rounds = [colors[index] for colors in rounds]
            owner = np.arange(len(items))
        else:
            owner = items.graph_of_node.cpu().numpy()
        pairs = zip(rounds, self._colors, strict=True)
        blocks = [color_counts(colors, owner, len(items), known) for colors, known in pairs]
        return csr_array(hstack(blocks, format="csr"))


def color_counts(
    colors: _Array, owner: _Array, items: int, known: _Array | None = None
) -> csr_array:
    """Count how often each item has each color of one round.

    The entries of a graph are its nodes (``owner=graphs.graph_of_node``); those of a node may be
    itself or the nodes around it.

    Parameters
    ----------
    colors : array
        The color of every entry: small numbers, as :meth:`Coloring.at` has them.
    owner : array
        The item that each entry belongs to.
    items : int
        How many items there are.
    known : array, optional
        The colors that have a column, rising; other colors are left out. Default: all that occur.

    Shapes
    ------
    colors (M,), owner (M,), known (C,) → (items, C)

    Examples
    --------
    >>> import numpy as np
    >>> from edgnn.wl import color_counts
    >>> color_counts(np.array([5, 5, 7]), np.array([0, 0, 1]), items=2).toarray().tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """
    known = _distinct(colors) if known is None else known
    column = _columns(colors, known)
    has_column = column >= 0
    if not has_column.all():
        column, owner = column[has_column], owner[has_column]
    # Row and column in one number: sorting numbers is several times faster than sorting pairs.
    bits = len(known).bit_length()
    small = items << bits < 2**31  # sorting half as many bytes takes half as long
    kind = np.int32 if small else np.int64
    rows: _Array = owner.astype(kind)
    cells = (rows << bits) + column.astype(kind)
    cells.sort()
    begin, counts = runs(changes(cells))
    row, column = cells[begin] >> bits, cells[begin] & ((1 << bits) - 1)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=items))))
    arrays = (counts.astype(np.float64), column.astype(np.int32), indptr.astype(np.int32))
    return csr_array(arrays, shape=(items, len(known)))


def _rounds(coloring: Coloring) -> list[_Array]:
    return [coloring.at(round).cpu().numpy() for round in range(coloring.rounds + 1)]


def _distinct(colors: _Array) -> _Array:
    """Return the colors that occur, rising; colors are small numbers, so no sorting is needed."""
    occurs = np.zeros(int(colors.max(initial=-1)) + 1, dtype=bool)
    occurs[colors] = True
    return np.flatnonzero(occurs)


def _columns(colors: _Array, known: _Array) -> _Array:
    """Return the column of each color; −1 for those that have none."""
    highest = max(int(colors.max(initial=-1)), int(known.max(initial=-1)))
    table = np.full(highest + 1, -1)
    table[known] = np.arange(len(known))
    columns: _Array = table[colors]
    return columns


class WLKernel(BaseEstimator):  # type: ignore[misc]
    """The Weisfeiler–Lehman subtree kernel: how many colors two graphs, or nodes, share.

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
        kernel: WLKernel = clone(self)
        if Y is None:
            return kernel.fit_transform(X)
        return kernel.fit(X).transform(Y).T

    def fit(self, X: Input, y: Any = None) -> WLKernel:
        """Remember ``X`` as the columns of the kernel matrix."""
        self._fitted = WLVectorizer(
            self.depth,
            self.scheme,
            multiplicity=self.multiplicity,
            edge_labels=self.edge_labels,
            discretize=self.discretize,
        )
        self._columns = self._fitted.fit_transform(X)
        return self

    def fit_transform(self, X: Input, y: Any = None) -> _Array:
        """Remember ``X`` and return its kernel matrix."""
        self.fit(X)
        values = _products(self._columns, self._columns)
        return values / _scale(self._columns, self._columns) if self.normalize else values

    def transform(self, X: Input) -> _Array:
        """Return the kernel values of ``X`` against what was fitted.

        Shapes
        ------
        → (len(X), number of items fitted)
        """
        if not hasattr(self, "_fitted"):
            raise _NotFitted("this WLKernel is not fitted yet: call fit first")
        values = _products(self._fitted.transform(X), self._columns)
        if not self.normalize:
            return values
        # The length of an item is that of all its colors, also those that were not fitted.
        items = joined(X)
        graphs = self._fitted._prepared(_graphs(items))
        every_color = WLVectorizer(self.depth, self.scheme, multiplicity=self.multiplicity)
        own = Nodes(graphs, items.index) if isinstance(items, Nodes) else graphs
        return values / _scale(every_color.fit_transform(own), self._columns)


def _products(rows: csr_array, columns: csr_array) -> _Array:
    return np.asarray((rows @ columns.T).todense())


def _scale(rows: csr_array, columns: csr_array) -> _Array:
    return np.outer(_lengths(rows), _lengths(columns))


def _lengths(rows: csr_array) -> _Array:
    """Return the length of each row; 1 for rows of zeros, which no division is to change."""
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.where(squares > 0, np.sqrt(squares), 1.0)


def _graphs(items: Graphs | Nodes) -> Graphs:
    graphs = items.graphs if isinstance(items, Nodes) else items
    return graphs._with(node_names=None, graph_names=None)
