"""Numbers that were written with a decimal comma, and so would be taken for text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_COMMA = re.compile(r"[-+]?([0-9]{1,3}(\.[0-9]{3})+|[0-9]*),[0-9]+([eE][-+]?[0-9]+)?")
_POINT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_FEW = 20


def has_decimal_comma(text: str) -> bool:
    """Return whether a text is a number with a decimal comma."""
    return _COMMA.fullmatch(text.strip()) is not None


def first_decimal_comma(values: Iterable[Any], *, names: bool = True) -> int | None:
    """Return where the first number with a decimal comma stands, if a column holds nothing but numbers.

    Parameters
    ----------
    values : iterable
        The column; an empty text or ``None`` is a missing value.
    names : bool
        Whether few different values, each of which comes twice on average, may be names, such as
        those of classes.
    """
    first, different, count = None, set(), 0
    for place, value in enumerate(values):
        if value is None or value == "":
            continue
        if not isinstance(value, str):
            return None
        if first is None and has_decimal_comma(value):
            first = place
        elif not has_decimal_comma(value) and _POINT.fullmatch(value.strip()) is None:
            return None
        different.add(value)
        count += 1
    few = len(different) <= min(_FEW, count // 2)
    return None if names and few else first


def write_points(text: str) -> str:
    """Return what to say behind a number with a decimal comma: what it is, and what to do about it."""
    number = text.strip().replace(".", "").replace(",", ".")
    return (
        f", a number with a decimal comma; write the numbers of the column with points, as {number}"
    )
