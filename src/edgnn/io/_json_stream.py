"""A JSON document read piece by piece: the members of its outer object, the elements of its long arrays."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from edgnn._files import Path_
from edgnn._words import short
from edgnn.errors import FormatError

_CHUNK = 2**18
_LONGEST_VALUE = 2**22
_LONGEST_TOKEN = 16  # no number's or word's error stands further than this before the place where the text was cut
_LONGEST_TAIL = 2  # behind 1 in 1e+5, what may stand before the next digit
_SPACE = " \t\n\r"


class JsonStream:
    """Text of a JSON document, of which only a small piece is held at a time.

    Parameters
    ----------
    stream : binary stream
        The document, in UTF-8.
    path : path
        The file, for errors.
    """

    def __init__(self, stream: BinaryIO, path: Path_) -> None:
        self._stream, self._path = stream, path
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder(parse_constant=self._refuse_constant)
        self._text = ""
        self._place = 0
        self._ended = False
        self._counted = 0
        self._lines = 1

    @property
    def line(self) -> int:
        """The line of the next character."""
        self._lines += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._lines

    def members(self) -> Iterator[str]:
        """Yield the keys of the outer object; the caller reads each value before it asks for the next key."""
        if self._next() != "{":
            raise self._error("a node-link document is one JSON object: {…}")
        for _ in self._separated("}"):
            if self._next() != '"':
                raise self._error("expected a key in quotation marks")
            key = self.value()
            if self._next() != ":":
                raise self._error(f"expected ':' behind the key {short(key)}")
            self._place += 1
            yield key
        if self._next():
            raise self._error("there is more text behind the end of the JSON object")

    def elements(self) -> Iterator[tuple[int, Any]]:
        """Yield the elements of the array that comes next, each with its line."""
        if self._next() != "[":
            raise self._error("expected a list: […]")
        for _ in self._separated("]"):
            self._next()
            line = self.line
            yield line, self.value()

    def value(self) -> Any:
        """Return the value that comes next."""
        self._next()
        while True:
            try:
                value, end = self._scan.raw_decode(self._text, self._place)
            except json.JSONDecodeError as error:
                cut = len(self._text) - error.pos < _LONGEST_TOKEN or error.msg.startswith(
                    "Unterminated string"
                )
                if self._ended or not cut:
                    self._place = error.pos
                    rule = f"{error.msg[0].lower()}{error.msg[1:].removesuffix(' starting at').removesuffix(' at')}"
                    raise self._error(f"this is not JSON: {rule}") from None
            except RecursionError:
                raise self._error("lists and objects are nested too deep") from None
            except ValueError as error:
                raise self._error(f"a value cannot be read: {error}") from None
            else:
                if len(self._text) - end > _LONGEST_TAIL or self._ended:
                    self._place = end
                    return value
            self._grow()

    def _separated(self, close: str) -> Iterator[None]:
        """Step over the bracket that opens, the commas between items, and the bracket that closes."""
        self._place += 1
        if self._next() == close:
            self._place += 1
            return
        while True:
            yield
            found = self._next()
            if found not in (",", close):
                raise self._error(f"expected ',' or '{close}'")
            self._place += 1
            if found == close:
                return

    def _next(self) -> str:
        """Go to the next character that is no space, and return it; the empty text at the end."""
        while True:
            size = len(self._text)
            while self._place < size and self._text[self._place] in _SPACE:
                self._place += 1
            if self._place < size:
                return self._text[self._place]
            if self._ended:
                return ""
            self._grow()

    def _grow(self) -> None:
        """Drop the text that was read, and double what is left."""
        line = self.line
        rest = self._text[self._place :]
        if len(rest) > _LONGEST_VALUE:
            raise self._error(f"a single value is longer than {_LONGEST_VALUE:,} characters")
        block = self._stream.read(max(_CHUNK, len(rest)))
        try:
            more = self._decode.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise FormatError(
                self._path,
                "the text is not UTF-8; convert it first",
                line + rest.count("\n") + block[: error.start].count(b"\n"),
            ) from None
        self._text, self._place, self._counted, self._ended = rest + more, 0, 0, not block

    def _error(self, rule: str) -> FormatError:
        if self._ended and self._place >= len(self._text.rstrip(_SPACE)):
            rule = f"the file ends too early; {rule}"
        return FormatError(self._path, rule, self.line)

    def _refuse_constant(self, word: str) -> Any:
        raise ValueError(
            f"{word} is no number that JSON knows; use null, or leave the attribute out"
        )
