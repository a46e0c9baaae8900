"""Rounds in which only a handful of nodes are affected: plain Python, exact by construction.

A long path is refined in thousands of rounds of a few nodes each. An array call takes microseconds
however small the array, so dicts and lists are faster there; and they compare neighborhoods
themselves instead of hashes of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn.wl._history import Changes, History
from edgnn.wl._neighborhood import Viewers

_Array = np.ndarray[Any, Any]
#: How a neighborhood changed: pairs (code, color) with the difference in count.
_Difference = frozenset[tuple[tuple[int, int], int]]
#: Per class: the nodes whose neighborhoods changed, by how they did.
_Parts = dict[int, dict[_Difference, list[int]]]

#: Up to this many affected entries a round is done here.
TINY = 128


@dataclass
class Result:
    """Where the rounds ended: next free color, number of colors, last changes (none: stable)."""

    next_color: int
    num_colors: int
    nodes: list[int]
    old: list[int]
    new: list[int]


class _Classes:
    """Members of every class as ranges of one list: taking a part out costs time for that part."""

    def __init__(self, color: _Array) -> None:
        order = np.argsort(color, kind="stable")
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        classes, start = np.unique(color[order], return_index=True)
        self.order: list[int] = order.tolist()
        self.position: list[int] = position.tolist()
        self.start: dict[int, int] = dict(zip(classes.tolist(), start.tolist(), strict=True))

    def split_off(self, nodes: list[int], old: int, size: int, new: int) -> None:
        """Make ``nodes`` a class of their own: swap them to the end of the range of the old one."""
        order, position = self.order, self.position
        last = self.start[old] + size - 1
        for node in nodes:
            here, other = position[node], order[last]
            order[here], order[last] = other, node
            position[other], position[node] = here, last
            last -= 1
        self.start[new] = last + 1

    def members(self, color: int, size: int) -> list[int]:
        """Return the members of a class."""
        start = self.start[color]
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
    """Refine until stable, for ``rounds`` rounds, or until a round affects many nodes.

    ``colors`` and ``size`` are updated in place, and ``history`` gets the rounds.
    """
    classes = _Classes(colors)
    indptr = viewers.indptr
    lists = (values.tolist() for values in (changes.nodes, changes.old, changes.new))
    result = Result(next_color, num_colors, *lists)
    while rounds > 0 and result.nodes:
        affected = sum(int(indptr[node + 1] - indptr[node]) for node in result.nodes)
        if affected > 4 * TINY:  # more than TINY, so as not to go back and forth
            break
        leaving = _leaving(_parts(result, viewers, colors), classes, size)
        result.nodes, result.old, result.new = [], [], []
        for nodes, old in sorted(leaving, key=lambda part: min(part[0])):
            new = result.next_color
            classes.split_off(nodes, old, int(size[old]), new)
            size[old] -= len(nodes)
            size[new] = len(nodes)
            colors[nodes] = new
            result.next_color += 1
            result.num_colors += 1
            result.nodes += nodes
            result.old += [old] * len(nodes)
            result.new += [new] * len(nodes)
        if result.nodes:
            history.record_few(result.nodes, result.new, result.num_colors)
        rounds -= 1
    return result


def _parts(changes: Result, viewers: Viewers, colors: _Array) -> _Parts:
    """Group the nodes that see a changed one by class and by how their neighborhood changed."""
    indptr, indices, codes = viewers.indptr, viewers.indices, viewers.codes
    differences: dict[int, dict[tuple[int, int], int]] = {}
    for node, old, new in zip(changes.nodes, changes.old, changes.new, strict=True):
        begin, end = indptr[node], indptr[node + 1]
        seen_by = indices[begin:end].tolist()
        seen_as = [0] * len(seen_by)
        if codes is not None:
            seen_as = (codes[begin:end] ^ viewers.flip).tolist()
        for other, code in zip(seen_by, seen_as, strict=True):
            difference = differences.setdefault(other, {})
            difference[code, new] = difference.get((code, new), 0) + 1
            difference[code, old] = difference.get((code, old), 0) - 1
    parts: _Parts = {}
    for node, difference in differences.items():
        key = frozenset(item for item in difference.items() if item[1])
        if key:
            parts.setdefault(int(colors[node]), {}).setdefault(key, []).append(node)
    return parts


def _leaving(parts: _Parts, classes: _Classes, size: _Array) -> list[tuple[list[int], int]]:
    """Return the parts that leave their class: all but the largest; a tie keeps the untouched."""
    leaving: list[tuple[list[int], int]] = []
    for old, groups in parts.items():
        touched = sorted(groups.values(), key=lambda nodes: (-len(nodes), min(nodes)))
        rest = int(size[old]) - sum(map(len, touched))
        if len(touched[0]) > rest:
            if rest:
                moved = set().union(*touched)
                members = classes.members(old, int(size[old]))
                leaving.append(([node for node in members if node not in moved], old))
            touched = touched[1:]
        leaving += [(nodes, old) for nodes in touched]
    return leaving
