"""Sum readouts under explicit weights: they determine how often each color occurs, and are determined by it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from edgnn.graphs import Graphs
from edgnn.theory._embeddings import Embeddings, graph_sums
from edgnn.theory._partitions import number_rows
from edgnn.theory._weights import WLWeights


@dataclass(frozen=True, eq=False)
class Readouts:
    r"""Sum readouts :math:`\sum_v f^{(t)}(v)` of graphs after every layer; made by :func:`readouts`."""

    embeddings: Embeddings

    @property
    def rounds(self) -> int:
        """Number of layers."""
        return self.embeddings.rounds

    def at(self, round: int) -> Tensor:
        """Return the readout of every graph after ``round`` layers, exactly.

        Shapes
        ------
        → (G, width)
        """
        return graph_sums(self.embeddings, round)

    def color_counts(self, round: int) -> Tensor:
        """Solve the readout for how many nodes of each graph have each color, in the order of the layer's scalars.

        This is the corollary in person: the rows of different colors are linearly independent, so
        the counts that a readout is a sum of can be read off it. Right for the graphs that the
        weights were made for.

        Shapes
        ------
        → (G, k), int64
        """
        number = self.embeddings._number(round)
        sums = self.at(number)
        if number == 0:
            return sums.to(torch.int64)
        weights = self.embeddings.weights
        nodes, steps = sums[:, :1], len(weights.layers[number - 1].scalars[1:])
        if weights.activation == "relu":
            above = sums[:, 1 : 1 + steps] - sums[:, 1 + steps :]
        else:
            above = (sums[:, 1:] + nodes) / 2
        colors = len(weights.layers[number - 1].scalars)
        bounds = torch.cat([nodes, above, torch.zeros_like(nodes)], 1)
        return (bounds[:, :-1] - bounds[:, 1:]).to(torch.int64)[:, :colors]

    def classes(self) -> Tensor:
        """Number graphs alike whose readouts agree after every layer, 0 included.

        Shapes
        ------
        → (G,)
        """
        numbers = torch.stack([number_rows(self.at(round)) for round in range(self.rounds + 1)], 1)
        return number_rows(numbers)


def readouts(weights: WLWeights, graphs: Graphs) -> Readouts:
    """Return the sum readouts of ``graphs`` under ``weights``.

    With weights from :func:`wl_weights` made for these graphs, the readouts of two graphs agree
    after every layer exactly when
    :func:`edgnn.wl.compare` does not distinguish them within as many rounds.
    """
    return Readouts(weights.apply(graphs))
