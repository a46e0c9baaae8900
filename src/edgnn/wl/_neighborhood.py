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
    r"""The entries (u, code) that a node v sees, row by row: numpy on the CPU, tensors elsewhere.

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
        _check_choice("scheme", scheme, Scheme, "'node' (Eq. 1), 'separate' (Eq. 2) or 'joint'")
        _check_choice("multiplicity", multiplicity, Multiplicity, "'once' or 'per-edge'")
        _check_choice("direction", direction, Direction, "'both' or 'in'")
        mutual = direction == "both"
        if scheme == "joint":
            indptr, order = _incidence(graphs, mutual)
            ends = concat([to_array(graphs.edge_source), to_array(graphs.edge_target)])
            num_codes = 2 * len(graphs.edge_vocabulary)
            return cls(indptr, ends[order], _codes(graphs)[order], num_codes, None, None, mutual)
        keys = pack(graphs.edge_target, graphs.edge_source, both=mutual)
        number = graphs.num_nodes
        neighbors = from_keys(keys, number, number, distinct=multiplicity == "once")
        fixed_indptr = fixed_codes = None
        if scheme == "separate":
            fixed_indptr, order = _incidence(graphs, mutual)
            fixed_codes = _codes(graphs)[order]
        indptr, indices = to_array(neighbors.indptr.long()), to_array(neighbors.indices.long())
        return cls(indptr, indices, None, 1, fixed_indptr, fixed_codes, mutual)

    @property
    def num_entries(self) -> int:
        """Number of entries of all rows."""
        return len(self.indices)

    @cached_property
    def viewers(self) -> Viewers:
        """Who sees each node: where edges are looked at from both ends, those it sees itself."""
        if self.mutual:
            # The lowest bit of a code is the direction, which the other end sees reversed.
            return Viewers(self.indptr, self.indices, self.codes, flip=1)
        order = argsort(self.indices, stable=True)
        number = len(self.indptr) - 1
        rows = repeat(arange(number, self.indptr), self.indptr[1:] - self.indptr[:-1])
        indptr = concat([filled(1, 0, self.indptr), count(self.indices, number).cumsum(0)])
        codes = None if self.codes is None else self.codes[order]
        return Viewers(indptr, rows[order], codes, flip=0)

    def sum(self, weight: Array, seed: int) -> Array:
        """Return, for every node, the sum of its entries' node weights times keys of their codes.

        A sum does not depend on the order of entries, as a multiset does not. Multiplying by an odd
        pseudo-random number of the code keeps, say, (label x, color 1) and (label y, color 2) apart
        from (label x, color 2) and (label y, color 1).
        """
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
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in values.items():
            if isinstance(value, Tensor):
                values[name] = to_host(value)
        return Neighborhood(**values)

    def decode(self, code: int) -> tuple[Literal["in", "out"], int]:
        """Return direction and edge label number of a code of ``joint`` or of a fixed entry."""
        return ("out" if code % 2 else "in"), code // 2


@dataclass(frozen=True, eq=False)
class Viewers:
    """The nodes that see each node, row by row; the code that they see is ``codes ^ flip``."""

    indptr: Array
    indices: Array
    codes: Array | None
    flip: int


def code_keys(number: int, seed: int, like: Array) -> Array:
    """Return one odd pseudo-random number per code."""
    return mix(arange(number, like), seed + 1) | 1


def _check_choice(name: str, value: str, choices: Any, listed: str) -> None:
    if value not in get_args(choices):
        raise GraphError(f"{name}={value!r}: choose {listed}")


def _incidence(graphs: Graphs, both: bool) -> tuple[Array, Array]:
    """Return row pointers and the order that sorts edge ends by node.

    End ``e`` is that of edge e at its target, end ``E + e`` that at its source, with ``both``.
    """
    nodes = graphs.edge_target
    if both:
        nodes = torch.cat([nodes, graphs.edge_source])
    indptr = torch.zeros(graphs.num_nodes + 1, dtype=torch.int64, device=graphs.device)
    indptr[1:] = torch.cumsum(torch.bincount(nodes, minlength=graphs.num_nodes), 0)
    if graphs.device.type != "cpu":
        return indptr, torch.argsort(nodes, stable=True)
    keys = pack(nodes, torch.arange(len(nodes))).numpy()
    keys.sort()  # sorting values is several times faster than sorting positions
    return indptr.numpy(), keys & (2**32 - 1)


def _codes(graphs: Graphs) -> Array:
    """Return edges' codes as targets see them, twice the label, then as sources do, one more."""
    label = to_array(graphs.edge_label)
    return concat([2 * label, 2 * label + 1])
