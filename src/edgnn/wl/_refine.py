"""The refinement itself: rounds that re-examine only what the last one changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from edgnn._arrays import (
    Array,
    add_at,
    arange,
    changes,
    concat,
    count,
    filled,
    hash_order,
    largest,
    nonzero,
    repeat,
    runs,
    to_array,
    to_host,
)
from edgnn._hashing import mix
from edgnn.errors import EdgnnError
from edgnn.wl._history import Changes, History
from edgnn.wl._neighborhood import Neighborhood, code_keys
from edgnn.wl._prove import prove_round
from edgnn.wl._tiny import TINY, refine_tiny

_ATTEMPTS = 5
#: Every node is re-examined while more than one entry in this many is affected: one pass over whole
#: arrays is faster than picking out many of their entries.
_FULL_RATIO = 8
#: On a device, so many rounds go over whole arrays in any case; long tails are for the host.
_FULL_ROUNDS_ON_DEVICE = 256
#: How far the seeds of the second hash are from those of the first: one hash uses several.
_SECOND_HASH = 8


class _CollisionError(EdgnnError):
    """Two different neighborhoods got one hash; another seed is tried."""


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
        f"hashes collided under {_ATTEMPTS} seeds, which chance does not do; "
        "please report these graphs"
    )


class Refinement:
    """The state of one refinement: current colors, sizes of the classes, what changed last.

    A color has two pseudo-random 64-bit hashes. What a node sees is represented by the sums of its
    neighbors' hashes, and only the differences of these sums to the round before are computed:
    nodes of one color had equal sums then, so they have equal sums now exactly when their
    differences are equal, and a node that sees no changed neighbor needs no work.
    """

    def __init__(self, initial: Tensor, around: Neighborhood, seed: int, exact: bool) -> None:
        self.around = around
        self.exact = exact
        # Two hashes: the first arranges nodes into parts, the second detects its collisions.
        self.seeds = (seed, seed + _SECOND_HASH)
        self.color = to_array(initial.clone())
        self.history = History(initial)
        self.next_color = int(self.color.max()) + 1 if len(initial) else 0
        # Each new color is a part that left its class, of which there are fewer than nodes.
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
                # A collision could have hidden the split that this round should have made.
                self._prove(self.color)
                break
        return self.history

    def first(self) -> bool:
        """Do the first round, which looks at every node; return whether it changed anything."""
        sums = [
            self.around.sum(hashes[self.color], seed) + self.around.fixed_sum(seed)
            for hashes, seed in zip(self.hashes, self.seeds, strict=True)
        ]
        return self._split_all(sums)

    def _round(self, limit: int) -> bool:
        """Do the next round, or several small ones; return whether there may be more."""
        if self.changes is None:
            return self.first()
        affected = self._affected(self.changes)
        if affected * _FULL_RATIO > self.around.num_entries:
            return self._full(self.changes)
        if isinstance(self.color, Tensor):
            if self.history.rounds < _FULL_ROUNDS_ON_DEVICE:
                return self._full(self.changes)
            self.changes = self._to_host(self.changes)
        if affected <= TINY:
            return self._tiny(self.changes, limit)
        return self._sparse(self.changes)

    def _affected(self, changes: Changes) -> int:
        """Return how many entries of neighborhoods the changes of the last round appear in."""
        indptr = self.around.viewers.indptr
        return int((indptr[changes.nodes + 1] - indptr[changes.nodes]).sum())

    def _to_host(self, changes: Changes) -> Changes:
        """Go on with numpy: of many small rounds, launching would take a device nearly all time."""
        self.around = self.around.on_host()
        self.color = to_host(self.color)
        self.sizes = to_host(self.sizes)
        self.hashes = [to_host(hashes) for hashes in self.hashes]
        return Changes(to_host(changes.nodes), to_host(changes.old), to_host(changes.new))

    def _full(self, changes: Changes) -> bool:
        """Re-examine every node."""
        sums = []
        for hashes, seed in zip(self.hashes, self.seeds, strict=True):
            difference = filled(len(self.color), 0, self.color)
            difference[changes.nodes] = hashes[changes.new] - hashes[changes.old]
            sums.append(self.around.sum(difference, seed))
        return self._split_all(sums)

    def _split_all(self, sums: list[Array]) -> bool:
        """Split each class by the sums of all its nodes; classes of one node stay as they are."""
        nodes = nonzero(self.sizes[self.color] > 1)
        return self._split(nodes, sums[0][nodes], sums[1][nodes], complete=True)

    def _sparse(self, changes: Changes) -> bool:
        """Re-examine the nodes that see a changed one."""
        viewers = self.around.viewers
        start = viewers.indptr[changes.nodes]
        length = viewers.indptr[changes.nodes + 1] - start
        before = np.cumsum(length) - length
        entries = np.arange(int(length.sum())) + np.repeat(start - before, length)
        seen_by = viewers.indices[entries]
        order = np.argsort(seen_by, kind="stable")
        touched, first = np.unique(seen_by[order], return_index=True)
        sums = []
        for hashes, seed in zip(self.hashes, self.seeds, strict=True):
            difference = repeat(hashes[changes.new] - hashes[changes.old], length)
            if viewers.codes is not None:
                keys = code_keys(self.around.num_codes, seed, difference)
                difference *= keys[viewers.codes[entries] ^ viewers.flip]
            sums.append(np.add.reduceat(difference[order], first))
        moved = (sums[0] != 0) | (sums[1] != 0)
        nodes = touched[moved].astype(np.int64)
        return self._split(nodes, sums[0][moved], sums[1][moved], complete=False)

    def _split(self, nodes: Array, first: Array, second: Array, complete: bool) -> bool:
        """Split each class by the two sums of ``nodes``; all others are as before, one part.

        ``complete`` says that ``nodes`` are all nodes of their classes, so there are no others.
        """
        if len(nodes) == 0:
            return False
        # The old color goes into the key, so that one sort arranges by class and by sum.
        parts = _parted(nodes, self.color[nodes], self.hashes[1][self.color[nodes]] + first, second)
        rest = None if complete else self._rest(parts)
        keeps = _keepers(parts, rest, len(self.sizes))
        leaving = nonzero(~keeps)
        changed = parts.nodes[repeat(~keeps, parts.size)]
        colors = self._create(parts.parent[leaving], parts.size[leaving])
        if rest is not None:
            others, other_colors = self._renumber_rest(nodes, parts, rest)
            changed, colors = concat([changed, others]), concat([colors, other_colors])
        return self._apply(changed, colors)

    def _create(self, parent: Array, size: Array) -> Array:
        """Make a color per part that leaves its class; return it once for each node of the part."""
        new = arange(len(size), size) + self.next_color
        add_at(self.sizes, parent, -size)
        self.sizes[new] = size
        self.next_color += len(size)
        self.num_colors += len(size)
        return repeat(new, size)

    def _rest(self, parts: _Parts) -> Array:
        """Return how many nodes of each part's class are in no part at all."""
        seen = np.zeros_like(self.sizes)
        np.add.at(seen, parts.parent, parts.size)
        return self.sizes[parts.parent] - seen[parts.parent]

    def _renumber_rest(self, nodes: Array, parts: _Parts, rest: Array) -> tuple[Array, Array]:
        """Give a new color to the untouched nodes of every class with a larger touched part."""
        outnumbered = parts.parent[(rest > 0) & (parts.size > rest)]
        if len(outnumbered) == 0:
            return nodes[:0], nodes[:0]
        marked = np.zeros(len(self.sizes), dtype=bool)
        marked[outnumbered] = True
        candidates = marked[self.color]
        candidates[nodes] = False
        others = np.flatnonzero(candidates)
        others = others[np.argsort(self.color[others], kind="stable")]
        return others, self._create(*np.unique(self.color[others], return_counts=True))

    def _apply(self, nodes: Array, colors: Array) -> bool:
        """Make new colors current, prove them if asked to, and record the round."""
        if len(nodes) == 0:
            return False
        before = self.color + 0 if self.exact else self.color  # copied only to be compared
        self.changes = Changes(nodes, self.color[nodes], colors)
        self.color[nodes] = colors
        self._prove(before)
        self.history.record(nodes, colors, self.num_colors)
        return True

    def _prove(self, before: Array) -> None:
        """Compare all neighborhoods of each class if ``exact``; a collision raises an error."""
        if not self.exact:
            return
        first = self.history.rounds == 0
        if not prove_round(self.around, before, self.color, first=first):
            raise _CollisionError

    def _tiny(self, changes: Changes, limit: int) -> bool:
        """Hand over to plain Python, which beats array calls while only a handful is affected."""
        result = refine_tiny(
            self.color,
            self.sizes,
            self.around.viewers,
            changes,
            self.next_color,
            self.num_colors,
            self.history,
            limit - self.history.rounds,
        )
        self.next_color = result.next_color
        self.num_colors = result.num_colors
        lists = (result.nodes, result.old, result.new)
        self.changes = Changes(*(np.array(values, dtype=np.int64) for values in lists))
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
    new = changes(key)
    if bool(((changes(color) | changes(check)) & ~new).any()):
        raise _CollisionError
    begin, size = runs(new)
    return _Parts(nodes, size, color[begin])


def _keepers(parts: _Parts, rest: Array | None, num_colors: int) -> Array:
    """Mark the largest part of each class, which keeps its color; none where the rest is as large.

    A node that gets a new color is then in a class of at most half the size, so it changes at most
    log2(N) times, and all rounds together do the work of log2(N) full ones.
    """
    keeps = filled(len(parts.parent), False, parts.parent)
    if rest is None:
        keeps[largest(parts.parent, parts.size, num_colors)] = True
        return keeps
    classes, parent = np.unique(parts.parent, return_inverse=True)
    keeps[largest(parent, parts.size, len(classes))] = True
    return keeps & (parts.size > rest)
