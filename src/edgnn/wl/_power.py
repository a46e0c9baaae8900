"""What a refinement, and so every model bounded by it, can reach at best on a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn.errors import GraphError
from edgnn.graphs import Input, Multiplicity, Nodes, joined
from edgnn.wl._coloring import refine
from edgnn.wl._compare import graph_classes
from edgnn.wl._neighborhood import Direction, Scheme

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Power:
    """What is possible after one round.

    Parameters
    ----------
    round : int
        Depth of the refinement, or number of layers of a model.
    distinct : int
        How many classes the graphs or nodes fall into.
    colliding : int
        How many share their class with another one.
    ceiling : float, optional
        The best accuracy on the whole set of any model that gives equal outputs within a class; for
        real-valued targets the smallest root mean squared error; ``None`` without targets.
    """

    round: int
    distinct: int
    colliding: int
    ceiling: float | None


def power(
    items: Input,
    targets: _Array | None = None,
    *,
    rounds: int = 20,
    scheme: Scheme = "separate",
    multiplicity: Multiplicity = "once",
    direction: Direction = "both",
    exact: bool = False,
) -> list[Power]:
    """Measure, round by round, what color refinement can tell apart among graphs or nodes.

    Rounds after the one in which all nodes have their final color are left out: they change
    nothing.

    Parameters
    ----------
    items : Graphs or Nodes, or list of them
        What is to be told apart.
    targets : array, optional
        One class number or real value per item.
    rounds : int
        Largest depth.
    scheme, multiplicity, direction, exact
        As in :func:`refine`.
    """
    items = joined(items)
    if targets is not None and (np.ndim(targets) != 1 or len(targets) != len(items)):
        raise GraphError(
            f"one target per item is needed: {len(items)} items, targets of shape {np.shape(targets)}"
        )
    graphs = items.graphs if isinstance(items, Nodes) else items
    options: dict[str, Any] = {"multiplicity": multiplicity, "direction": direction, "exact": exact}
    coloring = refine(graphs, rounds, scheme, features="ignore", **options)
    table = []
    for round in range(min(rounds, coloring.history.rounds) + 1):
        if isinstance(items, Nodes):
            classes = coloring.at(round)[items.index].cpu().numpy()
        else:
            classes = graph_classes(coloring, round).numpy()
        _, number, count = np.unique(classes, return_inverse=True, return_counts=True)
        colliding = int(count[count > 1].sum())
        table.append(
            Power(
                round,
                len(count),
                colliding,
                None if targets is None else ceiling(number, np.asarray(targets)),
            )
        )
    return table


def ceiling(classes: _Array, targets: _Array) -> float:
    """Return the best accuracy, or the smallest error, of a prediction that is constant on each class."""
    if len(targets) == 0:
        return float("nan")
    if targets.dtype.kind == "f":
        known = ~np.isnan(targets)
        total = np.bincount(classes[known], targets[known])
        count = np.maximum(np.bincount(classes[known]), 1)
        return float(np.sqrt(np.mean((targets[known] - (total / count)[classes[known]]) ** 2)))
    _, value = np.unique(targets, return_inverse=True)
    votes = np.zeros((int(classes.max()) + 1, int(value.max()) + 1), np.int64)
    np.add.at(votes, (classes, value), 1)
    return float(votes.max(axis=1).sum() / len(targets))
