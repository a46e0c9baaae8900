"""What words of a command line mean: none, true, false, numbers, lists, or just text."""

from __future__ import annotations

import re
from typing import Any

_INTEGER = re.compile(r"[+-]?(0|[1-9]\d{0,30})", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=e))(e[+-]?\d+)?", re.ASCII)
_CONSTANTS = {"none": None, "true": True, "false": False}


class Word(str):
    """A value as it was typed on a command line: what it means depends on who takes it."""

    __slots__ = ()


def parse_value(text: Any) -> Any:
    """Return what one word means: none, true, false, a number, else the text itself.

    Only numbers as Python writes them are numbers: ``007``, ``nan`` or ``1_000`` may be names.
    """
    if not isinstance(text, str):
        return text
    word = text.strip().lower()
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if _INTEGER.fullmatch(word):
        return int(word)
    if _FLOAT.fullmatch(word):
        return float(word)
    return str(text)


def parse_values(text: str) -> Any:
    """Return what a text means; of words with commas between them, a list of what each means."""
    words = split_words(text)
    return parse_value(text) if words is None else [parse_value(word) for word in words]


def split_words(text: str) -> list[str] | None:
    """Return the words that stand between commas; ``None`` where a text is not a list.

    Pairs (``a=1,b=2``) stay text, and so does a single comma, which is a delimiter.
    """
    words = [word.strip() for word in _unwrapped(text.strip()).split(",")]
    if len(words) == 1 or not any(words) or "=" in text:
        return None
    return [word for word in words if word]


def _unwrapped(text: str) -> str:
    """Return what is inside the brackets of a list as Python writes it."""
    if (text[:1], text[-1:]) in (("(", ")"), ("[", "]")):
        return text[1:-1]
    return text
