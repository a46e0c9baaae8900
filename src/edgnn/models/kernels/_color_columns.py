"""Color counts as columns that are named by what the training graphs show first, whatever other graphs are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, hstack

from edgnn.models.kernels._checks import Array
from edgnn.models.kernels._count_kernels import Counts
from edgnn.wl import Coloring

_SHARED = 2  # graphs that must have a color before it can say anything about others


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
        rounds = [
            coloring.at(round).cpu().numpy()
            for coloring in colorings
            for round in range(coloring.rounds + 1)
        ]
        return cls(tuple(rounds), graphs.graph_of_node.cpu().numpy(), len(graphs))

    def columns(self, known: Array) -> tuple[Array, ...]:
        """Return, for every round, the colors that at least two of the known graphs have, in the order of their first nodes.

        The numbers of colors depend on all graphs that were refined together; this order does not.
        """
        nodes = np.flatnonzero(np.isin(self.owner, known))
        return tuple(_shared(colors[nodes], self.owner[nodes], self.size) for colors in self.rounds)

    def counts(self, columns: Sequence[Array]) -> csr_array:
        """Return how often each graph has the colors of each column.

        Shapes
        ------
        → (G, columns of all rounds)
        """
        every = self._every
        chosen = zip(every.rounds, every.known, columns, strict=True)
        return csr_array(
            hstack(
                [matrix[:, np.searchsorted(known, wanted)] for matrix, known, wanted in chosen],
                format="csr",
            )
        )

    def counts_of_others(self, columns: Sequence[Array]) -> csr_array:
        """Return the same as :meth:`counts` where some colors of the columns may not occur."""
        known = [np.sort(wanted) for wanted in columns]
        some = Counts.of([(colors, self.owner) for colors in self.rounds], self.size, known)
        chosen = zip(some.rounds, columns, strict=True)
        return csr_array(
            hstack(
                [matrix[:, np.argsort(np.argsort(wanted))] for matrix, wanted in chosen],
                format="csr",
            )
        )

    @cached_property
    def _every(self) -> Counts:
        return Counts.of([(colors, self.owner) for colors in self.rounds], self.size)


def _shared(colors: Array, owner: Array, size: int) -> Array:
    distinct, first, number = np.unique(colors, return_index=True, return_inverse=True)
    pairs = np.unique(number * size + owner)
    often = np.bincount(pairs // max(1, size), minlength=len(distinct)) >= _SHARED
    found: Array = distinct[often][np.argsort(first[often])]
    return found
