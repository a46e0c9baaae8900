"""Splits: which items a model is trained, validated and tested on."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgnn._words import suggestion
from edgnn.errors import EvaluationError
from edgnn.evaluation._pool import Pool, fraction_count
from edgnn.evaluation._targets import Array
from edgnn.io.datasets import positions_by_word

#: How the number of a fold is written; a column with empty cells elsewhere has points.
_FOLD = re.compile(r"\d+(\.0)?")


@dataclass(frozen=True, eq=False)
class Split:
    """One division of the items into parts that share nothing.

    Parameters
    ----------
    train, test : array of int
        Positions of the items to train on and to test on. Only a split with validation items may
        have none to test on; :func:`evaluate` refuses it.
    valid : array of int, optional
        Positions of the items that choose the epoch.
    repeat, fold : int
        Which run, and which fold of it.
    seed : int
        Random seed of the model.
    """

    train: Array
    test: Array
    valid: Array | None = None
    repeat: int = 0
    fold: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("train", "test", "valid"):
            items = getattr(self, name)
            if items is not None:
                positions = _positions(items, f"{self}: the {name} part")
                object.__setattr__(self, name, positions)
        held_out = "test" if self.valid is None else "valid"
        for name in ("train", held_out):
            if len(getattr(self, name)) == 0:
                raise EvaluationError(
                    f"{self}: the {name} part is empty; ask for fewer folds or smaller parts"
                )
        items = np.sort(np.concatenate([self.known, self.test]))
        twice = items[1:][items[1:] == items[:-1]]
        if len(twice):
            raise EvaluationError(
                f"{self}: item {twice[0]} occurs twice; an item belongs to one part, once"
            )

    def __str__(self) -> str:
        return f"repeat {self.repeat}, fold {self.fold}"

    @property
    def known(self) -> Array:
        """All items whose targets the model may see: the training and the validation part."""
        return self.train if self.valid is None else np.concatenate([self.train, self.valid])

    @property
    def validation_fraction(self) -> float | None:
        """How large the validation part is among the items that may be learned from."""
        return None if self.valid is None else len(self.valid) / len(self.known)

    def of_items(self, items: Array) -> Split:
        """Return the same split of some of all items, where positions count in ``items``."""
        valid = None if self.valid is None else items[self.valid]
        return replace(self, train=items[self.train], test=items[self.test], valid=valid)


def kfold(
    y: Any,
    folds: int = 10,
    repeats: int = 10,
    *,
    seed: int = 0,
    stratify: bool = True,
    validation: float | None = 0.1,
    groups: Any = None,
) -> list[Split]:
    """Split into shuffled folds of equal size, each of which is the test part once per repeat.

    Parameters
    ----------
    y : array-like
        The targets. Items without any (NaN, None) are in no part.
    folds, repeats : int
        Number of folds, and how often to shuffle anew.
    seed : int
        Repeat ``r`` is shuffled by ``seed + r``, so repeat 1 of seed 0 is repeat 0 of seed 1; the
        seed of a split is a function of ``seed + r`` and the fold alone.
    stratify : bool
        Spread every class evenly over the folds; a class with fewer items than folds is in as many
        folds as it has items. Real values (more than 20 distinct ones, or fractions) and targets of
        several columns are spread at random.
    validation : float, optional
        Size of the validation part as a fraction of all items, taken from the training folds, in
        the same proportion of classes; the last item of a class stays in training while it can.
        ``None``: no validation part.
    groups : sequence, optional
        One value per item; items of one group stay in one part. Sizes and proportions are then as
        even as the groups allow.
    """
    pool = Pool.of(y, stratify, groups)
    units = pool.size if pool.group is None else len(np.unique(pool.group))
    folds = _whole(folds, "folds", 2)
    if folds > units:
        raise EvaluationError(
            f"{folds} folds need at least {folds} {pool.unit}s, but there are {units}; "
            "ask for fewer folds"
        )
    count = pool.count(validation, "validation")
    splits: list[Split] = []
    for repeat, base in bases(repeats, seed):
        rng = np.random.default_rng(base)
        fold_of = pool.deal(folds, rng)
        splits += [
            _split(pool, np.flatnonzero(fold_of == fold), count, base, repeat, fold)
            for fold in range(folds)
        ]
    return splits


def holdout(
    y: Any,
    test: float = 0.1,
    validation: float | None = 0.1,
    repeats: int = 10,
    *,
    seed: int = 0,
    stratify: bool = True,
    groups: Any = None,
) -> list[Split]:
    """Draw a test part at random, anew for each repeat.

    Parameters
    ----------
    y : array-like
        The targets of all items.
    test : float
        Size of the test part as a fraction of all items.
    repeats : int
        How many splits.
    validation, seed, stratify, groups
        As in :func:`kfold`.
    """
    pool = Pool.of(y, stratify, groups)
    tested, count = pool.count(test, "test"), pool.count(validation, "validation")
    if tested == 0:
        raise EvaluationError(
            f"test={test!r} leaves no item to test on; give a fraction above 0 and below 1"
        )
    splits = []
    for repeat, base in bases(repeats, seed):
        drawn = pool.draw(np.arange(pool.size), tested, np.random.default_rng(base), "test")
        splits.append(_split(pool, drawn, count, base, repeat, 0))
    return splits


def published(
    split: Any,
    y: Any = None,
    *,
    validation: float | str | None = "first-fifth",
    repeats: int = 10,
    seed: int = 0,
) -> list[Split]:
    """Take a given split, or given folds, once per seed.

    Parameters
    ----------
    split : mapping or sequence
        Positions of the ``"train"``, ``"test"`` and perhaps ``"validation"`` items, as
        :attr:`edgnn.Dataset.split` has them; or the positions of every fold by its number; or one
        such word or number per item, such as the column of a table. Case does not matter, and
        ``"val"`` and ``"valid"`` are ``"validation"``.
    y : array-like, optional
        The targets: items without any are left out, and a validation fraction is drawn in
        proportion of the classes.
    validation : "first-fifth", float or None
        Where the split has no validation items: the first fifth of the training items in their
        order; or a fraction of all items, drawn anew for each seed from the training items; or
        none.
    repeats, seed : int
        Repeat ``r`` has the seed of ``seed + r``.

    Examples
    --------
    >>> from edgnn.evaluation import published
    >>> (split,) = published(["train", "Train", "val", "test"], repeats=1)
    >>> split.train, split.valid, split.test
    (array([0, 1]), array([2]), array([3]))
    >>> [fold.test.tolist() for fold in published([1, 2, 1, 2], validation=None, repeats=1)]
    [[0, 2], [1, 3]]
    """
    if isinstance(validation, str) and validation != "first-fifth":
        raise EvaluationError(
            f"validation={validation!r}: choose 'first-fifth', a fraction of all items, or None"
        )
    layouts = _layouts(split if isinstance(split, Mapping) else positions_by_word(split))
    size = 1 + max(int(items.max(initial=-1)) for parts in layouts for items in parts.values())
    pool = Pool.of(np.zeros(size, dtype=np.int64) if y is None else y, True)
    if pool.total < size:
        raise EvaluationError(
            f"the split names item {size - 1}, but there are {pool.total} targets"
        )
    return [
        _given(pool, layout, validation, repeat, fold, member_seed(base, fold))
        for repeat, base in bases(repeats, seed)
        for fold, layout in enumerate(layouts)
    ]


def _given(
    pool: Pool,
    layout: Mapping[str, Array],
    validation: float | str | None,
    repeat: int,
    fold: int,
    seed: int,
) -> Split:
    """Return a given split of the items that have a target."""
    parts = {name: items[np.isin(items, pool.items)] for name, items in layout.items()}
    valid = parts.get("validation")
    if valid is not None and not len(valid):
        valid = None
    split = Split(parts["train"], parts["test"], valid, repeat, fold, seed)
    return split if "validation" in parts else _with_validation(split, pool, validation)


_SYNONYMS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}


def is_part(word: str) -> bool:
    """Return whether a word names a part of a split, or numbers a fold."""
    folded = word.strip().casefold()
    return folded in _SYNONYMS or _FOLD.fullmatch(folded) is not None


def _layouts(split: Mapping[Any, Any]) -> list[dict[str, Array]]:
    """Return the parts of a given split, or those of each of the given folds."""
    words = {given: str(given).strip().casefold() for given in split}
    if words and all(map(_FOLD.fullmatch, words.values())):
        return _fold_layouts({float(words[given]): items for given, items in split.items()})
    parts: dict[str, list[Array]] = {"train": [], "test": []}
    for given, word in words.items():
        part = _SYNONYMS.get(word)
        if part is None:
            raise EvaluationError(
                f"{given!r} is no part of a split: name train, validation and test, "
                f"or number the folds{suggestion(word, _SYNONYMS)}"
            )
        positions = _positions(split[given], f"the {part} part of the given split")
        parts.setdefault(part, []).append(positions)
    needed = ("train",) if "validation" in parts else ("train", "test")
    for name in needed:
        if not parts[name]:
            there = ", ".join(map(repr, split)) or "nothing"
            raise EvaluationError(f"the split has no {name!r} part, only {there}")
    nothing = np.array([], dtype=np.int64)
    return [{name: np.concatenate([nothing, *items]) for name, items in parts.items()}]


def _fold_layouts(folds: Mapping[float, Any]) -> list[dict[str, Array]]:
    """Return for each fold, by rising numbers, the items of all others and its own."""
    if len(folds) < 2:
        raise EvaluationError(
            "all items are in one fold; give at least two, or the words train and test"
        )
    items = {
        number: _positions(folds[number], f"fold {number:g} of the given split")
        for number in sorted(folds)
    }
    return [
        {
            "train": np.sort(np.concatenate([items[other] for other in items if other != fold])),
            "test": items[fold],
        }
        for fold in items
    ]


def _with_validation(split: Split, pool: Pool, validation: float | str | None) -> Split:
    """Return the split with some of its training items for validation."""
    if validation == "first-fifth":
        valid = split.train[: len(split.train) // 5]
    else:
        count = fraction_count(validation, len(split.train) + len(split.test), "validation")
        valid = _drawn_from(pool, split.train, count, split.seed)
    if not len(valid):
        return split
    return replace(split, train=split.train[~np.isin(split.train, valid)], valid=valid)


def _drawn_from(pool: Pool, train: Array, count: int, seed: int) -> Array:
    """Return so many of the training items, drawn for validation."""
    rng = np.random.default_rng([seed, 1])
    places = np.searchsorted(pool.items, train)
    return pool.items[pool.draw(places, count, rng, "validation")]


def _split(pool: Pool, tested: Array, count: int, base: int, repeat: int, fold: int) -> Split:
    """Return the split with these places of the pool as its test part."""
    seed = member_seed(base, fold)
    part = np.zeros(pool.size, dtype=np.int8)
    part[tested] = 1
    rng = np.random.default_rng([seed, 1])
    part[pool.draw(np.flatnonzero(part == 0), count, rng, "validation")] = 2
    train, test, valid = (pool.items[part == number] for number in range(3))
    return Split(train, test, valid if count else None, repeat, fold, seed)


def member_seed(base: int, fold: int) -> int:
    """Return a seed of 32 bits, distinct for all (base, fold) below 65,536."""
    return (base * 2**16 + fold) % 2**32


def bases(repeats: int, seed: int) -> list[tuple[int, int]]:
    """Return (repeat, seed of the repeat) of each repeat."""
    first = _whole(seed, "seed", 0)
    return [(repeat, first + repeat) for repeat in range(_whole(repeats, "repeats", 1))]


def _whole(value: int, name: str, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise EvaluationError(f"{name}={value!r}: give a whole number, {least} or more")
    return number


def _positions(values: Any, what: str) -> Array:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise EvaluationError(
            f"{what} must be item numbers, got {array.dtype} of shape {array.shape}"
        )
    if array.size and array.min() < 0:
        raise EvaluationError(f"{what} names item {array.min()}; items are numbered from 0")
    return array.astype(np.int64)
