"""Whether options of a reader or writer are of the types that it takes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from edgnn._words import short
from edgnn.errors import GraphError
from edgnn.io._molecules import MoleculeOptions

_WORDS: dict[Any, str] = {
    str: "text",
    bool: "True or False",
    int: "a whole number",
    NoneType: "None",
    os.PathLike: "a path",
    Sequence: "a list of texts",
    Iterable: "a list of texts",
}


def fitting(kind: str, function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with whole numbers as texts where texts are taken (a column may be called ``3``); raise for others.

    What is not annotated with one of a few plain types is left to the reader itself.
    """
    plain = function.func if isinstance(function, partial) else function
    hints = get_type_hints(plain) | get_type_hints(MoleculeOptions)
    return {
        name: _fitted(kind, name, value, _kinds(hints.get(name, Any)))
        for name, value in options.items()
    }


def _fitted(kind: str, name: str, value: Any, kinds: list[Any]) -> Any:
    given = _as_text(value) if str in kinds else value
    if any(_is(given, one) for one in kinds):
        return given
    words = list(dict.fromkeys(_WORDS[one] for one in kinds))
    takes = f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
    raise GraphError(f"{name}={short(value)}: this option of the format {kind!r} takes {takes}")


def _as_text(value: Any) -> Any:
    """Return whole numbers as texts, also those of a list."""
    if isinstance(value, list | tuple):
        return [_as_text(one) for one in value]
    return str(value) if isinstance(value, Integral) and not isinstance(value, bool) else value


def _kinds(hint: Any) -> list[Any]:
    """Return the types of an annotation, without what they hold: of ``str | Sequence[str]``, ``str`` and ``Sequence``."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint]
    return [get_origin(part) or part for part in parts]


def _is(value: Any, kind: Any) -> bool:
    if kind not in _WORDS:
        return True
    if kind is Sequence:  # any collection that looking at does not use up
        return (
            isinstance(value, Iterable)
            and not isinstance(value, str | Iterator)
            and all(isinstance(one, str) for one in value)
        )
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    return isinstance(value, kind)
