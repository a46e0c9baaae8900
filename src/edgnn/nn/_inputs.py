"""Inputs: what a model reads of graphs, counted once before the first step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from edgnn.errors import ModelError
from edgnn.graphs import (
    CSR,
    Cells,
    Graphs,
    ListedBy,
    Multiplicity,
    Structure,
    known_labels,
    select_rows,
)
from edgnn.nn.ops import check_nodes, neighbor_sum, row_sum

#: Up to so many labels, one-hot rows are dense: no wider than a hidden layer.
DENSE_LABELS = 64

Matrix = Tensor | CSR


@dataclass(frozen=True, eq=False)
class Inputs:
    r"""The constants of a model: :math:`H^0`, :math:`A H^0`, label counts and neighbor lists.

    :math:`H^0` has the one-hot labels and beside them the continuous features. Neither it nor its
    sum over neighbors changes while a model is trained, so the first layer needs no sparse product.
    A node with the reserved label ``UNKNOWN`` has a zero row.

    Parameters
    ----------
    structure : Structure
        Neighbors and edge label counts.
    H0, AH0 : Tensor or CSR
        Node inputs, and their sums over neighbors.
    graph_H0 : Tensor or CSR
        Sums of the node inputs over each graph.
    pool, pool_t : CSR
        Row g lists the nodes of graph g; the transpose gives the graph of each node.
    sizes : Tensor
        Node count of each graph.
    mask : Tensor, optional
        One for nodes, zero for padding, where every member has a block of its own.
    cells : Cells, optional
        Neighbors' labels per relation, where edges are listed by target and nodes have no
        continuous features.
    hops : tuple of Structure, optional
        The structure of every layer, first to last, where they differ: see :meth:`around`.
    reach : Tensor or CSR, optional
        Node inputs of all columns of the first hop, where it has more of them than rows.

    Shapes
    ------
    H0 (N, L+F), AH0 (N, L+F), graph_H0 (G, L+F), pool (G, N), sizes (G,). In blocks: H0 (M, n,
    L+F), graph_H0 (M, B, L+F), sizes (M, B), mask (M, n), and sparse matrices along the diagonal.
    """

    structure: Structure
    H0: Matrix
    AH0: Matrix
    graph_H0: Matrix
    pool: CSR
    pool_t: CSR
    sizes: Tensor
    mask: Tensor | None = None
    cells: Cells | None = None
    hops: tuple[Structure, ...] | None = None
    reach: Matrix | None = None

    @classmethod
    def of(
        cls,
        graphs: Graphs,
        *,
        direction: Literal["both", "in"] = "both",
        multiplicity: Multiplicity = "once",
        dtype: torch.dtype = torch.float32,
        relations: ListedBy = False,
        cells: Sequence[int] | None = None,
        device: torch.device | str | None = None,
    ) -> Inputs:
        """Count everything in ``graphs``; options as of :meth:`edgnn.Structure.of`.

        ``cells`` are the cells to count, for a model that has weights for these only; all that
        occur by default.
        """
        check_range(graphs, dtype)
        if device is not None:
            # attributes, which nothing here reads, stay where they are
            graphs = graphs.labeled().to(device)
        structure = Structure.of(
            graphs,
            dtype=dtype,
            direction=direction,
            multiplicity=multiplicity,
            relations=relations,
        )
        pool, pool_t = _pool(graphs)
        labels, met = known_labels(graphs.node_vocabulary), None
        if structure.relations is not None and graphs.node_features is None:
            met = Cells.of(
                structure.relations,
                graphs.node_label,
                labels,
                keys=cells,
                dense=DENSE_LABELS,
                dtype=dtype,
            )
        if labels <= DENSE_LABELS:
            H0 = _dense(graphs, labels, dtype)
            AH0: Matrix = neighbor_sum(H0, structure)
            return cls(structure, H0, AH0, row_sum(pool, H0), pool, pool_t, graphs.sizes, cells=met)
        numbers = np.arange(graphs.num_nodes)
        label = graphs.node_label.cpu().numpy()
        sparse = label_counts(numbers, label, (graphs.num_nodes, labels), graphs.node_features)
        matrices = (sparse, structure.neighbors.to_scipy() @ sparse, pool.to_scipy() @ sparse)
        H0s, AH0s, sums = (from_scipy(matrix, dtype, graphs.device) for matrix in matrices)
        return cls(structure, H0s, AH0s, sums, pool, pool_t, graphs.sizes, cells=met)

    def around(self, nodes: Tensor, layers: int, *, constant_first: bool = True) -> Inputs:
        """Return what so many layers need for the states of some nodes, without all other nodes.

        The numbers are the same.

        Parameters
        ----------
        nodes : Tensor
            Each once; the result has a row for each of them, in this order.
        layers : int
            How many.
        constant_first : bool
            Whether the first layer is a product of constants, so that it reads no neighbors.
        """
        if self.hops is not None:
            raise ModelError(
                "these are the inputs of some nodes already: call around on those of the whole "
                "graphs"
            )
        if layers < 1:
            raise ModelError(f"layers={layers}: at least 1 is needed")
        check_nodes(nodes, self.num_nodes)
        hops: list[Structure] = []
        rows = columns = nodes
        for layer in range(layers, 0, -1):
            rows = columns
            reads = layer > 1 or not constant_first
            columns = with_neighbors(self.structure.neighbors, rows) if reads else rows
            hops.append(self.structure.rows(rows, columns if reads else None))
        return self.of_hops(tuple(reversed(hops)), rows)

    def of_hops(self, hops: tuple[Structure, ...], rows: Tensor) -> Inputs:
        """Return the inputs of these hops, the first of which has ``rows``."""
        columns = hops[0].nodes
        assert columns is not None
        cells = self.cells
        if cells is not None:
            cells = replace(
                cells, sums=select_rows(cells.sums, rows), means=select_rows(cells.means, rows)
            )
        return replace(
            self,
            structure=hops[-1],
            H0=select_rows(self.H0, rows),
            AH0=select_rows(self.AH0, rows),
            cells=cells,
            hops=hops,
            reach=select_rows(self.H0, columns) if len(columns) > len(rows) else None,
        )

    def layer(self, number: int) -> Structure:
        """Return the structure of a layer, numbered from 0."""
        return self.structure if self.hops is None else self.hops[number]

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return self.sizes.numel()

    @property
    def num_nodes(self) -> int:
        """Number of nodes, padding included."""
        return self.structure.num_nodes

    @property
    def device(self) -> torch.device:
        """Where the arrays are."""
        return self.sizes.device

    @property
    def dtype(self) -> torch.dtype:
        """Of the numbers."""
        numbers = self.H0.values if isinstance(self.H0, CSR) else self.H0
        assert numbers is not None
        return numbers.dtype

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Inputs:
        """Return the inputs on ``device``, their numbers in ``dtype``."""
        moved = {
            name: getattr(self, name).to(device=device, dtype=dtype)
            for name in ("H0", "AH0", "graph_H0")
        }
        mask = None if self.mask is None else self.mask.to(device=device, dtype=dtype)
        lists = {name: getattr(self, name).to(device) for name in ("pool", "pool_t", "sizes")}
        cells = None if self.cells is None else self.cells.to(device, dtype)
        structure, hops = self.structure.to(device, dtype), None
        if self.hops is not None:
            hops = tuple(hop.to(device, dtype) for hop in self.hops)
            structure = hops[-1]
        reach = None if self.reach is None else self.reach.to(device=device, dtype=dtype)
        return replace(
            self,
            structure=structure,
            mask=mask,
            cells=cells,
            hops=hops,
            reach=reach,
            **moved,
            **lists,
        )


def with_neighbors(neighbors: CSR, rows: Tensor) -> Tensor:
    """Return the nodes of ``rows``, and behind them all their neighbors that are not among them."""
    met = torch.zeros(neighbors.shape[1], dtype=torch.bool, device=rows.device)
    met[neighbors.take(rows).indices.long()] = True
    met[rows] = False
    return torch.cat([rows, met.nonzero().flatten()])


def _pool(graphs: Graphs) -> tuple[CSR, CSR]:
    nodes, count, device = graphs.num_nodes, len(graphs), graphs.device
    numbers = torch.arange(nodes + 1, dtype=torch.int32, device=device)
    pool = CSR(graphs.graph_offset.to(torch.int32), numbers[:-1], None, (count, nodes))
    return pool, CSR(numbers, graphs.graph_of_node.to(torch.int32), None, (nodes, count))


def _dense(graphs: Graphs, labels: int, dtype: torch.dtype) -> Tensor:
    columns = max(labels, len(graphs.node_vocabulary), 1)
    H0 = one_hot(graphs.node_label, columns)[:, :labels].to(dtype)
    if graphs.node_features is None:
        return H0.contiguous()
    return torch.cat([H0, graphs.node_features.to(dtype)], dim=1)


def check_range(graphs: Graphs, dtype: torch.dtype) -> None:
    """Raise where a feature is too large for the numbers that it becomes."""
    most = torch.finfo(dtype).max
    for noun, features in (("node", graphs.node_features), ("edge", graphs.edge_features)):
        if features is None or features.dtype == dtype:
            continue
        beyond = (features.abs() > most).nonzero()
        if len(beyond):
            element, column = beyond[0].tolist()
            raise ModelError(
                f"feature {column} of {noun} {element} is {float(features[element, column]):g}, "
                f"but numbers of {str(dtype).removeprefix('torch.')} end at {most:.2g}: scale the "
                'features, or compute with precision="float64"'
            )


def label_counts(row: Any, label: Any, shape: tuple[int, int], features: Tensor | None) -> Any:
    """Count the labels of each row as a matrix of scipy, with features beside the counts.

    Labels that have no column are not known, and count for nothing.
    """
    from scipy.sparse import coo_array, csr_array, hstack

    known = label < shape[1]
    cells = (row[known], label[known])
    counts = coo_array((np.ones(int(known.sum())), cells), shape=shape).tocsr()
    if features is None:
        return counts
    return hstack([counts, csr_array(features.cpu().numpy())], format="csr")


def from_scipy(matrix: Any, dtype: torch.dtype, device: torch.device) -> CSR:
    """Return a matrix of scipy as ours."""
    matrix.sort_indices()
    indptr, indices = (
        torch.from_numpy(part.astype("int32")) for part in (matrix.indptr, matrix.indices)
    )
    return CSR(indptr, indices, torch.from_numpy(matrix.data).to(dtype), matrix.shape).to(device)
