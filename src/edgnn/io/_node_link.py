"""Node-link JSON of networkx and D3: one graph as a list of nodes and a list of edges."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from torch import Tensor

from edgnn._deadline import checked
from edgnn._files import Path_, atomic_maybe_gzip, open_binary
from edgnn._words import short
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs, OnUnknown, Vocabulary
from edgnn.io._common import check_single, node_names, rows, write_joined
from edgnn.io._elements import NO_VALUE, Attributes, Elements, hashable
from edgnn.io._labeled import Labeled

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
    edge becomes two, one each way (a self-loop stays one).

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
        document = _parsed(stream.read(), path)
    directed = document.get("directed", False)
    if not isinstance(directed, bool):
        rule = f"'directed' is {short(directed)}; it must be true or false"
        raise FormatError(path, rule)
    _add_nodes(_list(document, "nodes", path), node_id, elements, path)
    _add_edges(_list(document, "edges", path), (source, target), elements, path)
    about = document.get("graph")
    name = about.get("name") if isinstance(about, dict) else None
    return elements.labeled(directed, _hashable(name, "the graph's name", path), like, unknown)


def write_node_link(graphs: Graphs, path: Path_) -> None:
    """Write a single graph as node-link JSON, which ``networkx.node_link_graph`` reads too.

    The file is compressed if its name ends in ``.gz``. Labels go into ``"label"``, features into
    ``"features"``, the graph's name into ``"graph"``.
    Tuples become lists, which the reader turns back; labels and names that JSON cannot hold are an
    error.
    """
    check_single(graphs, "node-link JSON")
    with atomic_maybe_gzip(path) as stream:
        _write(graphs, stream)


def _parsed(data: bytes, path: Path_) -> dict[str, Any]:
    """Return a document, which must be one JSON object."""
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(path, "the text is not UTF-8; convert it first", line) from None
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" at").removesuffix(" starting")
        reason = f"{reason[0].lower()}{reason[1:]}"
        raise FormatError(path, f"this is not JSON: {reason}", error.lineno) from None
    except RecursionError:
        raise FormatError(path, "lists and objects are nested too deep") from None
    except ValueError as error:
        raise FormatError(path, f"a value cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise FormatError(path, "a node-link document is one JSON object: {…}")
    return document


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number in JSON; use null, or leave the attribute out")


def _list(document: dict[str, Any], key: str, path: Path_) -> list[Any]:
    """Return the list of nodes or of edges, which older documents call links."""
    keys = _EDGES if key == "edges" else (key,)
    present = [one for one in keys if one in document]
    if len(present) > 1:
        raise FormatError(path, f"there are both {' and '.join(map(repr, present))}; keep one")
    if not present:
        rule = f"there is no list {key!r}; a node-link document has 'nodes' and 'edges'"
        raise FormatError(path, rule)
    elements = document[present[0]]
    if not isinstance(elements, list):
        raise FormatError(path, f"{present[0]!r} is {short(elements)}; it must be a list: […]")
    return elements


def _add_nodes(nodes: list[Any], node_id: str, elements: Elements, path: Path_) -> None:
    have_names = any(isinstance(node, dict) and node_id in node for node in nodes)
    for position, node in enumerate(checked(nodes)):
        if not isinstance(node, dict):
            raise FormatError(path, f"a node is {short(node)}; it must be an object: {{…}}")
        name: Hashable = position
        if have_names or node_id != "id":
            if node_id not in node:
                rule = f"node {position}, counted from 0, has no {node_id!r}; give it to all nodes"
                raise FormatError(path, rule)
            name = _node(node[node_id], path)
        elements.add_node(name, node)


def _add_edges(edges: list[Any], ends: tuple[str, str], elements: Elements, path: Path_) -> None:
    for edge in checked(edges):
        if not isinstance(edge, dict):
            raise FormatError(path, f"an edge is {short(edge)}; it must be an object: {{…}}")
        for end in ends:
            if end not in edge:
                raise FormatError(path, f"an edge has no {end!r}: {short(edge)}")
        source, target = (_node(edge[end], path) for end in ends)
        elements.add_edge(source, target, edge)


def _node(value: Any, path: Path_) -> Hashable:
    if value is None:
        raise FormatError(path, "a node id is null; it must be text or a number")
    return _hashable(value, "a node id", path)


def _hashable(value: Any, what: str, path: Path_) -> Hashable:
    made: Hashable = hashable(value)
    if made is NO_VALUE:
        rule = f"{what} is {short(value)}; it must be text, a number or a list of them"
        raise FormatError(path, rule)
    return made


def _wanted(
    label: str | None, features: str | Sequence[str] | None, target: str | None = None
) -> Attributes:
    if features is None:
        return Attributes(label, "features", all_or_none=True, target=target)
    return Attributes(label, features or None, target=target)


def _write(graphs: Graphs, stream: BinaryIO) -> None:
    names = [
        _text(name, f"the name of node {number}") for number, name in enumerate(node_names(graphs))
    ]
    about = {} if graphs.graph_names is None else {"name": graphs.graph_names[0]}
    graph = _text(about, "the name of the graph")
    head = f'{{"directed": true, "multigraph": true, "graph": {graph},\n"nodes": [\n'
    stream.write(head.encode())
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
        yield from map(texts.__getitem__, rows(labels))
        return
    for label, row in zip(rows(labels), rows(features), strict=True):
        yield f'{texts[label]}, "features": {json.dumps(row)}'


def _text(value: Any, what: str) -> str:
    try:
        text = json.dumps(value, allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise GraphError(
            f"{what} cannot be written as JSON ({error}); "
            "rename it to text, a number or a tuple of them"
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
