"""Colors for new graphs: neighborhoods hashed by content and looked up round by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

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
from edgnn.graphs import Graphs
from edgnn.wl._coloring import Coloring, bare
from edgnn.wl._history import History
from edgnn.wl._neighborhood import Neighborhood
from edgnn.wl._prove import examples, prove_round

_SEEDS = (101, 202)


@dataclass(frozen=True)
class _Table:
    """The colors of one round, sorted by the content hash of their neighborhoods."""

    key: Array
    check: Array
    color: Array


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
        color = _looked_up(_table(coloring, round), key, check, free)
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
    """Number the labels of ``graphs`` as ``known`` does, and behind those the ones that ``known`` lacks."""
    graphs = graphs.to(known.device)
    joined = Graphs.concat([bare(known)[:0], bare(graphs)])
    return graphs._with(
        node_label=joined.node_label,
        edge_label=joined.edge_label,
        node_vocabulary=joined.node_vocabulary,
        edge_vocabulary=joined.edge_vocabulary,
    )


def contents(label: Array, around: Neighborhood, rounds: int) -> Iterator[tuple[Array, Array]]:
    """Yield two hashes of every node's unfolded neighborhood after each round, from round 0 on."""
    states = [mix(label, seed) for seed in _SEEDS]
    yield states[0], states[1]
    fixed = [around.fixed_sum(seed) for seed in _SEEDS]
    for _ in range(rounds):
        for position, seed in enumerate(_SEEDS):
            seen = around.sum(states[position], seed) + fixed[position]
            states[position] = mix(mix(states[position], seed + 3) + seen, seed + 4)
        yield states[0], states[1]


def _table(coloring: Coloring, round: int) -> _Table:
    tables: list[_Table] | None = coloring.__dict__.get("_tables")
    if tables is None:
        label = to_array(coloring.graphs.node_label)
        hashes = contents(label, coloring.around, coloring.rounds)
        tables = [
            _sorted(to_array(coloring.at(number)), key, check)
            for number, (key, check) in enumerate(hashes)
        ]
        coloring.__dict__["_tables"] = tables
    return tables[round]


def _sorted(color: Array, key: Array, check: Array) -> _Table:
    """Return one line per color, taken from its first node."""
    nodes = nonzero(examples(color) == arange(len(color), color))
    nodes = nodes[argsort(key[nodes])]
    return _Table(key[nodes], check[nodes], color[nodes])


def _looked_up(table: _Table, key: Array, check: Array, free: int) -> Array:
    """Return the known color of each hash, or a new one per unknown hash, from ``free`` on."""
    color = filled(len(key), -1, key)
    if len(table.key):
        place = to_array(
            torch.searchsorted(to_tensor(table.key), to_tensor(key)).clamp_(max=len(table.key) - 1)
        )
        known = table.key[place] == key
        if bool((known & (table.check[place] != check)).any()):
            raise EdgnnError(
                "two different neighborhoods got one hash; use exact=True on all graphs together"
            )
        color = where(known, table.color[place], color)
    unknown = nonzero(color < 0)
    group = to_array(torch.unique(to_tensor(key[unknown]), return_inverse=True)[1])
    color[unknown] = free + group
    return color


def _prove(coloring: Coloring, new: Graphs, before: Array, after: Array, round: int) -> None:
    both = Graphs.concat([bare(coloring.graphs), bare(new)])
    around = coloring.neighborhood(both)
    old_before, old_after = to_array(coloring.at(round - 1)), to_array(coloring.at(round))
    if not prove_round(
        around, concat([old_before, before]), concat([old_after, after]), first=round == 1
    ):
        raise EdgnnError(
            f"two different neighborhoods got one hash in round {round}; refine all graphs together"
        )
