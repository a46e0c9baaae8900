"""The GraphML parser: keys, one graph, its nodes and edges with typed attributes.

Our own on expat instead of networkx: it streams, names lines, and refuses entity bombs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol
from xml.parsers import expat

from edgnn._files import Path_
from edgnn._words import one_line, short
from edgnn.errors import FormatError

_CHUNK = 2**18
_NAMESPACE = "http://graphml.graphdrawing.org/"
_REFUSED = {
    "hyperedge": "hyperedges (edges of more than two nodes)",
    "endpoint": "hyperedges (edges of more than two nodes)",
    "port": "ports",
    "locator": "parts of a graph that are kept elsewhere",
}
#: The elements that may contain an element.
_PARENTS = {
    "graphml": ("",),
    "key": ("graphml",),
    "default": ("key",),
    "graph": ("graphml",),
    "node": ("graph",),
    "edge": ("graph",),
    "data": ("graphml", "graph", "node", "edge"),
    "desc": ("graphml", "key", "graph", "node", "edge"),
}
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_TYPES = ("int", "integer", "long", "float", "double", "boolean", "string")


@dataclass
class Key:
    """A declared attribute of ``node``, ``edge``, ``graph`` or ``all``, its default as text."""

    domain: str
    name: str
    kind: str
    line: int
    default: str | None = None

    def value(self, text: str) -> Any:
        """Return the value that ``text`` stands for.

        ValueError where it stands for none of this type.
        """
        if self.kind == "string":
            return text
        plain = text.strip()
        if not plain.isascii() or "_" in plain:
            raise ValueError(plain)
        if self.kind == "boolean":
            if plain.lower() not in _TRUTH:
                raise ValueError(plain)
            return _TRUTH[plain.lower()]
        return float(plain) if self.kind in ("float", "double") else int(plain)


class Receiver(Protocol):
    """Who is told what the parser finds."""

    def graph(self, keys: dict[str, Key], name: str | None, directed: bool) -> dict[str, set[str]]:
        """Take note that the graph begins.

        Return the ids of the keys whose values are wanted, for ``node`` and ``edge``.
        """
        ...

    def node(self, name: str, values: dict[str, Any], line: int) -> None:
        """Take a node, with its wanted values by key id."""
        ...

    def edge(
        self, source: str, target: str, directed: bool | None, values: dict[str, Any], line: int
    ) -> None:
        """Take an edge, with its wanted values by key id."""
        ...


class GraphmlParser:
    """Parses one document.

    Document type and entity declarations are refused: they can make a short file grow without
    bound, and GraphML needs none.
    """

    def __init__(self, path: Path_, receiver: Receiver) -> None:
        self._path, self._receiver = path, receiver
        self._stack: list[str] = [""]
        self._foreign = 0
        self._keys: dict[str, Key] = {}
        self._wanted: dict[str, set[str]] | None = None
        self._defaults: dict[str, dict[str, Any]] = {}
        self._key: Key | None = None
        self._text: list[str] | None = None
        self._element: dict[str, str] = {}
        self._data_key = ""
        self._values: dict[str, Any] = {}
        self._line = 0
        self._starts = {
            "key": self._start_key,
            "default": self._start_default,
            "graph": self._start_graph,
            "node": self._start_element,
            "edge": self._start_element,
            "data": self._start_data,
        }
        self._ends = {
            "default": self._end_default,
            "node": self._end_node,
            "edge": self._end_edge,
            "data": self._end_data,
        }
        self._expat = expat.ParserCreate(namespace_separator=" ")
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartDoctypeDeclHandler = self._doctype

    def parse(self, stream: BinaryIO) -> None:
        """Go through the document."""
        ended = False
        while not ended:
            block = stream.read(_CHUNK)
            ended = not block
            try:
                self._expat.Parse(block, ended)
            except expat.ExpatError as error:
                rule = f"this is not well-formed XML: {expat.ErrorString(error.code)}"
                raise FormatError(self._path, rule, error.lineno) from None
            except (LookupError, UnicodeError) as error:
                raise FormatError(
                    self._path, f"the encoding cannot be read ({one_line(error)})", 1
                ) from None
        if self._wanted is None:
            raise FormatError(self._path, "there is no graph in this GraphML document")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        parent = self._stack[-1]
        if self._foreign or parent in ("data", "default", "desc"):
            self._foreign += 1
            self._text = None
            return
        namespace, _, name = tag.rpartition(" ")
        if name in _REFUSED:
            raise self._error(f"GraphML with {_REFUSED[name]} cannot be read")
        if name == "graph" and (parent != "graphml" or self._wanted is not None):
            raise self._error(
                "the file holds several or nested graphs; "
                "only GraphML with a single graph can be read"
            )
        known = not namespace or namespace.startswith(_NAMESPACE)
        if not known or parent not in _PARENTS.get(name, ()):
            raise self._error(
                f"the element <{short(name)[1:-1]}> does not belong "
                f"{f'inside <{parent}>' if parent else 'here'}"
            )
        self._stack.append(name)
        if name in self._starts:
            self._starts[name](attributes)

    def _end(self, _: str) -> None:
        if self._foreign:
            self._foreign -= 1
            return
        name = self._stack.pop()
        if name in self._ends:
            self._ends[name]()

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _start_key(self, attributes: dict[str, str]) -> None:
        if self._wanted is not None:
            raise self._error("a key is declared behind the graph; keys come first")
        key = self._needed(attributes, "id", "key")
        if key in self._keys:
            raise self._error(
                f"the key {short(key)} is declared twice, here and on line {self._keys[key].line}"
            )
        kind = attributes.get("attr.type", "string")
        if kind not in _TYPES:
            raise self._error(
                f"the key {short(key)} has the type {short(kind)}; types are {', '.join(_TYPES)}"
            )
        self._key = Key(
            attributes.get("for", "all"),
            attributes.get("attr.name", key),
            kind,
            self._expat.CurrentLineNumber,
        )
        self._keys[key] = self._key

    def _start_default(self, _: dict[str, str]) -> None:
        self._text = []

    def _end_default(self) -> None:
        assert self._key is not None
        self._key.default = None if self._text is None else "".join(self._text)
        self._text = None

    def _start_graph(self, attributes: dict[str, str]) -> None:
        direction = self._needed(attributes, "edgedefault", "graph")
        if direction not in ("directed", "undirected"):
            raise self._error(
                f"edgedefault is {short(direction)}; it must be 'directed' or 'undirected'"
            )
        self._wanted = self._receiver.graph(
            self._keys, attributes.get("id"), direction == "directed"
        )
        for domain, wanted in self._wanted.items():
            with_default = [(key, self._keys[key]) for key in self._keys if key in wanted]
            self._defaults[domain] = {
                name: self._value(key, key.default, key.line)
                for name, key in with_default
                if key.default is not None
            }

    def _start_element(self, attributes: dict[str, str]) -> None:
        self._element, self._line = attributes, self._expat.CurrentLineNumber
        self._values = self._defaults[self._stack[-1]].copy()

    def _start_data(self, attributes: dict[str, str]) -> None:
        owner, name = self._stack[-2], self._needed(attributes, "key", "data")
        key = self._keys.get(name)
        if key is None:
            raise self._error(f"the key {short(name)} is not declared")
        if key.domain not in ("all", owner) and owner in ("node", "edge"):
            raise self._error(
                f"the key {short(name)} is declared for {short(key.domain)}, "
                f"but stands in a {owner!r}"
            )
        self._data_key = (
            name if self._wanted is not None and name in self._wanted.get(owner, ()) else ""
        )
        self._text = [] if self._data_key else None

    def _end_data(self) -> None:
        if self._data_key:
            key, line = self._keys[self._data_key], self._expat.CurrentLineNumber
            if self._text is None:
                raise self._error(
                    f"the attribute {short(key.name)} holds XML elements; "
                    "it must hold a plain value"
                )
            self._values[self._data_key] = self._value(key, "".join(self._text), line)
        self._text, self._data_key = None, ""

    def _end_node(self) -> None:
        self._receiver.node(self._needed(self._element, "id", "node"), self._values, self._line)

    def _end_edge(self) -> None:
        source, target = (self._needed(self._element, end, "edge") for end in ("source", "target"))
        if "sourceport" in self._element or "targetport" in self._element:
            raise self._error(f"GraphML with {_REFUSED['port']} cannot be read")
        directed = self._element.get("directed")
        if directed not in (None, "true", "false"):
            raise self._error(
                f"an edge has directed={short(directed)}; it must be 'true' or 'false'"
            )
        self._receiver.edge(
            source,
            target,
            None if directed is None else directed == "true",
            self._values,
            self._line,
        )

    def _value(self, key: Key, text: str, line: int) -> Any:
        try:
            return key.value(text)
        except ValueError:
            raise FormatError(
                self._path,
                f"the attribute {short(key.name)} is {short(text)}, "
                f"which is no value of type {key.kind}",
                line,
            ) from None

    def _needed(self, attributes: dict[str, str], name: str, element: str) -> str:
        if name not in attributes:
            raise self._error(f"the <{element}> has no {name!r}, which it needs")
        return attributes[name]

    def _doctype(self, *_: Any) -> None:
        raise self._error(
            "a document type declaration (<!DOCTYPE …>) is refused, because entities can attack; "
            "remove it"
        )

    def _error(self, rule: str) -> FormatError:
        return FormatError(self._path, rule, self._expat.CurrentLineNumber)
