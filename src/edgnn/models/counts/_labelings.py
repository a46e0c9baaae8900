"""Labelings: which labels and attributes of nodes and edges color refinement starts from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn._arrays import to_array, to_tensor
from edgnn._hashing import mix
from edgnn.errors import EstimatorError
from edgnn.graphs import UNKNOWN, Graphs, Vocabulary

_Array = np.ndarray[Any, Any]

_LABEL = "label"
_SHORTEST_CYCLE = "cycle"
_MOST_KINDS = 16  # of an attribute below; what is beyond counts as the last
#: What of edges takes few values, from 0 on; of all else hashes are taken.
_SMALL = {_LABEL, _SHORTEST_CYCLE, "stereo", "conjugated", "in_ring", "ring_size"}
_MOST_NUMBERS = 2**16  # of edges; hashes are folded to so many


@dataclass(frozen=True)
class Labeling:
    """What two nodes, or two edges, must share to start with one color.

    Parameters
    ----------
    name : str
        What it is called.
    node, edge : tuple of str
        ``"label"``, names of attributes, and ``"cycle"``, the length of the shortest cycle through
        a node or edge (:meth:`Graphs.with_ring_sizes`).
    """

    name: str
    node: tuple[str, ...] = (_LABEL,)
    edge: tuple[str, ...] = (_LABEL,)


CYCLES = Labeling("labels and cycles", (_LABEL, _SHORTEST_CYCLE), (_LABEL, _SHORTEST_CYCLE))
#: Of molecules: what chemists distinguish, in three views that err on different molecules.
CHEMISTRY = (
    Labeling("elements and rings", (_LABEL, "ring_size"), (_LABEL, "ring_size")),
    Labeling("elements, charges and stereo", (_LABEL, "charge", "chirality"), (_LABEL, "stereo")),
    Labeling("atom types", (_LABEL, "charge", "hydrogens", "aromatic", "in_ring")),
)
PHARMACOPHORE = Labeling("pharmacophore", ("pharmacophore",))


def has_chemistry(graphs: Graphs) -> bool:
    """Return whether nodes and edges have the attributes that molecules are read with."""
    names = {name for labeling in (*CHEMISTRY, PHARMACOPHORE) for name in labeling.node}
    edges = {name for labeling in CHEMISTRY for name in labeling.edge}
    known = {_LABEL, *graphs.node_attribute_names}
    return names <= known and edges <= {_LABEL, *graphs.edge_attribute_names}


def default_labelings(graphs: Graphs) -> tuple[Labeling, ...]:
    """Return the labelings that fit these graphs."""
    if has_chemistry(graphs):
        return CHEMISTRY
    node, edge = graphs.node_attribute_names, graphs.edge_attribute_names
    if not node and not edge:
        return (CYCLES,)
    return (Labeling("labels and attributes", (_LABEL, *node), (_LABEL, *edge)), CYCLES)


def relabeled(graphs: Graphs, labeling: Labeling) -> Graphs:
    """Return graphs whose labels are numbers that stand for what the labeling names.

    A node's number is a hash of its label number and attributes, so it is the same in every
    collection that numbers labels alike; an edge's is small, as color refinement counts them.
    """
    cycles = with_cycles(graphs, labeling)
    node = torch.zeros(graphs.num_nodes, dtype=torch.int64)
    for name in labeling.node:
        values = values_of(graphs, name, "node", cycles)
        node = to_tensor(mix(to_array(mix_in(node, values)), 7))
    edge, kinds = _edge_numbers(graphs, labeling, cycles)
    return Graphs._trusted(
        node_label=node,
        edge_source=graphs.edge_source,
        edge_target=graphs.edge_target,
        edge_label=edge,
        graph_offset=graphs.graph_offset,
        node_vocabulary=Vocabulary([None]),
        edge_vocabulary=_numbers(kinds),
    )


def with_cycles(graphs: Graphs, labeling: Labeling) -> Graphs | None:
    """Return the graphs with their shortest cycles as labels, where the labeling reads them."""
    if _SHORTEST_CYCLE not in labeling.node + labeling.edge:
        return None
    return graphs.with_node_labels(None).with_edge_labels(None).with_ring_sizes()


def _edge_numbers(graphs: Graphs, labeling: Labeling, cycles: Graphs | None) -> tuple[Tensor, int]:
    """Return the numbers of edges, and how many numbers there can be.

    Which there can be depends on the labeling and on the labels that are known, not on the graphs:
    an edge has the same number in every collection.
    """
    columns = [values_of(graphs, name, "edge", cycles) for name in labeling.edge]
    known = len(graphs.edge_vocabulary) - (UNKNOWN in graphs.edge_vocabulary)
    sizes = [known + 1 if name == _LABEL else _MOST_KINDS for name in labeling.edge]
    edge = torch.zeros(graphs.num_edges, dtype=torch.int64)
    if prod(sizes) > _MOST_NUMBERS or not set(labeling.edge) <= _SMALL:
        for values in columns:
            edge = to_tensor(mix(to_array(mix_in(edge, values)), 7))
        return edge % _MOST_NUMBERS, _MOST_NUMBERS
    for values, size in zip(columns, sizes, strict=True):
        edge = edge * size + values.clamp(0, size - 1)
    return edge, prod(sizes)


@cache
def _numbers(kinds: int) -> Vocabulary:
    return Vocabulary(range(kinds))


def mix_in(hashes: Tensor, values: Tensor) -> Tensor:
    """Return hashes that depend on the values as well."""
    return hashes * 31 + values


def values_of(graphs: Graphs, name: str, what: str, cycles: Graphs | None) -> Tensor:
    """Return what a labeling reads of every node or edge under one of its names."""
    if name == _LABEL:
        label: Tensor = getattr(graphs, f"{what}_label")
        return label
    if name == _SHORTEST_CYCLE:
        assert cycles is not None
        pairs = [pair[1] for pair in getattr(cycles, f"{what}_vocabulary")]
        lengths = torch.tensor(pairs or [0], dtype=torch.int64)
        return lengths[getattr(cycles, f"{what}_label")]
    names: tuple[str, ...] = getattr(graphs, f"{what}_attribute_names")
    if name not in names:
        raise EstimatorError(
            f"the model looks at the {what} attribute {name!r}, which these graphs lack: read them "
            "as those of the training were read"
        )
    column: Tensor = getattr(graphs, f"{what}_attributes")[:, names.index(name)]
    return column
