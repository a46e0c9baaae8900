"""Counts of colors round by round, and kernels of them: how much two items share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import csr_array, hstack

from edgnn._arrays import row_entries
from edgnn.graphs import Nodes
from edgnn.models._items import Items
from edgnn.models.kernels._checks import Array
from edgnn.wl import Coloring, color_counts

Kind = Literal["linear", "cosine", "tanimoto", "log-cosine"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: For every round, how often each item has each color: matrices (items, colors).
Counts = Sequence[csr_array]

#: Kinds that say more together than each alone.
AVERAGED: tuple[Kind, ...] = ("tanimoto", "log-cosine")

_FULL = 0.02  # fraction of entries from which plain arrays are multiplied faster
_DENSE = 2**26
_SHARED = 2  # graphs that must have a color before it can say anything about others


def item_counts(coloring: Coloring, items: Items) -> Counts:
    """Count the colors of a graph's nodes after every round, or what a node sees around it.

    Of a node, its own color alone says too little: in a knowledge graph hardly two nodes share one.
    What it is made of are the node's label and, for every round, the colors its neighbors had
    before, with the codes of the edges to them.
    """
    colors = _rounds(coloring)
    if not isinstance(items, Nodes):
        owner = items.graph_of_node.cpu().numpy()
        return [color_counts(of_round, owner, len(items)) for of_round in colors]
    nodes = items.index.cpu().numpy()
    around = coloring.around.on_host()
    owner, entry = row_entries(around.indptr, nodes)
    neighbor = np.asarray(around.indices)[entry]
    code: Any = 0 if around.codes is None else np.asarray(around.codes)[entry] << 32
    own = color_counts(colors[0][nodes], np.arange(len(nodes)), len(nodes))
    seen = [
        color_counts(_numbered(code + of_round[neighbor]), owner, len(nodes))
        for of_round in colors[:-1]
    ]
    return [own, *seen]


def some(counts: Counts, items: slice) -> Counts:
    """Return the counts of some of the items."""
    return [matrix[items] for matrix in counts]


def mean_similarity(
    rows: Counts, columns: Counts, depths: Collection[int], kinds: Collection[Kind]
) -> Array:
    """Return the mean of the kernels of several kinds over several depths."""
    total: Any = 0.0
    for depth, kernels in enumerate(by_depth(rows, columns, kinds)):
        if depth in depths:
            total = total + sum(kernels.values())
    mean: Array = total / (len(depths) * len(kinds))
    return mean


def by_depth(rows: Counts, columns: Counts, kinds: Collection[Kind]) -> Iterator[dict[Kind, Array]]:
    """Yield the kernels of every kind on the counts of round 0, of rounds 0 and 1, and so on.

    ``linear`` is the inner product; ``cosine`` divides it by the lengths; ``log-cosine`` is the
    cosine of log(1 + count); ``tanimoto`` is the sum of the smaller counts over the sum of the
    larger ones. Two items without nodes are taken as equal.

    Shapes
    ------
    → (rows, columns) each
    """
    products: dict[str, Any] = dict.fromkeys((_PRODUCT[kind] for kind in kinds), 0.0)
    own: dict[Kind, Any] = dict.fromkeys(kinds, (0.0, 0.0))
    for a, b in zip(rows, columns, strict=True):
        for name, product in products.items():
            products[name] = product + _PRODUCTS[name](a, b)
        for kind, (mine, theirs) in own.items():
            own[kind] = mine + _row_sums(a, kind)[:, None], theirs + _row_sums(b, kind)[None, :]
        yield {kind: _kernel(kind, products[_PRODUCT[kind]], *own[kind]) for kind in kinds}


def least(a: csr_array, b: csr_array) -> Array:
    r"""Return :math:`\sum_c \min(a_{ic}, b_{jc})` of all pairs of rows of whole numbers.

    :math:`\min(x, y) = \sum_{t \ge 1} [x \ge t][y \ge t]`, so it is an inner product of rows of
    zeros and ones.

    Shapes
    ------
    (n, d), (m, d) → (n, m)
    """
    most = np.zeros(b.shape[1], dtype=np.int64)
    np.maximum.at(most, b.indices, b.data.astype(np.int64))
    return _product(_unary(a, most), _unary(b, most))


def gaussian(similarity: Array, width: float) -> Array:
    """Return exp(−width · (1 − similarity))."""
    return np.exp(width * (similarity - 1))


@dataclass(frozen=True, eq=False)
class NodeColors:
    """The colors of all nodes after every round of one or several refinements.

    Shapes
    ------
    rounds (N,) each, owner (N,) with numbers below size
    """

    rounds: tuple[Array, ...]
    owner: Array
    size: int

    @classmethod
    def of(cls, colorings: Sequence[Coloring]) -> NodeColors:
        """Collect the colors of refinements of the same graphs."""
        graphs = colorings[0].graphs
        rounds = [colors for coloring in colorings for colors in _rounds(coloring)]
        return cls(tuple(rounds), graphs.graph_of_node.cpu().numpy(), len(graphs))

    def columns(self, known: Array) -> tuple[Array, ...]:
        """Return, for every round, the colors that at least two of the known graphs have.

        They stand in the order of their first nodes: the numbers of colors depend on all graphs
        that were refined together; this order does not.
        """
        nodes = np.flatnonzero(np.isin(self.owner, known))
        return tuple(_shared(colors[nodes], self.owner[nodes], self.size) for colors in self.rounds)

    def counts(self, columns: Sequence[Array]) -> csr_array:
        """Return how often each graph has the colors of each column; some may not occur.

        Shapes
        ------
        → (G, columns of all rounds)
        """
        blocks = []
        for colors, wanted in zip(self.rounds, columns, strict=True):
            rising = color_counts(colors, self.owner, self.size, np.sort(wanted))
            blocks.append(rising[:, np.argsort(np.argsort(wanted))])
        return csr_array(hstack(blocks, format="csr"))


def _shared(colors: Array, owner: Array, size: int) -> Array:
    distinct, first, number = np.unique(colors, return_index=True, return_inverse=True)
    pairs = np.unique(number * size + owner)
    often = np.bincount(pairs // max(1, size), minlength=len(distinct)) >= _SHARED
    found: Array = distinct[often][np.argsort(first[often])]
    return found


def _rounds(coloring: Coloring) -> list[Array]:
    return [coloring.at(round).cpu().numpy() for round in range(coloring.rounds + 1)]


def _numbered(values: Array) -> Array:
    """Return small numbers in the place of large ones."""
    numbers: Array = np.unique(values, return_inverse=True)[1]
    return numbers


def _product(a: csr_array, b: csr_array) -> Array:
    full = a.nnz + b.nnz > _FULL * (a.shape[0] + b.shape[0]) * a.shape[1]
    if full and max(a.shape[0], b.shape[0]) * a.shape[1] <= _DENSE:
        dense: Array = a.toarray() @ b.toarray().T
        return dense
    found: Array = (a @ b.T).toarray()
    return found


def _unary(counts: csr_array, most: Array) -> csr_array:
    """Write every count as that many ones, but no more than ``most`` has columns for its color."""
    times = np.minimum(counts.data.astype(np.int64), most[counts.indices])
    ends = np.concatenate([[0], np.cumsum(times)])
    start = np.concatenate([[0], np.cumsum(most)])
    column = np.arange(ends[-1]) + np.repeat(start[counts.indices] - ends[:-1], times)
    shape = (counts.shape[0], int(start[-1]))
    return csr_array((np.ones(len(column)), column, ends[counts.indptr]), shape=shape)


def _log_product(a: csr_array, b: csr_array) -> Array:
    return _product(a.log1p(), b.log1p())


def _log_square(counts: Array) -> Array:
    return np.square(np.log1p(counts))


#: What each kind is made of: a product of pairs, and a sum over each item's own counts.
_PRODUCT: dict[Kind, str] = {
    "linear": "plain",
    "cosine": "plain",
    "tanimoto": "least",
    "log-cosine": "log",
}
_PRODUCTS: dict[str, Any] = {"plain": _product, "least": least, "log": _log_product}
_OWN: dict[Kind, Any] = {
    "linear": np.positive,
    "cosine": np.square,
    "tanimoto": np.positive,
    "log-cosine": _log_square,
}


def _row_sums(matrix: csr_array, kind: Kind) -> Array:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found: Array = np.bincount(rows, _OWN[kind](matrix.data), matrix.shape[0])
    return found


def _kernel(kind: Kind, product: Array, mine: Array, theirs: Array) -> Array:
    """Divide a product by what the kind asks for; 1 where both items are empty, 0 where one is."""
    if kind == "linear":
        return product
    both_empty = (mine == 0) & (theirs == 0)
    below = mine + theirs - product if kind == "tanimoto" else np.sqrt(mine * theirs)
    found: Array = product / np.where(below == 0, 1, below)
    found[both_empty] = 1
    return found
