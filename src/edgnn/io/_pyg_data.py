"""What one PyG data object holds: edges, labels and features, checked item by item."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from edgnn._optional import optional
from edgnn._words import short
from edgnn.errors import GraphError
from edgnn.graphs import Vocabulary, factorize
from edgnn.graphs import checks as check

Matrix = Literal["features", "one-hot", "ignore"]

_Value = TypeVar("_Value")
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


@dataclass(frozen=True)
class Elements:
    """The nodes, or the edges, of one item, or of one type of an item."""

    name: str
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
        self.what = what
        self.label = label
        self.meaning = meaning
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
            ids, values = self._labels(store, count, where)
            return Elements(where, count, ids, values, features)
        if features is None:
            raise GraphError(
                f"{where} has no {self.matrix}, which {self.matrix}='one-hot' asks for"
            )
        ids = self._columns(features, where)
        return Elements(where, count, ids, range(features.shape[1]), None)

    def features(self, store: Any, count: int, where: str) -> Tensor | None:
        rows = None if self.meaning == "ignore" else store.get(self.matrix)
        if rows is None:
            return None
        kind = type(rows).__name__
        is_dense = False
        if isinstance(rows, Tensor):
            kind = f"{rows.layout} tensor of {rows.dtype}"
            is_dense = rows.layout == torch.strided and not rows.is_complex()
        if not is_dense:
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
        is_one_hot = ((rows == 0) | (rows == 1)).all(1) & (rows.sum(1) == 1)
        if not is_one_hot.all():
            first = int(is_one_hot.int().argmin())
            raise GraphError(
                f"{where}: {self.what} {first} has the row {short(rows[first].tolist())} "
                f"in {self.matrix}, which is not one-hot; "
                f"pass {self.matrix}='features' to keep the numbers as they are"
            )
        # argmax refuses a matrix without columns, which only no elements at all can have
        return rows.argmax(1) if len(rows) else rows.new_zeros(0, dtype=torch.int64)

    def _labels(
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
        noted = store.get("label_values") if self.label is None else None
        values = noted.get(self.what) if isinstance(noted, dict) else None
        if values is None:
            return ids, None
        outside = (ids < 0) | (ids >= len(values))
        if outside.any():
            first = int(outside.nonzero()[0])
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


def pyg() -> Any:
    """Return ``torch_geometric.data``."""
    with warnings.catch_warnings():
        # PyG itself calls torch.jit.script, which torch 2.13 deprecates
        warnings.simplefilter("ignore", DeprecationWarning)
        return optional("torch_geometric.data", "converting PyTorch Geometric data")


def part_of(data: Any, where: str, node: Reader, edge: Reader) -> Part:
    """Return what a ``Data`` or ``HeteroData`` holds."""
    if isinstance(data, pyg().HeteroData):
        return _hetero_part_of(data, where, node, edge)
    nodes = _num_nodes(data, where)
    ends = _ends(data, where, nodes, nodes)
    return Part(ends, node.read(data, nodes, where), edge.read(data, ends.shape[1], where))


def _hetero_part_of(data: Any, where: str, node: Reader, edge: Reader) -> Part:
    for reader in (node, edge):
        if reader.label is not None or reader.meaning == "one-hot":
            raise GraphError(
                f"{where} is a HeteroData, whose labels are its types: "
                f"leave out {reader.what}_label, "
                f"and pass {reader.matrix}='features' or 'ignore'"
            )
    sizes: dict[str, int] = {}
    first: dict[str, int] = {}
    for kind in data.node_types:
        first[kind] = sum(sizes.values())
        sizes[kind] = _num_nodes(data[kind], f"{where}, node type {kind!r}")
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
    no_edges = torch.zeros(2, 0, dtype=torch.int64)
    return Part(
        torch.cat(ends, 1) if ends else no_edges,
        _typed(data, data.node_types, list(sizes.values()), where, node),
        _typed(data, data.edge_types, counts, where, edge),
    )


def _typed(data: Any, kinds: list[Any], counts: list[int], where: str, reader: Reader) -> Elements:
    """Return the nodes (or edges) of all types, labeled by type."""
    types = []
    for kind, count in zip(kinds, counts, strict=True):
        name = f"{where}, {reader.what} type {kind!r}"
        types.append(Elements(name, count, None, None, reader.features(data[kind], count, name)))
    ids = torch.repeat_interleave(torch.arange(len(kinds)), torch.tensor(counts, dtype=torch.int64))
    return Elements(where, len(ids), ids, kinds, stacked(types, reader, "types"))


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
    kind = f"type {type(ends).__name__}"
    if isinstance(ends, Tensor):
        kind = f"shape {tuple(ends.shape)}"
    if not isinstance(ends, Tensor) or ends.dim() != 2 or len(ends) != 2:
        raise GraphError(f"{where}: edge_index must be a tensor of shape (2, E), got {kind}")
    if ends.dtype not in _INTEGERS[:-1] and ends.numel():
        raise GraphError(f"{where}: edge_index must hold whole node numbers, got {ends.dtype}")
    ends = ends.detach().as_subclass(Tensor).to(torch.int64)
    _check_side(ends[0], where, "starts at", sources)
    _check_side(ends[1], where, "points to", targets)
    return ends


def _check_side(side: Tensor, where: str, verb: str, nodes: int) -> None:
    outside = (side < 0) | (side >= nodes)
    if len(side) and bool(outside.any()):
        edge = int(outside.nonzero()[0])
        raise GraphError(
            f"{where}: edge {edge} {verb} node {int(side[edge])}, "
            f"but there are {nodes} nodes, numbered from 0"
        )


def merged(
    elements: Sequence[Elements], reader: Reader, device: torch.device
) -> tuple[Tensor, Vocabulary]:
    """Join the labels of all items into one numbering."""
    ids = _all_or_none(
        {element.name: element.ids for element in elements},
        f"no {reader.what} labels, but others have; give all of them {reader.what}_type, or none",
    )
    if not ids:
        total = sum(element.count for element in elements)
        return torch.zeros(total, dtype=torch.int64, device=device), Vocabulary([None])
    ids = [numbers.to(device) for numbers in ids]
    listed = _all_or_none(
        {element.name: element.values for element in elements},
        f"no label_values for its {reader.what}s, but others have; give them to all or none",
    )
    if not listed:
        numbers, vocabulary = factorize(torch.cat(ids), reader.what)
        return numbers.to(device), vocabulary
    return _renumbered(ids, listed, device)


def _all_or_none(values: Mapping[str, _Value | None], lacks: str) -> list[_Value]:
    """Return the values of all items; nothing where none has one, an error where only some have."""
    present = [value for value in values.values() if value is not None]
    lacking = [name for name, value in values.items() if value is None]
    if present and lacking:
        raise GraphError(f"{lacking[0]} has {lacks}")
    return present


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


def stacked(elements: Sequence[Elements], reader: Reader, what: str) -> Tensor | None:
    """Return the features of all items as one matrix; ``None`` where they have none."""
    advice = f"pass {reader.matrix}='ignore' to leave it out"
    present = _all_or_none(
        {element.name: element.features for element in elements},
        f"no {reader.matrix}, but other {what} have; give it to all of them, or {advice}",
    )
    if not present:
        return None
    width = present[0].shape[1]
    for rows, element in zip(present, elements, strict=True):
        if rows.shape[1] != width:
            raise GraphError(
                f"{element.name} has {rows.shape[1]} columns in {reader.matrix}, "
                f"but {elements[0].name} has {width}; {advice}"
            )
    return torch.cat(present)
