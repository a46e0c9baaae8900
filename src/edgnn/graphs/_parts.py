"""Parts of Graphs, and parts joined again: selections, induced subgraphs, concatenation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import checks as check
from edgnn.graphs._graphs import Graphs
from edgnn.graphs._nodes import Nodes
from edgnn.graphs._vocabulary import Vocabulary

#: What an estimator takes: a collection, or what scikit-learn makes of it, a list of single items.
Input = Graphs | Nodes | Sequence[Graphs] | Sequence[Nodes]


def select(graphs: Graphs, chosen: slice | Tensor) -> Graphs:
    """Return the chosen graphs, in that order; a slice has step 1."""
    if isinstance(chosen, slice):
        start, stop = chosen.start, chosen.stop
        first, last = int(graphs.graph_offset[start]), int(graphs.graph_offset[stop])
        edges = slice(int(graphs.edge_offset[start]), int(graphs.edge_offset[stop]))
        return _cut(
            graphs,
            slice(first, last),
            edges,
            graph_offset=graphs.graph_offset[start : stop + 1] - first,
            edge_source=graphs.edge_source[edges] - first,
            edge_target=graphs.edge_target[edges] - first,
            graph_names=_pick(graphs.graph_names, chosen),
            graph_features=_pick(graphs.graph_features, chosen),
        )
    offset, nodes = _ranges(graphs.graph_offset, chosen)
    edge_offset, numbers = _ranges(graphs.edge_offset, chosen)
    shift = torch.repeat_interleave(offset[:-1] - graphs.graph_offset[chosen], edge_offset.diff())
    return _cut(
        graphs,
        nodes,
        numbers,
        graph_offset=offset,
        edge_source=graphs.edge_source[numbers] + shift,
        edge_target=graphs.edge_target[numbers] + shift,
        graph_names=_pick(graphs.graph_names, chosen),
        graph_features=_pick(graphs.graph_features, chosen),
    )


def induced(graphs: Graphs, nodes: slice | Tensor) -> Graphs:
    """Return all graphs, reduced to some nodes and the edges between them."""
    keep = torch.zeros(graphs.num_nodes, dtype=torch.bool, device=graphs.device)
    keep[nodes] = True
    number = torch.cumsum(keep, 0) - 1
    edges = keep[graphs.edge_source] & keep[graphs.edge_target]
    counts = torch.bincount(graphs.graph_of_node[keep], minlength=len(graphs))
    return taken(graphs, keep, edges, number)._with(graph_offset=check.offsets(counts))


def taken(graphs: Graphs, nodes: Tensor, edges: Tensor, number: Tensor) -> Graphs:
    """Return some nodes and edges, by masks or rising numbers; offsets stay as they are.

    ``number`` has the new number of every node that is an end of these edges.
    """
    return _cut(
        graphs,
        nodes,
        edges,
        edge_source=number[graphs.edge_source[edges]],
        edge_target=number[graphs.edge_target[edges]],
    )


def _cut(graphs: Graphs, nodes: slice | Tensor, edges: slice | Tensor, **changes: Any) -> Graphs:
    """Return the graphs with what some nodes and edges carry, and with other changes."""
    return graphs._with(
        node_label=graphs.node_label[nodes],
        node_features=_pick(graphs.node_features, nodes),
        node_names=_pick(graphs.node_names, nodes),
        edge_label=graphs.edge_label[edges],
        edge_features=_pick(graphs.edge_features, edges),
        node_attributes=_pick(graphs.node_attributes, nodes),
        edge_attributes=_pick(graphs.edge_attributes, edges),
        **changes,
    )


def _pick(array: Any, index: slice | Tensor) -> Any:
    """Return the chosen rows of an array that may be missing, or of numpy."""
    if array is None:
        return None
    if isinstance(array, np.ndarray) and isinstance(index, Tensor):
        return array[index.cpu().numpy()]
    return array[index]


def _ranges(offset: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Return the offsets of chosen ranges laid one after another, and what they cover."""
    sizes = offset[chosen + 1] - offset[chosen]
    new = check.offsets(sizes)
    shift = torch.repeat_interleave(offset[chosen] - new[:-1], sizes)
    return new, torch.arange(int(new[-1]), device=offset.device) + shift


def concat(parts: Sequence[Graphs]) -> Graphs:
    """Join ``parts`` into one collection; see :meth:`Graphs.concat`."""
    if not parts:
        none = torch.zeros(0, dtype=torch.int64)
        offset = torch.zeros(1, dtype=torch.int64)
        return Graphs(none, none, none, none, offset, Vocabulary(), Vocabulary())
    _check_joinable(parts)
    node_label, node_vocabulary = _merged(parts, "node")
    edge_label, edge_vocabulary = _merged(parts, "edge")
    shifts = list(accumulate((part.num_nodes for part in parts), initial=0))

    def shifted(arrays: Iterable[Tensor]) -> list[Tensor]:
        return [array + shift for array, shift in zip(arrays, shifts, strict=False)]

    return Graphs._trusted(
        node_label=node_label,
        edge_source=torch.cat(shifted(part.edge_source for part in parts)),
        edge_target=torch.cat(shifted(part.edge_target for part in parts)),
        edge_label=edge_label,
        graph_offset=torch.cat(
            [parts[0].graph_offset[:1], *shifted(part.graph_offset[1:] for part in parts)]
        ),
        node_vocabulary=node_vocabulary,
        edge_vocabulary=edge_vocabulary,
        node_features=_features(parts, "node"),
        edge_features=_features(parts, "edge"),
        node_names=_names([part.node_names for part in parts]),
        graph_names=_names([part.graph_names for part in parts]),
        **_columns(parts),
    )


def _check_joinable(parts: Sequence[Any]) -> None:
    for position, part in enumerate(parts):
        if not isinstance(part, Graphs):
            raise GraphError(f"part {position} is a {type(part).__name__}, not Graphs")
    if len({part.device for part in parts}) > 1:
        raise GraphError(
            "graphs on different devices cannot be joined: move them to one with .to(device)"
        )


def _merged(parts: Sequence[Graphs], what: str) -> tuple[Tensor, Vocabulary]:
    """Return all labels, numbered by one vocabulary: the first one and what others add to it."""
    first: Vocabulary = getattr(parts[0], f"{what}_vocabulary")
    numbers = {value: number for number, value in enumerate(first)}
    labels = []
    for part in parts:
        ids, own = getattr(part, f"{what}_label"), getattr(part, f"{what}_vocabulary")
        if own != first:
            table = [numbers.setdefault(value, len(numbers)) for value in own]
            ids = torch.tensor(table, dtype=torch.int64).to(ids.device)[ids]
        labels.append(ids)
    return torch.cat(labels), first if len(numbers) == len(first) else Vocabulary(numbers)


def _features(parts: Sequence[Graphs], what: str) -> Tensor | None:
    arrays = [getattr(part, f"{what}_features") for part in parts]
    present = [array for array in arrays if array is not None]
    if not present:
        return None
    if len(present) < len(arrays):
        lacking = next(number for number, array in enumerate(arrays) if array is None)
        raise GraphError(
            f"part {lacking} has no {what} features while others have: give all of them features, "
            "or none"
        )
    widths = sorted({array.shape[1] for array in present})
    if len(widths) > 1:
        raise GraphError(f"the parts have {what} features of different widths: {widths}")
    return torch.cat(present)


def _columns(parts: Sequence[Graphs]) -> dict[str, Any]:
    """Return attributes and features of graphs that all parts have alike; the rest are dropped."""
    deciding = [part for part in parts if len(part)] or parts[:1]
    joined: dict[str, Any] = {}
    for array, names in (
        ("node_attributes", "node_attribute_names"),
        ("edge_attributes", "edge_attribute_names"),
        ("graph_features", "graph_feature_names"),
    ):
        first = getattr(deciding[0], names)
        if not first or any(getattr(part, names) != first for part in deciding):
            continue
        joined[array] = torch.cat([getattr(part, array) for part in deciding])
        joined[names] = first
    return joined


def _names(parts: list[Any]) -> Any:
    return None if any(part is None for part in parts) else np.concatenate(parts)


def joined(items: Input) -> Graphs | Nodes:
    """Return graphs or nodes as they are, and a list of them as one collection."""
    if isinstance(items, Graphs | Nodes):
        return items
    if not isinstance(items, Iterable):
        raise GraphError(
            f"a {type(items).__name__} is neither Graphs nor Nodes; of a data set, pass "
            "data.graphs or data.nodes"
        )
    parts: list[Any] = list(items)
    if parts and all(isinstance(part, Nodes) for part in parts):
        return Nodes.concat(parts)
    for position, part in enumerate(parts):
        if not isinstance(part, Graphs):
            raise GraphError(
                f"item {position} is a {type(part).__name__}; a list of Graphs or of Nodes is "
                "needed"
            )
    return Graphs.concat(parts)


def joined_graphs(items: Graphs | Sequence[Graphs]) -> Graphs:
    """Return graphs as they are, and a list of them as one collection."""
    graphs = joined(items)
    if isinstance(graphs, Nodes):
        raise GraphError("graphs are needed, not nodes; nodes.graphs are the ones they belong to")
    return graphs
