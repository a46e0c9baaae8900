"""The rules of a packed labeled digraph; each broken one is an error that names the element."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence, Set
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from edgnn._words import short
from edgnn.errors import GraphError
from edgnn.graphs._vocabulary import Vocabulary

if TYPE_CHECKING:
    from edgnn.graphs._graphs import Graphs, Names

_INTEGERS = (
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
)
_MOST_NODES = 2**31
_NUMBERS = ("edge_source", "edge_target", "edge_label", "graph_offset")
_ATTRIBUTES = ("node_attributes", "edge_attributes")
_FEATURES = ("node_features", "edge_features", "graph_features")


def packed(graphs: Graphs) -> None:
    """Check every array of ``graphs`` against the others."""
    _kinds(graphs)
    nodes, edges, device = len(graphs.node_label), len(graphs.edge_source), graphs.node_label.device
    for name in (*_NUMBERS, *_FEATURES, *_ATTRIBUTES):
        array = getattr(graphs, name)
        if array is not None and array.device != device:
            raise GraphError(
                f"{name} is on {array.device}, but node_label is on {device}: move all arrays to "
                "one device"
            )
    offset = graphs.graph_offset
    _rising(offset, nodes)
    lengths(graphs.edge_target, None, edges, what="edge", kind="edge_target")
    lengths(graphs.edge_label, None, edges, what="edge")
    endpoints(graphs.edge_source, graphs.edge_target, offset)
    if len(graphs) > 1 and edges:
        graph = graphs.graph_of_node[graphs.edge_source]
        back = (graph[1:] < graph[:-1]).nonzero()
        if len(back):
            raise GraphError(
                f"edge {int(back[0]) + 1} belongs to an earlier graph than the edge before it: "
                "group edges by graph"
            )
    label_range(graphs.node_label, len(graphs.node_vocabulary), "node")
    label_range(graphs.edge_label, len(graphs.edge_vocabulary), "edge")
    _feature_rows(graphs.node_features, nodes, "node")
    _feature_rows(graphs.edge_features, edges, "edge")
    graph_features(graphs.graph_features, len(graphs))
    _attribute_rows(graphs.node_attributes, nodes, "node")
    _attribute_rows(graphs.edge_attributes, edges, "edge")
    for name, names, what in (
        ("node_attributes", graphs.node_attribute_names, "node attribute"),
        ("edge_attributes", graphs.edge_attribute_names, "edge attribute"),
        ("graph_features", graphs.graph_feature_names, "graph feature"),
    ):
        array = getattr(graphs, name)
        column_names(names, 0 if array is None else array.shape[1], what)
    _name_count(graphs.node_names, nodes, "node")
    _name_count(graphs.graph_names, len(graphs), "graph")
    if graphs.node_names is not None:
        unique_names(graphs.node_names, offset)


def _rising(offset: Tensor, nodes: int) -> None:
    ends = [int(offset[0]), int(offset[-1])] if len(offset) else None
    if ends != [0, nodes] or bool((offset.diff() < 0).any()):
        raise GraphError(f"graph_offset must rise from 0 to the number of nodes, {nodes}")


def _name_count(values: Names | None, size: int, what: str) -> None:
    if values is not None and len(values) != size:
        raise GraphError(f"{len(values)} {what} names were given for {size} {what}s")


def edge_pairs(edges: Any) -> tuple[Tensor, Tensor]:
    """Split pairs, or an (E, 2) array, into sources and targets."""
    array = edges if isinstance(edges, Tensor) else _as_tensor(edges, "edges")
    if array.numel() == 0:
        empty = torch.zeros(0, dtype=torch.int64, device=array.device)
        return empty, empty.clone()
    if array.dim() != 2 or array.shape[1] != 2:
        hint = "; transpose it: edge_index.T" if array.dim() == 2 and array.shape[0] == 2 else ""
        raise GraphError(
            "edges must be (source, target) pairs, an array of shape (E, 2), got "
            f"{tuple(array.shape)}{hint}"
        )
    if array.dtype not in _INTEGERS:
        raise GraphError(f"edges must be whole node numbers, got {array.dtype}")
    array = _int64(array, "edge ends")
    source, target = (
        array[:, side].clone(memory_format=torch.contiguous_format) for side in (0, 1)
    )
    return source, target


def node_count(
    num_nodes: int | None, sizes: Any, per_node: Sequence[Any], source: Tensor, target: Tensor
) -> int:
    """Settle how many nodes there are, from whatever was given."""
    if sizes is not None:
        total = int(offsets(sizes)[-1])
        if num_nodes is not None and num_nodes != total:
            raise GraphError(f"num_nodes is {num_nodes}, but the sizes add up to {total}")
    elif num_nodes is not None:
        total = operator.index(num_nodes)
        if total > _MOST_NODES:
            raise GraphError(
                f"num_nodes is {total:,}; a graph in memory has at most {_MOST_NODES:,} nodes"
            )
    else:
        total = _counted_nodes(per_node, source, target)
    for what, values in zip(("labels", "features", "names"), per_node, strict=True):
        if values is not None and len(values) != total:
            raise GraphError(f"{len(values)} node {what} were given for {total} nodes")
    return total


def _counted_nodes(per_node: Sequence[Any], source: Tensor, target: Tensor) -> int:
    """Return the number of nodes by what is given per node, else by the largest edge end."""
    for values in per_node:
        if values is not None:
            return len(values)
    if not len(source):
        return 0
    total = int(max(source.max(), target.max())) + 1
    if total > _MOST_NODES:
        raise GraphError(
            f"an edge names node {total - 1}, so there would be {total:,} nodes: number nodes "
            "from 0 without gaps"
        )
    return total


def offsets(sizes: Any) -> Tensor:
    """Return the running sum of ``sizes`` (one integer: a single range) with a zero in front."""
    if isinstance(sizes, int):
        sizes = [sizes]
    counts = sizes if isinstance(sizes, Tensor) else _as_tensor(sizes, "sizes")
    if counts.dim() != 1 or (len(counts) and counts.dtype not in _INTEGERS):
        raise GraphError(
            f"sizes must be one whole number per graph, got {counts.dtype} of shape "
            f"{tuple(counts.shape)}"
        )
    counts = _int64(counts, "sizes")
    negative = (counts < 0).nonzero()
    if len(negative):
        raise GraphError(
            f"graph {int(negative[0])} has the size {int(counts[negative[0]])}; a size is 0 or more"
        )
    offset = torch.zeros(len(counts) + 1, dtype=torch.int64, device=counts.device)
    torch.cumsum(counts, 0, out=offset[1:])
    return offset


def endpoints(source: Tensor, target: Tensor, offset: Tensor) -> None:
    """Check that every edge joins two existing nodes of one graph."""
    if len(source) == 0:
        return
    nodes = int(offset[-1])
    for ends, verb in ((source, "starts at"), (target, "points to")):
        if int(ends.min()) < 0 or int(ends.max()) >= nodes:
            edge = int(((ends < 0) | (ends >= nodes)).nonzero()[0])
            raise GraphError(
                f"edge {edge} {verb} node {int(ends[edge])}, but there are {nodes} nodes, "
                "numbered from 0"
            )
    if len(offset) > 2:
        graph = torch.repeat_interleave(
            torch.arange(len(offset) - 1, device=offset.device), offset.diff()
        )
        across = (graph[source] != graph[target]).nonzero()
        if len(across):
            edge = int(across[0])
            raise GraphError(
                f"edge {edge} joins node {int(source[edge])} of graph "
                f"{int(graph[source[edge]])} to node {int(target[edge])} "
                f"of graph {int(graph[target[edge]])}; an edge stays within one graph"
            )


def lengths(
    labels: Tensor, features_: Tensor | None, size: int, what: str = "edge", kind: str = "labels"
) -> None:
    """Check that there is one label (and feature row) per element."""
    if len(labels) != size:
        raise GraphError(f"{len(labels)} {what} {kind} were given for {size} {what}s")
    _feature_rows(features_, size, what)


def features(values: Any, what: str, device: torch.device) -> Tensor | None:
    """Turn users' features into a float matrix of finite numbers."""
    if values is None:
        return None
    array = values if isinstance(values, Tensor) else _as_tensor(values, f"{what} features")
    if array.dim() == 1:
        array = array[:, None]
    if array.dim() != 2:
        raise GraphError(
            f"{what} features must be one row per {what}, got an array of shape "
            f"{tuple(array.shape)}"
        )
    if array.is_complex():
        raise GraphError(f"{what} features must be real numbers, got {array.dtype}")
    dtype = array.dtype if array.dtype in (torch.float32, torch.float64) else torch.float32
    return array.detach().to(device, dtype, copy=isinstance(values, Tensor))


def attribute(values: Any, size: int, what: str, name: str, device: torch.device) -> Tensor:
    """Turn users' numbers of one attribute into an int64 vector."""
    array = values if isinstance(values, Tensor) else _as_tensor(values, f"{what} attribute {name}")
    if array.numel() == 0:
        array = array.to(torch.int64)
    if array.dim() != 1 or array.dtype not in (*_INTEGERS, torch.bool):
        raise GraphError(
            f"the {what} attribute {name!r} must be one whole number per {what}, got {array.dtype} "
            f"of shape {tuple(array.shape)}"
        )
    if len(array) != size:
        raise GraphError(
            f"{len(array)} values of the {what} attribute {name!r} were given for {size} {what}s"
        )
    return _int64(array.detach(), f"the {what} attribute {name!r}").to(device)


def graph_features(array: Tensor | None, size: int) -> None:
    """Check that features of graphs are finite, one row per graph."""
    _feature_rows(array, size, "graph")


def column_names(values: Any, size: int, what: str) -> None:
    """Check that columns have names: texts, one for each, all different."""
    if not isinstance(values, tuple) or not all(isinstance(name, str) for name in values):
        raise GraphError(f"{what} names must be a tuple of texts, got {short(values)}")
    if len(values) != size:
        raise GraphError(f"{len(values)} {what} names were given for {size} {what}s")
    if len(set(values)) < size:
        again = next(name for place, name in enumerate(values) if name in values[:place])
        raise GraphError(f"the {what} name {again!r} stands twice; names are unique")


def names(values: Sequence[Any] | None, what: str) -> Names | None:
    """Turn users' names into an object array."""
    if values is None:
        return None
    if isinstance(values, Set | Mapping):
        raise GraphError(
            f"{what} names are a {type(values).__name__}, not one value per {what} in their order: "
            "pass a list"
        )
    array = np.empty(len(values), dtype=object)
    array[:] = values.tolist() if isinstance(values, np.ndarray | Tensor) else list(values)
    return array


def objects(items: Any, dtype: Any) -> Names:
    """Return a sequence of graphs or nodes as numpy sees it: one object per item."""
    if dtype is not None and np.dtype(dtype) != object:
        raise GraphError(
            f"{type(items).__name__} is no array of numbers; count colors with wl.WLVectorizer, "
            "or take its arrays"
        )
    array = np.empty(len(items), dtype=object)
    for position, item in enumerate(items):
        array[position] = item
    return array


def positions(key: Any, size: int, what: str, device: torch.device) -> slice | Tensor:
    """Turn any index of a sequence into a step-1 slice or a tensor of positions on ``device``."""
    chosen = _positions(key, size, what)
    return chosen if isinstance(chosen, slice) else chosen.to(device)


def _positions(key: Any, size: int, what: str) -> slice | Tensor:
    if isinstance(key, int | np.integer):
        position = int(key)
        if not -size <= position < size:
            raise IndexError(f"{what} {position} was asked for, but there are {size}")
        position %= size
        return slice(position, position + 1)
    if isinstance(key, slice):
        start, stop, step = key.indices(size)
        if step == 1:
            return slice(start, max(start, stop))
        return torch.arange(size)[list(range(start, stop, step))]
    index = key if isinstance(key, Tensor) else _as_tensor(key, f"{what} numbers")
    if index.dtype == torch.bool:
        if index.shape != (size,):
            raise IndexError(
                f"a mask over {size} {what}s must have that length, got shape {tuple(index.shape)}"
            )
        return index.nonzero()[:, 0]
    if index.numel() == 0:
        return index.reshape(-1).to(torch.int64)
    if index.dim() > 1 or index.dtype not in _INTEGERS:
        raise IndexError(
            f"{what}s are chosen by whole numbers, a slice or a mask, got {index.dtype} of "
            f"{tuple(index.shape)}"
        )
    index = _int64(index.reshape(-1), f"{what} numbers")
    outside = ((index < -size) | (index >= size)).nonzero()
    if len(outside):
        raise IndexError(f"{what} {int(index[outside[0]])} was asked for, but there are {size}")
    return torch.where(index < 0, index + size, index)


def _kinds(graphs: Graphs) -> None:
    for name in ("node_label", *_NUMBERS):
        array = _of_kind(graphs, name, Tensor, "a 1-d int64 tensor")
        if array.dtype != torch.int64 or array.dim() != 1:
            raise GraphError(
                f"{name} must be a 1-d int64 tensor, got {tuple(array.shape)} of {array.dtype}"
            )
    for name in ("node_vocabulary", "edge_vocabulary"):
        _of_kind(graphs, name, Vocabulary, "a Vocabulary")
    for name in _FEATURES:
        _of_kind(graphs, name, Tensor | None, "a float matrix, a tensor")
    for name in _ATTRIBUTES:
        _of_kind(graphs, name, Tensor | None, "an int64 matrix, a tensor")
    for name in ("node_names", "graph_names"):
        array = getattr(graphs, name)
        is_array = isinstance(array, np.ndarray) and array.dtype == object and array.ndim == 1
        if array is not None and not is_array:
            raise GraphError(
                f"{name} must be a 1-d numpy array of objects; from_edges makes one of any sequence"
            )


def _of_kind(graphs: Graphs, name: str, kind: Any, described: str) -> Any:
    value = getattr(graphs, name)
    if not isinstance(value, kind):
        raise GraphError(f"{name} must be {described}, got a {type(value).__name__}")
    return value


def _first_repeated(values: Names) -> Any:
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def unique_names(values: Names, offset: Tensor) -> None:
    """Check that no name stands twice in a graph."""
    for graph, (start, stop) in enumerate(pairwise(offset.tolist())):
        try:
            distinct = len(set(values[start:stop]))
        except TypeError as error:
            raise GraphError(
                f"a node name in graph {graph} cannot be hashed ({error}): use strings, numbers or "
                "tuples"
            ) from None
        if distinct < stop - start:
            again = _first_repeated(values[start:stop])
            raise GraphError(
                f"the node name {again!r} stands twice in graph {graph}; names are unique within "
                "a graph"
            )


def _as_tensor(values: Any, what: str) -> Tensor:
    """Copy users' numbers into a tensor, whatever their byte order and strides."""
    try:
        array = np.array(values, order="C")
        return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), copy=False))
    except (RuntimeError, TypeError, ValueError) as error:
        hint = ""
        if what == "edges":
            hint = "; nodes are numbered from 0, for named ones use from_networkx or a table"
        reason = str(error).partition(". The only")[0]
        raise GraphError(f"{what} cannot be read as an array of numbers ({reason}){hint}") from None


def _int64(array: Tensor, what: str) -> Tensor:
    whole = array.to(torch.int64)
    if array.dtype == torch.uint64 and bool((whole < 0).any()):
        raise GraphError(f"{what} must be below 2^63")
    return whole


def label_range(labels: Tensor, size: int, what: str) -> None:
    """Check that label numbers are those of a vocabulary of so many values."""
    if len(labels) and not (int(labels.min()) >= 0 and int(labels.max()) < size):
        element = int(((labels < 0) | (labels >= size)).nonzero()[0])
        raise GraphError(
            f"{what} {element} has the label number {int(labels[element])}, but the vocabulary "
            f"has {size}"
        )


def _attribute_rows(array: Tensor | None, size: int, what: str) -> None:
    if array is None:
        return
    if array.dim() != 2 or array.dtype != torch.int64:
        raise GraphError(
            f"{what} attributes must be an int64 matrix, got {array.dtype} of shape "
            f"{tuple(array.shape)}"
        )
    if len(array) != size:
        raise GraphError(f"{len(array)} rows of {what} attributes were given for {size} {what}s")


def _feature_rows(array: Tensor | None, size: int, what: str) -> None:
    if array is None:
        return
    if array.dim() != 2 or array.dtype not in (torch.float32, torch.float64):
        raise GraphError(
            f"{what} features must be a float matrix, got {array.dtype} of shape "
            f"{tuple(array.shape)}"
        )
    if len(array) != size:
        raise GraphError(f"{len(array)} rows of {what} features were given for {size} {what}s")
    if not bool(torch.isfinite(array).all()):
        row, column = (~torch.isfinite(array)).nonzero()[0].tolist()
        raise GraphError(
            f"feature {column} of {what} {row} is {float(array[row, column])}; features must be "
            "finite: fill in or drop missing values first"
        )
