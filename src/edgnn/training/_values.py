"""Values as a run folder stores them: the users' label values, vocabularies, tensors."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from edgnn import graphs
from edgnn._words import one_line, short
from edgnn.errors import GraphError, RunError
from edgnn.graphs import Vocabulary

_OWN = "edgnn"


def encode_value(value: Any) -> Any:
    """Return a label value as JSON that :func:`decode_value` turns back.

    Parameters
    ----------
    value : str, int, float, bool, None, bytes, UNKNOWN, or a tuple of these
        What to store; any other type is a :class:`~edgnn.errors.RunError`.
    """
    return graphs.encode_value(value, "a run folder", RunError)


def decode_value(stored: Any) -> Any:
    """Return the label value that :func:`encode_value` stored."""
    return graphs.decode_value(stored, RunError)


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


def pack_tensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Return tensors as the bytes of a safetensors file, the same for the same content.

    Values are copied to the CPU, so views, shared memory and any device are fine; what was shared
    is stored twice. A checksum goes with them: safetensors itself does not notice a changed number.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save

    copies = {name: _copy(tensors[name]) for name in _checked_names(tensors)}
    # The format has room for texts beside the tensors, which nothing uses.
    note = json.dumps({"crc32": _checksum(copies, {}), "metadata": {}}, sort_keys=True)
    try:
        return save(copies, {_OWN: note})
    except (SafetensorError, KeyError, ValueError) as error:
        raise RunError(f"the tensors cannot be stored as safetensors ({error})") from None


def unpack_tensors(data: bytes) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, on the CPU; a ``ValueError`` says what is damaged.

    Files of other programs have no checksum, and are read without.
    """
    from safetensors.torch import load

    try:
        found = load(data)
    # damaged headers surface as errors of safetensors, torch and dictionaries alike
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {one_line(error)}") from None
    tensors = {name: found[name] for name in sorted(found)}
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    metadata: dict[str, str] = header.get("__metadata__") or {}
    if _OWN not in metadata:
        return tensors
    try:
        note = json.loads(metadata[_OWN])
        matches = _checksum(tensors, note["metadata"]) == note["crc32"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError("its header is damaged") from None
    if not matches:
        raise ValueError("its content does not match its checksum")
    return tensors


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
                f"the tensor {name!r} ({tensor.dtype}, {tensor.layout}, {tensor.device}) is no "
                "dense array of plain numbers"
            )
    return sorted(tensors)


def _copy(tensor: Tensor) -> Tensor:
    return (
        tensor.detach()
        .resolve_conj()
        .resolve_neg()
        .to("cpu", copy=True, memory_format=torch.contiguous_format)
    )


def _checksum(tensors: Mapping[str, Tensor], texts: Any) -> int:
    total = zlib.crc32(json.dumps(texts, sort_keys=True).encode())
    for name, tensor in tensors.items():
        total = zlib.crc32(
            json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode(), total
        )
        total = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, total)
    return total
