"""Node-link JSON, the form that networkx and D3 share: one graph as a list of nodes and a list of edges."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from torch import Tensor

from edgnn._files import Path_, atomic_maybe_gzip, open_binary
from edgnn._words import short
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs, OnUnknown, Vocabulary
from edgnn.io._elements import NO_VALUE, Attributes, Elements, hashable
from edgnn.io._json_stream import JsonStream
from edgnn.io._labeled import Labeled
from edgnn.io._pieces import rows, write_joined

_EDGES = ("edges", "links")


def read_node_link(
    path: Path_,
    *,
    node_label: str | None = "label",
    edge_label: str | None = "label",
    node_features: str | Sequence[str] | None = None,
    edge_features: str | Sequence[str] | None = None,
    node_target: str | None = None,
    node_id: str = "id",
    source: str = "source",
    target: str = "target",
    like: Graphs | None = None,
    unknown: OnUnknown = "error",
    max_bytes: int | None = None,
) -> Labeled:
    """Read a graph from node-link JSON, as ``networkx.node_link_data`` makes it.

    The document is ``{"nodes": […], "edges": […]}``, or with the older ``"links"``; ``"directed"``
    says whether edges have a direction. As in networkx they have none where it is absent: every
    edge becomes two, one each way (a self-loop stays one). Nothing but a short piece of the file is
    held as text.

    Parameters
    ----------
    path : path
        The file, plain or gzip-compressed, in UTF-8.
    node_label, edge_label : str or None
        Attributes that hold labels: text, numbers, truth values, ``null``, or lists of them, which
        become tuples. Where no element has the attribute there are no labels; where only some have
        it, that is an error.
    node_features, edge_features : str or sequence of str, optional
        Attributes that hold continuous features: one that holds a list of numbers, or several that
        hold numbers; default: ``"features"`` where it is there (``()`` for none).
    node_target : str, optional
        Attribute that holds targets; nodes that lack it, or have ``null``, are not among the
        :attr:`Labeled.nodes`.
    node_id : str
        Attribute that names a node. Where no node has ``"id"``, nodes are named by their position
        from 0, as networkx does.
    source, target : str
        Attributes that name the ends of an edge.
    like, unknown
        Number labels as other graphs do; see :meth:`Graphs.from_edges`.
    max_bytes : int, optional
        How much a compressed file may unpack to; default: 100 times its size, or 64 MiB if that is
        more.
    """
    elements = Elements(
        path, _wanted(node_label, node_features, node_target), _wanted(edge_label, edge_features)
    )
    with open_binary(path, max_bytes) as stream:
        document = _Document(JsonStream(stream, path), path, elements, node_id, (source, target))
        directed, name = document.read()
    return elements.labeled(directed, name, like, unknown)


def write_node_link(graphs: Graphs, path: Path_) -> None:
    """Write a single graph as node-link JSON, which ``networkx.node_link_graph`` reads too; compressed if the name ends in ``.gz``.

    Labels go into ``"label"``, features into ``"features"``, the graph's name into ``"graph"``.
    Tuples become lists, which the reader turns back; labels and names that JSON cannot hold are an
    error.
    """
    if len(graphs) != 1:
        raise GraphError(
            f"node-link JSON holds a single graph, not {len(graphs)}: write them one by one, or as tables"
        )
    with atomic_maybe_gzip(path) as stream:
        _write(graphs, stream)


class _Document:
    """Goes through one document and hands its nodes and edges on."""

    def __init__(
        self,
        stream: JsonStream,
        path: Path_,
        elements: Elements,
        node_id: str,
        ends: tuple[str, str],
    ) -> None:
        self._stream, self._path, self._elements = stream, path, elements
        self._node_id, self._ends = node_id, ends
        self._unnamed: int | None = None

    def read(self) -> tuple[bool, Any]:
        """Return whether edges are directed, and the graph's name."""
        seen: dict[str, int] = {}
        directed, name = False, None
        for key in self._stream.members():
            line = self._stream.line
            kind = "edges" if key in _EDGES else key
            if kind in seen:
                raise FormatError(
                    self._path,
                    f"{key!r} comes again; {kind!r} was on line {seen[kind]} already",
                    line,
                )
            seen[kind] = line
            if key == "nodes":
                self._read_nodes()
            elif kind == "edges":
                self._read_edges()
            else:
                value = self._stream.value()
                if key == "directed":
                    directed = self._flag(value, line)
                elif key == "graph" and isinstance(value, dict):
                    name = self._hashable(value.get("name"), "the graph's name", line)
        for kind in ("nodes", "edges"):
            if kind not in seen:
                raise FormatError(
                    self._path,
                    f"there is no list {kind!r}; a node-link document has 'nodes' and 'edges'",
                )
        return directed, name

    def _read_nodes(self) -> None:
        for position, (line, node) in enumerate(self._stream.elements()):
            self._elements.add_node(self._name(node, position, line), node, line)

    def _read_edges(self) -> None:
        first, second = self._ends
        for line, edge in self._stream.elements():
            if not isinstance(edge, dict):
                raise FormatError(
                    self._path, f"an edge is {short(edge)}; it must be an object: {{…}}", line
                )
            if first not in edge or second not in edge:
                lacking = second if first in edge else first
                raise FormatError(self._path, f"an edge has no {lacking!r}: {short(edge)}", line)
            ends = self._node(edge[first], line), self._node(edge[second], line)
            self._elements.add_edge(*ends, edge, line)

    def _name(self, node: Any, position: int, line: int) -> Hashable:
        if not isinstance(node, dict):
            raise FormatError(
                self._path, f"a node is {short(node)}; it must be an object: {{…}}", line
            )
        if self._node_id in node:
            if self._unnamed is None:
                return self._node(node[self._node_id], line)
            line = self._unnamed
        elif self._node_id == "id" and (position == 0 or self._unnamed is not None):
            self._unnamed = line if self._unnamed is None else self._unnamed
            return position
        raise FormatError(
            self._path, f"a node has no {self._node_id!r}; give it to all nodes", line
        )

    def _node(self, value: Any, line: int) -> Hashable:
        name = self._hashable(value, "a node id", line)
        if name is None:
            raise FormatError(self._path, "a node id is null; it must be text or a number", line)
        return name

    def _hashable(self, value: Any, what: str, line: int) -> Hashable:
        made: Hashable = hashable(value)
        if made is NO_VALUE:
            raise FormatError(
                self._path,
                f"{what} is {short(value)}; it must be text, a number or a list of them",
                line,
            )
        return made

    def _flag(self, value: Any, line: int) -> bool:
        if not isinstance(value, bool):
            raise FormatError(
                self._path, f"'directed' is {short(value)}; it must be true or false", line
            )
        return value


def _wanted(
    label: str | None, features: str | Sequence[str] | None, target: str | None = None
) -> Attributes:
    if features is None:
        return Attributes(label, "features", all_or_none=True, target=target)
    return Attributes(label, features or None, target=target)


def _write(graphs: Graphs, stream: BinaryIO) -> None:
    given = range(graphs.num_nodes) if graphs.node_names is None else graphs.node_names.tolist()
    names = [_text(name, f"the name of node {number}") for number, name in enumerate(given)]
    about = {} if graphs.graph_names is None else {"name": graphs.graph_names[0]}
    stream.write(
        f'{{"directed": true, "multigraph": true, "graph": {_text(about, "the name of the graph")},\n"nodes": [\n'.encode()
    )
    nodes = zip(
        names,
        _attributes(graphs.node_label, graphs.node_vocabulary, graphs.node_features, "node"),
        strict=True,
    )
    write_joined(stream, (f'{{"id": {name}{rest}}}' for name, rest in nodes), ",\n")
    stream.write(b'],\n"edges": [\n')
    edges = zip(
        rows(graphs.edge_source),
        rows(graphs.edge_target),
        _attributes(graphs.edge_label, graphs.edge_vocabulary, graphs.edge_features, "edge"),
        strict=True,
    )
    items = (
        f'{{"source": {names[source]}, "target": {names[target]}{rest}}}'
        for source, target, rest in edges
    )
    write_joined(stream, items, ",\n")
    stream.write(b"]}\n")


def _attributes(
    labels: Tensor, vocabulary: Vocabulary, features: Tensor | None, what: str
) -> Iterator[str]:
    """Yield what stands behind the id or the ends of each element: its label and features."""
    texts = [""]
    if not vocabulary.constant:
        texts = [
            f', "label": {_text(value, f"the {what} label {value!r}")}' for value in vocabulary
        ]
    if features is None:
        return (texts[label] for label in rows(labels))
    pairs = zip(rows(labels), rows(features), strict=True)
    return (f'{texts[label]}, "features": {json.dumps(row)}' for label, row in pairs)


def _text(value: Any, what: str) -> str:
    try:
        text = json.dumps(value, allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise GraphError(
            f"{what} cannot be written as JSON ({error}); rename it to text, a number or a tuple of them"
        ) from None
    if value is None and what.startswith("the name"):
        raise GraphError(
            f"{what} is None, which node-link JSON cannot hold; rename it to text or a number"
        )
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"it is a {type(value).__name__}")
