"""Edges as plain tensors: what exported programs and plain torch layers read of graphs.

Everything here is made of torch's own operations, and no size depends on the data, so that
``torch.export`` can trace it for graphs of any size.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from edgnn.graphs import Relations

#: Up to so many labels, they are counted; beyond, the weights of each are looked up and added.
COUNTED_LABELS = 64


class OneHot(NamedTuple):
    """Rows with a single one, given by its column, and features beside it.

    Shapes
    ------
    label (n,), at most ``labels``, which stands for a row without a one; features (n, F)
    """

    label: Tensor
    labels: int
    features: Tensor | None = None

    @classmethod
    def of(cls, label: Tensor, labels: int, features: Tensor | None = None) -> OneHot:
        """Return the rows of label numbers, of which those not below ``labels`` are unknown."""
        return cls(_known(label, labels), labels, features)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.labels + (0 if self.features is None else self.features.shape[1])

    def dense(self, dtype: torch.dtype) -> Tensor:
        """Return the rows as a matrix with a leading axis for members: (1, n, labels + F)."""
        rows = one_hot(self.label, self.labels + 1)[:, : self.labels].to(dtype)
        if self.features is not None:
            rows = torch.cat([rows, self.features], dim=1)
        return rows.unsqueeze(0)

    def times(self, weight: Tensor) -> Tensor:
        """Return the product with a weight per member: (M, labels + F, d) → (M, n, d)."""
        rows = with_zero_row(weight[:, : self.labels]).index_select(1, self.label)
        if self.features is None:
            return rows
        return rows + times(self.features, weight[:, self.labels :])


class Pairs(NamedTuple):
    """Who receives from whom, and how often; repeated pairs have the weight zero.

    Shapes
    ------
    row (P,), column (P,), weight (P,)
    """

    row: Tensor
    column: Tensor
    weight: Tensor


class Edges:
    """Edges as plain tensors, and what layers derive from them, each when first asked for.

    A plain torch layer reads ``source``, ``target``, ``relation`` and ``features``: an edge counts
    once along its direction and, with ``direction="both"``, once more against it.

    Parameters
    ----------
    source, target, label : Tensor
        Of the edges; labels that are not below ``labels`` are not known.
    features : Tensor, optional
        A row per edge.
    nodes : int
        Number of nodes.
    labels : int
        Number of edge labels.
    direction : {"both", "in"}
        Whether edges count in both directions.
    once : bool
        Whether a neighbor counts once, however many edges lead to it.
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
        self.nodes = nodes
        self._source, self._target, self._features = source, target, features
        self._label, self._labels = _known(label, labels), labels
        self._direction, self._once, self._dtype = direction, once, dtype
        self._both = direction == "both"
        self._sides = (target, source) if self._both else (target,)

    @cached_property
    def neighbors(self) -> Pairs:
        """N(v)."""
        return pairs_of(
            self._source, self._target, self.nodes, self._direction, self._once, self._dtype
        )

    def degrees(self, direction: Literal["in", "out", "both"]) -> Tensor:
        """Return the in-, out- or total degree of every node."""
        source, target = self._source, self._target
        if direction == "out":
            source, target = target, source
        counted: Literal["both", "in"] = "both" if direction == "both" else "in"
        pairs = pairs_of(source, target, self.nodes, counted, self._once, torch.int64)
        return pairs.weight.new_zeros(self.nodes).index_add(0, pairs.row, pairs.weight)

    def neighbor_sum(self, x: Tensor) -> Tensor:
        """Return the sum of the states of each node's neighbors: (M, N, d) → (M, N, d)."""
        pairs = self.neighbors
        sent = x.index_select(1, pairs.column) * pairs.weight.unsqueeze(1)
        return add_rows(sent, pairs.row, self.nodes)

    def label_product(self, side: int, weight: Tensor) -> Tensor:
        """Return C·W for the label counts C of entering (0) or leaving (1) edges.

        Shapes
        ------
        weight (M, Z, d) → (M, N, d)
        """
        node = self._sides[side]
        labels = OneHot(self._label, self._labels)
        if self._labels > COUNTED_LABELS:
            return add_rows(labels.times(weight), node, self.nodes)
        return times(self._counts[side], weight)

    @cached_property
    def _counts(self) -> tuple[Tensor, ...]:
        """How often each node has each edge label, (N, Z), of entering and of leaving edges."""
        width = self._labels + 1  # the last is for labels that are not known
        tables = []
        for node in self._sides:
            ones = torch.ones_like(node, dtype=self._dtype)
            empty = ones.new_zeros(self.nodes * width)
            table = empty.index_add(0, node * width + self._label, ones)
            tables.append(table.view(self.nodes, width)[:, : self._labels])
        return tuple(tables)

    @cached_property
    def feature_sums(self) -> tuple[Tensor, ...]:
        """Features of entering and of leaving edges, added up: (N, D)."""
        rows = self._features
        if rows is None:
            return ()
        empty = rows.new_zeros(self.nodes, rows.shape[1])
        return tuple(empty.index_add(0, node, rows) for node in self._sides)

    @cached_property
    def source(self) -> Tensor:
        """The node that sends, along edges and then against them: (S,)."""
        return torch.cat([self._source, self._target]) if self._both else self._source

    @cached_property
    def target(self) -> Tensor:
        """The node that receives: (S,)."""
        return torch.cat([self._target, self._source]) if self._both else self._target

    @cached_property
    def relation(self) -> Tensor:
        """The number of label and direction: (S,); all unknown labels are one more at the end."""
        label, labels = self._label, self._labels
        if not self._both:
            return label
        is_known = label < labels
        along = torch.where(is_known, label, 2 * labels)
        against = torch.where(is_known, label + labels, 2 * labels)
        return torch.cat([along, against])

    @cached_property
    def features(self) -> Tensor | None:
        """Features of what is sent, those of the other direction being zero: (S, D) or (S, 2D)."""
        rows = self._features
        if rows is None or not self._both:
            return rows
        none = torch.zeros_like(rows)
        return torch.cat([torch.cat([rows, none], dim=1), torch.cat([none, rows], dim=1)])


class ListedEdges(NamedTuple):
    """What a plain torch layer reads of :class:`Edges`, taken from a structure.

    Shapes
    ------
    source (S,), target (S,), relation (S,), features (S, D) or (S, 2D)
    """

    source: Tensor
    target: Tensor
    relation: Tensor
    features: Tensor | None = None

    @classmethod
    def of_blocks(cls, sources: Relations, labels: int, *, both: bool) -> list[ListedEdges]:
        """List the edges of :attr:`~edgnn.Structure.sources` by target, block by block."""
        spread, gather = sources.spread, sources.gather
        pair, target = spread.indices.long(), spread.row_of_entry
        source = gather.indices[gather.indptr[pair].long()].long()
        relation_of_pair = _relations(sources.relation_of_pair, labels, both=both)
        features_of_pair = _pair_features(sources, labels, both=both)
        blocks = spread.blocks
        rows, pairs = (size // blocks for size in spread.shape)
        nodes = gather.shape[1] // blocks
        ends = [0, len(pair)]
        if blocks > 1:  # a single block is not asked for: that would wait for a device
            # numbered by rows, not sliced by a step, which would be zero for blocks without nodes
            ends = spread.indptr[torch.arange(blocks + 1) * rows].tolist()
        listed = []
        for block, (start, stop) in enumerate(pairwise(ends)):
            of_block = slice(start, stop)
            local = pair[of_block] - block * pairs
            listed.append(
                cls(
                    source[of_block] - block * nodes,
                    target[of_block] - block * rows,
                    relation_of_pair[local],
                    None if features_of_pair is None else features_of_pair[block, local],
                )
            )
        return listed


def _relations(slot: Tensor, labels: int, *, both: bool) -> Tensor:
    """Return the relation of each pair, with one number for all unknown labels, the last.

    In lists by source, the unknown label is one more relation of each direction.
    """
    side, label = slot // (labels + 1), slot % (labels + 1)
    unknown = labels * (2 if both else 1)
    return torch.where(label < labels, side * labels + label, unknown)


def _pair_features(sources: Relations, labels: int, *, both: bool) -> Tensor | None:
    """Return the features of each block's pairs: (blocks, P, D) or (blocks, P, 2D).

    Edges that are followed backward have them in other columns.
    """
    if sources.features is None:
        return None
    blocks, pairs = sources.spread.blocks, sources.spread.shape[1]
    rows = sources.features.view(blocks, pairs // blocks, sources.features.shape[-1])
    if not both:
        return rows
    along = (sources.relation_of_pair <= labels).to(rows.dtype).unsqueeze(1)
    return torch.cat([rows * along, rows * (1 - along)], dim=-1)


def times(x: Tensor, weight: Tensor) -> Tensor:
    """Return the product of states with a weight per member.

    ``x @ weight`` would not do: traced with one example row, it refuses a single row later.

    Shapes
    ------
    x : (M, n, in), (1, n, in) or (n, in); weight : (M, in, out) → (M, n, out)
    """
    x = x.unsqueeze(0) if x.dim() == 2 else x
    return torch.bmm(x.expand(weight.shape[0], -1, -1), weight)


def either_times(x: Tensor | OneHot, weight: Tensor) -> Tensor:
    """Return the product of states or of one-hot rows with a weight per member."""
    return x.times(weight) if isinstance(x, OneHot) else times(x, weight)


def with_zero_row(weight: Tensor) -> Tensor:
    """Return weights with a last row of zeros, for unknown labels: (M, n, d) → (M, n + 1, d)."""
    return torch.cat([weight, weight.new_zeros(weight.shape[0], 1, weight.shape[2])], dim=1)


def _known(label: Tensor, labels: int) -> Tensor:
    """Return label numbers with ``labels`` in the place of all that are not below it."""
    return torch.where((label >= 0) & (label < labels), label, labels)


def add_rows(rows: Tensor, target: Tensor, count: int) -> Tensor:
    """Add rows up by their target: (M, n, d) → (M, count, d)."""
    return rows.new_zeros(rows.shape[0], count, rows.shape[2]).index_add(1, target, rows)


def pairs_of(
    source: Tensor,
    target: Tensor,
    nodes: int,
    direction: Literal["both", "in"],
    once: bool,
    dtype: torch.dtype,
) -> Pairs:
    """List for every node those it receives from.

    With ``once``, only the first of equal pairs has a weight: to drop the others would make the
    size of the list depend on the data.
    """
    row, column = target, source
    if direction == "both":
        row, column = torch.cat([target, source]), torch.cat([source, target])
    if not once:
        return Pairs(row, column, torch.ones_like(row, dtype=dtype))
    key, order = torch.sort(row * nodes + column)
    before = torch.cat([key.new_full((1,), -1), key])
    weight = (before[1:] != before[:-1]).to(dtype)
    return Pairs(row.index_select(0, order), column.index_select(0, order), weight)
