"""Rounds in which only a handful of nodes are affected: plain Python, exact by construction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgnn.wl._history import History
from edgnn.wl._neighborhood import Viewers

if TYPE_CHECKING:
    from edgnn.wl._refine import Changes

_Array = np.ndarray[Any, Any]
#: Per class: how the neighborhood changed, as (code, color) with the difference in count, and the
#: nodes it changed so for.
Parts = dict[int, dict[frozenset[tuple[tuple[int, int], int]], list[int]]]

#: Up to this many affected entries a round is done here.
TINY = 128


@dataclass
class Result:
    """Where the rounds ended: the next free color, the number of colors, and the last changes (none: stable)."""

    next_color: int
    num_colors: int
    nodes: list[int]
    old: list[int]
    new: list[int]


class _Classes:
    """Members of every class as ranges of one list, so that a part can be taken out in time proportional to it."""

    def __init__(self, color: _Array) -> None:
        order = np.argsort(color, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        classes, start = np.unique(color[order], return_index=True)
        self.order: list[int] = order.tolist()
        self.place: list[int] = place.tolist()
        self.start: dict[int, int] = dict(zip(classes.tolist(), start.tolist(), strict=True))

    def to_end(self, nodes: list[int], start: int, size: int) -> None:
        """Swap ``nodes`` to the end of the range of ``size`` members from ``start``."""
        order, place = self.order, self.place
        last = start + size - 1
        for node in nodes:
            here, other = place[node], order[last]
            order[here], order[last] = other, node
            place[other], place[node] = here, last
            last -= 1

    def members(self, start: int, size: int) -> list[int]:
        """Return the members of a range."""
        return self.order[start : start + size]


def refine_tiny(
    colors: _Array,
    size: _Array,
    viewers: Viewers,
    changes: Changes,
    next_color: int,
    num_colors: int,
    history: History,
    rounds: int,
) -> Result:
    """Refine until stable, for ``rounds`` rounds, or until a round affects many nodes; ``colors`` and ``size`` are updated."""
    classes = _Classes(colors)
    indptr, indices = viewers.indptr, viewers.indices
    codes = None if viewers.codes is None else viewers.codes ^ viewers.flip
    result = Result(
        next_color, num_colors, changes.nodes.tolist(), changes.old.tolist(), changes.new.tolist()
    )
    while rounds > 0 and result.nodes:
        affected = sum(int(indptr[node + 1] - indptr[node]) for node in result.nodes)
        if affected > 4 * TINY:
            break
        parts = _parts(result, indptr, indices, codes, colors)
        moves = _moves(parts, classes, size)
        result.nodes, result.old, result.new = [], [], []
        for nodes, old in sorted(moves, key=lambda move: min(move[0])):
            new = result.next_color
            result.next_color += 1
            result.num_colors += 1
            size[old] -= len(nodes)
            size[new] = len(nodes)
            classes.to_end(nodes, classes.start[old], int(size[old]) + len(nodes))
            classes.start[new] = classes.start[old] + int(size[old])
            for node in nodes:
                colors[node] = new
            result.nodes += nodes
            result.old += [old] * len(nodes)
            result.new += [new] * len(nodes)
        if result.nodes:
            history.record_few(result.nodes, result.new, result.num_colors)
        rounds -= 1
    return result


def _parts(
    changes: Result, indptr: _Array, indices: _Array, codes: _Array | None, colors: _Array
) -> Parts:
    """Group the nodes that see a changed one by class and by how exactly their neighborhood changed."""
    delta: dict[int, dict[tuple[int, int], int]] = {}
    for node, old, new in zip(changes.nodes, changes.old, changes.new, strict=True):
        begin, end = indptr[node], indptr[node + 1]
        seen_by = indices[begin:end].tolist()
        seen_as = [0] * len(seen_by) if codes is None else codes[begin:end].tolist()
        for other, code in zip(seen_by, seen_as, strict=True):
            difference = delta.setdefault(other, {})
            difference[code, new] = difference.get((code, new), 0) + 1
            difference[code, old] = difference.get((code, old), 0) - 1
    parts: Parts = {}
    for node, difference in delta.items():
        key = frozenset(item for item in difference.items() if item[1])
        if key:
            parts.setdefault(int(colors[node]), {}).setdefault(key, []).append(node)
    return parts


def _moves(parts: Parts, classes: _Classes, size: _Array) -> list[tuple[list[int], int]]:
    """Return the parts that must leave their class: all but the largest, of equal ones the untouched or the first."""
    moves = []
    for old, groups in parts.items():
        members = sorted(groups.values(), key=lambda nodes: (-len(nodes), min(nodes)))
        rest = int(size[old]) - sum(map(len, members))
        if rest and len(members[0]) > rest:
            touched = set().union(*members)
            start = classes.start[old]
            moves.append(
                (
                    [
                        node
                        for node in classes.members(start, int(size[old]))
                        if node not in touched
                    ],
                    old,
                )
            )
            members = members[1:]
        elif not rest:
            members = members[1:]
        moves += [(nodes, old) for nodes in members]
    return moves
