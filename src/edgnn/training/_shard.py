"""Shards: every rank owns some of the nodes of a graph; training gives what one process gives."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import pairwise
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import TrainingError
from edgnn.graphs import CSR, Cells, Halo, Structure, places
from edgnn.nn import Inputs, LargeInputs, Matrix, Model, from_scipy
from edgnn.nn.ops import row_sum
from edgnn.training._group import Group
from edgnn.training._tasks import NodeTask, seen_labels


class ShardTask(NodeTask):
    """Items are nodes of graphs that every step runs over, each rank over the rows it owns.

    Parameters
    ----------
    inputs : Inputs or LargeInputs
        Of the whole graphs; only the rank's part of them is read.
    positions : Tensor
        The node of each item.
    group : Group
        The ranks.
    device, dtype
        Where the rank's part goes.
    """

    def __init__(
        self,
        inputs: Inputs | LargeInputs,
        positions: Tensor,
        group: Group,
        device: torch.device,
        dtype: torch.dtype | None = None,
    ) -> None:
        inputs = inputs.to("cpu")
        part, (first, last) = shard(inputs, group)
        super().__init__(part.to(device, dtype), positions)
        self.group = group
        offset, nodes = inputs.structure.graph_offset, positions.cpu().contiguous()
        self.graph_of_item = torch.searchsorted(offset, nodes, right=True) - 1
        self.owned = (self.positions >= first) & (self.positions < last)
        self.rows = torch.where(self.owned, self.positions - first, 0)

    def own(self, items: Tensor, group: Group) -> Tensor:
        """Return the items of every member that this rank owns, filled up with −1 to one width.

        Shapes
        ------
        items (M, n) → (M, k), 1 ≤ k ≤ n
        """
        there = (items >= 0) & self.owned[items.clamp(min=0)]
        width = max(1, int(there.sum(1).max()))
        order = torch.argsort((~there).to(torch.uint8), dim=1, stable=True)[:, :width]
        return torch.where(there, items, -1).gather(1, order)

    def view(self, model: Model) -> tuple[Inputs, Tensor]:
        """Return the rank's inputs, and the row of each item that it owns."""
        return self.inputs, self.rows

    def seen(self, train: list[np.ndarray[Any, Any]], node_labels: int) -> tuple[Tensor, Tensor]:
        """Return which labels the graphs of each member's training nodes have."""
        graphs = [np.unique(self.graph_of_item.numpy()[items]) for items in train]
        node, edge = seen_labels(self.inputs, graphs, node_labels)
        return self.group.any(node), self.group.any(edge)


def shard(inputs: Inputs | LargeInputs, group: Group) -> tuple[Inputs, tuple[int, int]]:
    """Return this rank's part of the inputs, and which rows it owns: first, and behind the last.

    The part has a row for every own node, and columns for these and their neighbors, wherever those
    are. Every rank calls this, for each tells the others whose states it needs. Of arrays that are
    mapped from files, only the rank's part is read.
    """
    structure = inputs.structure
    limits = bounds(structure.neighbors, group.size)
    first, last = limits[group.rank], limits[group.rank + 1]
    halo = _outside(structure.neighbors, first, last)
    cuts = torch.searchsorted(halo, torch.tensor(limits)).tolist()
    wanted = [stop - start for start, stop in pairwise(cuts)]
    asked, sent = group.numbers(halo, wanted)
    part = _part(structure, first, last, halo)
    part = replace(part, halo=Halo(asked - first, tuple(sent), tuple(wanted)))
    nodes = torch.arange(last - first, dtype=torch.int32)
    pool = CSR(part.graph_offset.to(torch.int32), nodes, None, (part.num_graphs, last - first))
    H0, AH0, cells = _constants(inputs, first, last)
    graph_H0: Matrix
    if isinstance(H0, Tensor):
        graph_H0 = row_sum(pool, H0)
    else:
        sums = pool.to_scipy() @ H0.to_scipy()
        graph_H0 = from_scipy(sums, inputs.dtype, H0.indptr.device)
    sizes = part.graph_offset.diff()
    return Inputs(part, H0, AH0, graph_H0, pool, pool.T, sizes, cells=cells), (first, last)


def _constants(
    inputs: Inputs | LargeInputs, first: int, last: int
) -> tuple[Matrix, Matrix, Cells | None]:
    """Return inputs, their sums over neighbors, and cells, of some rows."""
    if isinstance(inputs, LargeInputs):
        own = torch.arange(first, last)
        return inputs.node_inputs(own), inputs.neighbor_inputs(own), None
    cells = inputs.cells
    if cells is not None:
        cells = replace(
            cells, sums=_slice(cells.sums, first, last), means=_slice(cells.means, first, last)
        )
    return _slice(inputs.H0, first, last), _slice(inputs.AH0, first, last), cells


def _part(structure: Structure, first: int, last: int, halo: Tensor) -> Structure:
    """Return a range of rows of a structure, with columns for these and for ``halo``."""
    lists = _slice(structure.neighbors, first, last)
    columns = torch.cat([torch.arange(first, last), halo])
    inside = (lists.indices >= first) & (lists.indices < last)
    behind = torch.searchsorted(
        halo.to(lists.indices.dtype), lists.indices, out_int32=lists.indices.dtype == torch.int32
    )
    indices = torch.where(inside, lists.indices - first, behind.add_(last - first))
    listed: dict[str, Any] = dict.fromkeys(("relations", "sources"))
    for name in listed:
        pairs = getattr(structure, name)
        if pairs is not None:
            place = places(columns, structure.num_nodes)
            listed[name] = pairs.rows(columns[: last - first], place, len(columns))
    sums: dict[str, Any] = dict.fromkeys(("C_in", "C_out", "F_in", "F_out"))
    for name in sums:
        matrix = getattr(structure, name)
        if matrix is not None:
            sums[name] = _slice(matrix, first, last)
    return replace(
        structure,
        neighbors=replace(lists, indices=indices, shape=(last - first, len(columns))),
        neighbors_t=None,
        graph_offset=structure.graph_offset.clamp(first, last) - first,
        nodes=columns,
        **listed,
        **sums,
    )


@overload
def _slice(matrix: CSR, first: int, last: int) -> CSR: ...


@overload
def _slice(matrix: Tensor, first: int, last: int) -> Tensor: ...


def _slice(matrix: Matrix, first: int, last: int) -> Matrix:
    """Return rows that stand together, as a copy: what they are cut from need not stay."""
    if isinstance(matrix, Tensor):
        return matrix[first:last].clone()
    start, stop = int(matrix.indptr[first]), int(matrix.indptr[last])
    values = None if matrix.values is None else matrix.values[start:stop].clone()
    kind = torch.int32 if stop - start < 2**31 else torch.int64
    indptr = (matrix.indptr[first : last + 1] - start).to(kind)
    return CSR(
        indptr,
        matrix.indices[start:stop].to(kind, copy=True),
        values,
        (last - first, matrix.shape[1]),
    )


def bounds(neighbors: CSR, ranks: int) -> list[int]:
    """Return where each rank's rows begin, and where the last one's end.

    Each has about equally many rows plus neighbors.

    Every rank has at least one row. Found by bisection, which looks at a few places of a mapped
    array only.
    """
    nodes = neighbors.shape[0]
    if nodes < ranks:
        raise TrainingError(
            f"{nodes} nodes cannot be spread over {ranks} ranks: launch fewer "
            "(torchrun --nproc-per-node)"
        )

    def before(row: int) -> int:
        return int(neighbors.indptr[row]) + row

    limits = [0]
    for rank in range(1, ranks):
        fair = bisect_left(range(nodes), before(nodes) * rank // ranks, key=before)
        limits.append(min(max(fair, limits[-1] + 1), nodes - ranks + rank))
    return [*limits, nodes]


def _outside(neighbors: CSR, first: int, last: int) -> Tensor:
    """Return the columns of some rows that are not among these rows, rising."""
    start, stop = int(neighbors.indptr[first]), int(neighbors.indptr[last])
    met: Tensor = torch.unique(neighbors.indices[start:stop])
    return met[(met < first) | (met >= last)].long()
