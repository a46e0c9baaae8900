"""GraphML: one graph in XML, with typed attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count, takewhile
from typing import Any, BinaryIO
from xml.sax.saxutils import escape

from torch import Tensor

from edgnn._files import Path_, atomic_maybe_gzip, open_binary
from edgnn._words import preview, suggestion
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs, OnUnknown, Vocabulary
from edgnn.io._elements import Attributes, Elements
from edgnn.io._graphml_parser import GraphmlParser, Key
from edgnn.io._labeled import Labeled
from edgnn.io._pieces import rows, write_joined
from edgnn.io._separated import as_list

_XML_CANNOT_HOLD = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_ATTRIBUTES = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;", '"': "&quot;"}
_TYPES = {str: "string", int: "long", float: "double", bool: "boolean"}


def read_graphml(
    path: Path_,
    *,
    node_label: str | None = "label",
    edge_label: str | None = "label",
    node_features: str | Sequence[str] | None = None,
    edge_features: str | Sequence[str] | None = None,
    node_target: str | None = None,
    like: Graphs | None = None,
    unknown: OnUnknown = "error",
    max_bytes: int | None = None,
) -> Labeled:
    """Read the graph of a GraphML file.

    ``edgedefault``, and ``directed`` of a single edge, say which edges have a direction; one
    without becomes two, one each way (a self-loop stays one). Node names are the ids, as text.
    Nested graphs, hyperedges and ports are refused, and so are document type declarations.

    Parameters
    ----------
    path : path
        The file, plain or gzip-compressed.
    node_label, edge_label : str or None
        Attributes that hold labels, found by ``attr.name`` or else by the key's ``id``; a default
        of the key counts. Where no element has the attribute there are no labels; where only some
        have it, that is an error.
    node_features, edge_features : str or sequence of str, optional
        Attributes that hold numbers; default: ``feature_0``, ``feature_1``, … as far as they are
        declared (``()`` for none).
    node_target : str, optional
        Attribute that holds targets; nodes that lack it are not among the :attr:`Labeled.nodes`.
    like, unknown
        Number labels as other graphs do; see :meth:`Graphs.from_edges`.
    max_bytes : int, optional
        How much a compressed file may unpack to; default: 100 times its size, or 64 MiB if that is
        more.
    """
    receiver = _Receiver(
        path,
        {"node": node_label, "edge": edge_label},
        {"node": node_features, "edge": edge_features},
        node_target,
    )
    with open_binary(path, max_bytes) as stream:
        GraphmlParser(path, receiver).parse(stream)
    return receiver.labeled(like, unknown)


def write_graphml(graphs: Graphs, path: Path_) -> None:
    """Write a single graph as GraphML, compressed if the name ends in ``.gz``.

    Labels go into the attribute ``label``, features into ``feature_0``, ``feature_1``, …. The
    labels of all nodes, and those of all edges, must be of one type: text, whole numbers, numbers
    or truth values. Names become text.
    """
    if len(graphs) != 1:
        raise GraphError(
            f"GraphML holds a single graph here, not {len(graphs)}: write them one by one, "
            "or as tables"
        )
    with atomic_maybe_gzip(path) as stream:
        _write(graphs, stream)


class _Receiver:
    """Collects what the parser finds."""

    def __init__(
        self,
        path: Path_,
        labels: dict[str, str | None],
        features: dict[str, str | Sequence[str] | None],
        target: str | None,
    ) -> None:
        self._path, self._labels, self._features, self._target = path, labels, features, target
        self._names: dict[str, dict[str, list[str]]] = {}
        self._elements: Elements | None = None
        self._directed = True
        self._graph_name: str | None = None

    def graph(self, keys: dict[str, Key], name: str | None, directed: bool) -> dict[str, set[str]]:
        """Settle which keys hold labels, features and targets."""
        self._graph_name, self._directed = name, directed
        self._elements = Elements(
            self._path, self._wanted(keys, "node"), self._wanted(keys, "edge")
        )
        return {domain: set(names) for domain, names in self._names.items()}

    def node(self, name: str, values: dict[str, Any], line: int) -> None:
        """Add a node."""
        assert self._elements is not None
        self._elements.add_node(name, self._named("node", values), line)

    def edge(
        self, source: str, target: str, directed: bool | None, values: dict[str, Any], line: int
    ) -> None:
        """Add an edge."""
        assert self._elements is not None
        self._elements.add_edge(source, target, self._named("edge", values), line, directed)

    def labeled(self, like: Graphs | None, unknown: OnUnknown) -> Labeled:
        """Make the graph."""
        assert self._elements is not None
        return self._elements.labeled(self._directed, self._graph_name, like, unknown)

    def _named(self, domain: str, values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for key, value in values.items() for name in self._names[domain][key]}

    def _wanted(self, keys: dict[str, Key], domain: str) -> Attributes:
        """Return the attributes to take of nodes or edges, and note the keys that hold them."""
        declared = {key: one.name for key, one in keys.items() if one.domain in ("all", domain)}
        label, given = self._labels[domain], self._features[domain]
        target = self._target if domain == "node" else None
        features = as_list(given)
        if given is None:
            known = {*declared, *declared.values()}
            features = list(takewhile(known.__contains__, (f"feature_{n}" for n in count())))
        asked = {label: "label", target: "target"} | dict.fromkeys(features, "features")
        self._names[domain] = {}
        for name, option in asked.items():
            if name is not None:
                for key in self._keys_of(name, option, domain, declared):
                    self._names[domain].setdefault(key, []).append(name)
        return Attributes(label, features or None, all_or_none=given is None, target=target)

    def _keys_of(self, name: str, option: str, domain: str, declared: dict[str, str]) -> list[str]:
        """Return the keys of an attribute: by its name, or else by the id of the key."""
        keys = [key for key in declared if declared[key] == name]
        if not keys and name in declared:
            keys = [name]
        if not keys and (name, option) != ("label", "label"):
            names = sorted(set(declared.values()))
            raise FormatError(
                self._path,
                f"no key declares the {domain} attribute {name!r}, which {domain}_{option} asks "
                f"for; declared are {preview(names, 20) or 'none'}{suggestion(name, names)}",
            )
        return keys


def _write(graphs: Graphs, stream: BinaryIO) -> None:
    given = range(graphs.num_nodes) if graphs.node_names is None else graphs.node_names.tolist()
    names = _name_texts(given)
    graph_name = (
        ""
        if graphs.graph_names is None
        else f' id="{_attribute(str(graphs.graph_names[0]), "the graph name")}"'
    )
    stream.write(
        b'<?xml version="1.0" encoding="UTF-8"?>\n<graphml '
        b'xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    )
    for domain, vocabulary, features in (
        ("node", graphs.node_vocabulary, graphs.node_features),
        ("edge", graphs.edge_vocabulary, graphs.edge_features),
    ):
        stream.write("".join(_key_texts(domain, vocabulary, features)).encode())
    stream.write(f'<graph edgedefault="directed"{graph_name}>\n'.encode())
    nodes = _data(graphs.node_label, graphs.node_vocabulary, graphs.node_features, "node")
    write_joined(
        stream,
        (f'<node id="{name}">{data}</node>\n' for name, data in zip(names, nodes, strict=True)),
        "",
    )
    edges = zip(
        rows(graphs.edge_source),
        rows(graphs.edge_target),
        _data(graphs.edge_label, graphs.edge_vocabulary, graphs.edge_features, "edge"),
        strict=True,
    )
    lines = (
        f'<edge source="{names[source]}" target="{names[target]}">{data}</edge>\n'
        for source, target, data in edges
    )
    write_joined(stream, lines, "")
    stream.write(b"</graph>\n</graphml>\n")


def _key_texts(domain: str, vocabulary: Vocabulary, features: Tensor | None) -> Iterator[str]:
    if not vocabulary.constant:
        kind = _label_type(vocabulary, domain)
        yield f'<key id="{domain}_label" for="{domain}" attr.name="label" attr.type="{kind}"/>\n'
    for place in range(0 if features is None else features.shape[1]):
        name = f"feature_{place}"
        key = f'<key id="{domain}_{name}" for="{domain}" attr.name="{name}" attr.type="double"/>'
        yield f"{key}\n"


def _label_type(vocabulary: Vocabulary, domain: str) -> str:
    kinds = {type(value) for value in vocabulary}
    if len(kinds) > 1 or not kinds <= set(_TYPES):
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise GraphError(
            f"the {domain} labels are of type {found}; GraphML holds labels of one type, text, "
            "numbers or truth values: "
            "rename them with .renamed()"
        )
    too_long = [
        value for value in vocabulary if isinstance(value, int) and not -(2**63) <= value < 2**63
    ]
    if too_long:
        raise GraphError(
            f"the {domain} label {too_long[0]} does not fit into 64 bits, as GraphML asks; "
            "rename it to text"
        )
    return _TYPES[kinds.pop()] if kinds else "string"


def _data(
    labels: Tensor, vocabulary: Vocabulary, features: Tensor | None, domain: str
) -> Iterator[str]:
    texts = [""]
    if not vocabulary.constant:
        texts = [
            f'<data key="{domain}_label">{_content(value, f"the {domain} label {value!r}")}</data>'
            for value in vocabulary
        ]
    if features is None:
        return (texts[label] for label in rows(labels))
    pairs = zip(rows(labels), rows(features), strict=True)
    return (
        texts[label]
        + "".join(
            f'<data key="{domain}_feature_{place}">{number!r}</data>'
            for place, number in enumerate(row)
        )
        for label, row in pairs
    )


def _name_texts(names: Sequence[Any]) -> list[str]:
    owner: dict[str, int] = {}
    for number, name in enumerate(names):
        text = _attribute(str(name), f"the name of node {number}")
        if text in owner:
            raise GraphError(
                f"the names {names[owner[text]]!r} and {name!r} of nodes {owner[text]} and "
                f"{number} are the same text; rename one"
            )
        owner[text] = number
    return list(owner)


def _content(value: Any, what: str) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return escape(_checked(text, what), {"\r": "&#13;"})


def _attribute(text: str, what: str) -> str:
    return escape(_checked(text, what), _IN_ATTRIBUTES)


def _checked(text: str, what: str) -> str:
    wrong = _XML_CANNOT_HOLD.search(text)
    if wrong is not None:
        raise GraphError(
            f"{what} holds the character {wrong[0]!r}, which XML cannot hold; rename it"
        )
    return text
