"""RDF terms of the plain kind, read without a parser.

Machines that have the core alone, without pyoxigraph, must read the paper's RDF files.
"""

from __future__ import annotations

import re

# An absolute IRI with neither a user nor an address in brackets in it; a blank node; a literal with
# a simple language
_LETTERS = r"[A-Za-z0-9._~!$&'()*+,;=:@/\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF-]++|%[0-9A-Fa-f]{2}"
_PLACE = r"//[A-Za-z0-9._~-]*(?::[0-9]*)?(?=[/?#>])|(?!//)"
_IRI = (
    rf"<[A-Za-z][A-Za-z0-9+.-]*:(?:{_PLACE})(?:{_LETTERS})*+"
    rf"(?:\?(?:{_LETTERS}|\?)*+)?(?:#(?:{_LETTERS}|\?)*+)?>"
)
_NODE = re.compile(rf"{_IRI}|_:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_LITERAL = re.compile(
    rf'"([^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+)"(@[A-Za-z]{{2,3}}(?:-[A-Za-z]{{2}})?|\^\^{_IRI})?'
)

_STRING = "^^<http://www.w3.org/2001/XMLSchema#string>"
_NEVER_WRITTEN = tuple(
    f"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#{kind}>"
    for kind in ("langString", "dirLangString")
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_MEANS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_ESCAPED = re.compile(r'["\\\x00-\x1F\x7F\uFFFE\uFFFF]')
_WRITTEN = {means: f"\\{short}" for short, means in _MEANS.items() if short != "'"}


def plain_spellings(texts: list[str]) -> dict[str, str] | None:
    """Return the canonical form, that of pyoxigraph, of the terms spelled otherwise.

    ``None`` if one is not of the plain kind.
    """
    canonical: dict[str, str] = {}
    for text in texts:
        if text[0] != '"':
            if not _NODE.fullmatch(text):
                return None
            continue
        form = _literal(text)
        if form is None:
            return None
        if form != text:
            canonical[text] = form
    return canonical


def _literal(text: str) -> str | None:
    parts = _LITERAL.fullmatch(text)
    if parts is None or parts[2] in _NEVER_WRITTEN:
        return None
    try:
        value = _ESCAPE.sub(_meaning, parts[1])
        value.encode()
    except (KeyError, ValueError):  # no such escape, or no such character
        return None
    suffix = parts[2] or ""
    if suffix == _STRING:
        suffix = ""
    elif suffix.startswith("@"):
        suffix = suffix.lower()
    return f'"{_ESCAPED.sub(_written, value)}"{suffix}'


def _meaning(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else _MEANS[escape[3]]


def _written(character: re.Match[str]) -> str:
    return _WRITTEN.get(character[0]) or f"\\u{ord(character[0]):04X}"
