"""CountTable: counts of colors as a table with names that can be read, for any learner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin

from edgnn._rules import Rules, check, one_of, whole
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models._coder import Coder
from edgnn.models._items import graphs_of, numbered_by_appearance, read_items
from edgnn.models._model import NotFitted
from edgnn.models.counts._features import number_names, numbers_of
from edgnn.models.counts._labelings import has_chemistry
from edgnn.models.counts._parts import pairs_of
from edgnn.models.counts._reasons import Column, columns_of
from edgnn.models.counts._representation import (
    DEEPEST,
    FARTHEST,
    Columns,
    Represented,
    View,
    default_views,
)
from edgnn.models.counts._wording import Wording

_Array = np.ndarray[Any, Any]

_EVERYTHING = 2**62


@dataclass(eq=False, repr=False)
class CountTable(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Count what graphs are made of: a table for LightGBM, TabPFN and any other learner.

    A column is a color of Weisfeiler-Lehman refinement after some rounds, from one of several
    labelings, as :class:`AutoClassifier` counts them; or a pair of nodes at a distance; or a number
    such as a descriptor. New graphs are counted in the same columns: what they have beyond is left
    out.

    Parameters
    ----------
    rounds : int
        Most rounds of refinement.
    most_columns : int, optional
        No more counts than so many: first those that about half of the graphs have. Default: all
        that two graphs have, or differ in.
    pairs : bool
        Whether pairs of nodes are counted, where the graphs are molecules.
    numbers : {"auto", "rdkit", "none"}
        Which numbers stand behind the counts: features of the graphs, and of molecules RDKit's
        descriptors (``"auto"``: features alone).
    sparse_output : bool
        Whether the table is sparse.

    Examples
    --------
    >>> from edgnn.models import CountTable
    >>> table = CountTable(rounds=1, sparse_output=False)
    >>> table.fit_transform(["CC(=O)N", "CC(=O)NC", "CCO", "CCC(=O)N"]).shape
    (4, 9)
    >>> table.get_feature_names_out()[[0, -1]].tolist()
    ['elements and rings, round 0: C #805a', 'atom types, round 1: NH2(-C) #5188']
    """

    rules: ClassVar[Rules] = {
        "rounds": whole(0, DEEPEST),
        "most_columns": whole(1).or_none("all"),
        "numbers": one_of("auto", "rdkit", "none"),
    }

    rounds: int = 2
    _: KW_ONLY
    most_columns: int | None = None
    pairs: bool = False
    numbers: Literal["auto", "rdkit", "none"] = "auto"
    sparse_output: bool = True

    def fit(self, X: Any, y: Any = None) -> CountTable:
        """Choose the columns by graphs."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Choose the columns by graphs, and return their table.

        Shapes
        ------
        → (G, d)
        """
        check(self.get_params(deep=False), self.rules, EstimatorError)
        raw = graphs_of(numbered_by_appearance(read_items(X, ("graph",))))
        if not len(raw):
            raise EstimatorError("X holds no graphs: there is nothing to count (0 samples)")
        if self.numbers == "rdkit" and not has_chemistry(raw):
            raise EstimatorError("numbers='rdkit' is for molecules read with their attributes")
        self._coder = Coder.of(raw, None, "once")
        graphs = self._coder.encode(raw)
        views = default_views(graphs, self.rounds)
        self._views = tuple(view for view in views if view.kind == "colors" or self.pairs)
        items = self._counted(raw, graphs)
        chosen = _without_repeats(Columns.of(items, _EVERYTHING, self.rounds), self._views)
        if self.most_columns is not None:
            chosen = _limited(chosen, items, self.most_columns)
        self._columns = chosen
        names = [] if self.numbers == "none" else number_names(raw, self.numbers == "rdkit")
        table = self._columns.table(items)
        self._describe(table, graphs, names)
        return self._output(table)

    def transform(self, X: Any) -> Any:
        """Return the table of graphs, in the columns that were chosen.

        Shapes
        ------
        → (G, d)
        """
        self._check_fitted()
        raw = graphs_of(numbered_by_appearance(read_items(X, ("graph",))))
        items = self._counted(raw, self._coder.encode(raw))
        if items.features.shape[1] != len(self._numbers):
            raise EstimatorError(
                f"the graphs have {items.features.shape[1]} numbers beside them, those that were "
                f"fitted {len(self._numbers)}: give the same features"
            )
        return self._output(self._columns.table(items))

    def get_feature_names_out(self, input_features: Any = None) -> _Array:
        """Return the names of the columns: labeling, round, and the color in words."""
        self._check_fitted()
        texts = dict(self._texts())
        names = [
            self._numbers[column.name]
            if column.kind == "number"
            else f"{self._head(column)}: {texts[column]}"
            for column in self._described
        ]
        return np.array(_distinct(names, self._described), dtype=object)

    def _counted(self, raw: Graphs, graphs: Graphs) -> Represented:
        counts = tuple(view.count(graphs) for view in self._views)
        numbers: _Array = np.zeros((len(raw), 0))
        if self.numbers != "none":
            numbers = numbers_of(raw, self.numbers == "rdkit")
        return Represented(self._views, counts, numbers)

    def _describe(self, table: csr_array, graphs: Graphs, numbers: list[str]) -> None:
        """Keep of the graphs those that show what the columns count."""
        self._numbers = numbers
        self._described = columns_of(self._columns, self._views, len(numbers))
        by_column = table.tocsc()
        counts = len(self._described) - len(numbers)
        first = by_column.indices[by_column.indptr[:counts]] if counts else np.zeros(0, np.int64)
        self._examples = graphs[np.unique(first).astype(np.int64)]

    def _texts(self) -> Iterator[tuple[Column, str]]:
        """Yield what each count is of, in words."""
        for number, view in enumerate(self._views):
            own = [column for column in self._described if column.view == number]
            if not own:
                continue
            depth = max(column.round for column in own)
            wording = Wording.of(self._examples, view, depth)
            if view.kind == "pairs":
                yield from _pair_texts(own, wording)
                continue
            for round in range(depth + 1):
                names, nodes = np.unique(wording.hashes[round], return_index=True)
                for column in own:
                    if column.round == round:
                        node = int(nodes[np.searchsorted(names, column.name)])
                        yield column, wording.text(round, node)

    def _head(self, column: Column) -> str:
        view: View = self._views[column.view]
        several = {other.scheme for other in self._views} != {view.scheme}
        name = f"{view.labeling.name} ({view.scheme})" if several else view.labeling.name
        return f"{name}, pair" if column.kind == "pair" else f"{name}, round {column.round}"

    def _output(self, table: csr_array) -> Any:
        return table if self.sparse_output else table.toarray()

    def _check_fitted(self) -> None:
        if not hasattr(self, "_columns"):
            raise NotFitted("this CountTable is not fitted yet: call fit first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_columns")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _without_repeats(columns: Columns, views: tuple[View, ...]) -> Columns:
    """Leave out what an earlier view counts as well: the labels that a labeling begins with."""
    seen = set()
    names = []
    for view, rounds in zip(views, columns.names, strict=True):
        if view.kind == "colors" and view.labeling in seen:
            rounds = (rounds[0][:0], *rounds[1:])
        if view.kind == "colors":
            seen.add(view.labeling)
        names.append(rounds)
    return Columns(tuple(names))


def _limited(columns: Columns, items: Represented, most: int) -> Columns:
    """Return no more columns than so many: those that about half of the items have come first."""
    without_numbers = Represented(items.views, items.counts, items.features[:, :0])
    have = np.bincount(columns.table(without_numbers).indices)
    hashes = np.concatenate([names for rounds in columns.names for names in rounds])
    have = np.pad(have, (0, len(hashes) - len(have)))
    order = np.lexsort((hashes, -np.minimum(have, len(items) - have)))
    kept = np.zeros(len(hashes), dtype=bool)
    kept[order[:most]] = True
    chosen, begin = [], 0
    for rounds in columns.names:
        own = []
        for names in rounds:
            own.append(names[kept[begin : begin + len(names)]])
            begin += len(names)
        chosen.append(tuple(own))
    return Columns(tuple(chosen))


def _pair_texts(columns: list[Column], wording: Wording) -> Iterator[tuple[Column, str]]:
    names, source, target, distance = pairs_of(wording.graphs, wording.hashes[-1], FARTHEST)
    known, first = np.unique(names, return_index=True)
    for column in columns:
        pair = int(first[np.searchsorted(known, column.name)])
        ends = sorted(wording.text(column.round, int(end[pair])) for end in (source, target))
        steps = int(distance[pair])
        between = f"{steps} edges apart" if steps > 1 else "joined"
        yield column, f"{ends[0]} and {ends[1]}, {between}"


def _distinct(names: list[str], columns: list[Column]) -> list[str]:
    """Return names with as much of the hash of each count as tells all of them apart."""
    for digits in (4, 8, 16):
        marked = [
            name if column.kind == "number" else f"{name} #{_hexadecimal(column.name)[:digits]}"
            for name, column in zip(names, columns, strict=True)
        ]
        if len(set(marked)) == len(marked):
            break
    return marked


def _hexadecimal(name: int) -> str:
    return f"{name & (2**64 - 1):016x}"
