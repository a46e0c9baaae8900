"""Networks: all changed copies packed into few passes, exact to the last bit."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.explain._changes import Changes, copies
from edgnn.explain._subject import (
    MEMORY,
    Check,
    Labels,
    Scores,
    Subject,
    check_classes,
    check_fitted,
    check_single,
    cut,
    part_around,
)
from edgnn.graphs import Graphs, Nodes, degrees
from edgnn.models import (
    Estimator,
    UnknownLabelWarning,
    check_outputs,
    decide,
    device_of,
    graphs_of,
    probabilities,
    shaped,
)
from edgnn.nn import Inputs, Model, input_options

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class NetworkScores(Scores):
    """The outputs of every member for some copies, as float64 on the CPU.

    Shapes
    ------
    outputs (M, copies, K)
    """

    outputs: Tensor
    task: str
    temperature: float

    @cached_property
    def numbers(self) -> _Array:  # type: ignore[override]
        """The members' mean probability of every class or label, or their mean outputs."""
        if self.task == "values":
            return np.asarray(self.outputs.mean(dim=0))
        members: _Array = probabilities(self.outputs.numpy(), self.task, self.temperature)
        mean: _Array = members.mean(axis=0)
        return mean

    def value(self, column: int) -> _Array:
        """Return the number that is explained."""
        return np.asarray(explained(self.outputs, self.task, self.temperature, column))

    def log_probability(self) -> _Array:
        """Return the logarithm of the members' sum of probabilities."""
        logs = torch.log_softmax(self.outputs / self.temperature, dim=-1)
        return np.asarray(torch.logsumexp(logs, dim=0))


class NetworkSubject(Subject):
    """A single item as a network reads it.

    Attributes
    ----------
    encoded : Graphs
        ``raw`` in the model's numbers, with the reserved label behind the known ones. Of a node,
        that is exactly what its prediction depends on.
    beyond : Tensor, optional
        Where degrees are labels: how much of each node's degree comes from edges that lead out of
        the part.
    """

    elements = 20_000_000

    def __init__(self, estimator: Estimator, item: Any, check: Check | None) -> None:
        check_fitted(estimator, estimator.__sklearn_is_fitted__())
        self.task = estimator.encoding.task
        self.classes = _classes(estimator.encoding)
        check_classes(estimator, self.classes, self.task)
        self.estimator, self.check = estimator, check
        self.item = estimator.read_items(item)
        check_single(self.item)
        self.part = None
        self.beyond: Tensor | None = None
        whole, coder = graphs_of(self.item), estimator.coder
        encoded = coder.encode(whole)
        estimator.seen.check(coder, whole, encoded, estimator.unknown)
        self.raw = whole
        self.encoded = encoded._with(
            node_vocabulary=coder.node_vocabulary.with_unknown(),
            edge_vocabulary=coder.edge_vocabulary.with_unknown(),
            node_names=None,
        ).to(device_of(estimator.device))
        if isinstance(self.item, Nodes):
            self._cut_out(whole, int(self.item.index[0]))
        reads_labels = bool(estimator._model.convs[0].reads_labels)
        self.labels = {
            "node": Labels.of(coder.node_vocabulary, self.encoded.node_label),
            "edge": Labels.of(coder.edge_vocabulary, self.encoded.edge_label, reads_labels),
        }
        if coder.identity:
            self.node_label_kind = "name"
        elif coder.degree_labels is not None:
            self.node_label_kind = "degree"

    def _cut_out(self, whole: Graphs, node: int) -> None:
        """Keep what the layers read to compute the state of a node."""
        model, coder = self.estimator._model, self.estimator.coder
        by_degree = coder.degree_labels is not None
        direction = model.config["direction"]
        self.part = part_around(whole, node, len(model.convs), direction, every_edge=by_degree)
        self.raw, self.encoded = cut(whole, self.part), cut(self.encoded, self.part)
        if by_degree:
            options = coder.degree_labels, coder.multiplicity
            of_part = degrees(whole, *options)[self.part.nodes.to(whole.device)]
            beyond = of_part - degrees(self.raw, *options)
            self.beyond = beyond.to(self.encoded.device)

    @torch.no_grad()
    def scores(self, changes: Changes) -> NetworkScores:
        """Ask all members about changed copies."""
        model = self.estimator._model.to(self.encoded.device)
        training = model.training
        model.eval()
        size = self._copies_at_once()
        found = [torch.zeros(model.members or 1, 0, len(self.classes), dtype=torch.float64)]
        try:
            for start in range(0, changes.count, size):
                self.look()
                piece = changes.piece(start, min(start + size, changes.count))
                graphs, positions = self.copies(piece)
                outputs = outputs_of(model, self.inputs(model, graphs), positions)
                found.append(outputs.double().cpu())
        finally:
            model.train(training)
        outputs = torch.cat(found, dim=1)
        check_outputs(outputs.numpy(), axis=1)
        return NetworkScores(outputs, self.task, self.temperature)

    def copies(self, changes: Changes) -> tuple[Graphs, Tensor | None]:
        """Return the changed copies, encoded, and the number of the explained node in each."""
        by_degree = self.estimator.coder.degree_labels is not None
        graphs, numbers = copies(self.encoded, changes, self._degree_labels if by_degree else None)
        return graphs, None if self.node is None else numbers[:, self.node]

    def inputs(self, model: Model, graphs: Graphs) -> Inputs:
        """Count what a model reads of encoded graphs."""
        double = next(model.parameters()).dtype == torch.float64
        return Inputs.of(
            graphs,
            dtype=torch.float64 if double else torch.float32,
            multiplicity=self.estimator.coder.multiplicity,
            **input_options(model.config),
        )

    def prediction(self, scores: Scores) -> Any:
        """Return what ``predict`` says of the first copy."""
        decided = shaped if self.task == "values" else decide
        first = decided(scores.numbers[:1], self.estimator.encoding)[0]
        return first.item() if np.ndim(first) == 0 else first

    def answer(self, item: Graphs | Nodes) -> tuple[_Array, Any]:
        """Ask the estimator itself; degrees that no training graph had count for nothing."""
        estimator = self.estimator
        if estimator.unknown == "error":
            estimator = copy.copy(estimator)
            estimator.unknown = "zero"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownLabelWarning)
            return estimator.predict_proba(item)[0], estimator.predict(item)[0]

    def label_choices(self, kind: str) -> list[int]:
        """Return the labels that the training part contained."""
        seen = self.estimator.seen
        counts = seen.nodes if kind == "node" else seen.edges
        return list(np.flatnonzero(counts.numpy()).tolist())

    @property
    def temperature(self) -> float:
        """What logits are divided by."""
        return float(getattr(self.estimator, "temperature_", 1.0))

    @property
    def has_links_beyond(self) -> bool:
        """Whether links outside the part count as well, for degrees that are labels."""
        return self.beyond is not None and bool(self.beyond.any())

    @property
    def copied_elements(self) -> int:
        """How many nodes and edges each copy has, for every member."""
        members: int = self.estimator._model.members or 1
        return members * (self.raw.num_nodes + self.raw.num_edges)

    @property
    def node_keys(self) -> list[Hashable]:
        """Labels, and of degrees what comes from outside the part."""
        keys = super().node_keys
        return keys if self.beyond is None else list(zip(keys, self.beyond.tolist(), strict=True))

    def _degree_labels(self, graphs: Graphs, of_node: Tensor) -> Tensor:
        """Return the labels of nodes by degree, what comes from outside the part included."""
        coder = self.estimator.coder
        degree = degrees(graphs, coder.degree_labels, coder.multiplicity)
        if self.beyond is not None:
            degree = degree + self.beyond[of_node]
        known = torch.tensor(list(coder.node_vocabulary), dtype=torch.int64, device=graphs.device)
        largest = int(torch.cat([known, degree, degree.new_zeros(1)]).max())
        table = torch.full((largest + 1,), self.labels["node"].unknown, device=graphs.device)
        table[known] = torch.arange(len(known), device=graphs.device)
        return table[degree]

    def _copies_at_once(self) -> int:
        model, base = self.estimator._model, self.encoded
        width = max(int(conv.out_dim) for conv in model.convs) * (model.members or 1)
        inputs = min(int(model.input_dim), 64) + min(int(model.config["edge_labels"]), 64)
        per_node = 4 * (3 * width + 2 * inputs) + 64
        bytes_: int = base.num_nodes * per_node + base.num_edges * 120
        return max(1, MEMORY // max(1, bytes_))


def outputs_of(model: Model, inputs: Inputs, positions: Tensor | None) -> Tensor:
    """Return the outputs for all graphs, or for some nodes; shape (M, items, K)."""
    if positions is not None:
        first = model.constant_first(inputs)
        inputs = inputs.around(positions, len(model.convs), constant_first=first)
    outputs: Tensor = model(inputs)
    return outputs if outputs.dim() == 3 else outputs.unsqueeze(0)


def explained(outputs: Tensor, task: str, temperature: float, column: int) -> Tensor:
    """Return the log-odds of a class or label by the members' mean probability, or their mean.

    Shapes
    ------
    outputs (M, n, K) → (n,)
    """
    if task == "values":
        return outputs[..., column].mean(dim=0)
    logits = outputs / temperature
    if task == "labels":
        one = torch.nn.functional.logsigmoid(logits[..., column])
        other = torch.nn.functional.logsigmoid(-logits[..., column])
    else:
        logs = torch.log_softmax(logits, dim=-1)
        others = [place for place in range(logs.shape[-1]) if place != column]
        one, other = logs[..., column], torch.logsumexp(logs[..., others], dim=-1)
    members = math.log(len(outputs))
    return (torch.logsumexp(one, dim=0) - members) - (torch.logsumexp(other, dim=0) - members)


def _classes(encoding: Any) -> list[Any]:
    if encoding.task == "values":
        return list(range(encoding.outputs))
    return list(encoding.classes.tolist())
