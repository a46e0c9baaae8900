"""Plain values, strict JSON and CSV: the one conversion behind run folders, studies, reports and the API."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from edgnn.errors import RunError

_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_LIKE_NON_FINITE = re.compile(r"~*(NaN|-?Infinity)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$|^$')


def to_json(value: Any, *, indent: int | None = None) -> bytes:
    """Return ``value`` as one strict JSON document with a final newline.

    JSON has no NaN and no infinity: they are written as the strings ``"NaN"``, ``"Infinity"`` and
    ``"-Infinity"``, and
    :func:`from_json` makes numbers of them again. Text that reads like one of these gets a ``~`` in
    front, so it stays text. Arrays and tensors become lists, tuples too.
    """
    try:
        plain = _jsonable(value, "the value")
        text = json.dumps(plain, indent=indent, ensure_ascii=False, allow_nan=False)
        if _SURROGATE.search(text):  # half a surrogate pair has no UTF-8, but an escape
            text = json.dumps(plain, indent=indent, allow_nan=False)
    except RecursionError:
        raise RunError(
            "the value is nested too deeply, or holds itself, and cannot be stored as JSON"
        ) from None
    except ValueError as error:  # whole numbers of more digits than Python writes
        raise RunError(f"the value cannot be stored as JSON ({error})") from None
    return text.encode() + b"\n"


def from_json(data: bytes) -> Any:
    """Return the value of a document that :func:`to_json` wrote; a ``ValueError`` says what is wrong with another one."""
    try:
        return _restored(json.loads(data.decode(), parse_constant=_refuse_constant))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def plain(value: Any) -> Any:
    """Return ``value`` in the types of JSON: NaN becomes None, infinities and unknown objects become text."""
    if isinstance(value, np.ndarray | np.generic):
        whole = value.dtype.kind in "biu" or (
            value.dtype.kind == "f" and bool(np.isfinite(value).all())
        )
        return value.tolist() if whole else plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))  # an address differs from run to run


def to_csv(columns: Mapping[str, Any]) -> bytes:
    """Return columns of equal length as CSV in UTF-8, quoted as RFC 4180 says; see ``RunFolder.write_rows``."""
    lists = {name: _column(name, values) for name, values in columns.items()}
    if not lists:
        raise RunError("a table needs at least one column")
    longest, shortest = (choose(lists, key=lambda name: len(lists[name])) for choose in (max, min))
    if len(lists[longest]) != len(lists[shortest]):
        raise RunError(
            f"the columns {longest!r} and {shortest!r} of a table have {len(lists[longest])} and {len(lists[shortest])} rows"
        )
    rows = [list(lists), *zip(*lists.values(), strict=True)]
    empty = '""' if len(lists) == 1 else ""  # a line of nothing would be skipped by readers
    text = "".join(
        ",".join(empty if value is None else _field(value) for value in row) + "\n" for row in rows
    )
    return text.encode(errors="backslashreplace")


def _jsonable(value: Any, where: str) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return next(
            text for text, number in _NON_FINITE.items() if repr(number) == repr(float(value))
        )
    if isinstance(value, str):
        return f"~{value}" if _LIKE_NON_FINITE.fullmatch(value) else value
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_jsonable(item, f"{where}[{place}]") for place, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise RunError(
                    f"{where} has the key {key!r}; keys of JSON objects are text: use {str(key)!r}"
                )
        return {key: _jsonable(item, f"{where}[{key!r}]") for key, item in value.items()}
    raise RunError(
        f"{where} is a {type(value).__name__}, which JSON cannot store: use text, numbers, truth values, None, lists and dicts"
    )


def _restored(value: Any) -> Any:
    if isinstance(value, str):
        if value in _NON_FINITE:
            return _NON_FINITE[value]
        return value[1:] if _LIKE_NON_FINITE.fullmatch(value) else value
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if isinstance(value, dict):
        return {key: _restored(item) for key, item in value.items()}
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _column(name: Any, values: Any) -> list[Any]:
    if not isinstance(name, str):
        raise RunError(f"a column of a table is named {name!r}; names are text")
    if getattr(values, "ndim", 1) != 1 or isinstance(values, str):
        raise RunError(f"the column {name!r} of a table is not one value per row")
    if isinstance(values, np.ndarray) or not hasattr(values, "tolist"):
        return list(values)  # numbers of numpy know the fewest digits of their own precision
    listed: list[Any] = values.tolist()
    return listed


def _field(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    text = str(value)
    if _NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text
