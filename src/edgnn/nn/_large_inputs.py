"""LargeInputs: what a model reads of very large graphs, made for some nodes at a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import ModelError
from edgnn.graphs import CSR, Graphs, ListedBy, Multiplicity, Structure, known_labels, select_rows
from edgnn.nn._inputs import (
    DENSE_LABELS,
    Inputs,
    Matrix,
    check_range,
    from_scipy,
    label_counts,
)
from edgnn.nn.ops import row_sum

_NODES_AT_ONCE = 2**18  # where all nodes are gone through

#: Sums over more neighbors than this are kept once they have been needed: at most one node in half
#: as many edges has so many.
_HUB = 4096


@dataclass(frozen=True, eq=False)
class LargeInputs:
    r"""The constants of a model without any matrix over all nodes.

    Rows of :math:`H^0` and :math:`A H^0` are made when asked for.

    What :class:`Inputs` is to graphs that fit into memory many times over, this is to those that
    fit once, or are mapped from files: node labels and neighbor lists are read where they are, and
    only for the nodes that a step needs. For node tasks in batches (``Settings(batch_size=…)``) and
    for :func:`edgnn.training.outputs`.

    Parameters
    ----------
    structure : Structure
        Neighbors and edge label counts, in memory or mapped.
    node_label : Tensor
        Label number of each node; numbers from ``labels`` on count for nothing.
    labels : int
        How many labels are known.
    node_features : Tensor, optional
        Continuous features.
    device, dtype
        Of what is made; the arrays stay where they are.

    Shapes
    ------
    node_label (N,), node_features (N, F)
    """

    structure: Structure
    node_label: Tensor
    labels: int
    node_features: Tensor | None = None
    device: torch.device = field(default_factory=partial(torch.device, "cpu"))
    dtype: torch.dtype = torch.float32
    _hubs: dict[int, Matrix] = field(init=False, default_factory=dict)

    @classmethod
    def of(
        cls,
        graphs: Graphs,
        structure: Structure | None = None,
        *,
        direction: Literal["both", "in"] | None = None,
        multiplicity: Multiplicity | None = None,
        dtype: torch.dtype = torch.float32,
        relations: ListedBy | None = None,
        device: torch.device | str = "cpu",
    ) -> LargeInputs:
        """Take graphs as they are; options as of :meth:`edgnn.Structure.of`.

        A structure that is given, from a file for example, decides about the options itself.
        """
        graphs = graphs.to("cpu")
        check_range(graphs, dtype)
        options: dict[str, Any] = {
            "direction": direction,
            "multiplicity": multiplicity,
            "relations": relations,
        }
        options = {name: value for name, value in options.items() if value is not None}
        if structure is None:
            structure = Structure.of(graphs, dtype=dtype, **options)
        elif options:
            raise ModelError(
                f"the structure that is given decides about {' and '.join(options)}: leave that "
                "out, or the structure"
            )
        if structure.neighbors.shape != (graphs.num_nodes, graphs.num_nodes):
            raise ModelError(
                f"the structure has {structure.num_nodes:,} nodes, the graphs have "
                f"{graphs.num_nodes:,}: give one of these graphs"
            )
        labels = known_labels(graphs.node_vocabulary)
        return cls(
            structure, graphs.node_label, labels, graphs.node_features, torch.device(device), dtype
        )

    @property
    def cells(self) -> None:
        """Neighbors' labels per relation are not counted: a first layer reads its neighbors."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.structure.num_nodes

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return self.structure.num_graphs

    @property
    def width(self) -> int:
        """Number of columns of :math:`H^0`."""
        return self.labels + (0 if self.node_features is None else self.node_features.shape[1])

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> LargeInputs:
        """Return the inputs for another device or type; the arrays stay where they are."""
        return replace(
            self,
            device=self.device if device is None else torch.device(device),
            dtype=dtype or self.dtype,
        )

    def node_inputs(self, nodes: Tensor) -> Matrix:
        r"""Return :math:`H^0` of some nodes."""
        numbers = torch.arange(len(nodes) + 1, dtype=torch.int32)
        return self._sums(CSR(numbers, nodes, None, (len(nodes), self.num_nodes)))

    def neighbor_inputs(self, nodes: Tensor) -> Matrix:
        r"""Return :math:`A H^0` of some nodes: sums over all neighbors; those of hubs are kept."""
        neighbors = self.structure.neighbors
        is_hub = neighbors.indptr[nodes + 1] - neighbors.indptr[nodes] > _HUB
        others = self._sums(neighbors.take(nodes[~is_hub]))
        if not is_hub.any():
            return others
        order = torch.argsort(is_hub.to(torch.int8), stable=True)
        hubs = [self._of_hub(node) for node in torch.split(nodes[is_hub], 1)]
        return select_rows(_stacked([others, *hubs]), torch.argsort(order).to(self.device))

    def _of_hub(self, node: Tensor) -> Matrix:
        number = int(node)
        if number not in self._hubs:
            self._hubs[number] = self._sums(self.structure.neighbors.take(node))
        return self._hubs[number]

    def of_hops(self, hops: tuple[Structure, ...], rows: Tensor) -> Inputs:
        """Return the inputs of hops, the first of which has ``rows``; as :meth:`Inputs.of_hops`."""
        first = hops[0]
        assert first.nodes is not None
        lists = [first.neighbors]
        lists += [part.gather for part in (first.relations, first.sources) if part is not None]
        reads_neighbors = any(part.nnz for part in lists)
        nothing = torch.zeros(0, dtype=torch.int32, device=self.device)
        empty = torch.zeros(0, self.width, dtype=self.dtype, device=self.device)
        pool = CSR(nothing.new_zeros(1), nothing, None, (0, 0))
        hops = tuple(hop.to(self.device, self.dtype) for hop in hops)
        # a layer that reads neighbors adds up their states itself
        sums = empty if reads_neighbors else self.neighbor_inputs(rows)
        return Inputs(
            structure=hops[-1],
            H0=self.node_inputs(rows),
            AH0=sums,
            graph_H0=empty,
            pool=pool,
            pool_t=pool,
            sizes=nothing.long(),
            hops=hops,
            reach=self.node_inputs(first.nodes) if len(first.nodes) > len(rows) else None,
        )

    def seen(self, nodes: list[Any], node_labels: int) -> tuple[Tensor, Tensor]:
        """Return which labels occur in the graphs that some nodes of each member belong to."""
        offset = self.structure.graph_offset.numpy()
        owners = [np.unique(np.searchsorted(offset, chosen, side="right") - 1) for chosen in nodes]
        found: dict[bytes, tuple[Tensor, Tensor]] = {}
        for graphs in owners:
            if graphs.tobytes() not in found:
                found[graphs.tobytes()] = self._labels_in(graphs, offset, node_labels)
        nodes_seen, edges_seen = zip(*(found[graphs.tobytes()] for graphs in owners), strict=True)
        return torch.stack(nodes_seen), torch.stack(edges_seen)

    def _labels_in(self, graphs: Any, offset: Any, node_labels: int) -> tuple[Tensor, Tensor]:
        node = torch.zeros(node_labels + 1, dtype=torch.bool)
        edge = torch.zeros(self.structure.num_edge_labels, dtype=torch.bool)
        for start in range(0, self.num_nodes, _NODES_AT_ONCE):
            numbers = np.arange(start, min(start + _NODES_AT_ONCE, self.num_nodes))
            owner = np.searchsorted(offset, numbers, side="right") - 1
            rows = torch.from_numpy(numbers[np.isin(owner, graphs)])
            node[self.node_label[rows].clamp(max=node_labels).long()] = True
            entering = select_rows(self.structure.C_in, rows)
            if isinstance(entering, Tensor):
                edge |= (entering > 0).any(0)
            else:
                edge[entering.indices.long()] = True
        return node[:node_labels], edge

    def _sums(self, lists: CSR) -> Matrix:
        """Return the sums of the inputs of the nodes in each row."""
        features = None
        if self.node_features is not None:
            features = self._feature_sums(lists, self.node_features)
        label, rows = self.node_label.index_select(0, lists.indices).numpy(), lists.shape[0]
        row = np.repeat(np.arange(rows), lists.indptr.diff().numpy())
        if self.labels > DENSE_LABELS:
            counts = label_counts(row, label, (rows, self.labels), features)
            return from_scipy(counts, self.dtype, self.device)
        width = self.labels + 1  # the last is for labels that are not known
        cell = row * width + np.minimum(label, self.labels)
        table = np.bincount(cell, minlength=rows * width).reshape(rows, width)
        sums = torch.from_numpy(table[:, : self.labels]).to(self.dtype)
        if features is not None:
            sums = torch.cat([sums, features], dim=1)
        return sums.to(self.device)

    def _feature_sums(self, lists: CSR, features: Tensor) -> Tensor:
        met, place = torch.unique(lists.indices, return_inverse=True)
        compact = replace(lists, indices=place.to(torch.int32), shape=(lists.shape[0], len(met)))
        return row_sum(compact, features.index_select(0, met).to(self.dtype))


def _stacked(parts: list[Any]) -> Matrix:
    """Return the rows of several matrices, all of them dense or all sparse, as one."""
    if isinstance(parts[0], Tensor):
        return torch.cat(parts)
    lengths = torch.cat([part.indptr.diff() for part in parts])
    indptr = torch.cat([lengths.new_zeros(1), lengths.cumsum(0, dtype=lengths.dtype)])
    indices = torch.cat([part.indices for part in parts])
    values = torch.cat([part.values for part in parts])
    return CSR(indptr, indices, values, (len(lengths), parts[0].shape[1]))


def input_bytes(graphs: Graphs, dtype: torch.dtype) -> int:
    r"""Return about how many bytes :math:`H^0` and :math:`A H^0` of all nodes take."""
    labels = known_labels(graphs.node_vocabulary)
    features = 0 if graphs.node_features is None else graphs.node_features.shape[1]
    if labels <= DENSE_LABELS:
        return 2 * graphs.num_nodes * (labels + features) * dtype.itemsize
    return (graphs.num_nodes * (1 + 2 * features) + 2 * graphs.num_edges) * (4 + dtype.itemsize)
