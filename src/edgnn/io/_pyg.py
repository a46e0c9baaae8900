"""PyTorch Geometric data to Graphs and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, OnUnknown
from edgnn.io._common import labels_like
from edgnn.io._pyg_data import Matrix, Reader, merged, part_of, pyg, stacked


def from_pyg(
    data: Any,
    *,
    node_label: str | None = None,
    edge_label: str | None = None,
    x: Matrix = "features",
    edge_attr: Matrix = "features",
    like: Graphs | None = None,
    unknown: OnUnknown = "error",
) -> Graphs:
    """Convert PyTorch Geometric data; edges stay as they are, in their order.

    Parameters
    ----------
    data : Data, HeteroData, Batch, or iterable of them
        A ``HeteroData`` is labeled by its types: the node type, and the edge type as a tuple
        (source, relation, target).
    node_label, edge_label : str, optional
        Attributes of ``Data`` that hold one label number per node and edge; default: ``node_type``
        and ``edge_type``, where all data have them. The numbers become the values that
        :func:`to_pyg` has noted in ``label_values``; where there is no such note, they are the
        label values themselves.
    x, edge_attr : {"features", "one-hot", "ignore"}
        What the two matrices hold: continuous features; labels, one column each (the label is the
        column's number, and takes the place of the default attribute); or nothing of interest.
    like : Graphs, optional
        Number the labels as these graphs do, so that a model made for them fits.
    unknown : {"error", "map"}
        What to do with a label that ``like`` does not know: raise, or give it the reserved label
        ``UNKNOWN``.
    """
    node = Reader("node", node_label, x)
    edge = Reader("edge", edge_label, edge_attr)
    parts = [
        part_of(item, f"item {position}", node, edge) for position, item in enumerate(_items(data))
    ]
    if not parts:
        return Graphs.from_edges([], sizes=[], like=like, unknown=unknown)
    if len({part.ends.device for part in parts}) > 1:
        raise GraphError("the data are on different devices: move them to one with .to(device)")
    first = list(accumulate((part.node.count for part in parts), initial=0))
    ends = torch.cat([part.ends + shift for part, shift in zip(parts, first, strict=False)], 1)
    nodes = [part.node for part in parts]
    edges = [part.edge for part in parts]
    node_ids, node_vocabulary = merged(nodes, node, ends.device)
    edge_ids, edge_vocabulary = merged(edges, edge, ends.device)
    graphs = Graphs(
        node_label=node_ids,
        edge_source=ends[0].contiguous(),
        edge_target=ends[1].contiguous(),
        edge_label=edge_ids,
        graph_offset=torch.tensor(first, device=ends.device),
        node_vocabulary=node_vocabulary,
        edge_vocabulary=edge_vocabulary,
        node_features=stacked(nodes, node, "data"),
        edge_features=stacked(edges, edge, "data"),
    )
    return labels_like(graphs, like, unknown)


def to_pyg(graphs: Graphs, *, one_hot: bool = False) -> list[Any]:
    """Convert to a list of ``torch_geometric.data.Data``, one per graph.

    Each has ``edge_index`` and ``num_nodes``; ``x`` and ``edge_attr``, the features; and where
    there are labels, their numbers in ``node_type`` and ``edge_type`` and the values behind the
    numbers in ``label_values``, a dict of the lists ``"node"`` and ``"edge"``. From these
    :func:`from_pyg` makes the same graphs again, down to the number of every label (only of no
    graphs at all it cannot know the labels). Names are not carried over.

    Parameters
    ----------
    graphs : Graphs
        What to convert.
    one_hot : bool
        Append labels to the features as one-hot columns, the way PyG's own data sets have them.
    """
    data = pyg().Data
    values = {}
    if not graphs.node_vocabulary.constant:
        values["node"] = list(graphs.node_vocabulary)
    if not graphs.edge_vocabulary.constant:
        values["edge"] = list(graphs.edge_vocabulary)
    converted = []
    for nodes, edges in zip(_slices(graphs.graph_offset), _slices(graphs.edge_offset), strict=True):
        ends = torch.stack([graphs.edge_source[edges], graphs.edge_target[edges]]) - nodes.start
        fields: dict[str, Any] = {"edge_index": ends, "num_nodes": nodes.stop - nodes.start}
        if values:
            fields["label_values"] = dict(values)
        if "node" in values:
            fields["node_type"] = graphs.node_label[nodes].clone()
        if "edge" in values:
            fields["edge_type"] = graphs.edge_label[edges].clone()
        hot_nodes = fields.get("node_type") if one_hot else None
        hot_edges = fields.get("edge_type") if one_hot else None
        x = _matrix(graphs.node_features, nodes, hot_nodes, len(graphs.node_vocabulary))
        edge_attr = _matrix(graphs.edge_features, edges, hot_edges, len(graphs.edge_vocabulary))
        if x is not None:
            fields["x"] = x
        if edge_attr is not None:
            fields["edge_attr"] = edge_attr
        converted.append(data(**fields))
    return converted


def _matrix(
    features: Tensor | None, rows: slice, labels: Tensor | None, size: int
) -> Tensor | None:
    """Return features, and behind them the labels as one-hot columns where they are given."""
    chosen = None if features is None else features[rows].clone()
    if labels is None:
        return chosen
    columns = (labels[:, None] == torch.arange(size, device=labels.device)).float()
    return columns if chosen is None else torch.cat([chosen, columns.to(chosen.dtype)], 1)


def _items(data: Any) -> Iterator[Any]:
    """Yield single graphs; batches are taken apart."""
    library = pyg()
    items = [data] if isinstance(data, library.Data | library.HeteroData | library.Batch) else data
    if not isinstance(items, Iterable):
        raise GraphError(f"expected PyG data or an iterable of them, got a {type(data).__name__}")
    for position, item in enumerate(items):
        if isinstance(item, library.Batch):
            try:
                yield from item.to_data_list()
            except (RuntimeError, KeyError, AttributeError) as error:
                raise GraphError(
                    f"the batch cannot be taken apart: {error}; pass the list of its data"
                ) from None
        elif isinstance(item, library.Data | library.HeteroData):
            yield item
        else:
            raise GraphError(f"item {position} is a {type(item).__name__}, not PyG data")


def _slices(offset: Tensor) -> Iterator[slice]:
    return (slice(start, stop) for start, stop in pairwise(offset.tolist()))
