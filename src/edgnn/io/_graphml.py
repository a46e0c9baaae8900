"""GraphML: one graph in XML, with typed attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any, BinaryIO
from xml.sax.saxutils import escape

from torch import Tensor

from edgnn._files import Path_, atomic_maybe_gzip, open_binary
from edgnn._words import preview, short, suggestion
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs, OnUnknown, Vocabulary
from edgnn.io._common import (
    as_list,
    check_distinct,
    check_single,
    node_names,
    rows,
    write_joined,
)
from edgnn.io._elements import Attributes, Elements
from edgnn.io._graphml_parser import Element, elements
from edgnn.io._labeled import Labeled

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
    reader = _Reader(
        path,
        labels={"node": node_label, "edge": edge_label},
        features={"node": node_features, "edge": edge_features},
        targets={"node": node_target, "edge": None},
    )
    with open_binary(path, max_bytes) as stream:
        for element in elements(stream, path):
            reader.take(element)
    return reader.labeled(like, unknown)


def write_graphml(graphs: Graphs, path: Path_) -> None:
    """Write a single graph as GraphML, compressed if the name ends in ``.gz``.

    Labels go into the attribute ``label``, features into ``feature_0``, ``feature_1``, …. The
    labels of all nodes, and those of all edges, must be of one type: text, whole numbers, numbers
    or truth values. Names become text.
    """
    check_single(graphs, "GraphML")
    with atomic_maybe_gzip(path) as stream:
        _write(graphs, stream)


@dataclass
class _Key:
    """A declared attribute of ``node``, ``edge``, ``graph`` or ``all``, its default as text."""

    domain: str
    name: str
    kind: str
    element: Element
    default: str | None = None

    @classmethod
    def of(cls, element: Element) -> _Key:
        """Return the key that a ``<key>`` declares."""
        identifier = element.needed("id")
        kind = element.attributes.get("attr.type", "string")
        if kind not in _VALUE_TYPES:
            types = ", ".join(_VALUE_TYPES)
            raise element.error(
                f"the key {short(identifier)} has the type {short(kind)}; types are {types}"
            )
        name = element.attributes.get("attr.name", identifier)
        key = cls(element.attributes.get("for", "all"), name, kind, element)
        for default in element.children:
            key.default = None if default.has_markup else default.text
        return key

    def value(self, text: str, element: Element) -> Any:
        """Return the value of the text in an element."""
        try:
            return _VALUE_TYPES[self.kind](text)
        except ValueError:
            raise element.error(
                f"the attribute {short(self.name)} is {short(text)}, "
                f"which is no value of type {self.kind}"
            ) from None


def _plain(text: str) -> str:
    """Return the text of a number, without what only Python takes for one."""
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return text.strip()


def _whole_number(text: str) -> int:
    return int(_plain(text))


def _number(text: str) -> float:
    return float(_plain(text))


def _truth_value(text: str) -> bool:
    word = _plain(text).lower()
    if word not in _TRUTH:
        raise ValueError(text)
    return _TRUTH[word]


_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_VALUE_TYPES: dict[str, Callable[[str], Any]] = {
    "int": _whole_number,
    "integer": _whole_number,
    "long": _whole_number,
    "float": _number,
    "double": _number,
    "boolean": _truth_value,
    "string": str,
}


class _Reader:
    """Makes a graph of the elements of a document.

    Parameters
    ----------
    path : path
        The file, for errors.
    labels, features, targets : dict
        The attributes of ``node`` and of ``edge`` that hold them.
    """

    def __init__(
        self,
        path: Path_,
        labels: dict[str, str | None],
        features: dict[str, str | Sequence[str] | None],
        targets: dict[str, str | None],
    ) -> None:
        self._path = path
        self._labels = labels
        self._features = features
        self._targets = targets
        self._keys: dict[str, _Key] = {}
        self._names: dict[str, dict[str, list[str]]] = {"node": {}, "edge": {}}
        self._defaults: dict[str, dict[str, Any]] = {}
        self._elements: Elements | None = None
        self._directed = True
        self._graph_name: str | None = None

    def take(self, element: Element) -> None:
        """Take the next element of the document."""
        if element.name == "key":
            self._take_key(element)
        elif element.name == "graph":
            self._take_graph(element)
        elif element.name == "node":
            self._taken.add_node(element.needed("id"), self._values(element), element.line)
        else:
            self._take_edge(element)

    def labeled(self, like: Graphs | None, unknown: OnUnknown) -> Labeled:
        """Make the graph."""
        return self._taken.labeled(self._directed, self._graph_name, like, unknown)

    @property
    def _taken(self) -> Elements:
        """The nodes and edges so far."""
        if self._elements is None:
            raise FormatError(self._path, "there is no graph in this GraphML document")
        return self._elements

    def _take_key(self, element: Element) -> None:
        if self._elements is not None:
            raise element.error("a key is declared behind the graph; keys come first")
        key = _Key.of(element)
        other = self._keys.setdefault(element.attributes["id"], key)
        if other is not key:
            raise element.error(
                f"the key {short(element.attributes['id'])} is declared twice, "
                f"here and on line {other.element.line}"
            )

    def _take_graph(self, element: Element) -> None:
        direction = element.needed("edgedefault")
        if direction not in ("directed", "undirected"):
            raise element.error(
                f"edgedefault is {short(direction)}; it must be 'directed' or 'undirected'"
            )
        self._directed = direction == "directed"
        self._graph_name = element.attributes.get("id")
        self._elements = Elements(self._path, self._chosen("node"), self._chosen("edge"))

    def _take_edge(self, element: Element) -> None:
        source = element.needed("source")
        target = element.needed("target")
        if "sourceport" in element.attributes or "targetport" in element.attributes:
            raise element.error("GraphML with ports cannot be read")
        directed = element.attributes.get("directed")
        if directed not in (None, "true", "false"):
            raise element.error(
                f"an edge has directed={short(directed)}; it must be 'true' or 'false'"
            )
        self._taken.add_edge(
            source, target, self._values(element), element.line, _TRUTH.get(directed or "")
        )

    def _values(self, element: Element) -> dict[str, Any]:
        """Return the chosen attributes of a node or an edge by name."""
        values = self._defaults[element.name].copy()
        for data in element.children:
            identifier = data.needed("key")
            key = self._keys.get(identifier)
            if key is None:
                raise data.error(f"the key {short(identifier)} is not declared")
            if key.domain not in ("all", element.name):
                raise data.error(
                    f"the key {short(identifier)} is declared for {short(key.domain)}, "
                    f"but stands in a {element.name!r}"
                )
            names = self._names[element.name].get(identifier, ())
            if names and data.has_markup:
                raise data.error(
                    f"the attribute {short(key.name)} holds XML elements; "
                    "it must hold a plain value"
                )
            for name in names:
                values[name] = key.value(data.text, data)
        return values

    def _chosen(self, domain: str) -> Attributes:
        """Return the attributes to take of nodes or edges, and note the keys that hold them."""
        declared = self._declared(domain)
        label, given, target = self._labels[domain], self._features[domain], self._targets[domain]
        features = as_list(given)
        if given is None:
            features = list(takewhile(declared.__contains__, (f"feature_{n}" for n in count())))
        asked = {label: "label", target: "target"} | dict.fromkeys(features, "features")
        self._defaults[domain] = {}
        for name, option in asked.items():
            if name is not None:
                if name not in declared and (name, option) != ("label", "label"):
                    raise self._undeclared(name, option, domain)
                for identifier in declared.get(name, ()):
                    self._choose(identifier, name, domain)
        return Attributes(label, features or None, all_or_none=given is None, target=target)

    def _choose(self, identifier: str, name: str, domain: str) -> None:
        self._names[domain].setdefault(identifier, []).append(name)
        key = self._keys[identifier]
        if key.default is not None:
            self._defaults[domain][name] = key.value(key.default, key.element)

    def _declared(self, domain: str) -> dict[str, list[str]]:
        """Return the keys of each attribute: by its name, or else by the id of the key."""
        names = self._declared_names(domain)
        keys: dict[str, list[str]] = {}
        for identifier, name in names.items():
            keys.setdefault(name, []).append(identifier)
        return {identifier: [identifier] for identifier in names} | keys

    def _declared_names(self, domain: str) -> dict[str, str]:
        domains = ("all", domain)
        return {key: one.name for key, one in self._keys.items() if one.domain in domains}

    def _undeclared(self, name: str, option: str, domain: str) -> FormatError:
        names = sorted(set(self._declared_names(domain).values()))
        return FormatError(
            self._path,
            f"no key declares the {domain} attribute {name!r}, which {domain}_{option} asks "
            f"for; declared are {preview(names, 20) or 'none'}{suggestion(name, names)}",
        )


def _write(graphs: Graphs, stream: BinaryIO) -> None:
    given = node_names(graphs)
    names = [
        _attribute(str(name), f"the name of node {number}") for number, name in enumerate(given)
    ]
    check_distinct(given, names, "node name")
    graph_name = ""
    if graphs.graph_names is not None:
        graph_name = f' id="{_attribute(str(graphs.graph_names[0]), "the graph name")}"'
    keys = [
        *_key_texts("node", graphs.node_vocabulary, graphs.node_features),
        *_key_texts("edge", graphs.edge_vocabulary, graphs.edge_features),
    ]
    nodes = _data(graphs.node_label, graphs.node_vocabulary, graphs.node_features, "node")
    edges = _data(graphs.edge_label, graphs.edge_vocabulary, graphs.edge_features, "edge")
    stream.write(
        b'<?xml version="1.0" encoding="UTF-8"?>\n<graphml '
        b'xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    )
    write_joined(stream, keys)
    stream.write(f'<graph edgedefault="directed"{graph_name}>\n'.encode())
    write_joined(
        stream,
        (f'<node id="{name}">{data}</node>\n' for name, data in zip(names, nodes, strict=True)),
    )
    write_joined(
        stream,
        (
            f'<edge source="{names[source]}" target="{names[target]}">{data}</edge>\n'
            for source, target, data in zip(
                rows(graphs.edge_source), rows(graphs.edge_target), edges, strict=True
            )
        ),
    )
    stream.write(b"</graph>\n</graphml>\n")


def _key_texts(domain: str, vocabulary: Vocabulary, features: Tensor | None) -> list[str]:
    """Return the declarations of the attributes that nodes or edges have."""
    kinds = {}
    if not vocabulary.constant:
        kinds["label"] = _label_type(vocabulary, domain)
    if features is not None:
        kinds |= {f"feature_{column}": "double" for column in range(features.shape[1])}
    return [
        f'<key id="{domain}_{name}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>\n'
        for name, kind in kinds.items()
    ]


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
        yield from map(texts.__getitem__, rows(labels))
        return
    for label, row in zip(rows(labels), rows(features), strict=True):
        numbers = (
            f'<data key="{domain}_feature_{column}">{number!r}</data>'
            for column, number in enumerate(row)
        )
        yield texts[label] + "".join(numbers)


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
