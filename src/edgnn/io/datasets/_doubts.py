"""Doubts about targets: columns that are read as classes, but look as if something else was meant."""

from __future__ import annotations

import numpy as np

from edgnn._words import preview
from edgnn.io._decimal_commas import has_decimal_comma, write_points
from edgnn.io.datasets._dataset import Dataset

_MISSING = frozenset(
    ("", "-", "?", "na", "n/a", "nan", "nil", "none", "null", "missing", "unknown")
)
_MANY = 20


def doubts(data: Dataset) -> list[str]:
    """Return what speaks against the classes of a data set, a line each: numbers, words for nothing, classes of a single item."""
    if data.targets is None or not data.class_names:
        return []
    names, counts = (
        list(data.class_names),
        np.bincount(data.targets, minlength=len(data.class_names)),
    )
    told = []
    absent = [name for name in names if name.strip().casefold() in _MISSING]
    if absent:
        told.append(
            f"{preview(absent)} is taken for a class like any other; where it means that nothing is known, leave the cell empty"
        )
    numbers = [name for name in names if _is_number(name)]
    words = [name for name in names if name not in numbers and name not in absent]
    if len(numbers) > max(_MANY, len(names) // 2):
        why = (
            f", because of {preview(words)}"
            if words
            else f", because of {preview(absent)}"
            if absent
            else ""
        )
        comma = next(filter(has_decimal_comma, numbers), None)
        way = (
            "--regression learns numbers as values"
            if comma is None
            else f"{comma!r} is{write_points(comma)[1:]}"
        )
        told.append(
            f"the targets are taken for {len(names):,} classes{why}, but most of them are numbers; {way}"
        )
        return told
    alone = [name for name, count in zip(names, counts, strict=True) if count == 1]
    if alone:
        told.append(
            f"only one {data.level} has the class {preview(alone)}: it can be learned or tested, not both"
        )
    return told


def _is_number(name: str) -> bool:
    try:
        float(name.replace(",", "."))
    except ValueError:
        return False
    return True
