"""Numbers beside the labels: attributes of nodes and edges, features of whole graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn._words import suggestion
from edgnn.errors import GraphError
from edgnn.graphs import checks as check
from edgnn.graphs._vocabulary import UNKNOWN, OnUnknown, Vocabulary, recode

if TYPE_CHECKING:
    from edgnn.graphs._graphs import Graphs

What = Literal["node", "edge"]

#: What :meth:`Graphs.labeled` calls the label itself.
LABEL = "label"


def with_columns(graphs: Graphs, what: What, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of graphs that get more attributes, or others in the place of old ones."""
    if not isinstance(columns, Mapping):
        raise GraphError(
            f"{what} attributes are a {type(columns).__name__}, but must be a mapping from names "
            "to values"
        )
    size = graphs.num_nodes if what == "node" else graphs.num_edges
    old = getattr(graphs, f"{what}_attributes")
    table = {}
    for column, name in enumerate(getattr(graphs, f"{what}_attribute_names")):
        table[name] = old[:, column]
    for name, values in columns.items():
        if name == LABEL:
            raise GraphError(f"{LABEL!r} is the label itself; call the {what} attribute otherwise")
        table[name] = check.attribute(values, size, what, name, graphs.device)
    check.column_names(tuple(table), len(table), f"{what} attribute")
    if not table:
        return {f"{what}_attributes": None, f"{what}_attribute_names": ()}
    return {
        f"{what}_attributes": torch.stack(list(table.values()), dim=1),
        f"{what}_attribute_names": tuple(table),
    }


def relabeled(
    graphs: Graphs, what: What, names: str | Sequence[str], like: Graphs | None, unknown: OnUnknown
) -> dict[str, Any]:
    """Return the fields of graphs whose labels are made of labels and attributes."""
    wanted = [names] if isinstance(names, str) else list(names)
    ids: Tensor = getattr(graphs, f"{what}_label")
    vocabulary: Vocabulary = getattr(graphs, f"{what}_vocabulary")
    if wanted != [LABEL]:
        columns = [_column(graphs, what, name) for name in wanted]
        ids, vocabulary = _combined(columns, len(ids), graphs.device)
    if like is not None:
        ids, vocabulary = recode(
            ids, vocabulary, getattr(like, f"{what}_vocabulary"), unknown, what
        )
    return {
        f"{what}_label": ids,
        f"{what}_vocabulary": vocabulary,
        f"{what}_attributes": None,
        f"{what}_attribute_names": (),
    }


def _column(
    graphs: Graphs, what: What, name: str
) -> tuple[np.ndarray[Any, Any], Vocabulary | None]:
    """Return the numbers of a column, and what they stand for, if it is not themselves."""
    if name == LABEL:
        labels: Tensor = getattr(graphs, f"{what}_label")
        return labels.cpu().numpy(), getattr(graphs, f"{what}_vocabulary")
    attributes = getattr(graphs, f"{what}_attribute_names")
    if name not in attributes:
        raise GraphError(
            f"there is no {what} attribute {name!r}; there are "
            f"{', '.join(map(repr, attributes)) or 'none'}, and {LABEL!r} for the label"
            f"{suggestion(name, attributes)}"
        )
    column = getattr(graphs, f"{what}_attributes")[:, attributes.index(name)]
    return column.cpu().numpy(), None


def _combined(
    columns: Sequence[tuple[np.ndarray[Any, Any], Vocabulary | None]],
    size: int,
    device: torch.device,
) -> tuple[Tensor, Vocabulary]:
    """Number the rows of several columns by first appearance."""
    if not columns:
        return torch.zeros(size, dtype=torch.int64, device=device), Vocabulary([None])
    key = np.zeros(size, dtype=np.int64)
    for numbers, _ in columns:
        values, codes = np.unique(numbers, return_inverse=True)
        # renumbered after every column, so that no product of numbers overflows
        key = np.unique(key * max(1, len(values)) + codes, return_inverse=True)[1]
    _, first, row = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    firsts = first[order]
    parts = [_values(numbers[firsts], vocabulary) for numbers, vocabulary in columns]
    labels = [_label(values) for values in zip(*parts, strict=True)]
    return _unknown_last(rank[row], labels, device)


def _values(numbers: np.ndarray[Any, Any], vocabulary: Vocabulary | None) -> list[Any]:
    listed = numbers.tolist()
    return listed if vocabulary is None else [vocabulary[number] for number in listed]


def _label(values: tuple[Any, ...]) -> Any:
    # a label that a vocabulary does not know stays one, whatever stands beside it
    if UNKNOWN in values:
        return UNKNOWN
    return values[0] if len(values) == 1 else values


def _unknown_last(
    ids: np.ndarray[Any, Any], labels: list[Any], device: torch.device
) -> tuple[Tensor, Vocabulary]:
    """Return numbers and vocabulary with one ``UNKNOWN`` behind all other labels."""
    known = [label for label in labels if label is not UNKNOWN]
    number = {label: place for place, label in enumerate(known)}
    table = np.array([number.get(label, len(known)) for label in labels], dtype=np.int64)
    if len(known) < len(labels):
        known.append(UNKNOWN)
    return torch.from_numpy(table[ids]).to(device), Vocabulary(known)
