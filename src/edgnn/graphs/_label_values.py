"""Label values as JSON, and back as the same values of the same types, for every file of ours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from edgnn._words import short
from edgnn.errors import EdgnnError, GraphError
from edgnn.graphs._vocabulary import UNKNOWN

_EXACT_IN_JSON = 2**53


def encode_value(
    value: Any, place: str = "a file of arrays", error: type[EdgnnError] = GraphError
) -> Any:
    """Return a label value as JSON that :func:`decode_value` turns back into the same value.

    Text, truth values, ``None`` and ordinary numbers are themselves, a tuple is a list. The rest is
    an object with one key: ``{"int": "0x…"}`` beyond 2⁵³, ``{"float": "inf"}``, ``{"bytes": "…"}``
    (hexadecimal), ``{"unknown": true}`` for
    :data:`edgnn.UNKNOWN`. numpy's scalars are stored as the plain values they hold.

    Parameters
    ----------
    value : str, int, float, bool, None, bytes, UNKNOWN, or a tuple of these
        What to store; any other type is a :class:`~edgnn.errors.GraphError`.
    place : str
        Where it is to be stored, for that error.
    error : type
        Another class for that error.
    """
    try:
        return _encoded(value, place)
    except RecursionError:
        raise error("a label is a tuple nested too deeply to be stored") from None
    except GraphError as refused:
        raise error(str(refused)) from None


def decode_value(stored: Any, error: type[EdgnnError] = GraphError) -> Any:
    """Return the label value that :func:`encode_value` stored."""
    try:
        return _decoded(stored)
    except (RecursionError, ValueError, TypeError, AttributeError):
        raise error(
            f"{short(stored)} is no stored label; the file is damaged or from another version"
        ) from None


def _encoded(value: Any, place: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if value is None or kind in (str, bool):
        return value
    if kind is int:
        return value if -_EXACT_IN_JSON < value < _EXACT_IN_JSON else {"int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is tuple:
        return [_encoded(item, place) for item in value]
    if kind is bytes:
        return {"bytes": value.hex()}
    if value is UNKNOWN:
        return {"unknown": True}
    raise GraphError(
        f"the label {short(value)} is a {kind.__name__}, which {place} cannot store: "
        "use text, numbers, truth values, None, bytes or tuples of them"
    )


def _decoded(stored: Any) -> Any:
    if isinstance(stored, list):
        return tuple(_decoded(item) for item in stored)
    if stored is None or isinstance(stored, str | int | float):
        return stored
    ((kind, content),) = stored.items()
    if kind == "unknown" and content is True:
        return UNKNOWN
    if kind == "int":
        return int(content, 16)
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "float" and content in ("inf", "-inf", "nan"):
        return float(content)
    raise ValueError
