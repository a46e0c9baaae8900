"""Which nodes walks start from: the given ones, those like them, or all with edges."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs, Nodes

_Array = np.ndarray[Any, Any]

Starts = Literal["given", "alike", "all"]

#: The predicate that says what kind of thing a node is.
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def starts_of(items: Nodes, starts: Starts, inverse: bool = False) -> _Array:
    """Return the numbers of the nodes that walks start from, rising.

    Parameters
    ----------
    items : Nodes
        The nodes that vectors are wanted for.
    starts : {"given", "alike", "all"}
        These nodes; with them all nodes of one of their types (an edge ``rdf:type`` to the same
        node) and, if some of them have no type, others without one that have the same label; or
        with them all nodes. The nodes added are those that an edge leaves.
    inverse : bool
        Edges leave both of their ends.
    """
    given = np.unique(items.index.cpu().numpy())
    if starts == "given":
        return given
    source, target = (
        ends.cpu().numpy() for ends in (items.graphs.edge_source, items.graphs.edge_target)
    )
    left = np.unique(np.concatenate([source, target]) if inverse else source)
    if starts == "all":
        return np.union1d(given, left)
    if starts == "alike":
        return np.union1d(given, _alike(items.graphs, given, left))
    raise EstimatorError(f"starts={starts!r}: choose 'given', 'alike' or 'all'")


def _alike(graphs: Graphs, given: _Array, left: _Array) -> _Array:
    typing = (graphs.edge_label == _number_of(TYPE, graphs)).cpu().numpy()
    thing, kind = graphs.edge_source.cpu().numpy()[typing], graphs.edge_target.cpu().numpy()[typing]
    same_type = thing[np.isin(kind, kind[np.isin(thing, given)])]
    label, untyped = graphs.node_label.cpu().numpy(), left[~np.isin(left, thing)]
    same_label = untyped[np.isin(label[untyped], label[given[~np.isin(given, thing)]])]
    return np.union1d(same_type, same_label)


def _number_of(label: str, graphs: Graphs) -> int:
    """Return the number of an edge label; −1 where the graphs lack it."""
    return list(graphs.edge_vocabulary).index(label) if label in graphs.edge_vocabulary else -1
