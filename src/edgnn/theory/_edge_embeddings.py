"""The paper's condition on edge embeddings: sums of them tell label counts apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.theory._exact import Surroundings
from edgnn.theory._partitions import EXAMPLES, first_items, first_of_class, group_rows, number_rows

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class CountViolation:
    """Two nodes whose edges have different labels but the same sum of embeddings.

    Parameters
    ----------
    direction : str
        ``"in"`` for entering edges, ``"out"`` for leaving ones.
    nodes : pair of int
        The two nodes.
    counts : pair of dict
        How many edges of each label they have.
    """

    direction: str
    nodes: tuple[int, int]
    counts: tuple[dict[Any, int], dict[Any, int]]


@dataclass(frozen=True)
class EdgeEmbeddingReport:
    """The result of :func:`edge_embedding_consistent`.

    Parameters
    ----------
    num_labels, rank : int
        Number of rows of f_E, and how many of them are linearly independent.
    equal_labels : tuple of pairs
        Labels that have the same embedding, at most five pairs.
    distinct_counts : int, optional
        Number of different label counts that occur in the graphs, entering and leaving edges apart;
        ``None`` without graphs.
    violations : tuple of CountViolation
        One for every count whose sum an earlier, different count has as well.
    """

    num_labels: int
    rank: int
    equal_labels: tuple[tuple[int, int], ...]
    distinct_counts: int | None
    violations: tuple[CountViolation, ...]

    @property
    def always(self) -> bool:
        """Whether f_E meets the condition on every graph: its rows are linearly independent."""
        return self.rank == self.num_labels

    @property
    def consistent(self) -> bool:
        """Whether f_E meets the condition: on the graphs given; without graphs, on every graph."""
        return self.always if self.distinct_counts is None else not self.violations

    def __str__(self) -> str:
        lines = [f"{self.rank} of {self.num_labels} edge embeddings are linearly independent"]
        if self.always:
            lines[0] += ": the condition holds on every graph"
        else:
            lines[0] += ": some graphs break the condition, or come close"
        lines += [
            f"  labels {first} and {second} have the same embedding"
            for first, second in self.equal_labels
        ]
        if self.distinct_counts is not None:
            lines.append(
                f"  {self.distinct_counts:,} label counts occur, {len(self.violations):,} share "
                "the sum of another"
            )
        for entry in self.violations[:EXAMPLES]:
            first, second = zip(entry.nodes, entry.counts, strict=True)
            nodes = f"node {first[0]} {first[1]}, node {second[0]} {second[1]}"
            lines.append(f"  {entry.direction}: {nodes}")
        return "\n".join(lines)


def edge_embedding_consistent(
    f_E: Tensor | _Array | torch.nn.Embedding,
    graphs: Graphs | None = None,
    *,
    tolerance: float = 1e-6,
) -> EdgeEmbeddingReport:
    r"""Check that sums of edge embeddings tell label counts apart.

    The condition: :math:`\sum_{(u,v)\in E} f_E` are equal for two nodes exactly when their label
    counts are. Equal counts always have equal sums; the question is whether different counts can
    have one sum too. Linearly independent rows, such as one-hot ones, rule that out for all graphs.
    Otherwise the counts that occur in ``graphs`` decide.

    Parameters
    ----------
    f_E : array or torch.nn.Embedding
        One row per edge label, in the order of the graphs' edge vocabulary.
    graphs : Graphs, optional
        Where to look for nodes that break the condition.
    tolerance : float
        Sums count as equal when no component differs by more than this, relative to the largest
        value of the component.

    Shapes
    ------
    f_E : (\|Z\|, d)

    Returns
    -------
    EdgeEmbeddingReport
    """
    table = _table(f_E)
    independent = int(torch.linalg.matrix_rank(table)) if table.numel() else 0
    same = _equal_pairs(number_rows(table))
    if graphs is None:
        return EdgeEmbeddingReport(len(table), independent, same[:EXAMPLES], None, ())
    if len(graphs.edge_vocabulary) != len(table):
        raise GraphError(
            f"f_E has {len(table)} rows, but the graphs have {len(graphs.edge_vocabulary)} edge "
            "labels: one row each"
        )
    around = Surroundings.of(graphs.to("cpu"), "separate")
    distinct, violations = 0, []
    for direction, (row, label, count) in zip(("in", "out"), around.counts, strict=True):
        begin = torch.searchsorted(row, torch.arange(graphs.num_nodes + 1))
        counts = _Counts(begin, label, count.to(torch.int64))
        nodes = first_items(counts.classes())
        distinct += len(nodes)
        sums = torch.zeros(graphs.num_nodes, table.shape[1], dtype=torch.float64)
        sums.index_add_(0, row, table[label] * count[:, None])
        for pair in _equal_pairs(group_rows(sums[nodes], tolerance)):
            first, second = nodes[list(pair)].tolist()
            both = counts.by_label(first, graphs), counts.by_label(second, graphs)
            violations.append(CountViolation(direction, (first, second), both))
    return EdgeEmbeddingReport(
        len(table), independent, same[:EXAMPLES], distinct, tuple(violations)
    )


@dataclass(frozen=True, eq=False)
class _Counts:
    """Label counts by rows: node v has ``label[begin[v]:begin[v + 1]]``, each so often."""

    begin: Tensor
    label: Tensor
    count: Tensor

    def classes(self) -> Tensor:
        """Number nodes with equal counts alike, by first appearance."""
        seen: dict[bytes, int] = {}
        entries, begin = torch.stack([self.label, self.count], 1).numpy(), self.begin.tolist()
        rows = (entries[a:b].tobytes() for a, b in pairwise(begin))
        return torch.tensor([seen.setdefault(row, len(seen)) for row in rows], dtype=torch.int64)

    def by_label(self, node: int, graphs: Graphs) -> dict[Any, int]:
        """Return a node's counts by the values of edge labels."""
        own = slice(int(self.begin[node]), int(self.begin[node + 1]))
        labels = graphs.edge_vocabulary.decode(self.label[own])
        return dict(zip(labels, self.count[own].tolist(), strict=True))


def _table(f_E: Tensor | _Array | torch.nn.Embedding) -> Tensor:
    values = f_E.weight if isinstance(f_E, torch.nn.Embedding) else f_E
    table = torch.as_tensor(values).detach().cpu().to(torch.float64)
    if table.dim() != 2:
        raise GraphError(f"f_E must have one row per edge label, got shape {tuple(table.shape)}")
    if not bool(torch.isfinite(table).all()):
        raise GraphError("f_E has entries that are not finite numbers")
    return table


def _equal_pairs(groups: Tensor) -> tuple[tuple[int, int], ...]:
    """Return every item that is not the first of its group, together with that first one."""
    first = first_of_class(groups)
    others = (first != torch.arange(len(groups))).nonzero()[:, 0]
    return tuple(zip(first[others].tolist(), others.tolist(), strict=True))
