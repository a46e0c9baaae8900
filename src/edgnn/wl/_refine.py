"""The refinement itself: rounds that re-examine only what the last one changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from edgnn._arrays import (
    Array,
    add_at,
    arange,
    concat,
    count,
    filled,
    hash_order,
    largest,
    nonzero,
    repeat,
    to_array,
    to_host,
)
from edgnn._hashing import mix
from edgnn.errors import EdgnnError
from edgnn.wl._history import History
from edgnn.wl._neighborhood import Neighborhood, code_keys
from edgnn.wl._prove import prove_round
from edgnn.wl._tiny import TINY, refine_tiny

_ATTEMPTS = 5
_FULL_SHARE = 8  # re-examine everything while more than one entry in this many is affected
_FULL_ROUNDS_ON_DEVICE = 256
_SECOND = 8  # how far the seeds of the second hash are from those of the first


class _CollisionError(EdgnnError):
    """Two different neighborhoods got one hash; another seed is tried."""


@dataclass
class Changes:
    """The nodes that changed color in a round, with their old and new colors."""

    nodes: Array
    old: Array
    new: Array


def run(initial: Tensor, around: Neighborhood, rounds: int | None, exact: bool) -> History:
    """Refine ``initial`` colors until nothing changes, or for ``rounds`` rounds.

    Equal neighborhoods always get equal colors. Different ones get different colors unless two
    independent 64-bit hashes agree by accident; with ``exact`` every class of every round is
    compared entry by entry, and an accident leads to another seed.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return Refinement(initial, around, seed=16 * attempt, exact=exact).run(rounds)
        except _CollisionError:
            continue
    raise EdgnnError(
        f"hashes collided under {_ATTEMPTS} seeds, which chance does not do; please report these graphs"
    )


class Refinement:
    """The state of one refinement: current colors, sizes of the classes, what changed last."""

    def __init__(self, initial: Tensor, around: Neighborhood, seed: int, exact: bool) -> None:
        self.around, self.exact = around, exact
        self.seeds = (seed, seed + _SECOND)
        self.color = to_array(initial.clone())
        self.history = History(initial)
        self.next_color = int(self.color.max()) + 1 if len(initial) else 0
        self.sizes = count(self.color, self.next_color + len(initial))
        self.num_colors = int((self.sizes > 0).sum())
        self.changes: Changes | None = None
        every_color = arange(len(self.sizes), self.color)
        self.hashes = [mix(every_color, seed) for seed in self.seeds]

    def run(self, rounds: int | None) -> History:
        """Do rounds until nothing changes, or until there are as many as asked for."""
        limit = max(len(self.color) - 1, 0) if rounds is None else rounds
        while self.history.rounds < limit:
            if not self._round(limit):
                if self.exact and not prove_round(
                    self.around, self.color, self.color, first=self.history.rounds == 0
                ):
                    raise _CollisionError  # a collision hid the split that this round should have made
                break
        return self.history

    def first(self) -> bool:
        """Do the first round, which looks at every node; return whether it changed anything."""
        pairs = zip(self.hashes, self.seeds, strict=True)
        sums = [
            self.around.sum(hashes[self.color], seed) + self.around.fixed_sum(seed)
            for hashes, seed in pairs
        ]
        return self._split_all(sums)

    def _round(self, limit: int) -> bool:
        """Do the next round, or all remaining ones if little is left to do; return whether there may be more."""
        if self.changes is None:
            return self.first()
        affected = self._affected()
        if affected * _FULL_SHARE > self.around.num_entries:
            return self._full()
        if isinstance(self.color, Tensor):
            if self.history.rounds < _FULL_ROUNDS_ON_DEVICE:
                return self._full()
            self._to_host()
        if affected <= TINY:
            return self._tiny(limit)
        return self._sparse()

    def _affected(self) -> int:
        assert self.changes is not None
        nodes, indptr = self.changes.nodes, self.around.viewers.indptr
        return int((indptr[nodes + 1] - indptr[nodes]).sum())

    def _to_host(self) -> None:
        assert self.changes is not None
        self.around = self.around.on_host()
        self.color, self.sizes = to_host(self.color), to_host(self.sizes)
        self.hashes = [to_host(hashes) for hashes in self.hashes]
        self.changes = Changes(
            to_host(self.changes.nodes), to_host(self.changes.old), to_host(self.changes.new)
        )

    def _full(self) -> bool:
        """Re-examine every node."""
        assert self.changes is not None
        sums = []
        for hashes, seed in zip(self.hashes, self.seeds, strict=True):
            weight = filled(len(self.color), 0, self.color)
            weight[self.changes.nodes] = hashes[self.changes.new] - hashes[self.changes.old]
            sums.append(self.around.sum(weight, seed))
        return self._split_all(sums)

    def _split_all(self, sums: list[Array]) -> bool:
        """Split each class by the sums of all its nodes; classes of one node stay as they are."""
        nodes = nonzero(self.sizes[self.color] > 1)
        return self._split(nodes, sums[0][nodes], sums[1][nodes], complete=True)

    def _sparse(self) -> bool:
        """Re-examine the nodes that see a changed one."""
        assert self.changes is not None
        viewers, changes = self.around.viewers, self.changes
        start = viewers.indptr[changes.nodes]
        length = viewers.indptr[changes.nodes + 1] - start
        entries = np.arange(int(length.sum())) + np.repeat(
            start - (np.cumsum(length) - length), length
        )
        seen_by = viewers.indices[entries]
        order = np.argsort(seen_by, kind="stable")
        touched, first = np.unique(seen_by[order], return_index=True)
        sums = []
        for hashes, seed in zip(self.hashes, self.seeds, strict=True):
            weight = repeat(hashes[changes.new] - hashes[changes.old], length)
            if viewers.codes is not None:
                weight *= code_keys(self.around.num_codes, seed, weight)[
                    viewers.codes[entries] ^ viewers.flip
                ]
            sums.append(np.add.reduceat(weight[order], first))
        moved = (sums[0] != 0) | (sums[1] != 0)
        return self._split(
            touched[moved].astype(np.int64), sums[0][moved], sums[1][moved], complete=False
        )

    def _split(self, nodes: Array, first: Array, second: Array, complete: bool) -> bool:
        """Split each class by the two sums of ``nodes``; all others are as before and stay together.

        ``complete`` says that ``nodes`` are all nodes of their classes, so that there are no
        others.
        """
        if len(nodes) == 0:
            return False
        parts = _parted(nodes, self.color[nodes], self.hashes[1][self.color[nodes]] + first, second)
        rest = None if complete else self._rest(parts.parent, parts.size)
        keeps = _keepers(parts.parent, parts.size, rest, len(self.sizes))
        leaving = nonzero(~keeps)
        changed = parts.nodes[repeat(~keeps, parts.size)]
        colors = self._create(parts.parent[leaving], parts.size[leaving])
        if rest is not None:
            others, other_colors = self._renumber_rest(nodes, parts.parent, parts.size, rest)
            changed, colors = concat([changed, others]), concat([colors, other_colors])
        return self._apply(changed, colors)

    def _create(self, parent: Array, size: Array) -> Array:
        """Make one new color per part that leaves its class; return it once for each node of the part."""
        new = arange(len(size), size) + self.next_color
        add_at(self.sizes, parent, -size)
        self.sizes[new] = size
        self.next_color += len(size)
        self.num_colors += len(size)
        return repeat(new, size)

    def _rest(self, parent: Array, size: Array) -> Array:
        """Return how many nodes of each group's class are in no group at all."""
        seen = np.zeros_like(self.sizes)
        np.add.at(seen, parent, size)
        return self.sizes[parent] - seen[parent]

    def _renumber_rest(
        self, nodes: Array, parent: Array, size: Array, rest: Array
    ) -> tuple[Array, Array]:
        """Give a new color to the untouched part of every class in which a touched part is larger."""
        beaten = parent[(rest > 0) & (size > rest)]
        if len(beaten) == 0:
            return nodes[:0], nodes[:0]
        marked = np.zeros(len(self.sizes), dtype=bool)
        marked[beaten] = True
        candidates = marked[self.color]
        candidates[nodes] = False
        others = np.flatnonzero(candidates)
        others = others[np.argsort(self.color[others], kind="stable")]
        return others, self._create(*np.unique(self.color[others], return_counts=True))

    def _apply(self, nodes: Array, colors: Array) -> bool:
        """Make the new colors current, prove them if asked to, and record the round if it changed anything."""
        if len(nodes) == 0:
            return False
        before = self.color + 0 if self.exact else None
        self.changes = Changes(nodes, self.color[nodes], colors)
        self.color[nodes] = colors
        if before is not None and not prove_round(
            self.around, before, self.color, first=self.history.rounds == 0
        ):
            raise _CollisionError
        self.history.record(nodes, colors, self.num_colors)
        return True

    def _tiny(self, limit: int) -> bool:
        """Hand over to plain Python, which beats array calls on a handful of nodes, until that is no longer so."""
        assert self.changes is not None
        left = limit - self.history.rounds
        result = refine_tiny(
            self.color,
            self.sizes,
            self.around.viewers,
            self.changes,
            self.next_color,
            self.num_colors,
            self.history,
            left,
        )
        self.next_color, self.num_colors = result.next_color, result.num_colors
        self.changes = Changes(
            *(np.array(part, dtype=np.int64) for part in (result.nodes, result.old, result.new))
        )
        return len(result.nodes) > 0


@dataclass
class _Parts:
    """Nodes arranged by part: those of one class with equal sums stand together."""

    nodes: Array
    size: Array
    parent: Array


def _parted(nodes: Array, color: Array, key: Array, check: Array) -> _Parts:
    """Arrange nodes by ``key``; ``color`` and ``check`` must then be equal where the key is."""
    order = hash_order(key)
    key, nodes, color, check = key[order], nodes[order], color[order], check[order]
    new = filled(len(order), True, key)
    new[1:] = key[1:] != key[:-1]
    if bool((((color[1:] != color[:-1]) | (check[1:] != check[:-1])) & ~new[1:]).any()):
        raise _CollisionError
    begin = nonzero(new)
    size = concat([begin[1:], filled(1, len(order), key)]) - begin
    return _Parts(nodes, size, color[begin])


def _keepers(parent: Array, size: Array, rest: Array | None, colors: int) -> Array:
    """Mark the part that keeps its class's color: the largest; none where the rest of the class is as large."""
    keeps = filled(len(parent), False, parent)
    if rest is not None:
        classes, parent = np.unique(parent, return_inverse=True)
        colors = len(classes)
    keeps[largest(parent, size, colors)] = True
    return keeps if rest is None else keeps & (size > rest)
