"""Neighborhood: what a refinement scheme looks at around each node."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from edgnn._arrays import (
    Array,
    arange,
    argsort,
    concat,
    count,
    filled,
    repeat,
    segment_sum,
    to_array,
    to_host,
)
from edgnn._hashing import mix
from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Multiplicity, from_keys, pack

Scheme = Literal["node", "separate", "joint"]
Direction = Literal["both", "in"]


@dataclass(frozen=True, eq=False)
class Neighborhood:
    r"""The entries (u, code) that a node v sees, row by row, as numpy arrays on the CPU and tensors elsewhere.

    ``node`` and ``separate`` see N(v) with the one code 0; ``joint`` sees every edge once from each
    end, with the code of its direction and label. ``separate`` adds the label counts :math:`n^I_v,
    n^O_v`, which never change, as ``fixed`` entries. With ``direction="in"``, all of them see
    entering edges alone, and seeing is not ``mutual``.

    Shapes
    ------
    indptr (N+1,), indices (M,), codes (M,) or None, fixed_indptr (N+1,), fixed_codes (2E,)
    """

    indptr: Array
    indices: Array
    codes: Array | None
    num_codes: int
    fixed_indptr: Array | None
    fixed_codes: Array | None
    mutual: bool = True

    @classmethod
    def of(
        cls,
        graphs: Graphs,
        scheme: Scheme,
        multiplicity: Multiplicity = "once",
        direction: Direction = "both",
    ) -> Neighborhood:
        """Collect what ``scheme`` looks at."""
        if scheme not in get_args(Scheme):
            raise GraphError(
                f"scheme={scheme!r}: choose 'node' (Eq. 1), 'separate' (Eq. 2) or 'joint'"
            )
        if multiplicity not in get_args(Multiplicity):
            raise GraphError(f"multiplicity={multiplicity!r}: choose 'once' or 'per-edge'")
        if direction not in get_args(Direction):
            raise GraphError(f"direction={direction!r}: choose 'both' or 'in'")
        if scheme == "joint":
            indptr, order = _incidence(graphs, direction)
            indices = concat([to_array(graphs.edge_source), to_array(graphs.edge_target)])[order]
            codes = _codes(graphs)[order]
            return cls(
                indptr,
                indices,
                codes,
                2 * len(graphs.edge_vocabulary),
                None,
                None,
                direction == "both",
            )
        keys = pack(graphs.edge_target, graphs.edge_source, both=direction == "both")
        neighbors = from_keys(
            keys, graphs.num_nodes, graphs.num_nodes, distinct=multiplicity == "once"
        )
        fixed_indptr, fixed_codes = (
            _fixed(graphs, direction) if scheme == "separate" else (None, None)
        )
        indptr, indices = to_array(neighbors.indptr.long()), to_array(neighbors.indices.long())
        return cls(indptr, indices, None, 1, fixed_indptr, fixed_codes, direction == "both")

    @property
    def num_entries(self) -> int:
        """Number of entries of all rows."""
        return len(self.indices)

    @cached_property
    def viewers(self) -> Viewers:
        """Who sees each node: where edges are looked at from both ends, those whom it sees itself."""
        if self.mutual:
            return Viewers(self.indptr, self.indices, self.codes, 1)
        order = argsort(self.indices, stable=True)
        number = len(self.indptr) - 1
        rows = repeat(arange(number, self.indptr), self.indptr[1:] - self.indptr[:-1])
        indptr = concat([filled(1, 0, self.indptr), count(self.indices, number).cumsum(0)])
        return Viewers(indptr, rows[order], None if self.codes is None else self.codes[order], 0)

    def sum(self, weight: Array, seed: int) -> Array:
        """Return, for every node, the sum of its entries' node weights, each multiplied by a random number of its code."""
        entries = weight[self.indices]
        if self.codes is not None:
            entries *= code_keys(self.num_codes, seed, weight)[self.codes]
        return segment_sum(entries, self.indptr)

    def fixed_sum(self, seed: int) -> Array | int:
        """Return a hash of every node's label counts; 0 where the scheme has none."""
        if self.fixed_codes is None:
            return 0
        return segment_sum(mix(self.fixed_codes, seed + 2), self.fixed_indptr)

    def on_host(self) -> Neighborhood:
        """Return the same entries as numpy arrays."""
        parts: dict[str, Any] = {
            field.name: to_host(part)
            if isinstance(part := getattr(self, field.name), Tensor)
            else part
            for field in fields(self)
        }
        return Neighborhood(**parts)

    def decode(self, code: int) -> tuple[Literal["in", "out"], int]:
        """Return the direction and the edge label number of a code of ``joint``, or of the fixed entries of ``separate``."""
        return ("out" if code % 2 else "in"), code // 2


@dataclass(frozen=True, eq=False)
class Viewers:
    """The nodes that see each node, row by row; an entry's code for the one who sees is ``codes ^ flip``."""

    indptr: Array
    indices: Array
    codes: Array | None
    flip: int


def code_keys(number: int, seed: int, like: Array) -> Array:
    """Return one odd pseudo-random number per code."""
    return mix(arange(number, like), seed + 1) | 1


def _incidence(graphs: Graphs, direction: str) -> tuple[Array, Array]:
    """Return row pointers and the order that sorts edge ends by node: end ``e`` is of edge e's target, ``E + e`` of its source."""
    nodes = (
        torch.cat([graphs.edge_target, graphs.edge_source])
        if direction == "both"
        else graphs.edge_target
    )
    indptr = torch.zeros(graphs.num_nodes + 1, dtype=torch.int64, device=graphs.device)
    indptr[1:] = torch.cumsum(torch.bincount(nodes, minlength=graphs.num_nodes), 0)
    if graphs.device.type != "cpu":
        return indptr, torch.argsort(nodes, stable=True)
    keys = pack(nodes, torch.arange(len(nodes))).numpy()
    keys.sort()  # sorting values is several times faster than sorting positions
    return indptr.numpy(), keys & (2**32 - 1)


def _fixed(graphs: Graphs, direction: str) -> tuple[Array, Array]:
    indptr, order = _incidence(graphs, direction)
    return indptr, _codes(graphs)[order]


def _codes(graphs: Graphs) -> Array:
    """Return twice the label for each edge as its target sees it, and one more as its source does."""
    label = to_array(graphs.edge_label)
    return concat([2 * label, 2 * label + 1])
