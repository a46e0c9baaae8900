"""Sampling of neighbors: some entries of each row, a function of a key and the row's number."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn._arrays import (
    Array,
    arange,
    concat,
    nonzero,
    repeat,
    running,
    to_array,
    to_tensor,
    where,
)
from edgnn._hashing import mix
from edgnn.errors import GraphError
from edgnn.graphs import CSR, ListedBy, Relations, Structure

#: Up to so many draws per row, each is compared with all before it; beyond, they are sorted.
_COMPARED = 32


class Sampler:
    """Draws the neighbors that a layer reads, hop by hop, in time that depends on what is drawn.

    What is drawn for a node depends on the key and the node alone, never on the nodes beside it. Of
    a node with more neighbors than the fan-out, every set of so many is as likely as any other, and
    each neighbor drawn counts for as many as there are per one drawn, so sums over neighbors stay
    what they are in the mean. Label counts are exact: nothing is left out of them.

    Layers with weights per relation draw per relation and direction; their means are means of what
    was drawn. GINE draws edges.

    Parameters
    ----------
    structure : Structure
        Of the whole graphs, on any device; arrays that are mapped from files are read only where
        something is drawn.
    """

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._place: Array = None

    def hop(
        self,
        rows: Tensor,
        fanout: int | None,
        key: int,
        *,
        relations: ListedBy = False,
        means: bool = False,
    ) -> Structure:
        """Return the structure that computes states of some nodes from those of sampled neighbors.

        Parameters
        ----------
        rows : Tensor
            The nodes, each once.
        fanout : int, optional
            Most neighbors of a node, edges or, by target, neighbors per relation; all without.
        key : int
            What the draws follow from.
        relations : {False, "targets", "sources"}
            Which lists the layer reads: neighbors, or edges by label and direction.
        means : bool
            Whether the layer takes means over the neighbors of a relation, which need no factor.
        """
        whole = self.structure
        if fanout is not None and (not isinstance(fanout, Integral) or fanout < 1):
            raise GraphError(
                f"fanout={fanout!r}: a whole number of neighbors, 1 or more, is needed, "
                "or None for all"
            )
        check_nodes(rows, whole.num_nodes)
        check_lists(whole, relations)
        part, listed = whole.rows(rows), dict[str, Any]()
        if relations == "targets":
            assert whole.relations is not None
            drawn = _by_target(whole.relations, rows, fanout, key, means)
            columns, gather = self._numbered(rows, drawn.gather)
            listed["relations"] = replace(drawn, gather=gather)
        elif relations == "sources":
            assert whole.sources is not None
            drawn = _by_source(whole.sources, sampled(whole.sources.spread, rows, fanout, key))
            columns, gather = self._numbered(rows, drawn.gather)
            listed["sources"] = replace(drawn, gather=gather)
        else:
            columns, neighbors = self._numbered(rows, sampled(whole.neighbors, rows, fanout, key))
            return replace(part, neighbors=neighbors, nodes=columns)
        return replace(
            part,
            neighbors=replace(part.neighbors, shape=(len(rows), len(columns))),
            nodes=columns,
            **listed,
        )

    def _numbered(self, rows: Tensor, matrix: CSR) -> tuple[Tensor, CSR]:
        """Return the nodes of ``rows`` and behind them all others in the matrix, renumbered.

        The matrix is returned with their new numbers.
        """
        first, met = to_array(rows), to_array(matrix.indices.long())
        place, self._place = self._places(), None  # after an error here, it is not used again
        place[first] = _short(arange(len(first), first))
        others = _once(met[place[met] < 0])
        place[others] = _short(arange(len(others), first) + len(first))
        indices = place[met]
        place[first], place[others] = -1, -1
        self._place = place
        columns = to_tensor(concat([first, others]))
        numbered = replace(matrix, indptr=matrix.indptr.to(torch.int32), indices=to_tensor(indices))
        return columns, replace(numbered, shape=(matrix.shape[0], len(columns)))

    def _places(self) -> Array:
        """Return an array of −1 for every node, kept from call to call."""
        if self._place is None:
            place = torch.full(
                (self.structure.neighbors.shape[1],),
                -1,
                dtype=torch.int32,
                device=self.structure.device,
            )
            self._place = to_array(place)
        return self._place


def sampled(matrix: CSR, rows: Tensor, fanout: int | None, key: int) -> CSR:
    """Return chosen rows of a matrix of ones with at most ``fanout`` entries each.

    A row that loses entries has in their place larger ones: ``values`` are the row's length over
    the number of entries kept. Drawing takes time in proportion to what is kept, also from rows
    with millions of entries.
    """
    chosen, starts = to_array(rows), to_array(matrix.indptr)
    first = _long(starts[chosen])
    degree = _long(starts[chosen + 1]) - first
    kept = degree if fanout is None else degree.clip(max=fanout)
    indptr = running(kept)
    entry = arange(int(indptr[-1]), chosen) + repeat(first - indptr[:-1], kept)
    values = None
    cut = nonzero(degree > kept)
    if len(cut):
        assert fanout is not None
        drawn = distinct(mix(mix(chosen[cut]) + key), degree[cut], fanout)
        entry[indptr[cut] + arange(fanout, chosen)[:, None]] = first[cut] + drawn
        values = to_tensor(repeat(degree / kept.clip(min=1), kept)).to(torch.float32)
    indices = matrix.indices.index_select(0, to_tensor(entry))
    return CSR(
        to_tensor(indptr).to(matrix.indptr.dtype), indices, values, (len(rows), matrix.shape[1])
    )


def distinct(keys: Array, sizes: Array, count: int) -> Array:
    r"""Draw ``count`` different numbers below each size; every set of them is equally likely.

    Floyd's way, for all rows at once: the i-th draw t is from 0 to j = size − count + i, and where
    t has been taken, j is. Whether it has is known without going step by step: t came before, or it
    is the j of an earlier draw whose own t had been taken.

    Shapes
    ------
    keys (n,), sizes (n,), each at least count → (count, n)
    """
    step = arange(count, keys)[:, None]
    last = (sizes - count) + step
    draw = _below(mix(keys + mix(step)), last + 1)
    slot = draw - (sizes - count)  # whose j the draw is, where that is an earlier one
    compared = isinstance(draw, Tensor) or count <= _COMPARED
    taken = (
        _taken_by_comparing(draw, slot, step) if compared else _taken_by_sorting(draw, slot, step)
    )
    return where(taken, last, draw)


def _taken_by_comparing(draw: Array, slot: Array, step: Array) -> Array:
    taken = draw < 0
    for later in range(1, len(draw)):
        came, was_put = draw[:later] == draw[later], (slot[later] == step[:later]) & taken[:later]
        taken[later] = (came | was_put).any(0)
    return taken


def _taken_by_sorting(draw: Array, slot: Array, step: Array) -> Array:
    order = np.argsort(draw, axis=0, kind="stable")
    arranged = np.take_along_axis(draw, order, axis=0)
    taken = np.zeros(draw.shape, dtype=bool)
    np.put_along_axis(taken, order[1:], arranged[1:] == arranged[:-1], axis=0)
    at, row = ((slot >= 0) & (slot < step)).nonzero()
    earlier = slot[at, row]
    while True:
        now = taken[at, row] | taken[earlier, row]
        if not (now & ~taken[at, row]).any():
            return taken
        taken[at, row] = now


def _below(random: Array, sizes: Array) -> Array:
    """Turn random 64-bit numbers into numbers from 0 to below ``sizes``.

    Their first 52 bits are a fraction, times the size: a float64 holds that exactly.
    """
    unit = (random >> 12) & (2**52 - 1)
    if isinstance(unit, Tensor):
        return (unit.to(torch.float64) * 2.0**-52 * sizes).long()
    return (unit * 2.0**-52 * sizes).astype(np.int64)


def _once(numbers: Array) -> Array:
    """Return the different numbers, rising."""
    if isinstance(numbers, Tensor):
        return torch.unique(numbers)
    numbers.sort()
    new = np.ones(len(numbers), dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=new[1:])
    return numbers[new]


def _long(numbers: Array) -> Array:
    return numbers.long() if isinstance(numbers, Tensor) else numbers.astype(np.int64)


def _short(numbers: Array) -> Array:
    return numbers.to(torch.int32) if isinstance(numbers, Tensor) else numbers.astype(np.int32)


def check_nodes(nodes: Tensor, count: int) -> None:
    """Raise where these are not numbers of nodes."""
    if not isinstance(nodes, Tensor) or nodes.dtype != torch.int64 or nodes.dim() != 1:
        raise GraphError(
            f"nodes are given as a tensor of int64 with one axis, not as {_described(nodes)}"
        )
    if len(nodes) and (int(nodes.min()) < 0 or int(nodes.max()) >= count):
        raise GraphError(
            f"nodes reach from {int(nodes.min())} to {int(nodes.max())}, "
            f"the graphs have {count:,} nodes"
        )


def check_lists(structure: Structure, relations: ListedBy) -> None:
    """Raise where a structure lacks the lists that a layer reads."""
    lists = {"targets": structure.relations, "sources": structure.sources}
    if relations in lists and lists[relations] is None:
        raise GraphError(
            "the structure does not list edges by label and direction, which this layer reads: "
            "build it in memory with "
            f"relations={relations!r} (files hold neighbors only), or choose conv='edgnn' or 'gnn'"
        )


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    return type(value).__name__


def _by_target(
    relations: Relations, rows: Tensor, fanout: int | None, key: int, means: bool
) -> Relations:
    """Return the pairs of some nodes, by target, each with at most so many neighbors."""
    spread = relations.spread.take(rows)
    pairs, pair = torch.unique(spread.indices, return_inverse=True)
    pairs = pairs.long()
    gather = sampled(relations.gather, pairs, fanout, key)
    return Relations(
        gather=replace(gather, values=None) if means else gather,
        spread=replace(
            spread, indices=pair.to(spread.indices.dtype), shape=(len(rows), len(pairs))
        ),
        offset=tuple(
            torch.searchsorted(pairs, torch.tensor(relations.offset, device=pairs.device)).tolist()
        ),
    )


def _by_source(sources: Relations, spread: CSR) -> Relations:
    """Return the pairs that some nodes receive, by source."""
    pairs, pair = torch.unique(spread.indices, return_inverse=True)
    pairs = pairs.long()
    return Relations(
        gather=sources.gather.take(pairs),
        spread=replace(
            spread, indices=pair.to(spread.indptr.dtype), shape=(spread.shape[0], len(pairs))
        ),
        offset=tuple(
            torch.searchsorted(pairs, torch.tensor(sources.offset, device=pairs.device)).tolist()
        ),
        features=None if sources.features is None else sources.features[pairs],
    )
