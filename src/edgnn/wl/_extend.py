"""Colors for new graphs: neighborhoods hashed by content and looked up round by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from edgnn.errors import EdgnnError, GraphError
from edgnn.graphs import Graphs
from edgnn.ops import mix
from edgnn.wl._coloring import Coloring, bare
from edgnn.wl._history import History
from edgnn.wl._neighborhood import Neighborhood
from edgnn.wl._prove import prove_round

_SEEDS = (101, 202)


@dataclass(frozen=True)
class _Table:
    """The colors of one round, sorted by the content hash of their neighborhoods."""

    key: Tensor
    check: Tensor
    color: Tensor


def extend(coloring: Coloring, graphs: Graphs) -> Coloring:
    """Color ``graphs`` with the colors of ``coloring``; see :meth:`Coloring.extend`."""
    if coloring.extended:
        raise GraphError("these colors extend others; extend the original coloring, with all new graphs at once")
    new = _recoded(coloring.graphs, graphs)
    around = Neighborhood.of(new, coloring.scheme, coloring.multiplicity)
    free = _highest(coloring) + 1
    history = History(new.node_label)
    previous = new.node_label
    hashes = _contents(new.node_label, around, coloring.rounds)
    for round, (key, check) in enumerate(hashes):
        if round == 0:
            continue
        color = _looked_up(_table(coloring, round), key, check, free)
        if coloring.exact:
            _prove(coloring, new, previous, color, round)
        moved = color != previous
        history.record(moved.nonzero()[:, 0].cpu().numpy(), color[moved].cpu().numpy(), len(torch.unique(color)))
        previous = color
    return Coloring(
        graphs=new,
        history=history,
        rounds=coloring.rounds,
        until_stable=False,
        scheme=coloring.scheme,
        multiplicity=coloring.multiplicity,
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


def _highest(coloring: Coloring) -> int:
    """Return the largest color number of any round."""
    initial = coloring.history.initial
    first = int(initial.max()) if len(initial) else -1
    return max(first, max(coloring.history.colors, default=-1), len(coloring.graphs.node_vocabulary) - 1)


def _contents(label: Tensor, around: Neighborhood, rounds: int) -> Iterator[tuple[Tensor, Tensor]]:
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
        tables = []
        for number, (key, check) in enumerate(_contents(coloring.graphs.node_label, coloring.around, coloring.rounds)):
            color = coloring.at(number)
            distinct, position = torch.unique(color, return_inverse=True)
            example = torch.empty(len(distinct), dtype=torch.int64, device=color.device)
            example[position] = torch.arange(len(color), device=color.device)
            order = torch.argsort(key[example])
            tables.append(_Table(key[example][order], check[example][order], distinct[order]))
        coloring.__dict__["_tables"] = tables
    return tables[round]


def _looked_up(table: _Table, key: Tensor, check: Tensor, free: int) -> Tensor:
    """Return the known color of each hash, or a new one per unknown hash, from ``free`` on."""
    if len(table.key):
        place = torch.searchsorted(table.key, key).clamp_(max=len(table.key) - 1)
        known = table.key[place] == key
        if bool((known & (table.check[place] != check)).any()):
            raise EdgnnError("two different neighborhoods got one hash; use exact=True on all graphs together")
        color = torch.where(known, table.color[place], -1)
    else:
        color = torch.full_like(key, -1)
        known = color >= 0
    _, rank = torch.unique(key[~known], return_inverse=True)
    color[~known] = free + rank
    return color


def _prove(coloring: Coloring, new: Graphs, before: Tensor, after: Tensor, round: int) -> None:
    both = Graphs.concat([bare(coloring.graphs), bare(new)])
    around = Neighborhood.of(both, coloring.scheme, coloring.multiplicity)
    old_before, old_after = coloring.at(round - 1), coloring.at(round)
    if not prove_round(around, torch.cat([old_before, before]), torch.cat([old_after, after]), first=round == 1):
        raise EdgnnError(f"two different neighborhoods got one hash in round {round}; refine all graphs together")
