"""Colors as hashes of what they mean: the same in every process, for graphs whose labels are numbered alike."""

from __future__ import annotations

from torch import Tensor

from edgnn._arrays import to_array, to_tensor
from edgnn.graphs import Graphs, Multiplicity
from edgnn.wl._extend import contents
from edgnn.wl._neighborhood import Direction, Neighborhood, Scheme


def signatures(
    graphs: Graphs,
    rounds: int,
    scheme: Scheme = "separate",
    *,
    multiplicity: Multiplicity = "once",
    direction: Direction = "both",
) -> tuple[Tensor, ...]:
    """Return a 64-bit hash of every node's color after each round, from round 0 on.

    Two nodes of equal color have equal hashes, whatever the graphs they are in and whenever these
    are refined, as long as labels have the same numbers (``like=``); nodes of different colors have
    different ones but for a chance of about
    :math:`N^2 / 2^{65}`. Continuous features are not looked at.

    Parameters
    ----------
    graphs : Graphs
        Where the nodes are.
    rounds : int
        How many rounds of refinement.
    scheme, multiplicity, direction
        As in :func:`refine`.

    Shapes
    ------
    → rounds + 1 tensors (N,) of int64
    """
    around = Neighborhood.of(graphs, scheme, multiplicity, direction)
    hashes = contents(to_array(graphs.node_label), around, rounds)
    return tuple(to_tensor(key) for key, _ in hashes)
