"""GraphWriter: graphs written piece by piece, so that they need never fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from torch import Tensor

from edgnn._files import Path_, atomic_folder, naming
from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Labels, Nodes, OnUnknown, Vocabulary
from edgnn.io import _piece_checks as check
from edgnn.io._array_files import ArrayFile, plain_array, plain_numbers, write_array
from edgnn.io._array_folder import ValuesFile, write_header
from edgnn.io._common import Array
from edgnn.io._growing import Columns, Elements, Names, Numbering

#: The header of a folder of graphs, and the kind that it tells.
HEADER = "graphs.json"
KIND = "edgnn graphs"

#: Arrays with named columns, and the field of graphs that has the names.
COLUMNS = {
    "node_attributes": "node_attribute_names",
    "edge_attributes": "edge_attribute_names",
    "graph_features": "graph_feature_names",
}

_PIECE = 2**18


class GraphWriter:
    """Write graphs piece by piece into a folder that :func:`edgnn.read` maps.

    Used in a ``with`` block.

    The folder appears when the block ends, complete; after an error in the block there is none.
    Memory holds one piece, the label values and, while their graph is written, the names of its
    nodes.

    Parameters
    ----------
    folder : path
        A place where nothing is yet, such as ``"big.graphs"``.
    node_vocabulary, edge_vocabulary : sequence of hashable, optional
        Label values in the order of their numbers; values that come up later are put behind them.
    like : Graphs, optional
        Number the labels as these graphs do, so that a model made for them fits.
    unknown : {"error", "map"}
        What to do with a label that ``like`` does not know: raise, or give it the reserved label
        ``UNKNOWN``.

    Examples
    --------
    >>> import edgnn
    >>> from edgnn.io import GraphWriter
    >>> with GraphWriter("big.graphs") as writer:
    ...     nodes = writer.add_nodes(labels=["C", "C", "O"])
    ...     writer.add_edges([0, 1], [1, 2], labels=["single", "double"])
    >>> edgnn.read("big.graphs")
    Graphs(1 graph, 3 nodes, 2 edges, 2 node labels, 2 edge labels)
    """

    def __init__(
        self,
        folder: Path_,
        *,
        node_vocabulary: Sequence[Any] | None = None,
        edge_vocabulary: Sequence[Any] | None = None,
        like: Graphs | None = None,
        unknown: OnUnknown = "error",
    ) -> None:
        if like is not None and (node_vocabulary is not None or edge_vocabulary is not None):
            raise GraphError(
                "like= gives the vocabularies: leave node_vocabulary= and edge_vocabulary= out"
            )
        if not isinstance(like, Graphs | None):
            raise GraphError(f"like= takes Graphs, got a {type(like).__name__}")
        self._target_folder = folder
        known_nodes = None if like is None else like.node_vocabulary
        known_edges = None if like is None else like.edge_vocabulary
        self._labels = {
            "node": Numbering("node", node_vocabulary, known_nodes, unknown),
            "edge": Numbering("edge", edge_vocabulary, known_edges, unknown),
        }
        self._stack: ExitStack | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._folder = folder = stack.enter_context(atomic_folder(self._target_folder))
            self._nodes = stack.enter_context(Elements(folder, "node", self._labels["node"]))
            self._edges = stack.enter_context(Elements(folder, "edge", self._labels["edge"]))
            self._files = {
                name: stack.enter_context(closing(ArrayFile(folder / f"{name}.npy", np.int64)))
                for name in ("edge_source", "edge_target", "graph_offset", "edge_offset")
            }
            self._node_names = stack.enter_context(Names(folder, "node"))
            self._graph_names = stack.enter_context(Names(folder, "graph"))
            self._columns = {name: stack.enter_context(Columns(folder, name)) for name in COLUMNS}
            self._graphs = 0
            self._first_node = 0
            self._begun = False
            self._whole = True
            self._targets: dict[str, dict[str, Any]] = {"arrays": {}, "values": {}}
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stack, self._stack = self._opened(), None
        with naming(self._target_folder):
            if error is not None:
                stack.__exit__(kind, error, trace)
                return
            with stack:
                self._check_whole()
                self._finish()

    def begin_graph(self, name: Any = None) -> None:
        """Begin the next graph, named or not.

        The nodes that come first, or behind :meth:`add`, need no call.
        """
        with self._piece():
            self._begin_one(name)

    def add_nodes(
        self,
        count: int | None = None,
        *,
        labels: Labels | None = None,
        numbers: Any = None,
        features: Any = None,
        names: Sequence[Any] | None = None,
    ) -> range:
        """Add nodes to the graph, and return their numbers within it.

        Parameters
        ----------
        count : int, optional
            How many; needed where nothing else tells.
        labels : sequence of hashable, optional
            One value per node; without labels and numbers, the nodes have the label ``None``.
        numbers : array of int, optional
            The labels as numbers of the vocabulary, in the place of ``labels``.
        features : array-like, optional
            One row of finite numbers per node, in every piece or in none.
        names : sequence, optional
            Identifiers, unique within the graph, in every piece or in none.
        """
        with self._piece():
            if not self._begun:
                self._begin_one(None)
            size = self._nodes.size_of(count, labels, numbers, features, names)
            if size:
                self._columns["node_attributes"].drop()
            first = self._nodes.count - self._first_node
            self._node_names.append(names, size, self._nodes.count)
            self._nodes.append(size, labels, numbers, features)
        return range(first, first + size)

    def add_edges(
        self,
        source: Any,
        target: Any,
        *,
        labels: Labels | None = None,
        numbers: Any = None,
        features: Any = None,
    ) -> None:
        """Add edges between nodes that the graph has by now.

        Parameters
        ----------
        source, target : array of int
            Numbers of nodes, counted within the graph from 0.
        labels, numbers, features
            As in :meth:`add_nodes`, per edge.
        """
        with self._piece():
            sources = plain_numbers(source, "edge sources")
            targets = plain_numbers(target, "edge targets")
            if len(sources) != len(targets):
                raise GraphError(
                    f"{len(sources)} edge sources were given, but {len(targets)} targets"
                )
            size = self._edges.size_of(len(sources), labels, numbers, features, None)
            nodes = self._nodes.count - self._first_node
            check.ends(sources, targets, 0, nodes, self._edges.count)
            self._edges.append(size, labels, numbers, features)
            if size:
                self._columns["edge_attributes"].drop()
            self._write_ends(sources, targets, self._first_node)

    def add(self, graphs: Graphs) -> None:
        """Add whole graphs behind those written so far.

        Labels that only they have are put behind the known ones. Attributes, and features of
        graphs, are kept where all that is added has them under the same names.
        """
        if not isinstance(graphs, Graphs):
            raise GraphError(
                f"add takes Graphs, got a {type(graphs).__name__}; "
                "add_nodes and add_edges take arrays"
            )
        with self._piece():
            shift = self._nodes.count
            self._copy_edges(graphs, shift)
            self._nodes.copy(graphs.node_label, graphs.node_vocabulary, graphs.node_features)
            self._edges.copy(graphs.edge_label, graphs.edge_vocabulary, graphs.edge_features)
            self._node_names.append(graphs.node_names, graphs.num_nodes, shift, checked=True)
            for name, names in COLUMNS.items():
                array, called = getattr(graphs, name), getattr(graphs, names)
                self._columns[name].append(array, called, decides=len(graphs) > 0)
            self._first_node, self._begun = self._nodes.count, False

    def add_targets(self, targets: Any, nodes: Nodes | Any = None) -> None:
        """Add what is to be learned, once, when all graphs are there.

        Parameters
        ----------
        targets : array-like
            One value, or row of numbers, per graph, or per entry of ``nodes``.
        nodes : Nodes or array of int, optional
            The nodes that the targets belong to, numbered over all graphs.
        """
        with self._piece():
            values = plain_array(targets, "targets")
            owners = None if nodes is None else _node_numbers(nodes, self._nodes.count)
            size, what = self._graphs, "graph"
            if owners is not None:
                size, what = len(owners), "chosen node"
            if any(self._targets.values()):
                raise GraphError("targets were added before; they are added once, for everything")
            if values.ndim not in (1, 2) or len(values) != size:
                raise GraphError(
                    f"targets must be one value, or one row, per {what}: {size} of them, "
                    f"not shape {values.shape}"
                )
            self._targets = _write_targets(self._folder, values, owners)

    def _opened(self) -> ExitStack:
        if self._stack is None:
            raise GraphError(
                f"{type(self).__name__} writes within its with block: "
                "with GraphWriter(folder) as writer: …"
            )
        return self._stack

    @contextmanager
    def _piece(self) -> Iterator[None]:
        """Notice what ends with an error, and may have been written in part."""
        self._opened()
        self._check_whole()
        self._whole = False
        with naming(self._target_folder):
            yield
        self._whole = True

    def _check_whole(self) -> None:
        if not self._whole:
            raise GraphError(
                "a piece was refused, and may be there in part: "
                "let the error that it raised end the block"
            )

    def _begin_one(self, name: Any) -> None:
        self._begin(np.zeros(1, np.int64), np.zeros(1, np.int64), None if name is None else [name])
        self._columns["graph_features"].drop()
        self._first_node, self._begun = self._nodes.count, True

    def _copy_edges(self, graphs: Graphs, shift: int) -> None:
        """Write where all graphs begin, and the ends of their edges, a piece at a time."""
        offset = _cpu(graphs.graph_offset)
        edge_offset = np.array([0, graphs.num_edges])
        if len(graphs) != 1:
            edge_offset = _cpu(graphs.edge_offset)
        check.offsets(offset, graphs.num_nodes, "graph_offset")
        check.offsets(edge_offset, graphs.num_edges, "edge_offset")
        self._begin(offset[:-1], edge_offset[:-1], graphs.graph_names)
        for start in range(0, graphs.num_edges, _PIECE):
            sources = _cpu(graphs.edge_source[start : start + _PIECE])
            targets = _cpu(graphs.edge_target[start : start + _PIECE])
            check.ends_within(sources, targets, start, offset, edge_offset)
            self._write_ends(sources, targets, shift)

    def _write_ends(self, sources: Array, targets: Array, shift: int) -> None:
        self._files["edge_source"].append(sources + shift)
        self._files["edge_target"].append(targets + shift)

    def _begin(self, first_nodes: Array, first_edges: Array, names: Any) -> None:
        if any(self._targets.values()):
            raise GraphError(
                "targets were added before: begin and add all graphs first, then their targets"
            )
        self._graph_names.append(names, len(first_nodes), self._graphs)
        self._node_names.begin()
        self._write_offsets(first_nodes, first_edges)
        self._graphs += len(first_nodes)

    def _write_offsets(self, first_nodes: Array, first_edges: Array) -> None:
        self._files["graph_offset"].append(first_nodes + self._nodes.count)
        self._files["edge_offset"].append(first_edges + self._edges.count)

    def _finish(self) -> None:
        self._write_offsets(np.zeros(1, np.int64), np.zeros(1, np.int64))
        arrays = {name: file.finish() for name, file in self._files.items()}
        arrays |= self._nodes.finish() | self._edges.finish()
        columns: dict[str, list[str]] = {}
        for file in self._columns.values():
            entries, names = file.finish()
            arrays |= entries
            columns |= names
        values = self._node_names.finish() | self._graph_names.finish()
        for what, labels in self._labels.items():
            values[f"{what}_vocabulary"] = _write_values(
                self._folder, f"{what}_vocabulary", labels.vocabulary, f"{what} label"
            )
        stored = {name: entry.stored() for name, entry in arrays.items()}
        content = {
            "graphs": self._graphs,
            "nodes": self._nodes.count,
            "edges": self._edges.count,
            "arrays": stored | self._targets["arrays"],
            "values": values | self._targets["values"],
        }
        if columns:
            content["columns"] = columns
        write_header(self._folder / HEADER, KIND, content)


def _write_targets(folder: Path, values: Array, owners: Array | None) -> dict[str, dict[str, Any]]:
    arrays: dict[str, Any] = {}
    if owners is not None:
        arrays["target_nodes"] = write_array(folder / "target_nodes.npy", owners).stored()
    kind = values.dtype.kind
    if kind not in "biuf":
        if values.ndim != 1:
            raise GraphError("targets of several columns must be numbers")
        return {
            "arrays": arrays,
            "values": {"targets": _write_values(folder, "targets", values.tolist(), "target")},
        }
    if kind in "iu":
        values = plain_numbers(values.reshape(-1), "targets").reshape(values.shape)
    elif kind == "f" and values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    arrays["targets"] = write_array(folder / "targets.npy", values).stored()
    return {"arrays": arrays, "values": {}}


def _write_values(
    folder: Path, name: str, values: Vocabulary | Sequence[Any], what: str
) -> dict[str, int]:
    with closing(ValuesFile(folder / f"{name}.jsonl", what)) as file:
        file.append(values)
        return file.finish()


def _node_numbers(nodes: Nodes | Any, size: int) -> Array:
    index = nodes.index if isinstance(nodes, Nodes) else nodes
    numbers = plain_numbers(index, "node numbers")
    outside = np.flatnonzero((numbers < 0) | (numbers >= size))
    if len(outside):
        raise GraphError(
            f"target {outside[0]} belongs to node {numbers[outside[0]]}, but there are {size} nodes"
        )
    return numbers


def _cpu(tensor: Tensor) -> Array:
    array: Array = tensor.detach().cpu().numpy()
    return array
