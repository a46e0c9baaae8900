"""Plain values, strict JSON and CSV: the one conversion behind folders, reports and the API."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from edgnn.errors import RunError

_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_NAMES = {str(value): name for name, value in _NON_FINITE.items()}
_LIKE_NON_FINITE = re.compile(r"~*(NaN|-?Infinity)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOO_DEEP = "it is nested too deeply"
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$|^$')


def to_json(value: Any, *, indent: int | None = None) -> bytes:
    """Return ``value`` as one strict JSON document with a final newline.

    JSON has no NaN and no infinity: they are written as the strings ``"NaN"``, ``"Infinity"`` and
    ``"-Infinity"``, and :func:`from_json` makes numbers of them again. Text that reads like one of
    these gets a ``~`` in front, so it stays text. Arrays and tensors become lists, tuples too.
    """
    try:
        storable = _storable(value, "the value")
        text = json.dumps(storable, indent=indent, ensure_ascii=False, allow_nan=False)
        if _SURROGATE.search(text):  # half a surrogate pair has no UTF-8, but an escape
            text = json.dumps(storable, indent=indent, allow_nan=False)
    except RecursionError:
        raise RunError(
            "the value is nested too deeply, or holds itself, and cannot be stored as JSON"
        ) from None
    except ValueError as error:  # whole numbers of more digits than Python writes
        raise RunError(f"the value cannot be stored as JSON ({error})") from None
    return text.encode() + b"\n"


def from_json(data: bytes) -> Any:
    """Return the value of a document that :func:`to_json` wrote; others are a ``ValueError``."""
    try:
        return _restored(parsed(data.decode(), parse_constant=_refuse_constant))
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def parsed(text: str | bytes, **options: Any) -> Any:
    """Return the value of a JSON document; whatever is wrong with one is a ``ValueError``."""
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def plain(value: Any) -> Any:
    """Return ``value`` in types of JSON: NaN becomes None, infinities and other objects text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist() if _is_plain_array(value) else plain(value.tolist())
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))  # an address differs from run to run


def _is_plain_array(array: Any) -> bool:
    """Return whether all entries are numbers of JSON, without looking at them one by one."""
    if array.dtype.kind == "f":
        return bool(np.isfinite(array).all())
    return array.dtype.kind in "biu"


def to_csv(columns: Mapping[str, Any], *, header: bool = True) -> bytes:
    """Return columns of equal length as CSV in UTF-8, quoted as RFC 4180 says.

    Without ``header``, the line of column names is left out, to continue a table.

    Unlike ``csv.writer`` of Python 3.11 it keeps None (nothing) and empty text (``""``) apart.
    """
    lists = {name: _column(name, values) for name, values in columns.items()}
    if not lists:
        raise RunError("a table needs at least one column")
    sizes = {name: len(values) for name, values in lists.items()}
    longest, shortest = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    if sizes[longest] != sizes[shortest]:
        raise RunError(
            f"the columns {longest!r} and {shortest!r} of a table have {sizes[longest]} and "
            f"{sizes[shortest]} rows"
        )
    nothing = '""' if len(lists) == 1 else ""  # a line of nothing would be skipped by readers
    lines = []
    rows = zip(*lists.values(), strict=True)
    for row in [list(lists), *rows] if header else rows:
        fields = [_field(value, nothing) for value in row]
        lines.append(",".join(fields) + "\n")
    return "".join(lines).encode(errors="backslashreplace")


def _storable(value: Any, where: str) -> Any:
    """Return a value in types of JSON; ``where`` names the place of one that has none."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else _NAMES[str(float(value))]
    if isinstance(value, str):
        return f"~{value}" if _LIKE_NON_FINITE.fullmatch(value) else value
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple):
        return [_storable(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        _check_keys(value, where)
        return {key: _storable(item, f"{where}[{key!r}]") for key, item in value.items()}
    raise RunError(
        f"{where} is a {type(value).__name__}, which JSON cannot store: use text, numbers, truth "
        "values, None, lists and dicts"
    )


def _check_keys(value: Mapping[Any, Any], where: str) -> None:
    for key in value:
        if not isinstance(key, str):
            raise RunError(
                f"{where} has the key {key!r}; keys of JSON objects are text: use {str(key)!r}"
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
    if hasattr(values, "tolist") and not isinstance(values, np.ndarray):
        return list(values.tolist())  # a tensor
    return list(values)  # of numpy's own scalars: a float32 is written in its own few digits


def _field(value: Any, nothing: str) -> str:
    if value is None:
        return nothing
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    text = str(value)
    if _NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text
