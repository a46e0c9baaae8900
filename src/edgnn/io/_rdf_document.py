"""An RDF file as triples: its syntax, how pyoxigraph reads it, what is refused before."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn
from xml.parsers import expat

from edgnn._deadline import check_deadline, checked
from edgnn._files import Path_, line_chunks, open_binary, unpack_limit
from edgnn._optional import optional
from edgnn._words import one_line
from edgnn.errors import FormatError
from edgnn.io._nesting import DEEPEST_BRACKET, refuse_deep_brackets, unclosed
from edgnn.io._ntriples import DEEPEST_TERM, TripleBuilder, Triples, refuse_deep_terms

_FORMATS = {
    "nt": "N_TRIPLES",
    "nq": "N_QUADS",
    "ttl": "TURTLE",
    "trig": "TRIG",
    "n3": "N3",
    "rdf": "RDF_XML",
    "owl": "RDF_XML",
    "xml": "RDF_XML",
}
_BY_LINE = ("N_TRIPLES", "N_QUADS")
_BATCH = 2**14
_BLOCK = 2**20
_REPEATS = 64
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_POSITION = re.compile(r"^Parser error [^:]*: ")
_LINE_ENDS = re.compile(
    "must be followed by a dot|^line jumps"
)  # said of the place behind the line break
_RELATIVE = "No scheme found in an absolute IRI"
_LONGEST_REASON = 300

# For each element and attribute the parser looks through all that are open, so these must stay few.
_DEEPEST_ELEMENT = 256
_MOST_ATTRIBUTES = 1000


def format_of(path: Path_, chosen: str | None) -> str:
    """Return pyoxigraph's name of the syntax.

    The chosen one, or what the name or else the content tells.
    """
    if chosen is None:
        ending = Path(path).name.lower().removesuffix(".gz").rpartition(".")[2]
        syntax = _FORMATS.get(ending)
        what = "neither the name nor the content tells which RDF format this is"
        if syntax is None:
            with open_binary(path) as stream:
                syntax = syntax_of(stream.read(4096))
    else:
        syntax = _FORMATS.get(chosen)
        what = f"format={chosen!r} is unknown"
    if syntax is None:
        raise FormatError(path, f"{what}; give format=, one of {', '.join(map(repr, _FORMATS))}")
    return syntax


def syntax_of(start: bytes) -> str | None:
    """Return pyoxigraph's name of the syntax that the first bytes of a file show, or None."""
    text = start.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if re.match(rb"(<\?xml|<!DOCTYPE|<!--).*<(\w+:)?RDF\b|<(\w+:)?RDF\b", text, re.S):
        return "RDF_XML"
    for line in text.splitlines():
        if not line.strip() or line.startswith(b"#"):
            continue
        if line.startswith((b"@prefix", b"@base", b"PREFIX", b"BASE")):
            return "TURTLE"
        return "N_QUADS" if line.startswith((b"<", b"_:")) and b"> <" in line else None
    return None


@dataclass(frozen=True)
class Document:
    """An RDF file and how to parse it; N-Triples also without pyoxigraph (``ox``)."""

    path: Path_
    format: str
    base_iri: str | None
    max_bytes: int | None
    ox: Any

    def open(self) -> BinaryIO:
        stream = open_binary(self.path, self.max_bytes)
        try:
            if stream.peek(3).startswith(_BYTE_ORDER_MARK):  # type: ignore[attr-defined]
                stream.read(3)
        except FormatError:
            stream.close()
            raise
        return stream

    def triples(self) -> Triples:
        if self.ox is None:
            return self._plain_triples()
        builder, texts = TripleBuilder(), Texts(self.ox, count_blanks=self.format not in _BY_LINE)
        if self.format in _BY_LINE:
            with self.open() as stream:
                for line, chunk in line_chunks(stream, self.path):
                    if self.format != "N_TRIPLES" or not builder.add_lines(chunk, self.ox):
                        refuse_deep_terms(chunk, self.path, line)
                        self._parse(chunk, builder, texts, line)
        else:
            if self.format == "RDF_XML":
                self._check_xml()
            else:
                self._check_terms()
            with self.open() as stream:
                self._parse(stream, builder, texts, 1)
        return builder.build()

    def _plain_triples(self) -> Triples:
        """Read N-Triples without pyoxigraph, which must then be of the plain kind."""
        builder = TripleBuilder()
        with self.open() as stream:
            for line, chunk in line_chunks(stream, self.path):
                if not builder.add_lines(chunk, None):
                    where = f"{self.path}, line {_not_plain(chunk, line)}"
                    optional("pyoxigraph", f"{where}, which is no plain N-Triples,")
        return builder.build()

    def _parse(
        self, source: bytes | IO[bytes], builder: TripleBuilder, texts: Texts, line: int
    ) -> None:
        """Add what pyoxigraph reads from ``source``, which begins at ``line`` of the file."""
        limit = unpack_limit(Path(self.path).stat().st_size, self.max_bytes)
        held = handled = 0
        try:
            quads = self._quads(source)
            while size := _add_some(quads, builder, texts):
                check_deadline()
                handled, held = handled + size, held + builder.growth
                if self.format not in _BY_LINE and (held > limit or handled > _REPEATS * limit):
                    raise FormatError(
                        self.path,
                        f"its short forms of IRIs stand for more than {limit:,} bytes, "
                        "as an expansion bomb's would",
                        kind="size",
                        advice="; if you trust it, raise the limit with max_bytes=",
                    )
        except SyntaxError as error:
            self._refuse(error, line)
        except MemoryError as error:
            raise FormatError(
                self.path, f"a term is too long for the parser ({error})", self._failing_line()
            ) from None

    def _quads(self, source: Any) -> Iterator[Any]:
        form = getattr(self.ox.RdfFormat, self.format)
        quads: Iterator[Any] = self.ox.parse(
            source, format=form, base_iri=self.base_iri, without_named_graphs=self.format == "N3"
        )
        return quads

    def _refuse(self, error: SyntaxError, line: int) -> NoReturn:
        reason = _POSITION.sub("", error.msg)
        by_line = self.format in _BY_LINE
        is_behind_break = by_line and error.offset == 1 and _LINE_ENDS.search(reason)
        reason = one_line(reason, _LONGEST_REASON)
        if _RELATIVE in reason and self.base_iri is None and not by_line:
            reason += "; say what relative IRIs are relative to with base_iri="
        if self.format == "N3" and "Named graphs" in reason:
            reason = "a formula in braces is no RDF graph; of N3, only plain triples can be read"
        if error.lineno is None:
            raise FormatError(self.path, reason, self._failing_line()) from None
        first = line - 1 if is_behind_break else line
        raise FormatError(self.path, reason, first + error.lineno - 1) from None

    def _failing_line(self) -> int:
        """Parse once more, handing out line by line.

        The last one taken is where the parser stopped.
        """
        with self.open() as stream:
            lines = _LineByLine(stream)
            with suppress(SyntaxError, MemoryError):
                for _ in checked(self._quads(lines)):
                    pass
            return lines.line

    def _check_terms(self) -> None:
        """Refuse triple terms and brackets nested so deep that the parser would fail."""
        with self.open() as stream:
            opened, end, depth, deepest = 0, b"", 0, 0
            while block := stream.read(_BLOCK):
                opened += (end + block).count(b"<<(")
                end = block[-2:]
                more, left = unclosed(block)
                deepest, depth = max(deepest, depth + more), max(0, depth + left)
        if opened > DEEPEST_TERM:
            with self.open() as stream:
                refuse_deep_terms(stream.read(), self.path, 1)
        if deepest > DEEPEST_BRACKET:
            with self.open() as stream:
                refuse_deep_brackets(stream.read(), self.path)

    def _check_xml(self) -> None:
        """Refuse XML that is cut off, not well-formed, or would keep the parser busy for ever."""
        parser = expat.ParserCreate("UTF-8")
        parser.ordered_attributes = True
        depth = 0

        def start(_: str, attributes: list[str]) -> None:
            nonlocal depth
            depth += 1
            rule = ""
            if depth > _DEEPEST_ELEMENT:
                rule = f"elements nest more than {_DEEPEST_ELEMENT} deep"
            elif len(attributes) > 2 * _MOST_ATTRIBUTES:
                rule = f"an element has more than {_MOST_ATTRIBUTES} attributes"
            if rule:
                raise FormatError(self.path, rule, parser.CurrentLineNumber)

        def end(_: str) -> None:
            nonlocal depth
            depth -= 1

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        try:
            with self.open() as stream:
                parser.ParseFile(stream)
        except expat.ExpatError as error:
            raise FormatError(
                self.path,
                f"this is not well-formed XML in UTF-8: {expat.ErrorString(error.code)}",
                error.lineno,
            ) from None


def _not_plain(chunk: bytes, line: int) -> int:
    """Return the number of the first line that is not plain; the chunk begins at ``line``."""
    for number, text in enumerate(chunk.split(b"\n"), line):
        if not text.strip() or text.endswith(b"\r\r") or not TripleBuilder().add_lines(text, None):
            return number
    return line


def _add_some(quads: Iterator[Any], builder: TripleBuilder, texts: Texts) -> int:
    """Add some more triples; return the size of their texts, 0 where there are no more."""
    ends: list[str] = []
    predicates: list[str] = []
    size = 0
    for subject, predicate, object_, _ in islice(quads, _BATCH):
        ends += (texts.of(subject), texts.of(object_))
        predicates.append(str(predicate))
        size += len(ends[-2]) + len(predicates[-1]) + len(ends[-1])
        if size > _BLOCK:
            break
    builder.add(ends, predicates)
    return size


class Texts:
    """N-Triples texts of terms; ``count_blanks`` numbers blank nodes that have random labels."""

    def __init__(self, ox: Any, count_blanks: bool) -> None:
        self._blank = ox.BlankNode if count_blanks else ()
        self._triple = ox.Triple
        self._number: defaultdict[str, int] = defaultdict()
        self._number.default_factory = self._number.__len__

    def of(self, term: Any) -> str:
        if isinstance(term, self._triple):
            return f"<<( {self.of(term.subject)} {term.predicate} {self.of(term.object)} )>>"
        return f"_:b{self._number[term.value]}" if isinstance(term, self._blank) else str(term)


class _LineByLine:
    """A stream that never gives more than one line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._ended = False
        self.line = 1

    def read(self, size: int) -> bytes:
        piece = self._stream.readline(size)
        self.line += self._ended and bool(piece)
        self._ended = piece.endswith(b"\n")
        return piece
