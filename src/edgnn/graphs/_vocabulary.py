"""Label values and their integers: the users' own labels, in order of first appearance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import count
from typing import Any, Final, Literal, overload

import numpy as np
import torch
from torch import Tensor

from edgnn._words import preview, suggestion
from edgnn.errors import GraphError, UnknownLabelError

OnUnknown = Literal["error", "map"]
Labels = Sequence[Any] | np.ndarray[Any, Any] | Tensor


class _Unknown:
    """The reserved label of all that a vocabulary has never seen: :data:`UNKNOWN` alone."""

    _only: _Unknown | None = None

    def __new__(cls) -> _Unknown:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "<unknown>"

    def __reduce__(self) -> tuple[type[_Unknown], tuple[()]]:
        return _Unknown, ()


UNKNOWN: Final = _Unknown()


class Vocabulary(Sequence[Hashable]):
    """An immutable list of distinct label values; a value's position is its integer.

    Values are compared as Python compares them, so ``1``, ``1.0`` and ``True`` are one label.

    Parameters
    ----------
    values : iterable of hashable
        Strings, numbers, tuples, …; the order is kept.
    """

    __slots__ = ("_index", "_values")

    def __init__(self, values: Iterable[Hashable] = ()) -> None:
        self._values = tuple(_plain(value) for value in values)
        self._index: dict[Hashable, int] = {}
        for position, value in enumerate(self._values):
            if isinstance(value, float) and value != value:
                raise GraphError(
                    f"label {position} of a vocabulary is NaN, which equals nothing; use None or a "
                    "value"
                )
            try:
                first = self._index.setdefault(value, position)
            except TypeError as error:
                raise GraphError(
                    f"label {position} of a vocabulary cannot be hashed ({error})"
                ) from None
            if first != position:
                raise GraphError(
                    f"label {value!r} stands twice in a vocabulary, at {first} and {position}"
                )

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, key: int) -> Hashable: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Hashable, ...]: ...
    def __getitem__(self, key: int | slice) -> Hashable:
        return self._values[key]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._values)

    def __contains__(self, value: object) -> bool:
        return value in self._index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and (self is other or self._values == other._values)

    def __hash__(self) -> int:
        return hash(self._values)

    def __repr__(self) -> str:
        return f"Vocabulary([{preview(self._values)}])"

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[tuple[Hashable, ...]]]:
        return Vocabulary, (self._values,)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the integer of ``value``; :class:`UnknownLabelError` if there is none."""
        position = self._index.get(value)
        if position is None or not start <= position < (len(self) if stop is None else stop):
            raise UnknownLabelError(
                f"label {value!r} is not among the {len(self)} known ones: "
                f"{preview(self._values)}{suggestion(value, self._values)}"
            )
        return position

    @property
    def constant(self) -> bool:
        """Whether this is the vocabulary of graphs without labels: the single value ``None``."""
        return self._values == (None,)

    def decode(self, ids: Tensor) -> list[Hashable]:
        """Return the label values of integer ``ids``."""
        values = self._values
        return [values[i] for i in ids.tolist()]

    def with_unknown(self) -> Vocabulary:
        """Return this vocabulary with the reserved :data:`UNKNOWN` as its last value."""
        return self if UNKNOWN in self else Vocabulary((*self._values, UNKNOWN))


def known_labels(vocabulary: Vocabulary) -> int:
    """Return how many values stand for labels: all but :data:`UNKNOWN` where it is the last."""
    return len(vocabulary) - (len(vocabulary) > 0 and vocabulary[-1] is UNKNOWN)


def factorize(labels: Labels, what: str = "node") -> tuple[Tensor, Vocabulary]:
    """Number ``labels`` in order of first appearance; ``what`` names their owner in errors."""
    if isinstance(labels, Set | Mapping):
        raise GraphError(
            f"{what} labels are a {type(labels).__name__}, not one value per {what} in their "
            "order: pass a list"
        )
    array = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else labels
    if isinstance(array, np.ndarray) and array.dtype.kind in "iufb":
        if array.ndim != 1:
            raise GraphError(
                f"{what} labels must be one value per {what}, got an array of shape {array.shape}"
            )
        ids, first = _factorize_numbers(array)
        return torch.from_numpy(ids), Vocabulary(
            _checked(array[first].tolist(), first.tolist(), what)
        )
    numbers: defaultdict[Any, int] = defaultdict(count().__next__)
    values = array.tolist() if isinstance(array, np.ndarray) else array
    try:
        ids = np.fromiter(map(numbers.__getitem__, values), dtype=np.int64, count=len(values))
    except TypeError:
        raise _unhashable(values, what) from None
    kinds = set(map(type, numbers))
    if not kinds <= {str, int, bool, type(None)}:
        _, first = np.unique(ids, return_index=True)
        return torch.from_numpy(ids), Vocabulary(_checked(list(numbers), first.tolist(), what))
    return torch.from_numpy(ids), Vocabulary(numbers)


def encode(
    labels: Labels, like: Vocabulary, unknown: OnUnknown = "error", what: str = "node"
) -> tuple[Tensor, Vocabulary]:
    """Number ``labels`` as ``like`` does.

    A label that ``like`` lacks is an :class:`UnknownLabelError`, or with ``unknown="map"`` becomes
    :data:`UNKNOWN`, which the returned vocabulary then holds behind the values of ``like``, whether
    a label needs it or not.
    """
    ids, own = factorize(labels, what)
    return recode(ids, own, like, unknown, what)


def recode(
    ids: Tensor, own: Vocabulary, like: Vocabulary, unknown: OnUnknown = "error", what: str = "node"
) -> tuple[Tensor, Vocabulary]:
    """Translate integers of the vocabulary ``own`` into those of ``like``; see :func:`encode`."""
    if unknown not in ("error", "map"):
        raise GraphError(f"unknown={unknown!r}: choose 'error' or 'map'")
    if own == like:
        return ids, like if unknown == "error" else like.with_unknown()
    target, missing = like, -1
    if unknown == "map":
        target = like.with_unknown()
        missing = target.index(UNKNOWN)
    numbers = [like.index(value) if value in like else missing for value in own]
    recoded = torch.tensor(numbers, dtype=torch.int64).to(ids.device)[ids]
    unseen = (recoded < 0).nonzero()
    if len(unseen):
        element = int(unseen[0])
        raise UnknownLabelError(
            f"{what} {element} has the label {own[int(ids[element])]!r}, which is not among "
            f"the {len(like)} known ones: {preview(like)}; "
            f'pass unknown="map" to give such labels the reserved value {UNKNOWN!r}'
        )
    return recoded, target


def _factorize_numbers(
    array: np.ndarray[Any, Any],
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the integers of values by first appearance, and the position of each first."""
    size = len(array)
    if size == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if array.dtype.kind in "iu" and array.dtype != np.uint64:
        low, high = int(array.min()), int(array.max())
        if high - low < 4 * size + 1024:
            offset = array.astype(np.int64) - low
            first = np.full(high - low + 1, size, np.int64)
            first[offset[::-1]] = np.arange(size - 1, -1, -1)
            order = np.argsort(first, kind="stable")[: np.count_nonzero(first < size)]
            rank = np.empty(high - low + 1, np.int64)
            rank[order] = np.arange(len(order))
            return rank[offset], first[order]
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse], first[order]


def _plain(value: Any) -> Hashable:
    plain: Hashable = value.item() if isinstance(value, np.generic) else value
    return plain


def _checked(values: list[Any], first: list[int], what: str) -> list[Hashable]:
    for value, element in zip(values, first, strict=True):
        if isinstance(value, Tensor):
            raise GraphError(
                f"the label of {what} {element} is a tensor, which compares by identity: "
                "pass one tensor of all labels, or plain values (.tolist())"
            )
        if value != value:
            raise GraphError(
                f"the label of {what} {element} is NaN; give it a value, or None for 'no label'"
            )
    return values


def _unhashable(values: Iterable[Any], what: str) -> GraphError:
    for element, value in enumerate(values):
        try:
            hash(value)
        except TypeError:
            return GraphError(
                f"the label of {what} {element} is a {type(value).__name__}, which cannot be "
                "hashed: "
                "use a string, a number or a tuple"
            )
    return GraphError(f"{what} labels cannot be hashed")
