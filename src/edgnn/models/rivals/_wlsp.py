"""WLShortestPathClassifier: the Weisfeiler–Lehman shortest-path kernel (WLSP), with an SVM."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from edgnn._arrays import row_entries
from edgnn._hashing import mix
from edgnn._rules import FLAG, Rules, whole
from edgnn.graphs import Graphs, from_keys, pack
from edgnn.models._items import Items, Level, graphs_of
from edgnn.models.kernels._checks import DEEPEST, Array, candidates
from edgnn.models.kernels._classifier import KernelClassifier
from edgnn.models.kernels._solvers import SVM_RULES, Solver, SVMSolver
from edgnn.models.rivals._part_counts import (
    FEATURES,
    Features,
    PartCounts,
    labels_only,
    occurrences,
)
from edgnn.wl import Coloring, refine

_AT_ONCE = 2**22  # pairs of nodes
_FIRST, _HOPS, _ROUND = 2000, 2100, 2200  # what a hash is for


@dataclass(frozen=True, eq=False)
class _Counted:
    """Graphs as counts of colored paths, and the colors that the counts follow."""

    counts: PartCounts
    coloring: Coloring


@dataclass(eq=False, repr=False)
class WLShortestPathClassifier(KernelClassifier):
    r"""The Weisfeiler–Lehman shortest-path kernel (Shervashidze et al., JMLR 2011), with an SVM.

    .. math:: K_h(G, H) = \sum_{t=0}^{h} \sum_{a, d, b} c^t_G(a, d, b) \, c^t_H(a, d, b)

    where :math:`c^t_G(a, d, b)` counts the ordered pairs of different nodes that have the colors a
    and b after t rounds of refinement and a shortest path of d edges between them. The kernel knows
    no directions, no parallel edges and no edge labels. The values are those of GraKeL's
    ``WeisfeilerLehman`` over ``ShortestPath``, for all depths at the cost of the largest.

    Parameters
    ----------
    depths : int or sequence of int
        Number of rounds h; of several candidates one is chosen inside the training set.
    normalize : bool
        Divide by the lengths, so that a graph that has paths has similarity 1 with itself.
    C : sequence of float
        Candidates for the strength of the support vector machine, rising; chosen inside the
        training set.
    folds : int
        Number of inner folds that choose.
    features : {"refuse", "ignore"}
        What to do with graphs that have continuous features, which the kernel does not look at.
    n_jobs : int, optional
        Splits that are worked on at once, in threads; default: one.
    random_state : int, RandomState or None
        The random seed of inner folds.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        ``kernel`` (the depth), ``C`` and ``inner_accuracy`` of the choice.
    """

    levels: ClassVar[tuple[Level, ...]] = ("graph",)
    rules: ClassVar[Rules] = {
        "depths": whole(0, DEEPEST).or_several(),
        "normalize": FLAG,
        "features": FEATURES,
        **SVM_RULES,
    }

    depths: int | Sequence[int] = (0, 1, 2, 3, 4, 5)
    _: KW_ONLY
    normalize: bool = True
    C: Sequence[float] = SVMSolver.C
    folds: int = SVMSolver.folds
    features: Features = "refuse"

    def _represent(self, items: Items, reference: Any = None) -> _Counted:
        graphs = labels_only(graphs_of(items), self.features)
        if reference is None:
            coloring = refine(graphs, candidates(self.depths)[-1], "node")
        else:
            coloring = reference.coloring.extend(graphs)
        return _Counted(path_counts(coloring), coloring)

    def _kernels(self, rows: Any, columns: Any) -> dict[Hashable, Array]:
        depths = candidates(self.depths)
        rounds = range(depths[-1] + 1)
        weights = np.ones(len(rounds))
        kernels = rows.counts.summed(columns.counts, rounds, weights, self.normalize)
        return {depth: kernels[depth] for depth in depths}

    def _solver(self) -> Solver:
        return SVMSolver.of(self.C, self.folds)


def path_counts(coloring: Coloring) -> PartCounts:
    """Count, for every graph and round, the pairs of nodes by their colors and distance.

    Directions are ignored, as the refinement scheme ``node`` does; pairs without a path do not
    count.

    Returns
    -------
    PartCounts
        With ``group`` the round.
    """
    graphs = coloring.graphs
    colors = [coloring.at(round).cpu().numpy() for round in range(coloring.rounds + 1)]
    graph_of = graphs.graph_of_node.cpu().numpy()
    pieces = []
    for first, second, hops in hop_distances(graphs):
        for round, color in enumerate(colors):
            code = mix(mix(mix(color[first], _FIRST) + color[second], _HOPS) + hops, _ROUND + round)
            pieces.append(occurrences(graph_of[first], code, round))
    return PartCounts.collect(pieces, len(graphs))


def hop_distances(graphs: Graphs) -> Iterator[tuple[Array, Array, Array]]:
    """Yield (node, other node, distance) of all ordered pairs with a path.

    Every array holds all pairs of some nodes; their searches go on at once, one step of all of them
    at a time.
    """
    keys = pack(graphs.edge_source.cpu(), graphs.edge_target.cpu(), both=True)
    around = from_keys(keys, graphs.num_nodes, graphs.num_nodes, distinct=True)
    indptr, indices = around.indptr.numpy().astype(np.int64), around.indices.numpy()
    graph, offset = graphs.graph_of_node.cpu().numpy(), graphs.graph_offset.cpu().numpy()
    width = np.diff(offset)[graph]
    before = np.cumsum(width) - width
    cuts = np.flatnonzero(np.diff(before // _AT_ONCE)) + 1
    for nodes in np.split(np.arange(graphs.num_nodes), cuts):
        if len(nodes):
            cell_of = before[nodes] - before[nodes[0]] - offset[graph[nodes]]
            yield _searched(nodes, cell_of, int(width[nodes].sum()), indptr, indices)


def _searched(
    nodes: Array, cell_of: Array, cells: int, indptr: Array, indices: Array
) -> tuple[Array, Array, Array]:
    """Search from every node; the cell of search i and node v is ``cell_of[i] + v``."""
    reached, stamp = np.zeros(cells, dtype=bool), np.zeros(cells, dtype=np.int64)
    search, at = np.arange(len(nodes)), nodes
    reached[cell_of + nodes] = True
    found: list[tuple[Array, Array, Array]] = []
    while len(at):
        row, entry = row_entries(indptr, at)
        search, at = search[row], indices[entry].astype(np.int64)
        cell = cell_of[search] + at
        new = ~reached[cell]
        search, at, cell = search[new], at[new], cell[new]
        stamp[cell] = np.arange(len(cell))
        once = stamp[cell] == np.arange(len(cell))
        search, at = search[once], at[once]
        reached[cell] = True
        found.append((nodes[search], at, np.full(len(at), len(found) + 1)))
    first, second, hops = (np.concatenate(part) for part in zip(*found, strict=True))
    return first, second, hops
