"""How alike graphs are to an edGNN of random weights: the exact mean over all weights."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from edgnn._arrays import row_entries
from edgnn.errors import EstimatorError
from edgnn.models.kernels._checks import Array
from edgnn.wl import Coloring

MOST_COLORS = 12_000
TOO_MANY_COLORS = "colors"


def readout_products(coloring: Coloring, layers: int, scale: float) -> Array:
    r"""Return inner products of readouts of a network of random weights and infinite width.

    A layer is Eq. 4 with standard normal weights, phases b uniform on [0, 2π) and the cosine as
    activation,
    :math:`f = \sqrt{2/d}\,\cos(\sqrt{2s}\,zW + b)`, where z holds a node's state, the sum of its
    neighbors' and its label counts. In the mean over the weights, two nodes' states have the inner
    product :math:`e^{-s|z - z'|^2}`, and :math:`|z - z'|^2` follows from inner products one layer
    below. Nodes of one color have one state (Theorem 2.1), so pairs of colors are enough. The
    readout is the sum of the states of a graph's nodes, of all layers.

    Parameters
    ----------
    coloring : Coloring
        Of all graphs; the scheme says what z holds (``"joint"``: a sum of neighbors' states per
        direction and label).
    layers : int
        How many; the coloring must have as many rounds.
    scale : float
        The s above: how fast states part.

    Shapes
    ------
    → (G, G)
    """
    owner, size = coloring.graphs.graph_of_node.cpu().numpy(), len(coloring.graphs)
    around = _Around(coloring)
    color, first = _numbered(coloring, 0)
    alike: Array = np.eye(len(first))
    total = _summed(alike, owner, color, size)
    for layer in range(1, layers + 1):
        below = color
        color, first = _numbered(coloring, layer)
        products = around.neighbors(first, below, alike)
        products += alike[np.ix_(below[first], below[first])]
        products += around.labels(first)
        alike = _exponential(products, scale)
        total += _summed(alike, owner, color, size)
    return total


def _exponential(products: Array, scale: float) -> Array:
    """Return exp(−s|z − z′|²) from inner products, in their place: matrices are large."""
    own = np.diag(products).copy()
    products *= -2
    products += own[:, None]
    products += own[None, :]
    np.maximum(products, 0, out=products)
    products *= -scale
    return np.exp(products, out=products)


class _Around:
    """What lies around nodes, as the scheme of a coloring sees it."""

    def __init__(self, coloring: Coloring) -> None:
        self.around = coloring.around.on_host()

    def neighbors(self, nodes: Array, color: Array, alike: Array) -> Array:
        """Return inner products of the sums over neighbors; different codes do not meet."""
        row, place = row_entries(self.around.indptr, nodes)
        seen = color[np.asarray(self.around.indices)[place]]
        codes = np.zeros(len(row), dtype=np.int64)
        if self.around.codes is not None:
            codes = np.asarray(self.around.codes)[place]
        order = np.argsort(codes, kind="stable")
        found = np.zeros((len(nodes), len(nodes)))
        for part in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
            mine, r = np.unique(row[part], return_inverse=True)
            theirs, c = np.unique(seen[part], return_inverse=True)
            counts = csr_array((np.ones(len(part)), (r, c)), shape=(len(mine), len(theirs)))
            found[np.ix_(mine, mine)] += counts @ (counts @ alike[np.ix_(theirs, theirs)]).T
        return found

    def labels(self, nodes: Array) -> Array | float:
        """Return inner products of the counts of edge labels, where the scheme has them."""
        if self.around.fixed_codes is None:
            return 0.0
        row, place = row_entries(self.around.fixed_indptr, nodes)
        codes, column = np.unique(np.asarray(self.around.fixed_codes)[place], return_inverse=True)
        counts = csr_array((np.ones(len(row)), (row, column)), shape=(len(nodes), len(codes)))
        found: Array = counts @ np.ascontiguousarray(counts.toarray().T)
        return found


def _numbered(coloring: Coloring, round: int) -> tuple[Array, Array]:
    """Return the color of every node, numbered from 0 without gaps, and a node of each color."""
    _, first, color = np.unique(
        coloring.at(round).cpu().numpy(), return_index=True, return_inverse=True
    )
    if len(first) > MOST_COLORS:
        raise EstimatorError(
            f"the nodes have {len(first):,} colors after {round} rounds; the network compares each "
            f"with each, which is too much beyond {MOST_COLORS:,}: "
            "choose fewer layers, or parts=('wl',)",
            kind=TOO_MANY_COLORS,
        )
    return color, first


def _summed(alike: Array, owner: Array, color: Array, size: int) -> Array:
    """Add up the inner products of all nodes of one graph with all nodes of another."""
    counts = csr_array((np.ones(len(owner)), (owner, color)), shape=(size, len(alike)))
    found: Array = counts @ (counts @ alike).T
    return found
