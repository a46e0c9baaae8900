"""Structure: what is counted once from a Graphs and then only multiplied."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import torch
from torch import Tensor

from edgnn._words import counted
from edgnn.errors import GraphError
from edgnn.graphs import _csr as csr
from edgnn.graphs import checks as check
from edgnn.graphs._csr import CSR
from edgnn.graphs._graphs import Direction, Graphs, Multiplicity
from edgnn.graphs._halo import Halo
from edgnn.graphs._relations import Relations
from edgnn.graphs._vocabulary import Vocabulary, known_labels

#: Label counts are a dense matrix while it has at most this many entries per edge.
DENSE_ENTRIES_PER_EDGE = 8

_EXACT_FLOAT32 = 2**24

#: How edges are listed by label and direction: not at all, by target, by source, or both.
ListedBy = bool | Literal["targets", "sources"]


@dataclass(frozen=True, eq=False, repr=False)
class Structure:
    r"""Neighbor lists and label counts of graphs: the constants of every edGNN layer.

    .. math:: H' = \sigma(H W_1 + A H W_2 + C_{in} W_3 + C_{out} W_4)

    Made by :meth:`of` or :meth:`from_edge_index`, once, in memory linear in nodes and edges. A part
    of it (:meth:`rows`) has fewer rows than columns: a layer then computes the states of its rows
    from those of its columns, and the rows come first among these.

    Parameters
    ----------
    neighbors : CSR
        :math:`A`: row v lists N(v).
    neighbors_t : CSR, optional
        :math:`A^T`; the same object when A is symmetric, that is unless ``direction="in"``. Derived
        when needed, if not given.
    C_in, C_out : Tensor or CSR
        :math:`n^I_v(e)` and :math:`n^O_v(e)`: how many edges with label e enter and leave v. Dense
        while N·\|Z\| ≤ 8·E. ``C_out`` is ``None`` for ``direction="in"``.
    F_in, F_out : Tensor, optional
        Sums of the continuous edge features over entering and leaving edges.
    graph_offset : Tensor
        Graph ``g`` owns the nodes ``graph_offset[g]`` to ``graph_offset[g + 1]``.
    num_edge_labels : int
        Number of columns of ``C_in`` and ``C_out``; edges with the reserved label ``UNKNOWN`` join
        neighbors but are not counted.
    direction : {"both", "in"}
        ``"both"`` is the paper's Eq. 4; ``"in"`` its *reg* row: in-neighbors only.
    multiplicity : {"once", "per-edge"}
        Whether a neighbor counts once (the paper's N(v), a set) or once per edge that joins it.
    relations, sources : Relations, optional
        Edges per edge label and direction, by target and by source.
    nodes : Tensor, optional
        Of a part: the number of each column among all nodes.
    halo : Halo, optional
        Of a part whose columns beyond its rows are other ranks' rows: how their states come here.

    Shapes
    ------
    neighbors (N, N), C_in (N, \|Z\|), C_out (N, \|Z\|), F_in (N, D), F_out (N, D), graph_offset
    (G+1,). Of a part: neighbors (R, C) with R ≤ C, and R rows of counts and sums.
    """

    neighbors: CSR
    neighbors_t: CSR | None
    C_in: Tensor | CSR
    C_out: Tensor | CSR | None
    F_in: Tensor | None
    F_out: Tensor | None
    graph_offset: Tensor
    num_edge_labels: int
    direction: Literal["both", "in"]
    multiplicity: Multiplicity
    relations: Relations | None = None
    sources: Relations | None = None
    nodes: Tensor | None = None
    halo: Halo | None = None

    @classmethod
    def of(
        cls,
        graphs: Graphs,
        *,
        direction: Literal["both", "in"] = "both",
        multiplicity: Multiplicity = "once",
        dtype: torch.dtype = torch.float32,
        relations: ListedBy = False,
    ) -> Structure:
        """Derive the structure of ``graphs``; counts and sums get the floating type ``dtype``.

        With ``relations``, edges are listed per label and direction as well: ``"targets"`` for
        :class:`~edgnn.nn.RelationalConv`, ``"sources"`` for :class:`~edgnn.nn.GINEConv`, ``True``
        for both.
        """
        _choice("direction", direction, ("both", "in"))
        _choice("multiplicity", multiplicity, ("once", "per-edge"))
        if relations not in (False, True, "targets", "sources"):
            raise GraphError(f"relations={relations!r}: choose False, True, 'targets' or 'sources'")
        if dtype not in (torch.float32, torch.float64):
            raise GraphError(
                f"dtype={dtype} does not count exactly: choose torch.float32 or torch.float64, "
                "then .to(dtype=…)"
            )
        if graphs.num_nodes >= 2**31:
            raise GraphError(
                f"{graphs.num_nodes} nodes are too many for one structure; the limit is 2^31 - 1"
            )
        check.label_range(graphs.edge_label, len(graphs.edge_vocabulary), "edge")
        source, target, nodes = graphs.edge_source, graphs.edge_target, graphs.num_nodes
        neighbors = _neighbors(source, target, nodes, direction, multiplicity)
        both = direction == "both"
        known, features = known_labels(graphs.edge_vocabulary), graphs.edge_features
        structure = cls(
            neighbors=neighbors,
            neighbors_t=neighbors,
            C_in=_counts(target, graphs.edge_label, known, nodes, dtype),
            C_out=None,
            F_in=_sums(target, features, nodes, dtype),
            F_out=None,
            graph_offset=graphs.graph_offset,
            num_edge_labels=known,
            direction=direction,
            multiplicity=multiplicity,
        )
        changes: dict[str, Any] = {}
        if both:
            changes["C_out"] = _counts(source, graphs.edge_label, known, nodes, dtype)
            changes["F_out"] = _sums(source, features, nodes, dtype)
        else:
            changes["neighbors_t"] = _neighbors(target, source, nodes, direction, multiplicity)
        if relations in (True, "targets"):
            changes["relations"] = Relations.of(graphs, known, direction)
        if relations in (True, "sources"):
            changes["sources"] = Relations.by_source(graphs, known, direction, dtype)
        return replace(structure, **changes)

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Tensor,
        edge_type: Tensor | None = None,
        *,
        num_nodes: int | None = None,
        num_edge_labels: int | None = None,
        edge_features: Tensor | None = None,
        batch: Tensor | None = None,
        **options: Any,
    ) -> Structure:
        """Derive the structure from PyG's arrays.

        Parameters
        ----------
        edge_index : Tensor
            Sources and targets, shape (2, E).
        edge_type : Tensor, optional
            Label number of each edge, shape (E,); default: one label.
        num_nodes, num_edge_labels : int, optional
            Default: one more than the largest number that occurs.
        edge_features : Tensor, optional
            Continuous features, shape (E, D).
        batch : Tensor, optional
            Graph number of each node, rising, as PyG's loaders give it.
        **options
            ``direction``, ``multiplicity``, ``dtype`` and ``relations`` of :meth:`of`.
        """
        _check_edge_index(edge_index, edge_type, batch)
        source, target = edge_index.to(torch.int64)
        device, edges = source.device, edge_index.shape[1]
        if num_nodes is None and batch is not None:
            num_nodes = len(batch)
        elif num_nodes is None:
            num_nodes = _one_more(edge_index)
        label = torch.zeros_like(source) if edge_type is None else edge_type.to(torch.int64)
        if num_edge_labels is None:
            num_edge_labels = max(1, _one_more(label))
        sizes = num_nodes if batch is None else _batch_sizes(batch, num_nodes)
        offset = check.offsets(sizes).to(device)
        check.lengths(label, edge_features, edges)
        check.endpoints(source, target, offset)
        order: slice | Tensor = slice(None)
        if batch is not None and edges:
            order = torch.argsort(batch[source], stable=True)
        graphs = Graphs(
            node_label=torch.zeros(num_nodes, dtype=torch.int64, device=device),
            edge_source=source[order],
            edge_target=target[order],
            edge_label=label[order],
            graph_offset=offset,
            node_vocabulary=Vocabulary([None]),
            edge_vocabulary=Vocabulary(range(num_edge_labels)),
            edge_features=None if edge_features is None else edge_features[order],
        )
        return cls.of(graphs, **options)

    def rows(self, rows: Tensor, columns: Tensor | None = None) -> Structure:
        """Return the part that computes the states of some nodes.

        Parameters
        ----------
        rows : Tensor
            The nodes, each once.
        columns : Tensor, optional
            Whose states it is given: first those of ``rows``, then at least all their neighbors'.
            Without them the part has no neighbor lists at all, for a first layer that needs none.
        """
        of_rows: dict[str, Any] = {
            name: None if (part := getattr(self, name)) is None else select_rows(part, rows)
            for name in ("C_in", "C_out", "F_in", "F_out")
        }
        listed = {
            name: part
            for name in ("relations", "sources")
            if (part := getattr(self, name)) is not None
        }
        if columns is None:
            columns, none = rows, torch.zeros(len(rows) + 1, dtype=torch.int32, device=rows.device)
            neighbors = CSR(none, none[:0], None, (len(rows), len(rows)))
            of_rows |= {name: part.without_pairs(len(rows)) for name, part in listed.items()}
        else:
            place = places(columns, self.neighbors.shape[1])
            neighbors = self.neighbors.take(rows, place, len(columns))
            of_rows |= {name: part.rows(rows, place, len(columns)) for name, part in listed.items()}
        return replace(self, neighbors=neighbors, neighbors_t=None, nodes=columns, **of_rows)

    @property
    def num_nodes(self) -> int:
        """Number of nodes that have rows."""
        return self.neighbors.shape[0]

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return len(self.graph_offset) - 1

    @property
    def device(self) -> torch.device:
        """Where the arrays are."""
        return self.graph_offset.device

    @property
    def degree(self) -> Tensor:
        """Length of each node's neighbor list."""
        return self.neighbors.indptr.diff()

    @property
    def nbytes(self) -> int:
        """Memory that the arrays hold."""
        parts = {
            id(part): part
            for field in fields(self)
            if isinstance(part := getattr(self, field.name), Tensor | CSR | Relations)
        }
        return sum(part.nbytes for part in parts.values())

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Structure:
        """Return the structure on ``device``, its counts and sums in ``dtype``."""
        neighbors = self.neighbors.to(device)
        neighbors_t = self.neighbors_t
        if neighbors_t is self.neighbors:  # a symmetric matrix is its own transpose
            neighbors_t = neighbors
        elif neighbors_t is not None:
            neighbors_t = neighbors_t.to(device)
        changed: dict[str, Any] = {
            name: None
            if (part := getattr(self, name)) is None
            else part.to(device=device, dtype=dtype)
            for name in ("C_in", "C_out", "F_in", "F_out")
        }
        return replace(
            self,
            neighbors=neighbors,
            neighbors_t=neighbors_t,
            graph_offset=self.graph_offset.to(device),
            relations=None if self.relations is None else self.relations.to(device),
            sources=None if self.sources is None else self.sources.to(device, dtype),
            nodes=None if self.nodes is None else self.nodes.to(device),
            halo=None if self.halo is None else self.halo.to(device),
            **changed,
        )

    def __repr__(self) -> str:
        counts = "sparse" if isinstance(self.C_in, CSR) else "dense"
        return (
            f"Structure({counted(self.num_graphs, 'graph')}, {self.num_nodes:,} nodes, "
            f"{self.neighbors.nnz:,} neighbors, {self.num_edge_labels:,} edge labels ({counts} "
            "counts), "
            f"direction={self.direction!r}, multiplicity={self.multiplicity!r}, "
            f"{self.nbytes / 2**20:.1f} MiB on {self.device})"
        )


def _check_edge_index(edge_index: Any, edge_type: Tensor | None, batch: Tensor | None) -> None:
    if not isinstance(edge_index, Tensor):
        raise GraphError(
            f"edge_index must be a tensor of shape (2, E), got a {type(edge_index).__name__}"
        )
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise GraphError(f"edge_index must have the shape (2, E), got {tuple(edge_index.shape)}")
    arrays = {"edge_index": edge_index, "edge_type": edge_type, "batch": batch}
    for name, numbers in arrays.items():
        if numbers is not None and numbers.is_floating_point() and numbers.numel():
            raise GraphError(f"{name} must hold whole numbers, got {numbers.dtype}")


def _one_more(numbers: Tensor) -> int:
    """Return one more than the largest number, 0 of none."""
    return int(numbers.max()) + 1 if numbers.numel() else 0


def select_rows(matrix: Tensor | CSR, rows: Tensor) -> Tensor | CSR:
    """Return chosen rows of a matrix, dense or sparse."""
    return matrix.index_select(0, rows) if isinstance(matrix, Tensor) else matrix.take(rows)


def places(columns: Tensor, nodes: int) -> Tensor:
    """Return the place of every node among ``columns``, −1 for those that are not there."""
    place = torch.full((nodes,), -1, dtype=torch.int32, device=columns.device)
    place[columns] = torch.arange(len(columns), dtype=torch.int32, device=columns.device)
    return place


def _batch_sizes(batch: Tensor, num_nodes: int) -> Tensor:
    """Return the node count of each graph of PyG's ``batch``."""
    if batch.dim() != 1 or len(batch) != num_nodes:
        raise GraphError(
            f"batch must give one graph number per node, {num_nodes} of them, got shape "
            f"{tuple(batch.shape)}"
        )
    if len(batch) and int(batch[0]) < 0:
        raise GraphError(f"node 0 has the graph number {int(batch[0])}; graphs are numbered from 0")
    if bool((batch.diff() < 0).any()):
        raise GraphError("batch must rise: nodes of one graph stand together")
    return torch.bincount(batch)


def degrees(graphs: Graphs, direction: Direction, multiplicity: Multiplicity) -> Tensor:
    """Return the in-, out- or total degree of every node, counting neighbors or edges."""
    _choice("direction", direction, ("in", "out", "both"))
    _choice("multiplicity", multiplicity, ("once", "per-edge"))
    source, target = graphs.edge_source, graphs.edge_target
    if direction == "out":
        source, target = target, source
    side: Literal["both", "in"] = "both" if direction == "both" else "in"
    neighbors = _neighbors(source, target, graphs.num_nodes, side, multiplicity)
    return neighbors.indptr.diff().to(torch.int64)


def _neighbors(
    source: Tensor,
    target: Tensor,
    nodes: int,
    direction: Literal["both", "in"],
    multiplicity: Multiplicity,
) -> CSR:
    """List the sources of every target and, if ``direction`` is both, the other way round."""
    keys = csr.pack(target, source, both=direction == "both")
    return csr.from_keys(keys, nodes, nodes, distinct=multiplicity == "once")


def _counts(
    node: Tensor, label: Tensor, num_labels: int, nodes: int, dtype: torch.dtype
) -> Tensor | CSR:
    """Count known labels per node, densely while that is a few entries per edge at most."""
    if len(label) and int(label.max()) >= num_labels:
        node, label = node[label < num_labels], label[label < num_labels]
    if nodes * num_labels <= DENSE_ENTRIES_PER_EDGE * len(node):
        dense = torch.zeros(nodes * num_labels, dtype=dtype, device=node.device)
        one = torch.ones(1, dtype=dtype, device=node.device)
        dense.scatter_add_(0, node * num_labels + label, one.expand(len(node)))
        largest = dense.max() if len(dense) else dense.sum()
        counts: Tensor | CSR = dense.view(nodes, num_labels)
    else:
        counts = csr.from_keys(csr.pack(node, label), nodes, num_labels, distinct=True, count=dtype)
        assert counts.values is not None
        largest = counts.values.max() if counts.nnz else counts.values.sum()
    if dtype == torch.float32 and largest >= _EXACT_FLOAT32:
        raise GraphError(
            f"a node has {int(largest):,} or more edges of one label, beyond what float32 counts "
            "exactly: build the structure with dtype=torch.float64"
        )
    return counts


def _sums(node: Tensor, features: Tensor | None, nodes: int, dtype: torch.dtype) -> Tensor | None:
    """Sum feature rows per node, with the same bits every time.

    On CUDA, ``index_add_`` adds in no fixed order; ``index_put_`` sorts first.
    """
    if features is None:
        return None
    total = torch.zeros(nodes, features.shape[1], dtype=dtype, device=features.device)
    if features.device.type == "cpu":
        return total.index_add_(0, node, features.to(dtype))
    return total.index_put_((node,), features.to(dtype), accumulate=True)


def _choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise GraphError(f"{name}={value!r}: choose {' or '.join(map(repr, allowed))}")
