"""Splits that people bring along: a file of splits, or a file for each part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from edgnn._files import Path_, open_binary
from edgnn._json import parsed
from edgnn._words import preview, short
from edgnn.errors import DatasetError, EvaluationError, FormatError
from edgnn.evaluation._splits import Split, is_part, member_seed, published
from edgnn.evaluation._targets import Array
from edgnn.graphs import Graphs, Nodes
from edgnn.io import read_rows
from edgnn.io.datasets import Dataset

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_EXPECTED = 'expected [{"train": [0, 1], "val": "2-9", "test": "10-19,25"}]'


def read_splits(
    path: Path_,
    data: Dataset,
    *,
    validation: float | None = 0.1,
    repeats: int = 1,
    seed: int = 0,
) -> list[Split]:
    """Return the splits that a file describes.

    Parameters
    ----------
    path : path
        JSON as chemprop has it: a list with ``{"train": [0, 1], "val": [2], "test": "3-9,12"}`` for
        every split, whose numbers count the items of ``data`` from 0. Or a table (CSV, TSV) of two
        columns: the name of an item, and its part or the number of its fold.
    data : Dataset
        The items, with targets.
    validation, repeats, seed
        As in :func:`published`.
    """
    is_json = Path(path).name.lower().removesuffix(".gz").endswith(".json")
    try:
        with open_binary(path) as stream:
            if is_json:
                layouts = read_layouts(parsed(stream.read()), len(data.items))
            else:
                layouts = [_table_layout(*read_rows(stream, path), data)]
        splits = []
        for number, layout in enumerate(layouts):
            options: dict[str, Any] = {"validation": validation, "repeats": repeats, "seed": seed}
            for split in published(layout, data.targets, **options):
                fold = number + split.fold
                member = member_seed(seed + split.repeat, fold)
                splits.append(replace(split, fold=fold, seed=member))
    except FormatError:
        raise
    except (ValueError, EvaluationError) as error:
        raise FormatError(path, f"it holds no splits of {data.name}: {error}") from None
    return sorted(splits, key=lambda split: (split.repeat, split.fold))


def read_layouts(document: Any, count: int) -> list[dict[str, Array]]:
    """Return the parts of each split of so many items; an error says what a document should be."""
    entries = [document] if isinstance(document, Mapping) else document
    if not isinstance(entries, list) or not entries:
        raise EvaluationError(_EXPECTED)
    layouts = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise EvaluationError(_EXPECTED)
        given = {part: items for part, items in entry.items() if items is not None}
        layouts.append({str(part): _positions(given[part], part, count) for part in given})
    return layouts


def written_layout(train: Array, valid: Array, test: Array) -> list[dict[str, str]]:
    """Return one split as :func:`read_layouts` reads it, in its order, with runs as ranges."""
    parts = {"train": train, "val": valid, "test": test}
    return [{name: _ranges(items) for name, items in parts.items() if len(items)}]


def _positions(given: Any, part: Any, count: int) -> Array:
    """Return the numbers of a list, or those of ranges such as ``"0-99,105"``, below a count."""
    words = given.split(",") if isinstance(given, str) else given
    if not isinstance(words, list):
        raise EvaluationError(f"{short(part)} is {short(given)}; {_EXPECTED}")
    numbers: list[int] = []
    for word in words:
        first, last = _span(word, part)
        if last >= count:
            rule = f"there are {count} targets, numbered from 0"
            raise EvaluationError(f"{short(part)} names item {short(last)}, but {rule}")
        numbers += range(first, last + 1)
        if len(numbers) > count:
            raise EvaluationError(f"{short(part)} names more items than there are; name each once")
    return np.array(numbers, dtype=np.int64)


def _span(word: Any, part: Any) -> tuple[int, int]:
    """Return the first and the last number of a word such as ``"0-99"``."""
    # other types, such as true, are no numbers
    text = str(word).strip() if type(word) in (int, str) else ""
    span = _RANGE.fullmatch(text)
    if span is not None:
        first, last = int(span[1]), int(span[2] or span[1])
        if first <= last:
            return first, last
    raise EvaluationError(
        f"{short(part)} names {short(word)}; give numbers such as 105, or ranges such as '0-99'"
    )


def _ranges(items: Array) -> str:
    runs = np.split(items, np.flatnonzero(np.diff(items) != 1) + 1)
    return ",".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _table_layout(
    header: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]], data: Dataset
) -> dict[str, Array]:
    """Return the positions of the items that each word of a table of names and words stands at."""
    if len(header) != 2:
        raise EvaluationError(
            "expected two columns, the name of an item and its part, such as: id,split"
        )
    pairs = [[cell.strip() for cell in row] for _, row in rows]
    if is_part(header[1]):
        pairs.insert(0, [cell.strip() for cell in header])
    positions = _positions_by_name(data)
    parts: dict[str, list[int]] = {}
    for name, word in pairs:
        if name not in positions:
            raise EvaluationError(
                f"there is no {data.level} {short(name)}; names are such as "
                f"{preview(list(positions))}"
            )
        parts.setdefault(word, []).extend(positions[name])
    return {word: np.array(items, dtype=np.int64) for word, items in parts.items()}


def _positions_by_name(data: Dataset) -> dict[str, list[int]]:
    """Return where the items of each name are; several may have one, as the same molecule has."""
    from edgnn.models import identities

    positions: dict[str, list[int]] = {}
    for position, name in enumerate(identities(data.items)["id"]):
        positions.setdefault(str(name), []).append(position)
    return positions


def join_sets(
    train: Dataset, *, test: Dataset | None = None, validation: Dataset | None = None
) -> Dataset:
    """Return one data set of several, with the split that keeps them apart.

    Parameters
    ----------
    train : Dataset
        With targets; its classes are the classes.
    test, validation : Dataset, optional
        Of the same kind; at least one. Labels that only they have count for nothing.

    Examples
    --------
    >>> import edgnn, numpy as np
    >>> from edgnn.evaluation import join_sets
    >>> old = edgnn.Dataset("old", edgnn.from_smiles(["C", "CC", "CO"]), np.array([0.5, 1, 2]))
    >>> new = edgnn.Dataset("new", edgnn.from_smiles(["CN"]), np.array([1.5]))
    >>> join_sets(old, test=new).split
    {'train': array([0, 1, 2]), 'test': array([3])}
    """
    others = {"validation": validation, "test": test}
    sets = {"train": train} | {part: data for part, data in others.items() if data is not None}
    targets = [_matching_targets(train, data) for data in sets.values()]
    graphs, nodes = _joined_items(list(sets.values()))
    ends = np.cumsum([len(part) for part in targets])
    split = {
        name: np.arange(end - len(part), end)
        for name, part, end in zip(sets, targets, ends, strict=True)
    }
    return replace(train, graphs=graphs, nodes=nodes, targets=np.concatenate(targets), split=split)


def _matching_targets(train: Dataset, other: Dataset) -> Array:
    """Return the targets of a further set, its classes numbered as those of the training set."""
    mine, theirs = _targets(train), _targets(other)
    # a few rows of several values may by chance hold nothing but 0 and 1, as labels do
    is_same_task = other.task == train.task or (train.task, other.task) == ("values", "labels")
    is_alike = train.level == other.level and mine.shape[1:] == theirs.shape[1:]
    if not is_same_task or not is_alike:
        raise DatasetError(
            f"the targets of {other.name} are {_in_words(other)}, those of {train.name} "
            f"{_in_words(train)}: give both the same columns"
        )
    if train.class_names == other.class_names:
        return theirs.astype(mine.dtype)
    strange = sorted(set(other.class_names) - set(train.class_names))
    if strange:
        raise DatasetError(
            f"{other.name} has the class {strange[0]!r}, which {train.name} lacks; its classes are "
            f"{preview(train.class_names)}"
        )
    numbers = np.array([train.class_names.index(name) for name in other.class_names])
    return np.asarray(numbers[theirs])


def _targets(data: Dataset) -> Array:
    if data.targets is None:
        raise DatasetError(f"{data.name} has no targets, so there is nothing to learn")
    return np.asarray(data.targets)


def _in_words(data: Dataset) -> str:
    columns = _targets(data).shape[1:]
    several = f" in {columns[0]} columns" if columns else ""
    return f"{data.task} of {data.level}s{several}"


def _joined_items(sets: Sequence[Dataset]) -> tuple[Graphs, Nodes | None]:
    """Return the graphs of all sets and their labeled nodes; one graph of all is not repeated."""
    collections = [data.graphs for data in sets]
    indices = [data.nodes.index for data in sets if data.nodes is not None]
    if not indices:
        return Graphs.concat(collections), None
    first = collections[0]
    if all(graphs.equals(first) for graphs in collections[1:]):
        return first, Nodes(first, torch.cat(indices))
    start = 0
    moved = []
    for graphs, index in zip(collections, indices, strict=True):
        moved.append(index + start)
        start += graphs.num_nodes
    joined = Graphs.concat(collections)
    return joined, Nodes(joined, torch.cat(moved))
