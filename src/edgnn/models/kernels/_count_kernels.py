"""Kernels of color counts: how much two items share of what was counted in rounds 0 to h."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import csr_array

from edgnn.graphs import Nodes
from edgnn.models._items import Items
from edgnn.models.kernels._checks import Array
from edgnn.wl import Coloring

Kind = Literal["linear", "cosine", "tanimoto", "log-cosine"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Kinds that say more together than each alone.
AVERAGED: tuple[Kind, ...] = ("tanimoto", "log-cosine")


_FULL = 0.02  # share of entries from which plain arrays are multiplied faster
_DENSE = 2**26


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each item has each color, round by round.

    Rows keep the colors of the items that :attr:`known` lists; sums and lengths are of all colors,
    also those never seen there, so that an item's similarity to others does not depend on what they
    are.

    Parameters
    ----------
    known : tuple of array
        For every round the colors that have a column, rising.
    rounds : tuple of csr_array
        For every round the counts.
    total, length, log_length : array
        For every round the sum of the counts, of their squares, and of the squares of log(1 +
        count).

    Shapes
    ------
    rounds (n, colors) each; total, length, log_length (R+1, n) for rounds 0 to R
    """

    known: tuple[Array, ...]
    rounds: tuple[csr_array, ...]
    total: Array
    length: Array
    log_length: Array

    @classmethod
    def of(
        cls, rounds: Sequence[tuple[Array, Array]], items: int, known: Sequence[Array] | None = None
    ) -> Counts:
        """Count the colors of each round.

        Parameters
        ----------
        rounds : sequence of pairs of array
            For every round the colors that are to be counted, and the item that each belongs to.
        items : int
            How many items there are.
        known : sequence of array, optional
            The columns of the items to compare with; default: all colors that occur.
        """
        known = tuple(np.unique(color) for color, _ in rounds) if known is None else tuple(known)
        matrices, sums = [], []
        for (colors, owner), columns in zip(rounds, known, strict=True):
            row, color, count = _counted(owner, colors)
            sums.append(
                [np.bincount(row, part, items) for part in (count, count**2, np.log1p(count) ** 2)]
            )
            place = np.searchsorted(columns, color)
            seen = place < len(columns)
            seen[seen] = columns[place[seen]] == color[seen]
            matrices.append(
                csr_array((count[seen], (row[seen], place[seen])), shape=(items, len(columns)))
            )
        total, length, log_length = np.array(sums).reshape(len(matrices), 3, items).swapaxes(0, 1)
        return cls(known, tuple(matrices), total, length, log_length)

    def __getitem__(self, items: slice) -> Counts:
        """Return the counts of some of the items."""
        rounds = tuple(matrix[items] for matrix in self.rounds)
        return Counts(
            self.known,
            rounds,
            self.total[:, items],
            self.length[:, items],
            self.log_length[:, items],
        )


def color_counts(coloring: Coloring, items: Items) -> Counts:
    """Count the colors of a graph's nodes after every round, or what a node sees around it.

    Of a node, its own color alone says too little: in a knowledge graph hardly two nodes share one.
    What it is made of are the node's label and, for every round, the colors its neighbors had
    before, with the codes of the edges to them.
    """
    colors = [coloring.at(round).cpu().numpy() for round in range(coloring.rounds + 1)]
    if not isinstance(items, Nodes):
        owner = items.graph_of_node.cpu().numpy()
        return Counts.of([(of_round, owner) for of_round in colors], len(items))
    nodes = items.index.cpu().numpy()
    around = coloring.around.on_host()
    indptr = np.asarray(around.indptr)
    degree = indptr[nodes + 1] - indptr[nodes]
    before = np.cumsum(degree) - degree
    place = np.arange(int(degree.sum())) + np.repeat(indptr[nodes] - before, degree)
    neighbor = np.asarray(around.indices)[place]
    code: Any = 0 if around.codes is None else np.asarray(around.codes)[place] << 32
    owner = np.repeat(np.arange(len(nodes)), degree)
    own = colors[0][nodes], np.arange(len(nodes))
    seen = [(code + of_round[neighbor], owner) for of_round in colors[:-1]]
    return Counts.of([own, *seen], len(nodes))


def counted(rounds: Sequence[csr_array]) -> Counts:
    """Return counts, or weights in their place, that have a column for every color of each round already."""
    known = tuple(np.arange(matrix.shape[1]) for matrix in rounds)
    sums = [
        [_row_sums(matrix, part) for matrix in rounds]
        for part in (lambda x: x, np.square, lambda x: np.log1p(x) ** 2)
    ]
    return Counts(known, tuple(rounds), *map(np.array, sums))


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
    """Yield the kernel matrices of every kind on the counts of round 0, of rounds 0 and 1, and so on.

    ``linear`` is the inner product; ``cosine`` divides it by the lengths; ``log-cosine`` is the
    cosine of log(1 + count); ``tanimoto`` is the sum of the smaller counts over the sum of the
    larger ones. Two items without nodes are taken as equal.

    Shapes
    ------
    → (rows, columns) each
    """
    shape = len(rows.total[0]), len(columns.total[0])
    products = {name: np.zeros(shape) for name in ("plain", "log", "least") if _needs(name, kinds)}
    sums = {
        name: [np.cumsum(getattr(side, name), axis=0) for side in (rows, columns)] for name in _SUMS
    }
    for depth, (a, b) in enumerate(zip(rows.rounds, columns.rounds, strict=True)):
        for name, product in products.items():
            product += _PRODUCTS[name](a, b)
        at = {
            name: (mine[depth][:, None], theirs[depth][None, :])
            for name, (mine, theirs) in sums.items()
        }
        found: dict[Kind, Array] = {}
        for kind in kinds:
            found[kind] = _kernel(kind, products, at)
        yield found


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


def _row_sums(matrix: csr_array, part: Any) -> Array:
    found: Array = np.bincount(
        np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)),
        part(matrix.data),
        matrix.shape[0],
    )
    return found


def _unary(counts: csr_array, most: Array) -> csr_array:
    """Write every count as that many ones, each color having as many columns as ``most`` says; what goes beyond is left out."""
    times = np.minimum(counts.data.astype(np.int64), most[counts.indices])
    ends = np.concatenate([[0], np.cumsum(times)])
    start = np.concatenate([[0], np.cumsum(most)])
    column = np.arange(ends[-1]) + np.repeat(start[counts.indices] - ends[:-1], times)
    shape = (counts.shape[0], int(start[-1]))
    return csr_array((np.ones(len(column)), column, ends[counts.indptr]), shape=shape)


def _product(a: csr_array, b: csr_array) -> Array:
    full = a.nnz + b.nnz > _FULL * (a.shape[0] + b.shape[0]) * a.shape[1]
    if full and max(a.shape[0], b.shape[0]) * a.shape[1] <= _DENSE:
        dense: Array = a.toarray() @ b.toarray().T
        return dense
    found: Array = (a @ b.T).toarray()
    return found


def _logarithms(counts: csr_array) -> csr_array:
    return csr_array((np.log1p(counts.data), counts.indices, counts.indptr), shape=counts.shape)


_SUMS = ("total", "length", "log_length")
_PRODUCTS: dict[str, Any] = {
    "plain": _product,
    "log": lambda a, b: _product(_logarithms(a), _logarithms(b)),
    "least": least,
}
_BASE: dict[Kind, str] = {
    "linear": "plain",
    "cosine": "plain",
    "log-cosine": "log",
    "tanimoto": "least",
}


def _needs(product: str, kinds: Collection[Kind]) -> bool:
    return any(_BASE[kind] == product for kind in kinds)


def _kernel(kind: Kind, products: dict[str, Array], sums: dict[str, tuple[Array, Array]]) -> Array:
    product = products[_BASE[kind]]
    if kind == "linear":
        return product.copy()
    if kind == "tanimoto":
        mine, theirs = sums["total"]
        return _ratio(product, mine + theirs - product)
    mine, theirs = sums["length" if kind == "cosine" else "log_length"]
    return _ratio(product, np.sqrt(mine * theirs), empty=(mine == 0) & (theirs == 0))


def _ratio(above: Array, below: Array, empty: Array | None = None) -> Array:
    """Divide; where both items are empty the result is 1, where one is, 0."""
    nothing = below == 0
    found: Array = above / np.where(nothing, 1, below)
    found[nothing if empty is None else empty] = 1
    return found


def _counted(owner: Array, color: Array) -> tuple[Array, Array, Array]:
    """Return the (owner, color) pairs that occur, in order, and how often."""
    distinct, number = np.unique(color, return_inverse=True)
    pairs, count = np.unique(
        owner.astype(np.int64) * max(1, len(distinct)) + number, return_counts=True
    )
    return (
        pairs // max(1, len(distinct)),
        distinct[pairs % max(1, len(distinct))],
        count.astype(np.float64),
    )
