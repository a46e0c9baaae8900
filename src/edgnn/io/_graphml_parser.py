"""GraphML as a stream of elements: keys, the graph, its nodes and edges.

Our own on expat instead of networkx: it streams, names lines, and refuses entity bombs.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from xml.parsers import expat

from edgnn._deadline import check_deadline
from edgnn._files import Path_
from edgnn._words import one_line, short
from edgnn.errors import FormatError

_CHUNK = 2**14  # of a larger piece, so many elements are alive that collecting garbage takes long
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
_WHOLE = ("key", "node", "edge")  # given when they end, with what they contain
_VALUES = ("data", "default")
_PLAIN = ("data", "default", "desc")  # elements of other kinds within them are passed over


_DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
#: Encodings of East Asia, which expat does not read: Python decodes them first. No others are taken
#: from a file, as some of Python's codecs unpack what is compressed.
_MULTI_BYTE = (
    *("big5", "big5hkscs", "cp950"),
    *("gb2312", "gbk", "gb18030"),
    *("shift_jis", "shift_jis_2004", "shift_jisx0213", "cp932", "euc_jp", "iso2022_jp"),
    *("euc_kr", "cp949", "johab"),
)

#: Codecs for text of Python programs, which warn of what they cannot decode.
_FOR_PYTHON = ("unicode-escape", "raw-unicode-escape", "idna", "punycode", "undefined")


@dataclass(slots=True)
class Element:
    """An XML element; ``has_markup`` says that its text has elements in between."""

    path: Path_
    name: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    has_markup: bool = False
    children: list[Element] = field(default_factory=list)

    def needed(self, attribute: str) -> str:
        """Return the value of an attribute that must be there."""
        if attribute not in self.attributes:
            raise self.error(f"the <{self.name}> has no {attribute!r}, which it needs")
        return self.attributes[attribute]

    def error(self, rule: str) -> FormatError:
        """Return the error of a rule that this element breaks."""
        return FormatError(self.path, rule, self.line)


def elements(stream: BinaryIO, path: Path_) -> Iterator[Element]:
    """Yield the keys, the graph (when it begins), the nodes and the edges of a document."""
    block = stream.read(_CHUNK)
    decoder = _multi_byte_decoder(block, path)
    parser = _Parser(path, None if decoder is None else "utf-8")
    while block:
        check_deadline()
        yield from parser.feed(block, decoder)
        block = stream.read(_CHUNK)
    yield from parser.feed(b"", decoder)


def _multi_byte_decoder(start: bytes, path: Path_) -> codecs.IncrementalDecoder | None:
    """Return what decodes a document whose first bytes declare a multi-byte encoding."""
    declared = _DECLARED.match(start)
    if declared is None:
        return None
    try:
        codec = codecs.lookup(declared[1].decode())
    except LookupError:
        return None
    if codec.name in _FOR_PYTHON:
        raise FormatError(path, f"the encoding {codec.name!r} is none of XML; write UTF-8", 1)
    if codec.name not in _MULTI_BYTE:
        return None
    return codecs.getincrementaldecoder(codec.name)()


class _Parser:
    """Parses one document.

    Document type and entity declarations are refused: they can make a short file grow without
    bound, and GraphML needs none.
    """

    def __init__(self, path: Path_, encoding: str | None) -> None:
        self._path = path
        self._open = [Element(path, "", {}, 1)]
        self._foreign = 0  # how many elements of other kinds are open
        self._has_graph = False
        self._ready: list[Element] = []
        self._expat = expat.ParserCreate(encoding, " ")
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartDoctypeDeclHandler = self._doctype

    def feed(self, block: bytes, decoder: codecs.IncrementalDecoder | None) -> list[Element]:
        """Parse more of the document, nothing at its end; return the elements that are ready."""
        is_last = not block
        try:
            if decoder is not None:
                block = decoder.decode(block, is_last).encode()
            self._expat.Parse(block, is_last)
        except FormatError:
            raise
        except expat.ExpatError as error:
            rule = f"this is not well-formed XML: {expat.ErrorString(error.code)}"
            raise FormatError(self._path, rule, error.lineno) from None
        except (LookupError, ValueError) as error:
            rule = f"the encoding cannot be read ({one_line(error)}); convert the file to UTF-8"
            raise FormatError(self._path, rule, self._expat.CurrentLineNumber) from None
        ready = self._ready
        self._ready = []
        return ready

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        parent = self._open[-1]
        if self._foreign or parent.name in _PLAIN:
            self._foreign += 1
            parent.has_markup = True
            return
        namespace, _, name = tag.rpartition(" ")
        element = Element(self._path, name, attributes, self._expat.CurrentLineNumber)
        self._check(element, parent, namespace)
        self._open.append(element)
        if name == "graph":
            self._has_graph = True
            self._ready.append(element)

    def _check(self, element: Element, parent: Element, namespace: str) -> None:
        """Raise where an element does not belong into a document with a single graph."""
        name = element.name
        if name in _REFUSED:
            raise element.error(f"GraphML with {_REFUSED[name]} cannot be read")
        if name == "graph" and (parent.name != "graphml" or self._has_graph):
            raise element.error(
                "the file holds several or nested graphs; "
                "only GraphML with a single graph can be read"
            )
        is_graphml = not namespace or namespace.startswith(_NAMESPACE)
        if not is_graphml or parent.name not in _PARENTS.get(name, ()):
            where = f"inside <{parent.name}>" if parent.name else "here"
            raise element.error(f"the element <{short(name)[1:-1]}> does not belong {where}")

    def _end(self, _: str) -> None:
        if self._foreign:
            self._foreign -= 1
            return
        element = self._open.pop()
        parent = self._open[-1]
        if element.name in _WHOLE:
            self._ready.append(element)
        elif element.name in _VALUES and parent.name in _WHOLE:
            parent.children.append(element)

    def _characters(self, text: str) -> None:
        element = self._open[-1]
        if element.name in _VALUES and not self._foreign:
            element.text += text

    def _doctype(self, *_: Any) -> None:
        raise FormatError(
            self._path,
            "a document type declaration (<!DOCTYPE …>) is refused, because entities can attack; "
            "remove it",
            self._expat.CurrentLineNumber,
        )
