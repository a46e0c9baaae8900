"""Weisfeiler–Lehman relabeling along the edges that leave a node, for RDF2Vec."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgnn._arrays import segment_sum
from edgnn._hashing import mix
from edgnn.models.rivals._walks import Ways

_Array = np.ndarray[Any, Any]

_PREDICATE, _ROUND = (
    1,
    2,
)  # what a hash is for, so that equal numbers of different kinds are not taken for one another


def relabeled(ways: Ways, labels: _Array, rounds: int) -> _Array:
    """Return the label of every node after each round, numbered by first appearance.

    A round gives a node a new label made of its own and those of (predicate, node) over the ways
    that leave it. A node whose surroundings were not relabeled in the round before keeps its label,
    so labels settle from the dead ends on.

    Parameters
    ----------
    ways : Ways
        The edges to look along.
    labels : array
        Whole numbers, the labels at the start; 0, 1, …, N−1 for nodes that are all different, which
        then stay their numbers.
    rounds : int
        How many.

    Shapes
    ------
    labels (N,) → (rounds + 1, N)
    """
    now: _Array = mix(labels.astype(np.int64))
    after, changed = [now], np.ones(len(labels), dtype=bool)
    predicate = mix(ways.label.astype(np.int64), _PREDICATE)
    for _ in range(rounds):
        looks = segment_sum(changed[ways.target].astype(np.int64), ways.indptr) > 0
        around = segment_sum(mix(now[ways.target] ^ predicate), ways.indptr)
        new = np.where(looks, mix(now + mix(around), _ROUND), now)
        changed, now = new != now, new
        after.append(new)
    return _numbered(np.concatenate(after)).reshape(rounds + 1, len(labels))


def _numbered(values: _Array) -> _Array:
    """Number distinct values by first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbers: _Array = rank[inverse]
    return numbers
