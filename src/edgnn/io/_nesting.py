"""How deep brackets nest in Turtle and its kin.

The parser keeps hundreds of bytes for each, so that a file of brackets is a bomb.
"""

from __future__ import annotations

import re

from edgnn._deadline import checked
from edgnn._files import Path_
from edgnn.errors import FormatError

#: Deeper than any data set, and still a few megabytes.
DEEPEST_BRACKET = 10_000

_SKIPPED = (
    rb"""[^\[\](){}"'<#\\]++""",
    rb'"""(?:[^"\\]++|\\.|(?!""")")*+"""',
    rb"'''(?:[^'\\]++|\\.|(?!''')')*+'''",
    rb'"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+"',
    rb"'[^'\\\r\n]*+(?:\\.[^'\\\r\n]*+)*+'",
    rb'<[^<>"{}|^`\\\s]*+>',
    rb"#[^\r\n]*+",
    rb"\\.",
)
# what nests nothing is skipped in one go: most files hold nothing else
_LEAF = rb"""[\[({][^\[\](){}"'<#\\]*+[\])}]"""
# Python before 3.11.5 goes on behind a turn of ++ or *+ that failed halfway, so that nothing within
# one may begin and then fail
_TOKEN = re.compile(b"|".join(_SKIPPED) + rb"|" + _LEAF + rb"|([\[({])|([\])}])", re.DOTALL)


def unclosed(block: bytes) -> tuple[int, int]:
    """Return how many brackets a piece of text opens, and how many more than it closes."""
    opened = sum(map(block.count, (b"(", b"[", b"{")))
    return opened, opened - sum(map(block.count, (b")", b"]", b"}")))


def refuse_deep_brackets(data: bytes, path: Path_) -> None:
    """Raise where brackets that are neither in texts nor in IRIs nor in comments nest too deep."""
    depth = 0
    for token in checked(_TOKEN.finditer(data)):
        if token[1]:
            depth += 1
            if depth > DEEPEST_BRACKET:
                line = data.count(b"\n", 0, token.start()) + 1
                raise FormatError(path, f"brackets nest more than {DEEPEST_BRACKET:,} deep", line)
        elif token[2]:
            depth = max(0, depth - 1)
