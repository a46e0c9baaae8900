"""What one PyG data object holds: edges, labels and features, checked item by item."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Vocabulary, factorize
from edgnn.graphs import checks as check

Matrix = Literal["features", "one-hot", "ignore"]

_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


@dataclass(frozen=True)
class Elements:
    """The nodes, or the edges, of one item."""

    count: int
    ids: Tensor | None
    values: Sequence[Any] | None
    features: Tensor | None


@dataclass(frozen=True)
class Part:
    """One item: where its edges go, and what its nodes and edges carry."""

    ends: Tensor
    node: Elements
    edge: Elements


class Reader:
    """Takes the labels and features of nodes, or of edges, from where the user says they are."""

    def __init__(self, what: Literal["node", "edge"], label: str | None, meaning: Matrix) -> None:
        self.what, self.label, self.meaning = what, label, meaning
        self.matrix = "x" if what == "node" else "edge_attr"
        if meaning not in ("features", "one-hot", "ignore"):
            raise GraphError(f"{self.matrix}={meaning!r}: choose 'features', 'one-hot' or 'ignore'")
        if label is not None and meaning == "one-hot":
            raise GraphError(
                f"both {what}_label={label!r} and {self.matrix}='one-hot' name the labels; "
                "choose one of them"
            )

    def read(self, store: Any, count: int, where: str) -> Elements:
        features = self.features(store, count, where)
        if self.meaning != "one-hot":
            return Elements(count, *self._numbers(store, count, where), features)
        if features is None:
            raise GraphError(
                f"{where} has no {self.matrix}, which {self.matrix}='one-hot' asks for"
            )
        return Elements(count, self._columns(features, where), range(features.shape[1]), None)

    def features(self, store: Any, count: int, where: str) -> Tensor | None:
        rows = store[self.matrix] if self.matrix in store and self.meaning != "ignore" else None
        if rows is None:
            return None
        if not isinstance(rows, Tensor) or rows.layout != torch.strided or rows.is_complex():
            kind = (
                f"{rows.layout} tensor of {rows.dtype}"
                if isinstance(rows, Tensor)
                else type(rows).__name__
            )
            raise GraphError(
                f"{where}: {self.matrix} is a {kind}; make it a dense tensor of real numbers"
            )
        if rows.dim() not in (1, 2) or len(rows) != count:
            raise GraphError(
                f"{where}: {self.matrix} has the shape {tuple(rows.shape)}; "
                f"expected a row for each of {count} {self.what}s"
            )
        return check.features(rows.detach().as_subclass(Tensor), self.what, rows.device)

    def _columns(self, rows: Tensor, where: str) -> Tensor:
        wrong = (((rows != 0) & (rows != 1)).any(1) | ((rows == 1).sum(1) != 1)).nonzero()
        if len(wrong):
            row = rows[int(wrong[0])].tolist()
            shown = ", ".join(f"{value:g}" for value in row[:8]) + (", …" if len(row) > 8 else "")
            raise GraphError(
                f"{where}: {self.what} {int(wrong[0])} has the row [{shown}] in {self.matrix}, "
                "which is not one-hot; "
                f"pass {self.matrix}='features' to keep the numbers as they are"
            )
        return (
            rows.argmax(1) if len(rows) else torch.zeros(0, dtype=torch.int64, device=rows.device)
        )

    def _numbers(
        self, store: Any, count: int, where: str
    ) -> tuple[Tensor | None, Sequence[Any] | None]:
        name = f"{self.what}_type" if self.label is None else self.label
        if name not in store:
            if self.label is not None:
                raise GraphError(
                    f"{where} has no attribute {name!r}, which {self.what}_label asks for"
                )
            return None, None
        ids = self._checked_numbers(store[name], f"{where}: {name}", count)
        noted = store["label_values"] if self.label is None and "label_values" in store else {}
        values = noted.get(self.what) if isinstance(noted, dict) else None
        if values is not None:
            wrong = ((ids < 0) | (ids >= len(values))).nonzero()
            if len(wrong):
                first = int(wrong[0])
                raise GraphError(
                    f"{where}: {self.what} {first} has the label number {int(ids[first])}, "
                    f"but label_values lists {len(values)}"
                )
        return ids, values

    def _checked_numbers(self, ids: Any, where: str, count: int) -> Tensor:
        if not isinstance(ids, Tensor) or ids.dtype not in _INTEGERS:
            kind = ids.dtype if isinstance(ids, Tensor) else type(ids).__name__
            raise GraphError(
                f"{where} holds {kind}; labels must be whole numbers, one per {self.what}"
            )
        if ids.numel() != count or ids.shape not in ((count,), (count, 1)):
            raise GraphError(
                f"{where} has the shape {tuple(ids.shape)}; "
                f"expected one number for each of {count} {self.what}s"
            )
        return ids.reshape(-1).to(torch.int64)


def part_of(data: Any, where: str, node: Reader, edge: Reader) -> Part:
    nodes = _num_nodes(data, where)
    ends = _ends(data, where, nodes, nodes)
    return Part(ends, node.read(data, nodes, where), edge.read(data, ends.shape[1], where))


def hetero_part_of(data: Any, where: str, node: Reader, edge: Reader) -> Part:
    for reader in (node, edge):
        if reader.label is not None or reader.meaning == "one-hot":
            raise GraphError(
                f"{where} is a HeteroData, whose labels are its types: "
                f"leave out {reader.what}_label, "
                f"and pass {reader.matrix}='features' or 'ignore'"
            )
    sizes = {
        kind: _num_nodes(data[kind], f"{where}, node type {kind!r}") for kind in data.node_types
    }
    first = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
    ends = []
    for kind in data.edge_types:
        source, _, target = kind
        for end in (source, target):
            if end not in sizes:
                raise GraphError(
                    f"{where}: the edge type {kind} joins {end!r} nodes, "
                    "but there is no such node type"
                )
        pairs = _ends(data[kind], f"{where}, edge type {kind}", sizes[source], sizes[target])
        ends.append(pairs + torch.tensor([[first[source]], [first[target]]], device=pairs.device))
    counts = [pairs.shape[1] for pairs in ends]
    return Part(
        torch.cat(ends, 1) if ends else torch.zeros(2, 0, dtype=torch.int64),
        _typed(data, data.node_types, list(sizes.values()), where, node),
        _typed(data, data.edge_types, counts, where, edge),
    )


def _typed(data: Any, kinds: list[Any], counts: list[int], where: str, reader: Reader) -> Elements:
    """Return the nodes (or edges) of all types, labeled by type."""
    names = [f"{where}, {reader.what} type {kind!r}" for kind in kinds]
    features = [
        reader.features(data[kind], count, name)
        for kind, count, name in zip(kinds, counts, names, strict=True)
    ]
    ids = torch.repeat_interleave(torch.arange(len(kinds)), torch.tensor(counts, dtype=torch.int64))
    return Elements(len(ids), ids, kinds, stacked(features, names, reader, "types"))


def _num_nodes(store: Any, where: str) -> int:
    count = store.num_nodes
    if count is None:
        raise GraphError(f"{where}: the number of nodes is unknown; set num_nodes")
    return int(count)


def _ends(store: Any, where: str, sources: int, targets: int) -> Tensor:
    """Return the checked edge_index."""
    ends = store.get("edge_index")
    if ends is None:
        if "adj_t" in store or "adj" in store:
            raise GraphError(
                f"{where} keeps its edges in a sparse matrix; convert them to edge_index first"
            )
        return torch.zeros(2, 0, dtype=torch.int64, device=getattr(store.get("x"), "device", "cpu"))
    if not isinstance(ends, Tensor):
        kind = type(ends).__name__
        raise GraphError(f"{where}: edge_index must be a tensor of shape (2, E), got type {kind}")
    if ends.dim() != 2 or len(ends) != 2:
        shape = tuple(ends.shape)
        raise GraphError(f"{where}: edge_index must be a tensor of shape (2, E), got shape {shape}")
    if ends.dtype not in _INTEGERS[:-1] and ends.numel():
        raise GraphError(f"{where}: edge_index must hold whole node numbers, got {ends.dtype}")
    ends = ends.detach().as_subclass(Tensor).to(torch.int64)
    for side, verb, count in ((0, "starts at", sources), (1, "points to", targets)):
        row = ends[side]
        outside = (row < 0) | (row >= count)
        if len(row) and bool(outside.any()):
            edge = int(outside.nonzero()[0])
            raise GraphError(
                f"{where}: edge {edge} {verb} node {int(row[edge])}, "
                f"but there are {count} nodes, numbered from 0"
            )
    return ends


def merged(
    elements: Sequence[Elements], reader: Reader, device: torch.device
) -> tuple[Tensor, Vocabulary]:
    """Join the labels of all items into one numbering."""
    ids = [element.ids.to(device) for element in elements if element.ids is not None]
    if not ids:
        total = sum(element.count for element in elements)
        return torch.zeros(total, dtype=torch.int64, device=device), Vocabulary([None])
    if len(ids) < len(elements):
        bare = [element.ids is None for element in elements].index(True)
        raise GraphError(
            f"item {bare} has no {reader.what} labels, but others have; "
            f"give all of them {reader.what}_type, or none"
        )
    listed = [element.values for element in elements if element.values is not None]
    if not listed:
        numbers, vocabulary = factorize(torch.cat(ids), reader.what)
        return numbers.to(device), vocabulary
    if len(listed) < len(elements):
        bare = [element.values is None for element in elements].index(True)
        raise GraphError(
            f"item {bare} has no label_values for its {reader.what}s, but others have; "
            "give them to all or none"
        )
    return _renumbered(ids, listed, device)


def _renumbered(
    ids: list[Tensor], listed: Sequence[Sequence[Any]], device: torch.device
) -> tuple[Tensor, Vocabulary]:
    """Number labels of items that each have their own list of values."""
    known: dict[Hashable, int] = {}
    last: Sequence[Any] | None = None
    table = torch.zeros(0, dtype=torch.int64)
    for position, values in enumerate(listed):
        if values is not last and values != last:  # most items share one list
            own = Vocabulary(map(_hashable, values))
            numbers = [known.setdefault(value, len(known)) for value in own]
            last, table = values, torch.tensor(numbers, device=device)
        if len(table):
            ids[position] = table[ids[position]]
    return torch.cat(ids), Vocabulary(known)


def _hashable(value: Any) -> Hashable:
    """Undo what PyG's ``data.to(device)`` does to tuples: it turns them into lists."""
    return tuple(_hashable(entry) for entry in value) if isinstance(value, list) else value


def stacked(
    parts: Sequence[Tensor | None], names: Sequence[str], reader: Reader, what: str
) -> Tensor | None:
    present = [(rows, name) for rows, name in zip(parts, names, strict=True) if rows is not None]
    if not present:
        return None
    way_out = f"pass {reader.matrix}='ignore' to leave it out"
    if len(present) < len(parts):
        bare = next(name for rows, name in zip(parts, names, strict=True) if rows is None)
        raise GraphError(
            f"{bare} has no {reader.matrix}, but other {what} have; give it to all of them, "
            f"or {way_out}"
        )
    width = present[0][0].shape[1]
    for rows, name in present:
        if rows.shape[1] != width:
            raise GraphError(
                f"{name} has {rows.shape[1]} columns in {reader.matrix}, "
                f"but {present[0][1]} has {width}; {way_out}"
            )
    return torch.cat([rows for rows, _ in present])
