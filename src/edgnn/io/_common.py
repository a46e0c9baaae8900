"""What several formats need: names, label numbers of other graphs, long arrays as text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, OnUnknown, recode

Array = np.ndarray[Any, Any]

_PIECE = 2**14


def as_list(names: str | Iterable[str] | None) -> list[str]:
    """Return one name, several or none as a list."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


def object_array(values: Collection[Any]) -> Array:
    """Return values as they are in an array; one of ``str_`` would pad all to the longest."""
    array = np.empty(len(values), object)
    array[:] = list(values)
    return array


def grouping(group: Array) -> Array | None:
    """Return the order that brings equal numbers together; ``None`` where they rise already."""
    is_grouped = bool((group[1:] >= group[:-1]).all())
    return None if is_grouped else np.argsort(group, kind="stable")


def inverse(order: Array) -> Array:
    """Return where each element stands in an order."""
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    return position


def node_names(graphs: Graphs) -> Sequence[Any]:
    """Return the names of the nodes, or their numbers where they have none."""
    if graphs.node_names is None:
        return range(graphs.num_nodes)
    names: list[Any] = graphs.node_names.tolist()
    return names


def check_single(graphs: Graphs, file: str) -> None:
    """Raise where a file that holds one graph would have to hold another number of them."""
    if len(graphs) != 1:
        raise GraphError(
            f"{file} holds a single graph, not {len(graphs)}: write them one by one, or as tables"
        )


def check_distinct(values: Iterable[Any], texts: Iterable[str], what: str) -> None:
    """Raise where two different values are written as the same text."""
    written: dict[str, Any] = {}
    for value, text in zip(values, texts, strict=True):
        other = written.setdefault(text, value)
        if other is not value and other != value:
            raise GraphError(
                f"the {what}s {other!r} and {value!r} would both be written as {text!r}; rename one"
            )


def labels_like(graphs: Graphs, like: Graphs | None, unknown: OnUnknown) -> Graphs:
    """Return graphs with labels numbered as in ``like``, where that is given."""
    if like is None:
        return graphs
    node_label, node_vocabulary = recode(
        graphs.node_label, graphs.node_vocabulary, like.node_vocabulary, unknown, "node"
    )
    edge_label, edge_vocabulary = recode(
        graphs.edge_label, graphs.edge_vocabulary, like.edge_vocabulary, unknown, "edge"
    )
    return graphs._with(
        node_label=node_label,
        node_vocabulary=node_vocabulary,
        edge_label=edge_label,
        edge_vocabulary=edge_vocabulary,
    )


def rows(array: Tensor) -> Iterator[Any]:
    """Yield the rows of ``array`` as Python numbers or lists, a piece at a time."""
    for start in range(0, len(array), _PIECE):
        yield from array[start : start + _PIECE].tolist()


def write_joined(stream: BinaryIO, texts: Iterable[str], between: str = "") -> None:
    """Write ``texts`` with ``between`` between them, a piece at a time."""
    remaining = iter(texts)
    before = ""
    while piece := list(islice(remaining, _PIECE)):
        stream.write((before + between.join(piece)).encode())
        before = between
