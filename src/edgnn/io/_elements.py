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
from edgnn.graphs import Graphs, Nodes, OnUnknown, Vocabulary, recode
from edgnn.io._labeled import Labeled, target_array
from edgnn.io._separated import as_list, decimal_comma_advice, first_decimal_comma

_Array = np.ndarray[Any, Any]
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


def coded_labels(
    codes: _Array | None,
    values: Sequence[Hashable],
    size: int,
    like: Graphs | None,
    unknown: OnUnknown,
    what: str,
) -> tuple[Tensor, Vocabulary]:
    """Return label numbers and their vocabulary, or as ``like`` has them.

    ``codes`` point into ``values``; ``None`` is for no labels.
    """
    ids = torch.zeros(size, dtype=torch.int64) if codes is None else torch.from_numpy(codes)
    own = Vocabulary([None] if codes is None else values)
    if like is None:
        return ids, own
    return recode(
        ids, own, like.node_vocabulary if what == "node" else like.edge_vocabulary, unknown, what
    )


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
        node_label, node_vocabulary = self._node.labels(slice(None), like, unknown)
        edge_label, edge_vocabulary = self._edge.labels(copies, like, unknown)
        names = self._names()
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
            graph_names=None if name is None else np.fromiter([name], object, 1),
        )
        if self._target is None:
            return Labeled(graphs)
        if not self._targets and len(names):
            raise FormatError(
                self._path,
                f"no node has the attribute {self._target!r}, which node_target asks for",
            )
        comma = first_decimal_comma(self._targets)
        if comma is not None:
            node, value = names[self._target_owner[comma]], self._targets[comma]
            raise FormatError(
                self._path,
                f"the target {self._target!r} of node {short(node)} is "
                f"{short(value)}{decimal_comma_advice(value)}",
            )
        return Labeled(
            graphs,
            target_array(self._targets),
            Nodes(graphs, torch.tensor(self._target_owner, dtype=torch.int64)),
        )

    def _names(self) -> _Array:
        """Return the nodes' names, and forget their numbers, which take more memory."""
        names: _Array = np.fromiter(self._number, object, len(self._number))
        self._number.clear()
        return np.take(names, np.array(self._order))

    def _numbered(self, name: Hashable, line: int | None) -> int:
        number = self._number.setdefault(name, len(self._listed))
        if number == len(self._listed):
            self._first_line.append(line or 0)
            self._listed.append(0)
        return number

    def _edges(self, directed: bool) -> tuple[_Array, _Array, _Array | slice]:
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
        self._path, self._what, self._wanted = path, what, wanted
        self._code: dict[Hashable, int] = {}
        self._codes = array("q")
        self._size = 0
        self._unlabeled: tuple[Any, int | None] | None = None
        self._rows = array("d")
        self._width = (
            -1
            if wanted.features is None or isinstance(wanted.features, str)
            else len(wanted.features)
        )
        self._featureless: tuple[Any, int | None] | None = None

    def add(self, attributes: Mapping[str, Any], owner: Any, line: int | None) -> None:
        """Take the next element's attributes."""
        if self._wanted.label is not None:
            self._add_label(attributes.get(self._wanted.label, NO_VALUE), owner, line)
        if self._wanted.features is not None:
            self._add_features(attributes, owner, line)
        self._size += 1

    def labels(
        self, chosen: _Array | slice, like: Graphs | None, unknown: OnUnknown
    ) -> tuple[Tensor, Vocabulary]:
        """Return the labels of the chosen elements."""
        size = self._size if isinstance(chosen, slice) else len(chosen)
        codes = np.array(self._codes)[chosen] if len(self._codes) else None
        if codes is None and self._size and self._wanted.label not in (None, DEFAULT_LABEL):
            raise FormatError(self._path, absent_label(self._what, str(self._wanted.label)))
        return coded_labels(codes, list(self._code), size, like, unknown, self._what)

    def features(self, chosen: _Array | slice) -> Tensor | None:
        """Return the features of the chosen elements."""
        if self._wanted.features is None or self._featureless is not None or self._width <= 0:
            return None
        return torch.from_numpy(np.array(self._rows).reshape(self._size, self._width)[chosen])

    def _add_label(self, value: Any, owner: Any, line: int | None) -> None:
        if value is NO_VALUE:
            self._unlabeled = self._unlabeled or (owner, line)
        else:
            label = hashable(value)
            if label is NO_VALUE or label != label:
                rule = (
                    f"the label of {self._what} {short(owner)} is {short(value)}; a label is text, "
                    "a number or a list of them"
                )
                raise FormatError(self._path, rule, line)
            self._codes.append(self._code.setdefault(label, len(self._code)))
        if self._unlabeled is not None and len(self._codes):
            assert self._wanted.label is not None
            owner, line = self._unlabeled
            raise FormatError(self._path, no_label(self._what, owner, self._wanted.label), line)

    def _add_features(self, attributes: Mapping[str, Any], owner: Any, line: int | None) -> None:
        names = as_list(self._wanted.features)
        lacking = [name for name in names if name not in attributes]
        if lacking and not self._wanted.all_or_none:
            raise FormatError(self._path, no_feature(self._what, owner, lacking[0]), line)
        if lacking:
            self._featureless = self._featureless or (owner, line)
        elif isinstance(self._wanted.features, str):
            self._add_row(attributes[names[0]], owner, line)
        else:
            self._add_row([attributes[name] for name in names], owner, line)
        if self._featureless is not None and len(self._rows):
            owner, line = self._featureless
            raise FormatError(
                self._path,
                f"{self._what} {short(owner)} has no features, but others have; "
                "give all of them some, "
                f"or pass {self._what}_features=() to ignore them",
                line,
            )

    def _add_row(self, row: Any, owner: Any, line: int | None) -> None:
        values = row if isinstance(row, list) else [row]
        if self._width < 0:
            self._width = len(values)
        rule = None
        if len(values) != self._width:
            rule = (
                f"{self._what} {short(owner)} has {len(values)} features, "
                f"but others have {self._width}"
            )
        elif not all(isinstance(value, int | float) for value in values):
            rule = (
                f"the features of {self._what} {short(owner)} are {short(row)}; "
                "features are numbers"
            )
        else:
            try:
                self._rows.extend(values)
            except OverflowError:
                rule = (
                    f"the features of {self._what} {short(owner)} hold a number beyond what "
                    "floating point can hold"
                )
            if rule is None and not all(map(isfinite, values)):
                rule = (
                    f"the features of {self._what} {short(owner)} are {short(row)}; "
                    "features must be finite"
                )
        if rule is not None:
            raise FormatError(self._path, rule, line)


def hashable(value: Any, depth: int = 64) -> Any:
    """Return ``value`` with lists turned into tuples.

    :data:`NO_VALUE` where it holds an object or too deep lists.
    """
    if isinstance(value, list):
        parts = tuple(hashable(part, depth - 1) for part in value) if depth else (NO_VALUE,)
        return NO_VALUE if NO_VALUE in parts else parts
    return NO_VALUE if isinstance(value, dict) else value
