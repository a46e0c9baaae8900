"""The refinement itself: rounds that re-examine only what the last one changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import EdgnnError
from edgnn.ops import mix
from edgnn.wl._history import History
from edgnn.wl._neighborhood import Neighborhood, code_keys, flipped
from edgnn.wl._prove import prove_round
from edgnn.wl._tiny import TINY, refine_tiny

_ATTEMPTS = 5
_FULL_SHARE = 8  # re-examine everything while more than one entry in this many is affected
_FULL_ROUNDS_ON_DEVICE = 256


class _CollisionError(EdgnnError):
    """Two different neighborhoods got one hash; another seed is tried."""


@dataclass
class Changes:
    """The nodes that changed color in a round, with their old and new colors."""

    nodes: Tensor
    old: Tensor
    new: Tensor


def run(initial: Tensor, around: Neighborhood, rounds: int | None, exact: bool) -> History:
    """Refine ``initial`` colors until nothing changes, or for ``rounds`` rounds.

    Equal neighborhoods always get equal colors. Different ones get different colors unless two independent 64-bit hashes agree
    by accident; with ``exact`` every class of every round is compared entry by entry, and an accident leads to another seed.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return _Refinement(initial, around, seed=16 * attempt, exact=exact).run(rounds)
        except _CollisionError:
            continue
    raise EdgnnError(f"hashes collided under {_ATTEMPTS} seeds, which chance does not do; please report these graphs")


class _Refinement:
    """The state of one refinement: current colors, sizes of the classes, what changed last."""

    def __init__(self, initial: Tensor, around: Neighborhood, seed: int, exact: bool) -> None:
        self.around, self.seed, self.exact = around, seed, exact
        self.color = initial.clone()
        self.history = History(initial)
        self.next_color = int(initial.max()) + 1 if len(initial) else 0
        self.sizes = torch.bincount(initial, minlength=self.next_color + len(initial))
        self.num_colors = int((self.sizes > 0).sum())
        self.changes: Changes | None = None

    def run(self, rounds: int | None) -> History:
        limit = max(len(self.color) - 1, 0) if rounds is None else rounds
        while self.history.rounds < limit:
            if not self._round(limit):
                break
        return self.history

    def _round(self, limit: int) -> bool:
        """Do the next round, or all remaining ones if little is left to do; return whether there may be more."""
        if self.changes is None:
            ones = mix(self.color, self.seed), mix(self.color, self.seed + 8)
            return self._full(ones, first=True)
        affected = self._affected()
        if affected * _FULL_SHARE > self.around.num_entries:
            return self._full(self._weights(), first=False)
        if self.color.device.type != "cpu":
            if self.history.rounds < _FULL_ROUNDS_ON_DEVICE:
                return self._full(self._weights(), first=False)
            self._to_cpu()
        if affected <= TINY:
            return self._tiny(limit)
        return self._sparse()

    def _affected(self) -> int:
        assert self.changes is not None
        nodes = self.changes.nodes
        return int((self.around.indptr[nodes + 1] - self.around.indptr[nodes]).sum())

    def _to_cpu(self) -> None:
        self.around = self.around.to("cpu")
        self.color, self.sizes = self.color.cpu(), self.sizes.cpu()
        assert self.changes is not None
        self.changes = Changes(self.changes.nodes.cpu(), self.changes.old.cpu(), self.changes.new.cpu())

    def _weights(self) -> tuple[Tensor, Tensor]:
        """Return, for two seeds, how the hash of each node's color changed in the last round."""
        assert self.changes is not None
        weights = []
        for seed in (self.seed, self.seed + 8):
            weight = torch.zeros_like(self.color)
            weight[self.changes.nodes] = mix(self.changes.new, seed) - mix(self.changes.old, seed)
            weights.append(weight)
        return weights[0], weights[1]

    def _full(self, weights: tuple[Tensor, Tensor], first: bool) -> bool:
        """Re-examine every node."""
        sums = [self.around.sum(weight, seed) for weight, seed in zip(weights, (self.seed, self.seed + 8), strict=True)]
        if first:
            sums = [total + self.around.fixed_sum(seed) for total, seed in zip(sums, (self.seed, self.seed + 8), strict=True)]
        nodes = torch.arange(len(self.color), device=self.color.device)
        return self._split(nodes, sums[0], sums[1], complete=True)

    def _sparse(self) -> bool:
        """Re-examine the nodes around the changed ones."""
        assert self.changes is not None
        around, changes = self.around, self.changes
        start = around.indptr[changes.nodes]
        length = around.indptr[changes.nodes + 1] - start
        begin = torch.cumsum(length, 0) - length
        entries = torch.arange(int(length.sum())) + torch.repeat_interleave(start - begin, length)
        seen_by = around.indices[entries].numpy()
        order = np.argsort(seen_by, kind="stable")
        touched, first = np.unique(seen_by[order], return_index=True)
        sums = []
        for seed in (self.seed, self.seed + 8):
            weight = torch.repeat_interleave(mix(changes.new, seed) - mix(changes.old, seed), length)
            if around.codes is not None:
                keys = code_keys(around.num_codes, seed, weight.device)
                weight = weight * keys[flipped(around.codes[entries])]
            sums.append(np.add.reduceat(weight.numpy()[order], first))
        moved = (sums[0] != 0) | (sums[1] != 0)
        parts = [torch.from_numpy(part[moved]) for part in (touched.astype(np.int64), *sums)]
        return self._split(parts[0], parts[1], parts[2], complete=False)

    def _split(self, nodes: Tensor, first: Tensor, second: Tensor, complete: bool) -> bool:
        """Split each class by the two sums of ``nodes``; all others are as before and stay together.

        ``complete`` says that ``nodes`` are all nodes, so that there are no others.
        """
        old = self.color[nodes]
        group, leader, count = _group(nodes, old, first, second, self.seed)
        parent = self.color[leader]
        rest = None if complete else self._rest(parent, count)
        keeps = _keepers(parent, count, leader, rest)
        number = torch.cumsum(~keeps, 0) - 1 + self.next_color
        new_of_group = torch.where(keeps, parent, number)
        moved = ~keeps[group]
        changed, colors = nodes[moved], new_of_group[group][moved]
        created = int((~keeps).sum())
        if rest is not None:
            others, other_colors, more = self._renumber_rest(nodes, parent, count, rest, created)
            changed, colors, created = torch.cat([changed, others]), torch.cat([colors, other_colors]), created + more
        return self._apply(changed, colors, created)

    def _rest(self, parent: Tensor, count: Tensor) -> Tensor:
        """Return how many nodes of each group's class are in no group at all."""
        seen = torch.zeros_like(self.sizes).index_add_(0, parent, count)
        return self.sizes[parent] - seen[parent]

    def _renumber_rest(
        self, nodes: Tensor, parent: Tensor, count: Tensor, rest: Tensor, created: int
    ) -> tuple[Tensor, Tensor, int]:
        """Give a new color to the untouched part of every class in which a touched part is larger."""
        beaten = torch.zeros(len(self.sizes), dtype=torch.bool)
        beaten[parent[(rest > 0) & (count > rest)]] = True
        if not bool(beaten.any()):
            return nodes[:0], nodes[:0], 0
        candidates = beaten[self.color]
        candidates[nodes] = False
        others = candidates.nonzero()[:, 0]
        classes, position = torch.unique(self.color[others], return_inverse=True)
        return others, position + self.next_color + created, len(classes)

    def _apply(self, nodes: Tensor, colors: Tensor, created: int) -> bool:
        """Make the new colors current, prove them if asked to, and record the round if it changed anything."""
        if created == 0:
            return False
        old = self.color[nodes]
        before = self.color
        self.color = before.clone()
        self.color[nodes] = colors
        if self.exact and not prove_round(self.around, before, self.color, first=self.history.rounds == 0):
            raise _CollisionError
        one = torch.ones_like(nodes)
        self.sizes.index_add_(0, old, -one).index_add_(0, colors, one)
        self.next_color += created
        self.num_colors += created
        self.changes = Changes(nodes, old, colors)
        self.history.record(nodes.cpu().numpy(), colors.cpu().numpy(), self.num_colors)
        return True

    def _tiny(self, limit: int) -> bool:
        """Hand over to plain Python, which beats array calls on a handful of nodes, until that is no longer so."""
        assert self.changes is not None
        left = limit - self.history.rounds
        result = refine_tiny(
            self.color, self.sizes, self.around, self.changes, self.next_color, self.num_colors, self.history, left
        )
        self.next_color, self.num_colors = result.next_color, result.num_colors
        self.changes = Changes(*(torch.tensor(part, dtype=torch.int64) for part in (result.nodes, result.old, result.new)))
        return len(result.nodes) > 0


def _group(nodes: Tensor, color: Tensor, first: Tensor, second: Tensor, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Number nodes by (color, sums): return each node's group, each group's first node and size; groups in order of first nodes."""
    key = mix(color, seed + 4) + first
    check = mix(color, seed + 5) + second
    order = _argsort(key)
    arranged = key[order]
    new = torch.ones(len(order), dtype=torch.bool, device=key.device)
    new[1:] = arranged[1:] != arranged[:-1]
    begin = new.nonzero()[:, 0]
    label = torch.empty_like(order)
    label[order] = torch.cumsum(new, 0) - 1
    count = torch.diff(begin, append=torch.tensor([len(order)], device=key.device))
    witness = order[begin]
    if bool(((check != check[witness][label]) | (color != color[witness][label])).any()):
        raise _CollisionError
    leader = torch.full((len(begin),), int(nodes.max()) + 1 if len(nodes) else 0, device=key.device)
    leader.scatter_reduce_(0, label, nodes, "amin")
    rank = torch.argsort(leader)
    place = torch.empty_like(rank)
    place[rank] = torch.arange(len(rank), device=key.device)
    return place[label], leader[rank], count[rank]


def _argsort(key: Tensor) -> Tensor:
    if key.device.type == "cpu":
        return torch.from_numpy(np.argsort(key.numpy()))
    return torch.argsort(key)


def _keepers(parent: Tensor, count: Tensor, leader: Tensor, rest: Tensor | None) -> Tensor:
    """Mark the group that keeps its class's color: the largest, of equal ones the first; none where the rest is as large."""
    order = torch.argsort(count, descending=True, stable=True)
    order = order[torch.argsort(parent[order], stable=True)]
    arranged = parent[order]
    best = torch.ones(len(order), dtype=torch.bool, device=parent.device)
    best[1:] = arranged[1:] != arranged[:-1]
    keeps = torch.zeros_like(best)
    keeps[order[best]] = True
    return keeps if rest is None else keeps & (count > rest)
