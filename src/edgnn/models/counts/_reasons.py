"""Reasons in the data: similar training items, rules of a sparse model, exact contributions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models.counts._labelings import relabeled
from edgnn.models.counts._parts import pairs_of
from edgnn.models.counts._representation import FARTHEST, Columns, Represented, View
from edgnn.models.counts._ridge_learner import FittedRidge, kernel, similarity
from edgnn.models.counts._sparse import FittedSparse
from edgnn.models.counts._wording import Wording
from edgnn.wl import signatures

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Similar:
    """A training item that an item resembles.

    Parameters
    ----------
    position : int
        Among the training items with a target, in their order.
    name : str
        The name of its graph; its position where it has none.
    similarity : float
        0 to 1.
    target : object
        Its class or value; of several a row.
    share : array
        What it adds to the score of each class, label or value that ridge predicts.

    Shapes
    ------
    share (K,)
    """

    position: int
    name: str
    similarity: float
    target: Any
    share: _Array


@dataclass(frozen=True)
class Rule:
    """A count or number that a sparse linear model gives a weight.

    Parameters
    ----------
    target : object
        The class, label or target that the weight is for.
    weight : float
        What one more of it adds to the log-odds of a class or label, or to the value; of a number,
        what one standard deviation adds.
    effect : float
        The weight times the standard deviation of the column among the training items.
    kind : {"color", "pair", "number"}
        What is counted.
    view : str
        Which labels and refinement the color is of; empty for numbers.
    round : int
        After how many rounds.
    text : str
        What it is, in words.
    items : int
        How many training items have it (numbers: all).
    by_class : tuple of int
        How many items of each class, or with each label; empty for values.
    mean_with, mean_without : float
        Of values: the mean of the items with it and without it; else NaN.
    position, name, nodes
        A training item that has it, the name of that, and which of its nodes.
    """

    target: Any
    weight: float
    effect: float
    kind: Literal["color", "pair", "number"]
    view: str
    round: int
    text: str
    items: int
    by_class: tuple[int, ...]
    mean_with: float
    mean_without: float
    position: int
    name: str
    nodes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Contributions:
    """A prediction as a sum over nodes and a rest.

    Parameters
    ----------
    node : array
        What each node adds: the weights of its colors, and half of those of the pairs it is in.
    rest : array
        What the numbers of each item add: descriptors and features.
    intercept : array
        What every prediction begins with.
    graph_offset : array
        Where the nodes of each item begin.

    Shapes
    ------
    node (N, K), rest (n, K), intercept (K,), graph_offset (n + 1,)
    """

    node: _Array
    rest: _Array
    intercept: _Array
    graph_offset: _Array

    @property
    def scores(self) -> _Array:
        """The sums: values as predicted; log-odds of labels, or of each class against the others.

        Of two classes, the second column has the log-odds of the second class.

        Shapes
        ------
        → (n, K)
        """
        sums = np.concatenate([np.zeros((1, self.node.shape[1])), np.cumsum(self.node, axis=0)])
        of_items = sums[self.graph_offset[1:]] - sums[self.graph_offset[:-1]]
        scores: _Array = of_items + self.rest + self.intercept
        return scores


@dataclass(frozen=True)
class Column:
    """What a column of the table counts."""

    kind: Literal["color", "pair", "number"]
    view: int
    round: int
    name: int


def columns_of(columns: Columns, views: tuple[View, ...], numbers: int) -> list[Column]:
    """Return what each column of the table counts; numbers come last."""
    described: list[Column] = []
    for number, (view, rounds) in enumerate(zip(views, columns.names, strict=True)):
        kind: Any = "color" if view.kind == "colors" else "pair"
        for round, names in enumerate(rounds):
            depth = round if view.kind == "colors" else view.rounds
            described += [Column(kind, number, depth, name) for name in names.tolist()]
    return described + [Column("number", -1, 0, place) for place in range(numbers)]


# Similar items


def most_similar(ridge: FittedRidge, items: Represented, count: int) -> Iterator[Any]:
    """Yield positions of the most similar centers of each item, similarities and shares."""
    alike = similarity(items, ridge.centers, ridge.solution.mixture)
    values = kernel(alike, ridge.solution.width)
    for row, weights in zip(alike, values, strict=True):
        order = np.argsort(-row, kind="stable")[:count]
        yield order, row[order], weights[order, None] * ridge.solution.weight[order]


# Contributions


def contributions(
    fitted: FittedSparse, columns: Columns, graphs: Graphs, items: Represented
) -> Contributions:
    """Return what each node adds to the raw scores of a sparse model: exact but for rounding."""
    outputs, width = len(fitted.intercept), items.features.shape[1]
    described = columns_of(columns, items.views, width)
    coefficient = np.zeros((len(described), outputs))
    np.add.at(coefficient, (fitted.column, fitted.output), fitted.coefficient)
    node = np.zeros((graphs.num_nodes, outputs))
    begin = 0
    for view, rounds in zip(items.views, columns.names, strict=True):
        sizes = [len(names) for names in rounds]
        ends = begin + np.cumsum([0, *sizes])
        used = [coefficient[first:last] for first, last in pairwise(ends.tolist())]
        begin = int(ends[-1])
        if any(weights.any() for weights in used):
            node += _of_nodes(view, rounds, used, graphs)
    numbers = items.features.astype(np.float32).astype(np.float64)
    rest = numbers @ coefficient[begin:]
    offset = graphs.graph_offset.cpu().numpy()
    return Contributions(node, rest, fitted.intercept, offset - offset[0])


def _of_nodes(
    view: View, rounds: tuple[_Array, ...], weights: list[_Array], graphs: Graphs
) -> _Array:
    """Return what the colors of nodes, or the pairs that they are in, add up to."""
    labeled = relabeled(graphs, view.labeling)
    hashes = [part.cpu().numpy() for part in signatures(labeled, view.rounds, view.scheme)]
    total: _Array = np.zeros((graphs.num_nodes, weights[0].shape[1]))
    if view.kind == "pairs":
        names, source, target, _ = pairs_of(labeled, hashes[-1], FARTHEST)
        of_pairs = _looked_up(rounds[0], weights[0], names) / 2
        np.add.at(total, source, of_pairs)
        np.add.at(total, target, of_pairs)
        return total
    for names, own, colors in zip(rounds, weights, hashes, strict=True):
        total += _looked_up(names, own, colors)
    return total


def _looked_up(names: _Array, weights: _Array, wanted: _Array) -> _Array:
    """Return the weights of parts by their names; zero where a part is no column."""
    if not len(names):
        return np.zeros((len(wanted), weights.shape[1]))
    place = np.searchsorted(names, wanted).clip(max=len(names) - 1)
    found: _Array = np.where((names[place] == wanted)[:, None], weights[place], 0.0)
    return found


# Rules


@dataclass(frozen=True, eq=False)
class Evidence:
    """Training items as a table, with what its columns count.

    Parameters
    ----------
    graphs : Graphs
        The training items, labels as the model numbers them.
    columns : Columns
        Which counts are columns.
    items : Represented
        The counts.
    numbers : list of str
        What the numbers behind the counts are called.
    """

    graphs: Graphs
    columns: Columns
    items: Represented
    numbers: list[str]

    def occurrence(self, column: Column, holders: _Array) -> tuple[int, str, tuple[int, ...]]:
        """Return the smallest item that has a part, the part in words, and its nodes there."""
        sizes = self.graphs.sizes.cpu().numpy()
        position = int(holders[np.argmin(sizes[holders])])
        view, graph = self.items.views[column.view], self.graphs[position : position + 1]
        wording = Wording.of(graph, view, column.round)
        if column.kind == "color":
            nodes = wording.nodes(column.round, column.name).tolist()
            return position, wording.text(column.round, nodes[0]), tuple(nodes)
        names, source, target, distance = pairs_of(graph, wording.hashes[-1], FARTHEST)
        pair = int(np.flatnonzero(names == column.name)[0])
        ends = int(source[pair]), int(target[pair])
        texts = [wording.text(column.round, node) for node in ends]
        steps = int(distance[pair])
        between = f"{steps} edges apart" if steps > 1 else "joined"
        return position, f"{' and '.join(sorted(texts))}, {between}", ends


def described_columns(evidence: Evidence, table: Any, chosen: list[int]) -> Iterator[Any]:
    """Yield, for columns of a table, what they count, the items that have it, and where."""
    described = columns_of(evidence.columns, evidence.items.views, evidence.items.features.shape[1])
    by_column = table.tocsc()
    for place in chosen:
        column = described[place]
        if column.kind == "number":
            text = evidence.numbers[column.name]
            yield column, np.arange(len(evidence.items)), (0, text, ())
            continue
        holders = by_column.indices[by_column.indptr[place] : by_column.indptr[place + 1]]
        yield column, holders, evidence.occurrence(column, holders)


def spread(table: Any) -> _Array:
    """Return the standard deviation of every column."""
    mean = np.asarray(table.mean(axis=0)).ravel()
    square = np.asarray(table.multiply(table).mean(axis=0)).ravel()
    deviation: _Array = np.sqrt(np.maximum(square - mean**2, 0))
    return deviation


@dataclass(frozen=True)
class Weight:
    """The weight of a column for an output, and its spread among the training items."""

    column: int
    output: int
    coefficient: float
    deviation: float

    @property
    def effect(self) -> float:
        """How much the column changes the output from item to item."""
        return abs(self.coefficient) * self.deviation


def strongest(fitted: FittedSparse, table: Any, count: int) -> list[Weight]:
    """Return the weights that matter most among the items of a table.

    Columns that are equal for all items are one, with the sum of their weights: several views have
    the same colors at first.
    """
    by_column, deviations = table.tocsc(), spread(table)
    by_column.sort_indices()
    first: dict[tuple[int, bytes, bytes], int] = {}
    sums: dict[tuple[int, bytes, bytes], float] = {}
    weights = zip(fitted.column, fitted.output, fitted.coefficient, strict=True)
    for column, output, coefficient in sorted(weights):
        rows = slice(by_column.indptr[column], by_column.indptr[column + 1])
        content = by_column.indices[rows].tobytes(), by_column.data[rows].tobytes()
        key = (int(output), *content)
        first.setdefault(key, int(column))
        sums[key] = sums.get(key, 0.0) + float(coefficient)
    found = [
        Weight(column, key[0], sums[key], float(deviations[column]))
        for key, column in first.items()
    ]
    found = [weight for weight in found if weight.effect > 0]
    return sorted(found, key=lambda weight: -weight.effect)[:count]


def check_count(count: Any) -> int:
    """Return how many are asked for; raise where that is no number above zero."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise EstimatorError(f"count={count!r}: give a whole number, 1 or more")
    return int(count)
