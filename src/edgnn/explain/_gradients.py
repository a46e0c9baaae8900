"""Integrated gradients of networks: what each label count adds to the prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.explain._changes import Changes
from edgnn.explain._network import NetworkSubject, explained, outputs_of
from edgnn.explain._subject import MEMORY
from edgnn.graphs import CSR
from edgnn.models import rebuilt
from edgnn.nn import Inputs, Model
from edgnn.nn.ops import neighbor_sum, sparse_product

_Array = np.ndarray[Any, Any]

#: The constants of a model that counts and sums of features are in.
_COUNTED = ("C_in", "C_out", "F_in", "F_out")


@dataclass(frozen=True, eq=False)
class Gradients:
    """Integrated gradients of one prediction; ``None`` where there are none.

    ``edge`` is ``None`` where layers do not count edge labels. The sum of all is ``value −
    baseline`` up to ``error``.
    """

    node: _Array | None = None
    edge: _Array | None = None
    baseline: float = math.nan
    error: float = math.nan


def integrated_gradients(subject: NetworkSubject, target: int, steps: int) -> Gradients:
    r"""Integrate the gradient along the straight line from zero to the inputs x of the model.

    .. math:: x_i \int_0^1 \frac{\partial f(\alpha x)}{\partial x_i} d\alpha

    The integral is taken by Gauss and Legendre's rule with ``steps`` points, in double precision.
    The inputs are the rows of
    :math:`H^0` (one-hot labels and features; :math:`A H^0` follows from them), :math:`C_{in}`,
    :math:`C_{out}` and sums of edge features. Layers that do not count edge labels (``"joint"``,
    ``"rgcn"``, ``"gine"``) keep all their edges on the way. An entry of :math:`C` belongs in equal
    shares to the edges that it counts. There are none where one point alone would take too much
    memory.
    """
    stored = subject.estimator._model
    model = rebuilt(
        subject.estimator.level,
        stored.config,
        stored.members,
        {name: part.double() for name, part in stored.state_dict().items()},
    ).to(subject.encoded.device)
    size = MEMORY // max(1, _bytes_per_point(subject, model))
    if not size:
        return Gradients()
    points, weights = np.polynomial.legendre.leggauss(steps)
    points, weights = (points + 1) / 2, weights / 2
    total: dict[str, Tensor] = {}
    for start in range(0, steps, size):
        subject.look()
        _add(
            total,
            subject,
            model,
            target,
            points[start : start + size],
            weights[start : start + size],
        )
    subject.look()
    baseline, value = (_value_at(subject, model, target, point) for point in (0.0, 1.0))
    node, edge = _of_elements(subject, model, total)
    total_gradient = node.sum() if edge is None else node.sum() + edge.sum()
    error = abs(float(total_gradient) - (value - baseline))
    return Gradients(node, edge, baseline, error)


def _add(
    total: dict[str, Tensor],
    subject: NetworkSubject,
    model: Model,
    target: int,
    points: _Array,
    weights: _Array,
) -> None:
    """Add the weighted gradients at some points, all in one pass."""
    inputs, leaves, positions = _at(subject, model, points)
    outputs = outputs_of(model, inputs, positions)
    value = explained(outputs, subject.task, subject.temperature, target)
    found = torch.autograd.grad(value.sum(), list(leaves.values()), allow_unused=True)
    share = torch.from_numpy(weights).to(subject.encoded.device)
    for (name, leaf), gradient in zip(leaves.items(), found, strict=True):
        if gradient is not None:
            part = torch.einsum("s,snf->nf", share, gradient.view(len(points), -1, leaf.shape[1]))
            total[name] = total[name] + part if name in total else part


@torch.no_grad()
def _value_at(subject: NetworkSubject, model: Model, target: int, point: float) -> float:
    inputs, _, positions = _at(subject, model, np.array([point]))
    outputs = outputs_of(model, inputs, positions)
    return float(explained(outputs, subject.task, subject.temperature, target))


def _at(
    subject: NetworkSubject, model: Model, points: _Array
) -> tuple[Inputs, dict[str, Tensor], Tensor | None]:
    """Return the inputs at points of the path, and the tensors to differentiate by."""
    graphs, positions = subject.copies(Changes.of(len(points)))
    inputs = subject.inputs(model, graphs)
    scale = (
        torch.from_numpy(points)
        .to(graphs.device)
        .repeat_interleave(subject.encoded.num_nodes)
        .unsqueeze(1)
    )
    leaves = {"H0": (_dense(inputs.H0) * scale).requires_grad_()}
    if _counts_edges(model):
        counted = ((name, getattr(inputs.structure, name)) for name in _COUNTED)
        leaves |= {
            name: (_dense(part) * scale).requires_grad_()
            for name, part in counted
            if part is not None
        }
    of_edges: dict[str, Any] = {name: leaf for name, leaf in leaves.items() if name != "H0"}
    structure = replace(inputs.structure, **of_edges)
    H0 = leaves["H0"]
    changed = replace(
        inputs,
        structure=structure,
        H0=H0,
        AH0=neighbor_sum(H0, structure),
        graph_H0=sparse_product(inputs.pool, H0, inputs.pool_t),
        cells=None,
    )
    return changed, leaves, positions


def _of_elements(
    subject: NetworkSubject, model: Model, total: dict[str, Tensor]
) -> tuple[_Array, _Array | None]:
    """Return the share of every node and every edge."""
    graphs = subject.encoded
    zero = torch.zeros(graphs.num_nodes, 1, dtype=torch.float64, device=graphs.device)
    H0 = _dense(subject.inputs(model, graphs).H0)
    node = (H0 * total.get("H0", zero)).sum(dim=1)
    if not _counts_edges(model):
        return node.cpu().numpy(), None
    edge = torch.zeros(graphs.num_edges, dtype=torch.float64, device=graphs.device)
    label = graphs.edge_label
    for side, end in (("in", graphs.edge_target), ("out", graphs.edge_source)):
        counts, sums = total.get(f"C_{side}"), total.get(f"F_{side}")
        if counts is not None and counts.shape[1]:
            known = label < counts.shape[1]
            edge += torch.where(known, counts[end, label.clamp(max=counts.shape[1] - 1)], 0.0)
        if sums is not None and graphs.edge_features is not None:
            edge += (graphs.edge_features.double() * sums[end]).sum(dim=1)
    return node.cpu().numpy(), edge.cpu().numpy()


def _counts_edges(model: Model) -> bool:
    reads_sums: bool = model.convs[0].reads_sums
    return reads_sums


def _dense(matrix: Tensor | CSR) -> Tensor:
    return matrix.to_dense(torch.float64) if isinstance(matrix, CSR) else matrix


def _bytes_per_point(subject: NetworkSubject, model: Model) -> int:
    """Return about what one point takes: inputs, their gradients, and states of the layers."""
    width = sum(int(conv.out_dim) for conv in model.convs) * (model.members or 1)
    columns = model.input_dim + 2 * (
        int(model.config["edge_labels"]) + int(model.config["edge_features"])
    )
    graphs = subject.encoded
    return 8 * graphs.num_nodes * (4 * width + 4 * columns) + 120 * graphs.num_edges
