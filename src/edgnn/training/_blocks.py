"""Batches for all members of a fleet: each member's graphs in its own block, padded to one size.

With blocks of one size, the states of all members are one tensor, and every layer is one call for
all of them; without a Python step per graph, a small batch costs no more than its arithmetic.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from edgnn._arrays import (
    Array,
    arange,
    argsort,
    count,
    filled,
    nonzero,
    repeat,
    running,
    to_array,
    to_tensor,
    where,
)
from edgnn.graphs import CSR, Cells, Relations, Structure, Window
from edgnn.nn import Inputs, Matrix

#: What nodes have, in the order in which layers multiply it.
_CONSTANTS = ("H0", "AH0", "C_in", "F_in", "C_out", "F_out")


class Blocks:
    """Cuts batches out of the inputs of a whole set, without a Python step per graph.

    Parameters
    ----------
    inputs : Inputs
        Of all graphs, on the device where batches are wanted.
    """

    def __init__(self, inputs: Inputs) -> None:
        structure = inputs.structure
        self.inputs, self.nodes = inputs, inputs.num_nodes
        self.first, self.sizes = to_array(structure.graph_offset), to_array(inputs.sizes)
        self.rows: dict[str, Any] = {}
        for holder, names in (
            (inputs, ("H0", "AH0", "graph_H0")),
            (inputs.cells, ("sums", "means")),
            (structure, ("C_in", "C_out", "F_in", "F_out", "neighbors", "neighbors_t")),
        ):
            for name in names if holder is not None else ():
                matrix = getattr(holder, name)
                self.rows[name] = None if matrix is None else _with_empty_row(matrix)
        self.targets = self.sources = None
        if structure.relations is not None:
            self.targets = _Pairs(structure.relations, by_source=False)
        if structure.sources is not None:
            self.sources = _Pairs(structure.sources, by_source=True)

    def take(self, index: Tensor) -> Inputs:
        """Return the graphs of every member as one batch; entries below zero are left empty.

        The batch of a single member has neither member axis nor padding: whatever members a model
        has, they share it.

        Shapes
        ------
        index : (M, B) of graph numbers
        """
        members, batch = index.shape
        numbers = to_array(index)
        node, run, sizes = self._places(numbers)
        real = node != self.nodes
        structure = self._structure(node, sizes, members)
        pool, pool_t = _pool(sizes, run, real, batch, members)
        shape = () if members == 1 else (members,)
        return Inputs(
            structure=structure,
            H0=self._select("H0", node, members),
            AH0=self._select("AH0", node, members),
            graph_H0=self._select(
                "graph_H0", where(numbers < 0, len(self.sizes), numbers).reshape(-1), members
            ),
            pool=pool,
            pool_t=pool_t,
            sizes=to_tensor(sizes).view(*shape, batch),
            mask=None if members == 1 else to_tensor(real).view(members, -1).to(self.inputs.dtype),
            cells=self._cells(node, members),
        )

    @property
    def static(self) -> bool:
        """Whether :meth:`take_padded` can be used: dense constants, no edges listed by relation."""
        dense = all(
            isinstance(self.rows[name], Tensor | None)
            for name in self.rows
            if not name.startswith("neighbors")
        )
        return dense and self.targets is None and self.sources is None

    def room_for(self, index: Tensor) -> Tensor:
        """Return how many nodes graphs have, none for numbers below zero."""
        return torch.where(index >= 0, to_tensor(self.sizes)[index.clamp(min=0)], 0)

    def take_padded(self, index: Tensor, places: int) -> Inputs:
        """Return what :meth:`take` does, in blocks of a given size; only on CUDA.

        Nothing there waits for the device, so that a step can be recorded.

        Every member has one graph more, numbered last, that has the padding for nodes.

        Parameters
        ----------
        index : Tensor
            Graph numbers, shape (M, B).
        places : int
            How many nodes a member's block has room for; its graphs must fit.
        """
        from edgnn.nn.ops import layout

        (members, batch), whole = index.shape, self.inputs.structure
        laid = layout(
            index,
            to_tensor(self.sizes),
            to_tensor(self.first),
            self.nodes,
            places,
            self.inputs.dtype,
        )
        shape, count = () if members == 1 else (members,), members * places
        beside = self._beside.index_select(0, laid.node).view(*shape, places, -1)
        parts = dict(
            zip(self._widths, torch.split(beside, list(self._widths.values()), dim=-1), strict=True)
        )
        of_nodes: dict[str, Any] = {name: parts.get(name) for name in _CONSTANTS}
        neighbors = neighbors_t = self._window("neighbors", laid.node, laid.shift, members)
        if whole.neighbors_t is not whole.neighbors:
            neighbors_t = self._window("neighbors_t", laid.node, laid.shift, members)
        of_structure = Structure.__dataclass_fields__.keys() & of_nodes.keys()
        numbers = torch.arange(count + 1, dtype=torch.int32, device=index.device)
        graphs = members * (batch + 1)
        return Inputs(
            structure=replace(
                whole,
                neighbors=neighbors,
                neighbors_t=neighbors_t,
                **{name: of_nodes[name] for name in of_structure},
            ),
            H0=of_nodes["H0"],
            AH0=of_nodes["AH0"],
            graph_H0=self._select("graph_H0", laid.graph, members),
            pool=CSR(laid.starts, numbers[:-1], None, (graphs, count), members, short=True),
            pool_t=CSR(numbers, laid.owner, None, (count, graphs), members, short=True),
            sizes=laid.sizes.view(*shape, batch + 1),
            mask=laid.real.view(*shape, places),
        )

    @cached_property
    def _widths(self) -> dict[str, int]:
        """How many columns each constant of a node has, among those side by side."""
        return {
            name: self.rows[name].shape[1] for name in _CONSTANTS if self.rows[name] is not None
        }

    @cached_property
    def _beside(self) -> Tensor:
        """All constants of nodes side by side, so that one look-up does for all."""
        return torch.cat([self.rows[name] for name in self._widths], dim=1)

    def _window(self, name: str, node: Tensor, shift: Tensor, members: int) -> Window:
        matrix = self.rows[name]
        square = (len(node), len(node))
        return Window(
            matrix.indptr, matrix.indices, None, square, members, short=True, rows=node, shift=shift
        )

    def _cells(self, node: Array, members: int) -> Cells | None:
        whole = self.inputs.cells
        if whole is None:
            return None
        return replace(
            whole,
            sums=self._select("sums", node, members),
            means=self._select("means", node, members),
        )

    def _places(self, index: Array) -> tuple[Array, Array, Array]:
        """Lay out the blocks.

        Returns the node at every place (one past the last node for padding), the run it belongs to
        (a member's graphs and then its padding), and the sizes of all graphs.
        """
        members, batch = index.shape
        there = index >= 0
        graph = where(there, index, 0)
        sizes = where(there, self.sizes[graph], 0)
        total = sizes.sum(1)
        runs = filled(members * (batch + 1), 0, index)
        first = filled(members * (batch + 1), 0, index)
        runs.reshape(members, -1)[:, :batch] = sizes
        runs.reshape(members, -1)[:, batch] = total.max() - total
        first.reshape(members, -1)[:, :batch] = self.first[graph]
        run = repeat(arange(len(runs), runs), runs)
        node = (first - running(runs)[:-1])[run] + arange(len(run), run)
        return where(run % (batch + 1) == batch, self.nodes, node), run, sizes.reshape(-1)

    def _structure(self, node: Array, sizes: Array, members: int) -> Structure:
        whole, places = self.inputs.structure, len(node)
        shift = arange(places, node) - node
        square = (places, places)
        neighbors = _csr_rows(self.rows["neighbors"], node, shift, square, members)
        neighbors_t = neighbors
        if whole.neighbors_t is not whole.neighbors:
            neighbors_t = _csr_rows(self.rows["neighbors_t"], node, shift, square, members)
        return Structure(
            neighbors=neighbors,
            neighbors_t=neighbors_t,
            graph_offset=to_tensor(running(sizes)),
            num_edge_labels=whole.num_edge_labels,
            direction=whole.direction,
            multiplicity=whole.multiplicity,
            relations=None if self.targets is None else self.targets.take(node, members),
            sources=None if self.sources is None else self.sources.take(node, members),
            **{
                name: self._select(name, node, members)
                for name in ("C_in", "C_out", "F_in", "F_out")
            },
        )

    def _select(self, name: str, rows: Array, members: int) -> Any:
        """Return rows of a matrix, in blocks."""
        matrix = self.rows[name]
        if isinstance(matrix, Tensor):
            shape = () if members == 1 else (members,)
            return matrix.index_select(0, to_tensor(rows)).view(
                *shape, len(rows) // members, matrix.shape[1]
            )
        if matrix is None:
            return None
        width = matrix.shape[1]
        shift = arange(len(rows), rows) // max(len(rows) // members, 1) * width
        return _csr_rows(matrix, rows, shift, (len(rows), width * members), members)


class _Pairs:
    """The pairs (relation, node) of a whole set, by node, with the nodes at their other ends."""

    def __init__(self, relations: Relations, *, by_source: bool) -> None:
        owned, ends = relations.spread, relations.gather
        if by_source:
            owned, ends = ends.T, owned.T
        self.by_source = by_source
        self.owned, self.ends = _with_empty_row(owned), _with_empty_row(ends)
        self.features = None if relations.features is None else _with_empty_row(relations.features)
        self.relation = to_array(relations.relation_of_pair)
        self.num_relations, self.mirrored = relations.num_relations, relations.mirrored

    def take(self, node: Array, members: int) -> Relations:
        """Return the pairs of the nodes of a batch.

        A relation has equally many rows in every block, some of them empty.
        """
        places, pairs = len(node), self.ends.shape[0] - 1
        of_place = _csr_rows(self.owned, node, None, (places, pairs), 1)
        pair = to_array(of_place.indices.to(torch.int64))
        place = repeat(arange(places, node), to_array(of_place.indptr.diff()))
        row, offset = self._rows(self.relation[pair], place // max(places // members, 1), members)
        rows = members * offset[-1]
        chosen, owner = filled(rows, pairs, row), filled(rows, 0, row)
        chosen[row], owner[row] = pair, place
        real = chosen != pairs
        shift = owner - where(real, node[owner], 0) if rows else owner
        ends = _csr_rows(self.ends, chosen, shift, (rows, places), members)
        owned = CSR(of_place.indptr, _indices(row), None, (places, rows), members)
        if not self.by_source:
            return Relations(gather=ends, spread=owned, offset=offset, mirrored=self.mirrored)
        owner_of = CSR(
            _indices(running(real)), _indices(owner[real]), None, (rows, places), members
        )
        features = self.features
        if features is not None:
            shape = (rows,) if members == 1 else (members, rows // members)
            features = features.index_select(0, to_tensor(chosen)).view(*shape, features.shape[1])
        return Relations(
            gather=owner_of,
            spread=ends.T,
            offset=offset,
            features=features,
            gather_t=owned,
            spread_t=ends,
        )

    def _rows(self, relation: Array, member: Array, members: int) -> tuple[Array, tuple[int, ...]]:
        """Return the row of each pair, and where relations begin within a member's rows.

        Rows stand member by member, relation by relation.
        """
        group = relation * members + member
        sizes = count(group, self.num_relations * members)
        offset = running(_row_maximum(sizes.reshape(-1, members)))
        order = argsort(group, stable=True)
        rank = filled(len(order), 0, order)
        rank[order] = arange(len(order), order) - running(sizes)[:-1][group[order]]
        return member * offset[-1] + offset[relation] + rank, tuple(offset.tolist())


def _with_empty_row(matrix: Matrix) -> Any:
    """Return the matrix with one more row, of zeros, for padding."""
    if isinstance(matrix, Tensor):
        return torch.cat([matrix, matrix.new_zeros(1, matrix.shape[1])])
    indptr = torch.cat([matrix.indptr, matrix.indptr[-1:]])
    return CSR(indptr, matrix.indices, matrix.values, (matrix.shape[0] + 1, matrix.shape[1]))


def _csr_rows(
    matrix: CSR, rows: Array, shift: Array | None, shape: tuple[int, int], blocks: int
) -> CSR:
    """Return chosen rows of a matrix, the columns of each moved by its shift."""
    starts = to_array(matrix.indptr)
    lengths = starts[rows + 1] - starts[rows]
    indptr = running(lengths)
    entry = arange(int(indptr[-1]), rows) + repeat(starts[rows] - indptr[:-1], lengths)
    columns = to_array(matrix.indices)[entry]
    if shift is not None:
        columns = columns + repeat(shift, lengths)
    values = None if matrix.values is None else matrix.values[to_tensor(entry)]
    return CSR(_indices(indptr), _indices(columns), values, shape, blocks)


def _pool(sizes: Array, run: Array, real: Array, batch: int, members: int) -> tuple[CSR, CSR]:
    """Return which places belong to which graphs, and the transpose."""
    graphs, places = len(sizes), len(run)
    owner = run[real]
    owner = owner - owner // (batch + 1)  # runs without the one of padding
    pool = CSR(_indices(running(sizes)), _indices(nonzero(real)), None, (graphs, places), members)
    return pool, CSR(_indices(running(real)), _indices(owner), None, (places, graphs), members)


def _indices(numbers: Array) -> Tensor:
    return to_tensor(numbers).to(torch.int32)


def _row_maximum(table: Array) -> Array:
    return table.amax(1) if isinstance(table, Tensor) else table.max(1)
