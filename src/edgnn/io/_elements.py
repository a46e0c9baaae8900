"""Nodes and edges that a file gives one at a time, collected into a single graph."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isfinite
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from edgnn._files import Path_
from edgnn._words import short
from edgnn.errors import FormatError
from edgnn.graphs import Graphs, Nodes, OnUnknown, Vocabulary
from edgnn.io._common import Array, as_list, labels_like, object_array
from edgnn.io._labeled import Labeled, target_array
from edgnn.io._separated import decimal_comma_advice, first_decimal_comma

#: Stands where an attribute is not there, or holds something that cannot be compared.
NO_VALUE: Final = object()


def no_label(what: str, owner: Any, name: str) -> str:
    """Say that one element has no label while others have."""
    return (
        f"{what} {short(owner)} has no attribute {name!r}, but others have; label all of them, "
        f"or pass {what}_label=None to ignore labels"
    )


DEFAULT_LABEL = "label"


def absent_label(what: str, name: str) -> str:
    """Say that no element at all has the label attribute that was asked for by name."""
    return (
        f"no {what} has the attribute {name!r}, which {what}_label asks for; "
        f"pass {what}_label=None for no labels"
    )


def no_feature(what: str, owner: Any, name: str) -> str:
    """Say that one element has no value for a feature."""
    return f"{what} {short(owner)} has no attribute {name!r}, which {what}_features asks for"


@dataclass(frozen=True)
class Attributes:
    """Which attributes of nodes, or of edges, hold what.

    Parameters
    ----------
    label : str or None
        Holds the labels: all elements have it, or none.
    features : str, sequence of str, or None
        Holds features: one attribute a vector (or a number), several of them a number each.
    all_or_none : bool
        Whether all elements may go without features.
    target : str or None
        Holds targets; elements may go without.
    """

    label: str | None
    features: str | Sequence[str] | None
    all_or_none: bool = False
    target: str | None = None


class Elements:
    """Collects the nodes and edges of one graph, which may come in any order.

    Parameters
    ----------
    path : path
        The file, for errors.
    node, edge : Attributes
        Where labels, features and targets are.
    """

    def __init__(self, path: Path_, node: Attributes, edge: Attributes) -> None:
        self._path = path
        self._node = _Column(path, node, "node")
        self._edge = _Column(path, edge, "edge")
        self._target = node.target
        self._number: dict[Hashable, int] = {}
        self._first_line = array("q")
        self._listed = bytearray()
        self._order = array("q")
        self._ends = array("q")
        self._directed = array("b")
        self._targets: list[Any] = []
        self._target_owner = array("q")

    def add_node(
        self, name: Hashable, attributes: Mapping[str, Any], line: int | None = None
    ) -> None:
        """Add the node ``name``; ``line`` says where it stands, if the file has lines."""
        number = self._numbered(name, line)
        if self._listed[number]:
            raise FormatError(
                self._path, f"the node {short(name)} stands twice; node ids are unique", line
            )
        target = None if self._target is None else attributes.get(self._target)
        if target is not None and target == target:
            self._targets.append(target)
            self._target_owner.append(len(self._order))
        self._listed[number] = 1
        self._order.append(number)
        self._node.add(attributes, name, line)

    def add_edge(
        self,
        source: Hashable,
        target: Hashable,
        attributes: Mapping[str, Any],
        line: int | None = None,
        directed: bool | None = None,
    ) -> None:
        """Add an edge; ``directed=None`` leaves its direction to :meth:`labeled`."""
        self._ends.append(self._numbered(source, line))
        self._ends.append(self._numbered(target, line))
        self._directed.append(-1 if directed is None else directed)
        self._edge.add(attributes, (source, target), line)

    def labeled(
        self, directed: bool, name: Any, like: Graphs | None, unknown: OnUnknown
    ) -> Labeled:
        """Make the graph, once; an undirected edge becomes two, a self-loop stays one."""
        source, target, copies = self._edges(directed)
        names = self._names()
        node_label, node_vocabulary = self._node.labels(slice(None))
        edge_label, edge_vocabulary = self._edge.labels(copies)
        graphs = Graphs._trusted(
            node_label=node_label,
            edge_source=torch.from_numpy(source),
            edge_target=torch.from_numpy(target),
            edge_label=edge_label,
            graph_offset=torch.tensor([0, len(names)]),
            node_vocabulary=node_vocabulary,
            edge_vocabulary=edge_vocabulary,
            node_features=self._node.features(slice(None)),
            edge_features=self._edge.features(copies),
            node_names=names,
            graph_names=None if name is None else object_array([name]),
        )
        graphs = labels_like(graphs, like, unknown)
        if self._target is None:
            return Labeled(graphs)
        self._check_targets(names)
        owners = torch.tensor(self._target_owner, dtype=torch.int64)
        return Labeled(graphs, target_array(self._targets), Nodes(graphs, owners))

    def _check_targets(self, names: Array) -> None:
        if not self._targets and len(names):
            rule = f"no node has the attribute {self._target!r}, which node_target asks for"
            raise FormatError(self._path, rule)
        comma = first_decimal_comma(self._targets)
        if comma is not None:
            node, value = names[self._target_owner[comma]], self._targets[comma]
            rule = f"the target {self._target!r} of node {short(node)} is {short(value)}"
            raise FormatError(self._path, f"{rule}{decimal_comma_advice(value)}")

    def _names(self) -> Array:
        """Return the nodes' names, and forget their numbers, which take more memory."""
        names: Array = np.fromiter(self._number, object, len(self._number))
        self._number.clear()
        return np.take(names, np.array(self._order))

    def _numbered(self, name: Hashable, line: int | None) -> int:
        number = self._number.setdefault(name, len(self._listed))
        if number == len(self._listed):
            self._first_line.append(line or 0)
            self._listed.append(0)
        return number

    def _edges(self, directed: bool) -> tuple[Array, Array, Array | slice]:
        """Return sources, targets, and the element that each edge is a copy of."""
        position = np.full(len(self._number), -1, np.int64)
        position[np.array(self._order)] = np.arange(len(self._order))
        ends = position[np.array(self._ends)]
        if len(ends) and ends.min() < 0:
            number = self._ends[int(np.argmin(ends))]
            name = next(islice(self._number, number, None))
            rule = (
                f"the edge names the node {short(name)}, which is not among the nodes; "
                "edges name nodes by their ids"
            )
            raise FormatError(self._path, rule, self._first_line[number] or None)
        source, target = ends[::2], ends[1::2]
        flag = np.array(self._directed)
        both = (source != target) & ((flag == 0) | ((flag < 0) & (not directed)))
        if not both.any():
            return source.copy(), target.copy(), slice(None)
        copies = np.repeat(np.arange(len(source)), 1 + both)
        back = np.concatenate([[False], copies[1:] == copies[:-1]])
        source, target = source[copies], target[copies]
        return np.where(back, target, source), np.where(back, source, target), copies


class _Column:
    """Labels and features of the elements, as far as they have come."""

    def __init__(self, path: Path_, wanted: Attributes, what: str) -> None:
        self._path = path
        self._what = what
        self._wanted = wanted
        self._code: dict[Hashable, int] = {}
        self._codes = array("q")
        self._size = 0
        self._rows = array("d")
        several = not isinstance(wanted.features, str | None)
        self._width = len(wanted.features or ()) if several else None
        # the first element without a label, and the first without features, with its line
        self._unlabeled: tuple[Any, int | None] | None = None
        self._featureless: tuple[Any, int | None] | None = None

    def add(self, attributes: Mapping[str, Any], owner: Any, line: int | None) -> None:
        """Take the next element's attributes."""
        if self._wanted.label is not None:
            self._add_label(self._wanted.label, attributes, owner, line)
        if self._wanted.features is not None:
            self._add_features(self._wanted.features, attributes, owner, line)
        self._size += 1

    def labels(self, chosen: Array | slice) -> tuple[Tensor, Vocabulary]:
        """Return the label numbers of the chosen elements, and what they mean."""
        if len(self._codes):
            return torch.from_numpy(np.array(self._codes)[chosen]), Vocabulary(self._code)
        label = self._wanted.label
        if self._size and label is not None and label != DEFAULT_LABEL:
            raise FormatError(self._path, absent_label(self._what, label))
        return torch.from_numpy(np.zeros(self._size, np.int64)[chosen]), Vocabulary([None])

    def features(self, chosen: Array | slice) -> Tensor | None:
        """Return the features of the chosen elements."""
        if self._featureless is not None or not self._width:
            return None
        return torch.from_numpy(np.array(self._rows).reshape(self._size, self._width)[chosen])

    def _add_label(
        self, name: str, attributes: Mapping[str, Any], owner: Any, line: int | None
    ) -> None:
        if name not in attributes:
            self._unlabeled = self._unlabeled or (owner, line)
        else:
            label = hashable(attributes[name])
            if label is NO_VALUE or label != label:
                rule = (
                    f"the label of {self._what} {short(owner)} is {short(attributes[name])}; "
                    "a label is text, a number or a list of them"
                )
                raise FormatError(self._path, rule, line)
            self._codes.append(self._code.setdefault(label, len(self._code)))
        if self._unlabeled is not None and len(self._codes):
            owner, line = self._unlabeled
            raise FormatError(self._path, no_label(self._what, owner, name), line)

    def _add_features(
        self,
        wanted: str | Sequence[str],
        attributes: Mapping[str, Any],
        owner: Any,
        line: int | None,
    ) -> None:
        row = [attributes.get(name, NO_VALUE) for name in as_list(wanted)]
        if NO_VALUE not in row:
            is_vector = isinstance(wanted, str) and isinstance(row[0], list)
            self._add_row(row[0] if is_vector else row, owner, line)
        elif self._wanted.all_or_none:
            self._featureless = self._featureless or (owner, line)
        else:
            lacking = as_list(wanted)[row.index(NO_VALUE)]
            raise FormatError(self._path, no_feature(self._what, owner, lacking), line)
        if self._featureless is not None and len(self._rows):
            owner, line = self._featureless
            raise FormatError(
                self._path,
                f"{self._what} {short(owner)} has no features, but others have; "
                "give all of them some, "
                f"or pass {self._what}_features=() to ignore them",
                line,
            )

    def _add_row(self, row: list[Any], owner: Any, line: int | None) -> None:
        if self._width is None:
            self._width = len(row)
        if len(row) != self._width:
            rule = (
                f"{self._what} {short(owner)} has {len(row)} features, "
                f"but others have {self._width}"
            )
            raise FormatError(self._path, rule, line)
        wrong = _wrong_numbers(row)
        if wrong:
            rule = f"the features of {self._what} {short(owner)} {wrong}"
            raise FormatError(self._path, rule, line)
        self._rows.extend(row)


def _wrong_numbers(row: list[Any]) -> str:
    """Return what keeps values from being features; nothing where they can be."""
    if not all(isinstance(value, int | float) for value in row):
        return f"are {short(row)}; features are numbers"
    try:
        is_finite = all(map(isfinite, row))
    except OverflowError:
        return "hold a number beyond what floating point can hold"
    return "" if is_finite else f"are {short(row)}; features must be finite"


def hashable(value: Any, depth: int = 64) -> Any:
    """Return ``value`` with lists turned into tuples.

    :data:`NO_VALUE` where it holds an object or too deep lists.
    """
    if isinstance(value, list):
        parts = tuple(hashable(part, depth - 1) for part in value) if depth else (NO_VALUE,)
        return NO_VALUE if NO_VALUE in parts else parts
    return NO_VALUE if isinstance(value, dict) else value
