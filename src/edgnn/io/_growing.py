"""What grows while graphs are written piece by piece: label numbers, labels and features, names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from edgnn._words import preview
from edgnn.errors import GraphError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Labels, OnUnknown, Vocabulary, factorize
from edgnn.graphs import checks as graph_check
from edgnn.io import _piece_checks as check
from edgnn.io._array_files import ArrayFile, Entry, plain_numbers
from edgnn.io._array_folder import ValuesFile
from edgnn.io._common import Array

_PIECE = 2**18


class Numbering:
    """Numbers of label values: those given, then others in order of first appearance.

    Parameters
    ----------
    what : {"node", "edge"}
        Whose labels they are.
    given : sequence of hashable, optional
        The first values.
    like : Vocabulary, optional
        All values; no other gets a number.
    unknown : {"error", "map"}
        Whether a value that ``like`` lacks is an error or becomes ``UNKNOWN``.
    """

    def __init__(
        self, what: str, given: Sequence[Any] | None, like: Vocabulary | None, unknown: OnUnknown
    ) -> None:
        if unknown not in ("error", "map"):
            raise GraphError(f"unknown={unknown!r}: choose 'error' or 'map'")
        if given is not None:
            check.length(given, f"{what}_vocabulary=")
        first = Vocabulary(() if given is None else given)
        if like is not None:
            first = like.with_unknown() if unknown == "map" else like
        self._what = what
        self._is_fixed = like is not None
        self._is_given = given is not None or like is not None
        self._unknown = unknown
        self._numbers: dict[Hashable, int] = {value: number for number, value in enumerate(first)}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def vocabulary(self) -> Vocabulary:
        """All values so far; without any, that of graphs without labels."""
        if self._numbers or self._is_given:
            return Vocabulary(self._numbers)
        return Vocabulary([None])

    def encode(self, labels: Labels | None, size: int, start: int) -> Array:
        """Return the numbers of the labels of the elements from ``start`` on."""
        if labels is None:
            ids = np.zeros(size, np.int64)
            return self.table(Vocabulary([None] if size else []), ids, start)[ids]
        try:
            numbers, own = factorize(labels, self._what)
        except GraphError as error:
            raise GraphError(
                f"in the piece that begins with {self._what} {start}: {error}"
            ) from None
        ids = numbers.numpy()
        return self.table(own, ids, start)[ids]

    def table(self, own: Vocabulary, ids: Array, start: int) -> Array:
        """Return the number here of every value of another vocabulary.

        -1 for one without, which ``ids`` do not use.
        """
        table = np.array([self._number(value) for value in own], np.int64)
        if (table < 0).any() and (table[ids] < 0).any():
            element = int(np.argmax(table[ids] < 0))
            raise UnknownLabelError(
                f"{self._what} {start + element} has the label {own[int(ids[element])]!r}, "
                f"which is not among the {len(self)} known ones: "
                f'{preview(list(self._numbers))}; pass unknown="map" to give such labels the '
                f"reserved value {UNKNOWN!r}"
            )
        return table

    def _number(self, value: Hashable) -> int:
        """Return the number of a value, a new one where that is possible; else -1."""
        if value in self._numbers:
            return self._numbers[value]
        if self._is_fixed:
            return self._numbers[UNKNOWN] if self._unknown == "map" else -1
        if self._numbers and next(reversed(self._numbers)) == UNKNOWN:
            raise GraphError(
                f"the {self._what} label {value!r} is new, "
                f"but the vocabulary ends with {UNKNOWN!r}, which stands for all others: "
                "leave that out of the values given, or give them all"
            )
        self._numbers[value] = len(self._numbers)
        return self._numbers[value]


class Elements:
    """The labels and features of all nodes, or of all edges, in files that grow.

    Parameters
    ----------
    folder : Path
        Where the files are.
    what : {"node", "edge"}
        Whose they are.
    numbering : Numbering
        Of the labels.
    """

    def __init__(self, folder: Path, what: str, numbering: Numbering) -> None:
        self.count = 0
        self._folder = folder
        self._what = what
        self._numbering = numbering
        self._label = ArrayFile(folder / f"{what}_label.npy", np.int64)
        self._features: ArrayFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._label.close()
        if self._features is not None:
            self._features.close()

    def size_of(self, count: Any, labels: Any, numbers: Any, features: Any, names: Any) -> int:
        """Return how many elements a piece has, after checking that all that is given agrees."""
        if labels is not None and numbers is not None:
            raise GraphError(
                f"give the {self._what} labels either as values (labels=) or as numbers "
                "(numbers=), not both"
            )
        given = {"labels": labels, "label numbers": numbers, "features": features, "names": names}
        sizes = {}
        for name, values in given.items():
            if values is not None:
                sizes[name] = check.length(values, f"{self._what} {name}")
        if count is None and not sizes:
            raise GraphError(f"how many {self._what}s? Give a count, labels, features or names")
        if count is None:
            count = next(iter(sizes.values()))
        total = check.whole_number(
            count,
            0,
            f"{count!r} {self._what}s cannot be added; a count is a whole number, 0 or more",
        )
        for name, size in sizes.items():
            if size != total:
                raise GraphError(f"{size} {self._what} {name} were given for {total} {self._what}s")
        return total

    def append(self, size: int, labels: Labels | None, numbers: Any, features: Any) -> None:
        """Write a piece."""
        if numbers is None:
            label = self._numbering.encode(labels, size, self.count)
        else:
            label = plain_numbers(numbers, f"{self._what} label numbers")
            check.label_numbers(label, len(self._numbering), self.count, self._what)
        self._write(label, graph_check.features(features, self._what, torch.device("cpu")))

    def copy(self, label: Tensor, vocabulary: Vocabulary, features: Tensor | None) -> None:
        """Write all labels and features of other graphs, a piece at a time."""
        table = None
        for start in range(0, max(1, len(label)), _PIECE):
            ids = label[start : start + _PIECE].cpu().numpy()
            check.label_numbers(ids, len(vocabulary), start, self._what)
            if table is None or (table[ids] < 0).any():
                table = self._numbering.table(vocabulary, ids, self.count)
            self._write(table[ids], None if features is None else features[start : start + _PIECE])

    def _write(self, label: Array, features: Tensor | None) -> None:
        if features is not None:
            self._write_features(features.cpu().numpy())
        elif len(label) and self._features is not None:
            raise self._unlike_before("no features")
        self._label.append(label)
        self.count += len(label)

    def _write_features(self, rows: Array) -> None:
        check.finite(rows, self.count, self._what)
        if self._features is None:
            if self.count:
                raise self._unlike_before("features")
            path = self._folder / f"{self._what}_features.npy"
            self._features = ArrayFile(path, rows.dtype, rows.shape[1])
        width, dtype = self._features.width, self._features.dtype
        if (rows.shape[1], rows.dtype) != (width, dtype):
            raise GraphError(
                f"{self._what} {self.count} has {rows.shape[1]} features of type {rows.dtype}, "
                f"those before have {width} of type {dtype}: give all pieces alike"
            )
        self._features.append(rows)

    def _unlike_before(self, has: str) -> GraphError:
        return GraphError(
            f"{self._what} {self.count} has {has}, unlike those before: "
            f"all {self._what}s have features or none"
        )

    def finish(self) -> dict[str, Entry]:
        """Complete the files and return what the header says about them."""
        entries = {f"{self._what}_label": self._label.finish()}
        if self._features is not None:
            entries[f"{self._what}_features"] = self._features.finish()
        return entries


class Columns:
    """Attributes or features of graphs in a file that grows, while all pieces have them alike.

    Parameters
    ----------
    folder : Path
        Where the file is.
    name : str
        The field of :class:`Graphs` that it holds.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.npy"
        self._name = name
        self._names: tuple[str, ...] = ()
        self._file: ArrayFile | None = None
        self._is_decided = False
        self._is_dropped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, array: Tensor | None, names: tuple[str, ...], *, decides: bool) -> None:
        """Write more rows; where they are not as those before, all are dropped.

        A piece without graphs decides nothing: its columns are kept where no other piece comes.
        """
        if self._is_dropped or (self._file is not None and not decides):
            return
        if array is None:
            if decides:
                self.drop()
            return
        rows = array.detach().cpu().numpy()
        if self._file is None or not self._is_decided:
            self.__exit__()
            self._file = ArrayFile(self._path, rows.dtype, rows.shape[1])
            self._names, self._is_decided = names, decides
        if (names, rows.dtype) != (self._names, self._file.dtype):
            self.drop()
            return
        self._file.append(rows)

    def drop(self) -> None:
        """Leave them out, as some piece has none."""
        self._is_dropped = True
        if self._file is not None:
            self._file.close()
            self._file = None
            self._path.unlink()

    def finish(self) -> tuple[dict[str, Entry], dict[str, list[str]]]:
        """Complete the file; return what the header says about it, and names of columns."""
        if self._file is None:
            return {}, {}
        return {self._name: self._file.finish()}, {self._name: list(self._names)}


class Names:
    """The names of all nodes, or of all graphs, in a file that grows.

    Parameters
    ----------
    folder : Path
        Where the file is.
    what : {"node", "graph"}
        Whose they are; those of nodes are unique within their graph.
    """

    def __init__(self, folder: Path, what: str) -> None:
        self._path = folder / f"{what}_names.jsonl"
        self._what = what
        self._seen: set[Any] = set()
        self._file: ValuesFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def begin(self) -> None:
        """Begin another graph."""
        self._seen = set()

    def append(self, names: Any, size: int, start: int, *, checked: bool = False) -> None:
        """Write the names of the elements from ``start`` on.

        ``checked`` where they are known to be unique within graphs.
        """
        if names is None:
            if size and self._file is not None:
                raise self._unlike_before(start, "no name")
            return
        if start and self._file is None:
            raise self._unlike_before(start, "a name")
        values = graph_check.names(names, self._what)
        assert values is not None
        if self._what == "node" and not checked:
            self._check_new(values, start)
        if self._file is None:
            self._file = ValuesFile(self._path, f"{self._what} name")
        self._file.append(values)

    def _unlike_before(self, start: int, has: str) -> GraphError:
        return GraphError(
            f"{self._what} {start} has {has}, unlike those before: "
            f"all {self._what}s have names or none"
        )

    def _check_new(self, values: Array, start: int) -> None:
        for place, name in enumerate(values):
            try:
                again = name in self._seen
            except TypeError as error:
                raise GraphError(
                    f"the name of node {start + place} cannot be hashed ({error}): use strings, "
                    "numbers or tuples"
                ) from None
            if again:
                raise GraphError(
                    f"node {start + place} has the name {name!r}, as another one of its graph; "
                    "names are unique there"
                )
            self._seen.add(name)

    def finish(self) -> dict[str, Any]:
        """Complete the file and return what the header says about it."""
        return {} if self._file is None else {f"{self._what}_names": self._file.finish()}
