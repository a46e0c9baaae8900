"""Colors by content: a hash of what a color means is the same in every graph and every process.

New graphs get the colors of old ones by looking these hashes up, round by round, in time that
depends on the new graphs only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from edgnn._arrays import (
    Array,
    arange,
    argsort,
    concat,
    filled,
    nonzero,
    to_array,
    to_host,
    to_tensor,
    where,
)
from edgnn._hashing import mix
from edgnn.errors import EdgnnError, GraphError
from edgnn.graphs import Graphs, Multiplicity
from edgnn.wl._coloring import Coloring, bare
from edgnn.wl._history import History
from edgnn.wl._neighborhood import Direction, Neighborhood, Scheme
from edgnn.wl._prove import examples, prove_round

_SEEDS = (101, 202)  # of two hashes: the first finds a color, the second checks it


@dataclass(frozen=True)
class Table:
    """The colors of one round, sorted by the content hash of their neighborhoods."""

    key: Array
    check: Array
    color: Array


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
    different ones but for a chance of about :math:`N^2 / 2^{65}`. Continuous features are not
    looked at.

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


def extend(coloring: Coloring, graphs: Graphs) -> Coloring:
    """Color ``graphs`` with the colors of ``coloring``; see :meth:`Coloring.extend`."""
    if coloring.extended:
        raise GraphError(
            "these colors extend others; extend the original coloring, with all new graphs at once"
        )
    new = _recoded(coloring.graphs, graphs)
    around = coloring.neighborhood(new)
    free = max(coloring.history.highest_color, len(coloring.graphs.node_vocabulary) - 1) + 1
    history = History(new.node_label)
    previous = to_array(new.node_label)
    for round, (key, check) in enumerate(contents(previous, around, coloring.rounds)):
        if round == 0:
            continue
        color = _looked_up(coloring._tables[round], key, check, free)
        if coloring.exact:
            _prove(coloring, new, previous, color, round)
        moved = color != previous
        history.record(nonzero(moved), color[moved], len(np.unique(to_host(color))))
        previous = color
    return Coloring(
        graphs=new,
        history=history,
        rounds=coloring.rounds,
        until_stable=False,
        scheme=coloring.scheme,
        multiplicity=coloring.multiplicity,
        direction=coloring.direction,
        exact=coloring.exact,
        extended=True,
    )


def _recoded(known: Graphs, graphs: Graphs) -> Graphs:
    """Number the labels of ``graphs`` as ``known`` does, and behind those the ones it lacks."""
    graphs = graphs.to(known.device)
    joined = Graphs.concat([bare(known)[:0], bare(graphs)])
    return graphs._with(
        node_label=joined.node_label,
        edge_label=joined.edge_label,
        node_vocabulary=joined.node_vocabulary,
        edge_vocabulary=joined.edge_vocabulary,
    )


def contents(label: Array, around: Neighborhood, rounds: int) -> Iterator[tuple[Array, Array]]:
    """Yield two hashes of every node's unfolded neighborhood after each round, from round 0 on.

    The hash of a node is made of its last one and those of its neighbors, never of color numbers,
    which depend on the graphs that were refined together.
    """
    states = [mix(label, seed) for seed in _SEEDS]
    yield states[0], states[1]
    fixed = [around.fixed_sum(seed) for seed in _SEEDS]
    for _ in range(rounds):
        for position, seed in enumerate(_SEEDS):
            seen = around.sum(states[position], seed) + fixed[position]
            states[position] = mix(mix(states[position], seed + 3) + seen, seed + 4)
        yield states[0], states[1]


def tables(coloring: Coloring) -> list[Table]:
    """Return the colors of every round by content."""
    label = to_array(coloring.graphs.node_label)
    hashes = contents(label, coloring.around, coloring.rounds)
    return [
        _sorted(to_array(coloring.at(number)), key, check)
        for number, (key, check) in enumerate(hashes)
    ]


def _sorted(color: Array, key: Array, check: Array) -> Table:
    """Return one line per color, taken from its first node."""
    nodes = nonzero(examples(color) == arange(len(color), color))
    nodes = nodes[argsort(key[nodes])]
    return Table(key[nodes], check[nodes], color[nodes])


def _looked_up(table: Table, key: Array, check: Array, free: int) -> Array:
    """Return the known color of each hash, or a new one per unknown hash, from ``free`` on."""
    color = filled(len(key), -1, key)
    if len(table.key):
        line = torch.searchsorted(to_tensor(table.key), to_tensor(key))
        line = to_array(line.clamp_(max=len(table.key) - 1))
        known = table.key[line] == key
        if bool((known & (table.check[line] != check)).any()):
            raise EdgnnError(
                "two different neighborhoods got one hash; use exact=True on all graphs together"
            )
        color = where(known, table.color[line], color)
    unknown = nonzero(color < 0)
    group = to_array(torch.unique(to_tensor(key[unknown]), return_inverse=True)[1])
    color[unknown] = free + group
    return color


def _prove(coloring: Coloring, new: Graphs, before: Array, after: Array, round: int) -> None:
    both = Graphs.concat([bare(coloring.graphs), bare(new)])
    around = coloring.neighborhood(both)
    all_before = concat([to_array(coloring.at(round - 1)), before])
    all_after = concat([to_array(coloring.at(round)), after])
    if not prove_round(around, all_before, all_after, first=round == 1):
        raise EdgnnError(
            f"two different neighborhoods got one hash in round {round}; refine all graphs together"
        )
