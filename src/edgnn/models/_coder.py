"""How graphs become what a model reads: labels as numbers, degrees as labels, features."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from edgnn._words import counted, preview, short
from edgnn.errors import EstimatorError, UnknownLabelError
from edgnn.graphs import UNKNOWN, Direction, Graphs, Multiplicity, Nodes, Vocabulary, recode
from edgnn.models._items import Items, graphs_of

_Array = np.ndarray[Any, Any]

_FEATURELESS = (
    "a featureless model knows only the nodes it was trained with; "
    'predict nodes of the same graph, or set node_labels="given"'
)


class UnknownLabelWarning(UserWarning):
    """Labels that the fitted model has never seen count for nothing in its predictions."""


@dataclass(frozen=True, eq=False)
class Coder:
    """The labels and feature widths that a model is made for.

    Parameters
    ----------
    node_vocabulary, edge_vocabulary : Vocabulary
        The labels of the graphs given to ``fit``; a label's number is its row in the weights.
    node_features, edge_features : int
        Widths of the continuous features.
    degree_labels : {"in", "out", "both"}, optional
        Which degree takes the place of the node labels.
    multiplicity : {"once", "per-edge"}
        What the degree counts.
    identity : bool
        Whether every node has a label of its own, its name or number, in the place of labels and
        features.
    """

    node_vocabulary: Vocabulary
    edge_vocabulary: Vocabulary
    node_features: int
    edge_features: int
    degree_labels: Direction | None
    multiplicity: Multiplicity
    identity: bool = False

    @classmethod
    def of(
        cls,
        graphs: Graphs,
        degree_labels: Any,
        multiplicity: Multiplicity,
        *,
        identity: bool = False,
    ) -> Coder:
        """Learn the labels of ``graphs``; ``"auto"``: in-degrees where nodes have no labels."""
        if identity:
            graphs, degree_labels = _identified(graphs), None
        if degree_labels == "auto":
            bare = graphs.node_vocabulary.constant and graphs.node_features is None
            degree_labels = "in" if bare else None
        if degree_labels is not None:
            graphs = graphs.with_degree_labels(degree_labels, multiplicity=multiplicity)
        return cls(
            node_vocabulary=_known(graphs.node_vocabulary),
            edge_vocabulary=_known(graphs.edge_vocabulary),
            node_features=_width(graphs.node_features),
            edge_features=_width(graphs.edge_features),
            degree_labels=degree_labels,
            multiplicity=multiplicity,
            identity=identity,
        )

    def encode(self, graphs: Graphs) -> Graphs:
        """Return ``graphs`` with labels numbered as fitted; unknown ones become ``UNKNOWN``."""
        graphs = self.relabeled(graphs)
        self._check_width("node", self.node_features, graphs.node_features)
        self._check_width("edge", self.edge_features, graphs.edge_features)
        if self.identity:
            self._check_count(graphs)
        if graphs.node_vocabulary != self.node_vocabulary:
            labels, vocabulary = recode(
                graphs.node_label, graphs.node_vocabulary, self.node_vocabulary, "map"
            )
            if self.identity:
                self._refuse_strangers(graphs, labels)
            graphs = graphs._with(node_label=labels, node_vocabulary=vocabulary)
        if graphs.edge_vocabulary != self.edge_vocabulary:
            labels, vocabulary = recode(
                graphs.edge_label, graphs.edge_vocabulary, self.edge_vocabulary, "map", "edge"
            )
            graphs = graphs._with(edge_label=labels, edge_vocabulary=vocabulary)
        return graphs

    def _check_width(self, noun: str, fitted: int, features: Tensor | None) -> None:
        if _width(features) != fitted:
            raise EstimatorError(
                f"the graphs have {_width(features)} {noun} features, "
                f"but the estimator was fitted with {fitted}: give it graphs with the same features"
            )

    def _check_count(self, graphs: Graphs) -> None:
        fitted = len(self.node_vocabulary)
        if graphs.node_names is None and graphs.num_nodes != fitted:
            raise UnknownLabelError(
                f"the graphs have {graphs.num_nodes:,} nodes without names, "
                f"those given to fit {fitted:,}: {_FEATURELESS}"
            )

    def relabeled(self, graphs: Graphs) -> Graphs:
        """Return ``graphs`` with degrees or identities as node labels, if the model reads them."""
        if self.identity:
            return _identified(graphs)
        if self.degree_labels is None:
            return graphs
        return graphs.with_degree_labels(self.degree_labels, multiplicity=self.multiplicity)

    def _refuse_strangers(self, graphs: Graphs, labels: Tensor) -> None:
        strangers = (labels >= len(self.node_vocabulary)).nonzero()[:, 0]
        if len(strangers):
            name = graphs.node_vocabulary[int(graphs.node_label[strangers[0]])]
            raise UnknownLabelError(
                f"node {short(name)} is none of the {len(self.node_vocabulary):,} nodes of the "
                f"graphs given to fit: {_FEATURELESS}"
            )

    def includes(self, other: Coder) -> bool:
        """Whether a model made for this can learn from graphs that the other was made for."""
        same = ("node_features", "edge_features", "degree_labels", "multiplicity", "identity")
        return (
            all(getattr(self, name) == getattr(other, name) for name in same)
            and set(self.node_vocabulary) >= set(other.node_vocabulary)
            and set(self.edge_vocabulary) >= set(other.edge_vocabulary)
        )


@dataclass(frozen=True, eq=False)
class Seen:
    """Which of a coder's labels occur in a training set.

    Shapes
    ------
    nodes : (node labels,), edges : (edge labels,), both bool
    """

    nodes: Tensor
    edges: Tensor

    @classmethod
    def of(cls, coder: Coder, items: Items, train: _Array) -> Seen:
        """Mark the labels that occur in the graphs of the training items."""
        graphs = graphs_of(items)
        chosen = torch.as_tensor(train, device=graphs.device)
        owner = graphs.graph_of_node[items.index[chosen]] if isinstance(items, Nodes) else chosen
        mask = torch.zeros(len(graphs), dtype=torch.bool, device=graphs.device)
        mask[owner] = True
        on_node = mask[graphs.graph_of_node]
        on_edge = on_node[graphs.edge_source]
        return cls(
            _occurring(graphs.node_label[on_node], len(coder.node_vocabulary)),
            _occurring(graphs.edge_label[on_edge], len(coder.edge_vocabulary)),
        )

    def joined(self, earlier: Seen) -> Seen:
        """Return the labels that occur now or occurred in an earlier training."""
        return Seen(self.nodes | earlier.nodes, self.edges | earlier.edges)

    def unseen(self, graphs: Graphs) -> tuple[Tensor, Tensor]:
        """Return the nodes and the edges of encoded ``graphs`` whose label does not occur."""
        return _lacking(self.nodes, graphs.node_label), _lacking(self.edges, graphs.edge_label)

    def check(self, coder: Coder, raw: Graphs, encoded: Graphs, unknown: str) -> None:
        """Warn once of labels that were never seen; ``"silent"`` does not, ``"error"`` raises."""
        nodes, edges = self.unseen(encoded)
        if unknown == "silent" or (not len(nodes) and not len(edges)):
            return
        if unknown == "error":
            raise UnknownLabelError(self._refusal(coder, raw, nodes, edges))
        only_degrees = coder.degree_labels is not None and not len(edges)
        labels = "degrees" if only_degrees else "labels"
        elements = ((len(nodes), "node"), (len(edges), "edge"))
        counts = " and ".join(counted(number, noun) for number, noun in elements if number)
        owners = torch.unique(
            torch.cat([raw.graph_of_node[nodes], raw.graph_of_node[raw.edge_source[edges]]])
        )
        graphs = "" if len(raw) == 1 else f", in {len(owners):,} of {len(raw):,} graphs"
        warnings.warn(
            f"the training set did not contain the {labels} of {counts}{graphs}"
            f"{_named(coder, raw, nodes, edges)}; they count for nothing in the prediction",
            UnknownLabelWarning,
            stacklevel=_frames_inside(),
        )

    def _refusal(self, coder: Coder, raw: Graphs, nodes: Tensor, edges: Tensor) -> str:
        if len(nodes):
            named = coder.relabeled(raw)
            element, label = f"node {int(nodes[0])}", named.node_labels[int(nodes[0])]
            known, marks = coder.node_vocabulary, self.nodes
        else:
            element, label = f"edge {int(edges[0])}", raw.edge_labels[int(edges[0])]
            known, marks = coder.edge_vocabulary, self.edges
        seen = [value for value, mark in zip(known, marks.tolist(), strict=True) if mark]
        return (
            f"{element} has the label {short(label)}, "
            f"which is not among the {len(seen)} of the training set: {preview(seen)}; "
            'set unknown="zero" to let such labels count for nothing'
        )


def _named(coder: Coder, raw: Graphs, nodes: Tensor, edges: Tensor) -> str:
    """Say which labels of the users' own these nodes and edges have."""
    labels = _distinct(raw.edge_label[edges], raw.edge_vocabulary)
    if coder.degree_labels is None and not coder.identity:
        labels = _distinct(raw.node_label[nodes], raw.node_vocabulary) + labels
    return f" ({preview(labels)})" if labels else ""


def _distinct(numbers: Tensor, vocabulary: Vocabulary) -> list[Any]:
    """Return the labels behind numbers, each once, without ``None``."""
    labels = [vocabulary[number] for number in torch.unique(numbers).tolist()]
    return [label for label in labels if label is not None]


def carriers(coder: Coder, graphs: Graphs) -> csr_array:
    """Return which labels each encoded graph has; edge labels are behind node labels."""
    node_labels, edge_labels = len(coder.node_vocabulary), len(coder.edge_vocabulary)
    owner = graphs.graph_of_node
    rows = torch.cat([owner, owner[graphs.edge_source]]).cpu().numpy()
    known = (
        torch.cat([graphs.node_label < node_labels, graphs.edge_label < edge_labels]).cpu().numpy()
    )
    columns = torch.cat([graphs.node_label, graphs.edge_label + node_labels]).cpu().numpy()
    shape = (len(graphs), node_labels + edge_labels)
    return csr_array((np.ones(int(known.sum())), (rows[known], columns[known])), shape=shape)


def _known(vocabulary: Vocabulary) -> Vocabulary:
    if UNKNOWN not in vocabulary:
        return vocabulary
    return Vocabulary(value for value in vocabulary if value is not UNKNOWN)


def _identified(graphs: Graphs) -> Graphs:
    """Return ``graphs`` with the name of each node, or else its number, as its label."""
    names = range(graphs.num_nodes) if graphs.node_names is None else graphs.node_names.tolist()
    identified = graphs.with_node_labels(names)._with(node_features=None)
    if len(identified.node_vocabulary) < graphs.num_nodes:
        name = identified.node_vocabulary[int(torch.bincount(identified.node_label).argmax())]
        raise EstimatorError(
            f"several nodes have the name {short(name)}, but a featureless model knows nodes by "
            'their names: give each its own, or set node_labels="given"'
        )
    return identified


def _width(features: Tensor | None) -> int:
    return 0 if features is None else features.shape[1]


def _occurring(labels: Tensor, size: int) -> Tensor:
    return (torch.bincount(labels, minlength=size)[:size] > 0).cpu()


def _lacking(seen: Tensor, labels: Tensor) -> Tensor:
    known = torch.cat([seen, torch.zeros(1, dtype=torch.bool)]).to(labels.device)
    return (~known[labels.clamp(max=len(seen))]).nonzero()[:, 0]


def _frames_inside() -> int:
    """Return the ``stacklevel`` at which a warning names the line that called the estimator."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level + 1


def _is_ours(module: str) -> bool:
    return module.startswith("edgnn.models")
