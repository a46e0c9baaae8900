"""Graphs: one labeled digraph or a million, packed as a disjoint union of integer arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import checks as check
from edgnn.graphs._vocabulary import Labels, OnUnknown, Vocabulary, encode, factorize

if TYPE_CHECKING:
    from edgnn.graphs._nodes import Nodes
    from edgnn.graphs._order import Reordered

Names = np.ndarray[Any, np.dtype[np.object_]]
Direction = Literal["in", "out", "both"]
Multiplicity = Literal["once", "per-edge"]


@dataclass(frozen=True, eq=False, repr=False, slots=False)
class Graphs:
    r"""Directed graphs with node and edge labels, packed as one disjoint union.

    Behaves as an immutable sequence of graphs: ``len``, iteration, indexing by an integer, a slice,
    a list, a mask. Edge ``e`` goes from ``edge_source[e]`` to ``edge_target[e]``; both count nodes
    over the whole collection. Parallel edges and self-loops are kept as given. Graphs without
    labels have the one constant label ``None``.

    The constructor takes the packed arrays as they are and checks them; :meth:`from_edges` takes
    users' own label values.

    Parameters
    ----------
    node_label, edge_source, edge_target, edge_label : Tensor
        int64 arrays; labels index the vocabularies.
    graph_offset : Tensor
        Graph ``g`` owns the nodes ``graph_offset[g]`` to ``graph_offset[g + 1]``; its edges stand
        together, in the order of graphs.
    node_vocabulary, edge_vocabulary : Vocabulary
        The users' label values.
    node_features, edge_features : Tensor, optional
        Continuous features, one row per node or edge.
    node_names, graph_names : array of object, optional
        The users' own identifiers (IRIs, table keys, molecule names); a node name is unique within
        its graph.
    node_attributes, edge_attributes : Tensor, optional
        Whole numbers (int64) beside the labels, such as charges of atoms; models that do not ask
        for them do not see them.
    graph_features : Tensor, optional
        Continuous features of whole graphs, one row per graph.
    node_attribute_names, edge_attribute_names, graph_feature_names : tuple of str
        What the columns of these three are called.

    Shapes
    ------
    node_label (N,), edge_source (E,), edge_target (E,), edge_label (E,), graph_offset (G+1,),
    node_features (N, F), edge_features (E, D), node_names (N,), graph_names (G,),
    node_attributes (N, A), edge_attributes (E, B), graph_features (G, H)
    """

    node_label: Tensor
    edge_source: Tensor
    edge_target: Tensor
    edge_label: Tensor
    graph_offset: Tensor
    node_vocabulary: Vocabulary
    edge_vocabulary: Vocabulary
    node_features: Tensor | None = None
    edge_features: Tensor | None = None
    node_names: Names | None = None
    graph_names: Names | None = None
    node_attributes: Tensor | None = None
    edge_attributes: Tensor | None = None
    graph_features: Tensor | None = None
    node_attribute_names: tuple[str, ...] = ()
    edge_attribute_names: tuple[str, ...] = ()
    graph_feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check.packed(self)

    @classmethod
    def _trusted(cls, **fields: Any) -> Graphs:
        """Make a ``Graphs`` of arrays that are known to be right, without checking them again."""
        made = object.__new__(cls)
        for name in cls.__dataclass_fields__:
            # the class has the defaults of optional fields
            object.__setattr__(made, name, fields.get(name, getattr(cls, name, None)))
        return made

    def _with(self, **changes: Any) -> Graphs:
        return Graphs._trusted(
            **({name: getattr(self, name) for name in self.__dataclass_fields__} | changes)
        )

    @classmethod
    def from_edges(
        cls,
        edges: Sequence[tuple[int, int]] | np.ndarray[Any, Any] | Tensor,
        *,
        num_nodes: int | None = None,
        sizes: Sequence[int] | np.ndarray[Any, Any] | Tensor | None = None,
        node_labels: Labels | None = None,
        edge_labels: Labels | None = None,
        node_features: Any = None,
        edge_features: Any = None,
        node_names: Sequence[Any] | None = None,
        graph_names: Sequence[Any] | None = None,
        like: Graphs | None = None,
        unknown: OnUnknown = "error",
    ) -> Graphs:
        """Build graphs from (source, target) pairs of node numbers.

        Parameters
        ----------
        edges : pairs, or array of shape (E, 2)
            Edges in any order; PyG's ``edge_index`` is ``edge_index.T``.
        num_nodes : int, optional
            Number of nodes of a single graph; by default taken from the labels, features or names,
            else from the largest edge end.
        sizes : sequence of int, optional
            Node count of each of several graphs; nodes and edges are then numbered over all of
            them. Default: one graph.
        node_labels, edge_labels : sequence of hashable, optional
            One value per node and edge.
        node_features, edge_features : array-like, optional
            One row of finite numbers per node and edge.
        node_names, graph_names : sequence, optional
            Identifiers to carry along.
        like : Graphs, optional
            Number the labels as these graphs do, so that a model made for them fits.
        unknown : {"error", "map"}
            What to do with a label that ``like`` does not know: raise, or give it the reserved
            label ``UNKNOWN``.

        Examples
        --------
        >>> from edgnn import Graphs
        >>> Graphs.from_edges(
        ...     [(0, 1), (1, 2)], node_labels=["C", "C", "O"], edge_labels=["single", "double"]
        ... )
        Graphs(1 graph, 3 nodes, 2 edges, 2 node labels, 2 edge labels)
        """
        source, target = check.edge_pairs(edges)
        device = source.device
        nodes = check.node_count(
            num_nodes, sizes, (node_labels, node_features, node_names), source, target
        )
        offset = check.offsets(nodes if sizes is None else sizes).to(device)
        node_label, node_vocabulary = _labels(node_labels, nodes, like, unknown, "node")
        edge_label, edge_vocabulary = _labels(edge_labels, len(source), like, unknown, "edge")
        edge_label, edge_rows = edge_label.to(device), check.features(edge_features, "edge", device)
        check.lengths(edge_label, edge_rows, len(source))
        check.endpoints(source, target, offset)
        order = _grouping(source, offset)
        if order is not None:
            source, target, edge_label = source[order], target[order], edge_label[order]
            edge_rows = None if edge_rows is None else edge_rows[order]
        return cls(
            node_label=node_label.to(device),
            edge_source=source,
            edge_target=target,
            edge_label=edge_label,
            graph_offset=offset,
            node_vocabulary=node_vocabulary,
            edge_vocabulary=edge_vocabulary,
            node_features=check.features(node_features, "node", device),
            edge_features=edge_rows,
            node_names=check.names(node_names, "node"),
            graph_names=check.names(graph_names, "graph"),
        )

    # What is here

    def __len__(self) -> int:
        return len(self.graph_offset) - 1

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return len(self.node_label)

    @property
    def num_edges(self) -> int:
        """Number of edges of all graphs together."""
        return len(self.edge_source)

    @property
    def device(self) -> torch.device:
        """Where the arrays are."""
        return self.node_label.device

    @property
    def sizes(self) -> Tensor:
        """Node count of each graph."""
        return self.graph_offset.diff()

    @cached_property
    def graph_of_node(self) -> Tensor:
        """Graph number of each node (what PyG calls ``batch``)."""
        return torch.repeat_interleave(torch.arange(len(self), device=self.device), self.sizes)

    @cached_property
    def edge_offset(self) -> Tensor:
        """Graph ``g`` owns the edges ``edge_offset[g]`` to ``edge_offset[g + 1]``."""
        counts = torch.bincount(self.graph_of_node[self.edge_source], minlength=len(self))
        return check.offsets(counts)

    @property
    def nodes(self) -> Nodes:
        """All nodes, as a sequence that can be indexed and split."""
        from edgnn.graphs._nodes import Nodes

        return Nodes(self)

    @property
    def node_labels(self) -> list[Any]:
        """The users' own label of every node."""
        return self.node_vocabulary.decode(self.node_label)

    @property
    def edge_labels(self) -> list[Any]:
        """The users' own label of every edge."""
        return self.edge_vocabulary.decode(self.edge_label)

    def __repr__(self) -> str:
        parts = [
            _count(len(self), "graph"),
            _count(self.num_nodes, "node"),
            _count(self.num_edges, "edge"),
        ]
        for what, vocabulary in (
            ("node label", self.node_vocabulary),
            ("edge label", self.edge_vocabulary),
        ):
            parts.append(f"no {what}s" if vocabulary.constant else _count(len(vocabulary), what))
        for what, features in (
            ("node feature", self.node_features),
            ("edge feature", self.edge_features),
            ("node attribute", self.node_attributes),
            ("edge attribute", self.edge_attributes),
            ("graph feature", self.graph_features),
        ):
            if features is not None:
                parts.append(_count(features.shape[1], what))
        if self.device.type != "cpu":
            parts.append(str(self.device))
        return f"Graphs({', '.join(parts)})"

    def equals(self, other: Graphs) -> bool:
        """Whether both hold the same arrays, labels and names, in the same order."""
        return isinstance(other, Graphs) and (
            self.node_vocabulary == other.node_vocabulary
            and self.edge_vocabulary == other.edge_vocabulary
            and all(getattr(self, name) == getattr(other, name) for name in _COLUMN_NAMES)
            and all(
                _same(getattr(self, name), getattr(other, name)) for name in (*_TENSORS, *_NAMES)
            )
        )

    # A sequence of graphs

    def __iter__(self) -> Iterator[Graphs]:
        return (self[position] for position in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return check.objects(self, dtype)

    def __getitem__(
        self, key: int | slice | Sequence[int] | np.ndarray[Any, Any] | Tensor
    ) -> Graphs:
        from edgnn.graphs._parts import select

        return select(self, check.positions(key, len(self), "graph", self.device))

    @classmethod
    def concat(cls, parts: Iterable[Graphs]) -> Graphs:
        """Join collections into one; labels only later ones have are appended to vocabularies.

        Names are kept when every part has them; features of nodes and edges must be in all parts or
        in none. Attributes and features of graphs are kept when every part that has graphs has them
        under the same names.
        """
        from edgnn.graphs._parts import concat

        return concat(list(parts))

    # New graphs from these

    def to(self, device: torch.device | str) -> Graphs:
        """Return the same graphs with their arrays on ``device``."""
        moved = {name: getattr(self, name) for name in _TENSORS}
        return self._with(
            **{name: None if array is None else array.to(device) for name, array in moved.items()}
        )

    def reverse(self) -> Graphs:
        """Return the graphs with every edge turned around."""
        return self._with(edge_source=self.edge_target, edge_target=self.edge_source)

    def induced(self, nodes: Nodes | Sequence[int] | np.ndarray[Any, Any] | Tensor) -> Graphs:
        """Return the subgraphs on a set of nodes with all edges between them.

        Graphs keep their number, and may become empty.

        ``nodes`` are a mask, node numbers over all graphs, or :class:`Nodes`; the nodes keep their
        order.
        """
        from edgnn.graphs._nodes import Nodes
        from edgnn.graphs._parts import induced

        if isinstance(nodes, Nodes) and not _same(nodes.graphs.graph_offset, self.graph_offset):
            raise GraphError(
                f"the nodes belong to other graphs ({nodes.graphs!r}) than these ({self!r})"
            )
        index = nodes.index if isinstance(nodes, Nodes) else nodes
        return induced(self, check.positions(index, self.num_nodes, "node", self.device))

    def reordered(self) -> Reordered:
        """Return the graphs with nodes renumbered so that neighbors lie close, and how to map back.

        Nodes stay within their graph.

        Sums over neighbors then find more of what they read in the caches: about twice as fast
        where large graphs were numbered at random and neighborhoods overlap (grids, meshes,
        communities), no faster on random graphs, on those with many edges at few nodes, or on those
        that fit the caches. Labels, features and names move with their nodes; edges keep their
        order. Results are the same up to the order of sums.

        Examples
        --------
        >>> from edgnn import Graphs
        >>> close = Graphs.from_edges([(0, 2), (2, 1)], node_names=["a", "b", "c"]).reordered()
        >>> close.graphs.node_names.tolist(), close.old_number.tolist()
        (['a', 'c', 'b'], [0, 2, 1])
        """
        from edgnn.graphs._order import reordered

        return reordered(self)

    def with_node_labels(
        self, labels: Labels | None, *, like: Graphs | None = None, unknown: OnUnknown = "error"
    ) -> Graphs:
        """Return the graphs with other node labels.

        Parameters
        ----------
        labels : sequence of hashable, or None
            One value per node; ``None``: no labels.
        like, unknown
            As of :meth:`from_edges`.
        """
        ids, vocabulary = _labels(labels, self.num_nodes, like, unknown, "node")
        check.lengths(ids, None, self.num_nodes, "node")
        return self._with(node_label=ids.to(self.device), node_vocabulary=vocabulary)

    def with_edge_labels(
        self, labels: Labels | None, *, like: Graphs | None = None, unknown: OnUnknown = "error"
    ) -> Graphs:
        """Return the graphs with other edge labels.

        Parameters
        ----------
        labels : sequence of hashable, or None
            One value per edge; ``None``: no labels.
        like, unknown
            As of :meth:`from_edges`.
        """
        ids, vocabulary = _labels(labels, self.num_edges, like, unknown, "edge")
        check.lengths(ids, None, self.num_edges, "edge")
        return self._with(edge_label=ids.to(self.device), edge_vocabulary=vocabulary)

    def with_degree_labels(
        self,
        direction: Direction,
        *,
        multiplicity: Multiplicity = "once",
        like: Graphs | None = None,
        unknown: OnUnknown = "error",
    ) -> Graphs:
        r"""Return the graphs with each node labeled by its degree, an integer.

        ``"in"`` is the paper's in-degree :math:`|N^I(v)|`, ``"out"`` its :math:`|N^O(v)|`,
        ``"both"`` its degree
        :math:`|N(v)|`: each neighbor counts once. With ``multiplicity="per-edge"`` every edge
        counts, and ``"both"`` is their sum.
        """
        from edgnn.graphs._structure import degrees

        return self.with_node_labels(
            degrees(self, direction, multiplicity), like=like, unknown=unknown
        )

    def with_attributes(
        self, *, node: Mapping[str, Any] | None = None, edge: Mapping[str, Any] | None = None
    ) -> Graphs:
        """Return the graphs with more attributes; those of a name that is there are replaced.

        Parameters
        ----------
        node, edge : mapping, optional
            Names and values: one whole number, or truth value, per node or edge.

        Examples
        --------
        >>> from edgnn import Graphs
        >>> graphs = Graphs.from_edges([(0, 1)], node_labels=["N", "O"])
        >>> charged = graphs.with_attributes(node={"charge": [1, -1]})
        >>> charged.node_attribute_names, charged.node_attributes.tolist()
        (('charge',), [[1], [-1]])
        """
        from edgnn.graphs._attributes import with_columns

        changes = {} if node is None else with_columns(self, "node", node)
        return self._with(**changes | ({} if edge is None else with_columns(self, "edge", edge)))

    def with_graph_features(self, values: Any, names: str | Sequence[str] = ()) -> Graphs:
        """Return the graphs with other features of whole graphs.

        Parameters
        ----------
        values : array-like or None
            One row of finite numbers per graph; ``None``: no features.
        names : str or sequence of str
            What the columns are called.
        """
        called = (names,) if isinstance(names, str) else tuple(names)
        features = check.features(values, "graph", self.device)
        check.graph_features(features, len(self))
        check.column_names(called, 0 if features is None else features.shape[1], "graph feature")
        return self._with(graph_features=features, graph_feature_names=called)

    def labeled(
        self,
        *,
        node: str | Sequence[str] = "label",
        edge: str | Sequence[str] = "label",
        like: Graphs | None = None,
        unknown: OnUnknown = "error",
    ) -> Graphs:
        """Return the graphs without attributes, with labels made of labels and attributes.

        Parameters
        ----------
        node, edge : str or sequence of str
            ``"label"`` for the label, and names of attributes. Several make a tuple, one alone is
            the label as it is, none at all: no labels. A label ``UNKNOWN`` stays that.
        like, unknown
            As of :meth:`from_edges`.

        Examples
        --------
        >>> from edgnn import Graphs
        >>> graphs = Graphs.from_edges([(0, 1)], node_labels=["N", "O"])
        >>> graphs = graphs.with_attributes(node={"charge": [1, -1]})
        >>> graphs.labeled(node=("label", "charge")).node_labels
        [('N', 1), ('O', -1)]
        """
        from edgnn.graphs._attributes import relabeled

        return self._with(
            **relabeled(self, "node", node, like, unknown),
            **relabeled(self, "edge", edge, like, unknown),
        )

    def with_ring_sizes(
        self, limit: int = 8, *, like: Graphs | None = None, unknown: OnUnknown = "error"
    ) -> Graphs:
        """Return the graphs with each label replaced by the pair (label, ring size).

        Color refinement cannot find out ring sizes by itself.

        An edge's ring size is the length of the shortest cycle through it, or ``limit`` if that is
        more, or 0 if there is none; a node's is the smallest of its edges'. Directions do not
        matter; edges between the same two nodes are one, self-loops none.
        """
        from edgnn.graphs._rings import with_ring_sizes

        return with_ring_sizes(self, limit, like, unknown)

    def renamed(
        self,
        *,
        node_labels: Mapping[Any, Any] | None = None,
        edge_labels: Mapping[Any, Any] | None = None,
    ) -> Graphs:
        """Return the graphs with label values replaced; a value that the mapping lacks stays.

        The integers do not change, so two labels cannot be given one name.
        """
        node, edge = node_labels or {}, edge_labels or {}
        return self._with(
            node_vocabulary=Vocabulary(node.get(value, value) for value in self.node_vocabulary),
            edge_vocabulary=Vocabulary(edge.get(value, value) for value in self.edge_vocabulary),
        )

    # Pickling goes through numpy: a slice must not drag the whole storage along

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in _TENSORS:
            state[name] = None if state[name] is None else state[name].cpu().numpy()
        return state | {"device": str(self.device)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        device = state.pop("device")
        for name in _TENSORS:
            array = state.get(name)  # pickles of older versions lack what came later
            if array is not None:
                state[name] = torch.from_numpy(np.require(array, requirements="W")).to(device)
        for name, value in state.items():
            object.__setattr__(self, name, value)


_TENSORS = (
    "node_label",
    "edge_source",
    "edge_target",
    "edge_label",
    "graph_offset",
    "node_features",
    "edge_features",
    "node_attributes",
    "edge_attributes",
    "graph_features",
)
_NAMES = ("node_names", "graph_names")
_COLUMN_NAMES = ("node_attribute_names", "edge_attribute_names", "graph_feature_names")


def _labels(
    labels: Labels | None,
    size: int,
    like: Graphs | None,
    unknown: OnUnknown,
    what: Literal["node", "edge"],
) -> tuple[Tensor, Vocabulary]:
    if like is not None:
        known = like.node_vocabulary if what == "node" else like.edge_vocabulary
        return encode([None] * size if labels is None else labels, known, unknown, what)
    if labels is None:
        return torch.zeros(size, dtype=torch.int64), Vocabulary([None])
    return factorize(labels, what)


def _grouping(source: Tensor, offset: Tensor) -> Tensor | None:
    """Return the order that brings the edges of each graph together; ``None`` if they are."""
    if len(offset) <= 2:
        return None
    graph = torch.bucketize(source, offset[1:], right=True)
    if bool((graph[1:] >= graph[:-1]).all()):
        return None
    return torch.argsort(graph, stable=True)


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, Tensor):
        return a.shape == b.shape and bool(torch.equal(a, b.to(a.device)))
    return len(a) == len(b) and bool((a == b).all())


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
