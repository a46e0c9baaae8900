"""Values as a run folder stores them: strict JSON, tables, the users' label values, vocabularies, tensors."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn._text import short
from edgnn.errors import GraphError, RunError
from edgnn.graphs import Vocabulary
from edgnn.graphs import _label_values as labels

_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_LIKE_NON_FINITE = re.compile(r"~*(NaN|-?Infinity)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$|^$')
_OWN = "edgnn"


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


def encode_value(value: Any) -> Any:
    """Return a label value as JSON that :func:`decode_value` turns back; see ``graphs._label_values`` for how.

    Parameters
    ----------
    value : str, int, float, bool, None, bytes, UNKNOWN, or a tuple of these
        What to store; any other type is a :class:`~edgnn.errors.RunError`.
    """
    try:
        return labels.encode_value(value, "a run folder")
    except GraphError as error:
        raise RunError(str(error)) from None


def decode_value(stored: Any) -> Any:
    """Return the label value that :func:`encode_value` stored."""
    try:
        return labels.decode_value(stored)
    except GraphError as error:
        raise RunError(str(error)) from None


def encode_vocabulary(vocabulary: Vocabulary) -> list[Any]:
    """Return the values of a vocabulary as JSON, in their order."""
    return [encode_value(value) for value in vocabulary]


def decode_vocabulary(stored: Any) -> Vocabulary:
    """Return the vocabulary that :func:`encode_vocabulary` stored."""
    if not isinstance(stored, list):
        raise RunError(
            f"a stored vocabulary is a list of labels, not {short(stored)}; the file is damaged"
        )
    try:
        return Vocabulary([decode_value(value) for value in stored])
    except GraphError as error:
        raise RunError(f"a stored vocabulary is damaged: {error}") from None


def pack_tensors(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """Return tensors and texts as the bytes of a safetensors file, the same for the same content.

    Values are copied to the CPU, so views, shared memory and any device are fine; what was shared
    is stored twice. A checksum goes with them: safetensors itself does not notice a changed number.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save

    copies = {name: _copy(tensors[name]) for name in _checked_names(tensors)}
    texts = _checked_metadata(metadata or {})
    note = json.dumps({"crc32": _checksum(copies, texts), "metadata": texts}, sort_keys=True)
    try:
        return save(copies, {_OWN: note})
    except (SafetensorError, KeyError, ValueError) as error:
        raise RunError(f"the tensors cannot be stored as safetensors ({error})") from None


def unpack_tensors(data: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors (on the CPU, by name) and texts of a safetensors file; a ``ValueError`` says what is damaged."""
    from safetensors.torch import load

    try:
        found = load(data)
    except (
        Exception
    ) as error:  # damaged headers surface as errors of safetensors, torch and dictionaries alike
        raise ValueError(f"{type(error).__name__}: {error}") from None
    tensors = {name: found[name] for name in sorted(found)}
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    metadata: dict[str, str] = header.get("__metadata__") or {}
    if _OWN not in metadata:
        return tensors, metadata
    try:
        note = json.loads(metadata[_OWN])
        expected, texts = note["crc32"], _checked_metadata(note["metadata"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, RunError):
        raise ValueError("its header is damaged") from None
    if _checksum(tensors, texts) != expected:
        raise ValueError("its content does not match its checksum")
    return tensors, texts


def _jsonable(value: Any, where: str) -> Any:
    if isinstance(value, np.generic | np.ndarray | Tensor):
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
    return values.tolist() if isinstance(values, Tensor) else list(values)


def _field(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    text = str(value)
    if _NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _checked_names(tensors: Mapping[str, Tensor]) -> list[str]:
    for name, tensor in tensors.items():
        if not isinstance(name, str) or name == "__metadata__":
            raise RunError(
                f"a tensor is named {name!r}: names are text, and '__metadata__' is reserved"
            )
        if not isinstance(tensor, Tensor):
            raise RunError(f"{name!r} is a {type(tensor).__name__}, not a tensor")
        if (
            tensor.layout != torch.strided
            or tensor.is_quantized
            or tensor.is_meta
            or tensor.dtype == torch.complex128
        ):
            raise RunError(
                f"the tensor {name!r} ({tensor.dtype}, {tensor.layout}, {tensor.device}) is no dense array of plain numbers"
            )
    return sorted(tensors)


def _checked_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    for key, text in metadata.items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise RunError(
                f"metadata {key!r}: {short(text)} is not text; keys and values of metadata are"
            )
    return dict(sorted(metadata.items()))


def _copy(tensor: Tensor) -> Tensor:
    return (
        tensor.detach()
        .resolve_conj()
        .resolve_neg()
        .to("cpu", copy=True, memory_format=torch.contiguous_format)
    )


def _checksum(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> int:
    total = zlib.crc32(json.dumps(texts, sort_keys=True).encode())
    for name, tensor in tensors.items():
        total = zlib.crc32(
            json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode(), total
        )
        total = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, total)
    return total
