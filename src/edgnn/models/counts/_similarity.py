"""How alike items are by their counts: Tanimoto and cosine of all pairs, in matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from edgnn.models.counts._parts import Counts

_Array = np.ndarray[Any, Any]

_FREQUENT = 0.02  # fraction of items beyond which plain arrays are multiplied faster
_CELLS = 2**25  # of a plain array


def tanimoto(rows: Sequence[Counts], columns: Sequence[Counts]) -> list[_Array]:
    r"""Return the Tanimoto similarities by the counts of round 0, of rounds 0 and 1, and so on.

    .. math:: T_h(x, y) = \\frac{\\sum_c \\min(x_c, y_c)}{\\sum_c \\max(x_c, y_c)}

    with c over the parts of rounds 0 to h. The sum of the larger counts is all counts of both less
    the sum of the smaller ones. Two items without parts are alike.

    Parameters
    ----------
    rows, columns : sequences of Counts
        One per round; the rows in the columns' columns (:meth:`Counts.in_columns`).

    Shapes
    ------
    → (n, m) of float32 each
    """
    shared: Any = 0.0
    total: Any = 0.0
    similarities = []
    for new, known in zip(rows, columns, strict=True):
        shared = shared + smaller_counts(new.table, known.table)
        total = total + (new.totals[:, None] + known.totals[None, :]).astype(np.float32)
        larger = total - shared
        alike = np.divide(shared, larger, out=np.ones_like(shared), where=larger > 0)
        similarities.append(alike)
    return similarities


def log_cosine(rows: Sequence[Counts], columns: Sequence[Counts]) -> list[_Array]:
    """Return the cosines of log(1 + count) by the counts of round 0, of rounds 0 and 1, and so on.

    Two items without parts are alike.

    Parameters
    ----------
    rows, columns : sequences of Counts
        As in :func:`tanimoto`; parts that only the rows have count in no length.

    Shapes
    ------
    → (n, m) of float32 each
    """
    products: Any = 0.0
    mine: Any = 0.0
    theirs: Any = 0.0
    similarities = []
    for new, known in zip(rows, columns, strict=True):
        a, b = csr_array(new.table.log1p()), csr_array(known.table.log1p())
        products = products + _products(a, b)
        mine = mine + new.log_square
        theirs = theirs + known.log_square
        lengths = np.sqrt(mine[:, None] * theirs[None, :]).astype(np.float32)
        both_empty = (mine[:, None] == 0) & (theirs[None, :] == 0)
        alike = np.divide(products, lengths, out=both_empty.astype(np.float32), where=lengths > 0)
        similarities.append(alike)
    return similarities


def smaller_counts(a: csr_array, b: csr_array) -> _Array:
    r"""Return :math:`\sum_c \min(a_{ic}, b_{jc})` of all pairs of rows.

    :math:`\min(x, y) = \sum_{t \ge 1} [x \ge t][y \ge t]`, so it is an inner product of rows of
    zeros and ones.

    Shapes
    ------
    (n, d), (m, d) → (n, m) of float32
    """
    most = np.minimum(_largest(a), _largest(b))
    return _products(_unary(a, most), _unary(b, most))


def _products(a: csr_array, b: csr_array) -> _Array:
    """Return the inner products of all pairs of rows.

    Columns that many items have are multiplied as plain arrays, the others, which are most, as
    sparse ones; a column that one side lacks adds nothing.
    """
    often = _frequency(a) * 1.0 * _frequency(b)
    frequent = often > _FREQUENT**2 * a.shape[0] * b.shape[0]
    rare = ~frequent & (often > 0)
    sparse = csr_array(a[:, rare]) @ csr_array(b[:, rare]).T
    products: _Array = sparse.toarray()
    columns = np.flatnonzero(frequent)
    size = max(1, _CELLS // max(a.shape[0], b.shape[0], 1))
    for start in range(0, len(columns), size):
        chosen = columns[start : start + size]
        products += a[:, chosen].toarray() @ b[:, chosen].toarray().T
    return products


def _frequency(table: csr_array) -> _Array:
    counts: _Array = np.bincount(table.indices, minlength=table.shape[1])
    return counts


def _largest(table: csr_array) -> _Array:
    largest = np.zeros(table.shape[1], dtype=np.int64)
    np.maximum.at(largest, table.indices, table.data.astype(np.int64))
    return largest


def _unary(counts: csr_array, most: _Array) -> csr_array:
    """Write every count as that many ones, but no more than ``most`` has columns for its part."""
    times = np.minimum(counts.data.astype(np.int64), most[counts.indices])
    ends = np.concatenate([[0], np.cumsum(times)])
    start = np.concatenate([[0], np.cumsum(most)])
    column = np.arange(ends[-1]) + np.repeat(start[counts.indices] - ends[:-1], times)
    shape = (counts.shape[0], int(start[-1]))
    ones = np.ones(len(column), dtype=np.float32)
    return csr_array((ones, column, ends[counts.indptr]), shape=shape)
