"""What an exported program finds out about edges, in torch's own operations and without sizes that depend on data."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

#: Up to so many labels, they are counted; beyond, the weights of each are looked up and added.
COUNTED_LABELS = 64


class OneHot(NamedTuple):
    """Rows with a single one, given by its column, and features beside it; rows whose label is not known have none.

    Shapes
    ------
    label (n,), at most ``labels``, which stands for none; features (n, F)
    """

    label: Tensor
    labels: int
    features: Tensor | None = None

    def dense(self, dtype: torch.dtype) -> Tensor:
        """Return the rows as a matrix with a leading axis for members: (1, n, labels + F)."""
        rows = one_hot(self.label, self.labels + 1)[:, : self.labels].to(dtype)
        return (
            rows if self.features is None else torch.cat([rows, self.features], dim=1)
        ).unsqueeze(0)

    def times(self, weight: Tensor) -> Tensor:
        """Return the product with a weight per member: (M, labels + F, d) → (M, n, d)."""
        rows = with_zero_row(weight[:, : self.labels]).index_select(1, self.label)
        return (
            rows if self.features is None else rows + times(self.features, weight[:, self.labels :])
        )


class Pairs(NamedTuple):
    """Who receives from whom, and how often; pairs that are counted already have the weight zero.

    Shapes
    ------
    row (P,), column (P,), weight (P,)
    """

    row: Tensor
    column: Tensor
    weight: Tensor


class Wiring:
    """What the layers read of the edges, each part found out when the first layer asks for it.

    Parameters
    ----------
    source, target, label : Tensor
        Of the edges; labels that are not below ``labels`` are not known.
    features : Tensor, optional
        A row per edge.
    nodes : int
        How many there are.
    labels : int
        Number of edge labels.
    direction, once
        As of the model: both directions or one, neighbors once or once per edge.
    dtype : dtype
        Of counts and weights.

    Shapes
    ------
    source (E,), target (E,), label (E,), features (E, D)
    """

    def __init__(
        self,
        source: Tensor,
        target: Tensor,
        label: Tensor,
        features: Tensor | None,
        nodes: int,
        *,
        labels: int,
        direction: Literal["both", "in"],
        once: bool,
        dtype: torch.dtype,
    ) -> None:
        self.nodes, self._source, self._target, self._features = nodes, source, target, features
        self._label, self._labels = known(label, labels), labels
        self._direction, self._once, self._dtype = direction, once, dtype
        self._both = direction == "both"
        self._sides = (target, source) if self._both else (target,)

    @cached_property
    def neighbors(self) -> Pairs:
        """N(v)."""
        return pairs_of(
            self._source, self._target, self.nodes, self._direction, self._once, self._dtype
        )

    @cached_property
    def counts(self) -> tuple[Tensor | tuple[OneHot, Tensor], ...]:
        """How often each node meets each edge label, (N, Z), of entering and of leaving edges; or labels and their nodes."""
        label = OneHot(self._label, self._labels)
        if self._labels > COUNTED_LABELS:
            return tuple((label, place) for place in self._sides)
        return tuple(_counts(place, label, self.nodes, self._dtype) for place in self._sides)

    @cached_property
    def sums(self) -> tuple[Tensor, ...]:
        """Features of entering and of leaving edges, added up: (N, D)."""
        rows = self._features
        if rows is None:
            return ()
        return tuple(
            rows.new_zeros(self.nodes, rows.shape[1]).index_add(0, place, rows)
            for place in self._sides
        )

    @cached_property
    def source(self) -> Tensor:
        """Who sends, along edges and then against them: (S,)."""
        return torch.cat([self._source, self._target]) if self._both else self._source

    @cached_property
    def target(self) -> Tensor:
        """Who receives: (S,)."""
        return torch.cat([self._target, self._source]) if self._both else self._target

    @cached_property
    def relation(self) -> Tensor:
        """The number of label and direction; all that are not known are one more, behind the others: (S,)."""
        label, labels = self._label, self._labels
        if not self._both:
            return label
        there = label < labels
        return torch.cat(
            [torch.where(there, label, 2 * labels), torch.where(there, label + labels, 2 * labels)]
        )

    @cached_property
    def features(self) -> Tensor | None:
        """Features of what is sent, those of the other direction being zero: (S, D), or (S, 2D)."""
        rows = self._features
        if rows is None or not self._both:
            return rows
        none = torch.zeros_like(rows)
        return torch.cat([torch.cat([rows, none], dim=1), torch.cat([none, rows], dim=1)])


def times(x: Tensor, weight: Tensor) -> Tensor:
    """Return the product of states, or of what all members share, with a weight per member; ``@`` would refuse a single row.

    Shapes
    ------
    x : (M, n, in), (1, n, in) or (n, in); weight : (M, in, out) → (M, n, out)
    """
    x = x.unsqueeze(0) if x.dim() == 2 else x
    return torch.bmm(x.expand(weight.shape[0], -1, -1), weight)


def with_zero_row(weight: Tensor) -> Tensor:
    """Return weights with a row of zeros behind the others, for what is not known: (M, n, d) → (M, n + 1, d)."""
    return torch.cat([weight, weight.new_zeros(weight.shape[0], 1, weight.shape[2])], dim=1)


def known(label: Tensor, labels: int) -> Tensor:
    """Return label numbers with ``labels`` in the place of all that are not below it."""
    return torch.where((label >= 0) & (label < labels), label, labels)


def add_rows(rows: Tensor, place: Tensor, count: int) -> Tensor:
    """Add rows up by their place: (M, n, d) → (M, count, d)."""
    return rows.new_zeros(rows.shape[0], count, rows.shape[2]).index_add(1, place, rows)


def pairs_of(
    source: Tensor,
    target: Tensor,
    nodes: int,
    direction: Literal["both", "in"],
    once: bool,
    dtype: torch.dtype,
) -> Pairs:
    """List for every node those it receives from; with ``once``, only the first of equal pairs has a weight."""
    row, column = (
        (target, source)
        if direction == "in"
        else (torch.cat([target, source]), torch.cat([source, target]))
    )
    if not once:
        return Pairs(row, column, torch.ones_like(row, dtype=dtype))
    key, order = torch.sort(row * nodes + column)
    before = torch.cat([key.new_full((1,), -1), key])
    weight = (before[1:] != before[:-1]).to(dtype)
    return Pairs(row.index_select(0, order), column.index_select(0, order), weight)


def degrees_of(
    source: Tensor, target: Tensor, nodes: int, direction: Literal["in", "out", "both"], once: bool
) -> Tensor:
    """Return the in-, out- or total degree of every node."""
    if direction == "out":
        source, target = target, source
    pairs = pairs_of(
        source, target, nodes, "both" if direction == "both" else "in", once, torch.int64
    )
    return pairs.weight.new_zeros(nodes).index_add(0, pairs.row, pairs.weight)


def _counts(place: Tensor, label: OneHot, nodes: int, dtype: torch.dtype) -> Tensor:
    width = label.labels + 1
    ones = torch.ones_like(place, dtype=dtype)
    flat = ones.new_zeros(nodes * width).index_add(0, place * width + label.label, ones)
    return flat.view(nodes, width)[:, : label.labels]
