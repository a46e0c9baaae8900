"""Kernel values kept on disk: blocks of rows under a hash of what they were computed from, each checked when it is read."""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from edgnn._files import Path_, atomic_file
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.io.datasets import cache_root
from edgnn.models.kernels._reading import Array
from edgnn.models.networks._fingerprint import fingerprint

OnBlock = Callable[[int, int], Any]

_DIGEST = hashlib.sha256().digest_size


def cache_folder(cache: bool | Path_) -> Path | None:
    """Return where kernel values are kept: ``kernels`` in the cache for ``True``, nowhere for ``False``, else the given folder."""
    if isinstance(cache, bool):
        return cache_root() / "kernels" if cache else None
    if not isinstance(cache, str | PathLike):
        raise EstimatorError(
            f"cache={cache!r}: give a folder, or True for the user's cache, or False"
        )
    return Path(cache)


def content_key(graphs: Sequence[Graphs], parameters: Mapping[str, Any]) -> str:
    """Return a hash of graphs (arrays and label values, not names) and of the parameters of a computation."""
    parts = [fingerprint(part, np.zeros(0)) for part in graphs]
    return hashlib.sha256(
        json.dumps([parts, dict(parameters)], sort_keys=True).encode()
    ).hexdigest()


def cached_blocks(
    shapes: Sequence[tuple[int, ...]],
    compute: Callable[[list[int]], Iterable[tuple[int, Array]]],
    folder: Path | None,
    on_block: OnBlock | None = None,
) -> list[Array]:
    """Return blocks of numbers, read from a folder as far as they are there and computed where not.

    A block is stored as soon as it is computed, so what was done before an interruption is not done
    again. A block whose file is damaged is computed anew. Where a block cannot be stored, a warning
    says so, and the result is returned all the same.

    Parameters
    ----------
    shapes : sequence of tuple
        The shape of each block.
    compute : callable
        Given the numbers of the blocks that are missing, yields each with its float64 values, in
        any order.
    folder : Path, optional
        Where the blocks are; made when the first is stored. ``None``: nothing is read or stored.
    on_block : callable, optional
        Called with the number of blocks that are there, and of all.
    """
    places = [
        None if folder is None else folder / f"block-{number:05d}.npy"
        for number in range(len(shapes))
    ]
    blocks = [
        None if place is None else _read(place, shape)
        for place, shape in zip(places, shapes, strict=True)
    ]
    missing = [number for number, block in enumerate(blocks) if block is None]
    done, storing = len(blocks) - len(missing), True
    if on_block is not None:
        on_block(done, len(blocks))
    for number, block in compute(missing) if missing else ():
        blocks[number] = block
        place = places[number]
        if place is not None and storing:
            storing = _stored(place, block)
        done += 1
        if on_block is not None:
            on_block(done, len(blocks))
    return [block for block in blocks if block is not None]


def _read(place: Path, shape: tuple[int, ...]) -> Array | None:
    """Return the block in a file, or ``None`` where there is none or it is not what was written."""
    try:
        data = place.read_bytes()
        values, digest = data[:-_DIGEST], data[-_DIGEST:]
        if hashlib.sha256(values).digest() != digest:
            return None
        block: Array = np.load(io.BytesIO(values), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return block if block.shape == shape and block.dtype == np.float64 else None


def _stored(place: Path, block: Array) -> bool:
    """Write a block as an .npy file with its SHA-256 behind; warn and return ``False`` where that fails."""
    buffer = io.BytesIO()
    np.save(buffer, block, allow_pickle=False)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(place) as stream:
            stream.write(buffer.getvalue())
            stream.write(hashlib.sha256(buffer.getvalue()).digest())
    except OSError as error:
        warnings.warn(
            f"kernel values cannot be kept in {place.parent} ({error.strerror or error}): the result is complete, "
            "but the next time it will be computed again; make room there, or choose another folder with cache=",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True
