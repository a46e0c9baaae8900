"""The number that is explained, for many changed copies of a graph, one pass of the model per piece."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.explain._changes import Changes, copies
from edgnn.explain._subject import Subject
from edgnn.graphs import Graphs
from edgnn.models import Estimator, probabilities
from edgnn.nn import Inputs, Model, input_options

#: Bytes that the copies of a pass may take, by default.
MEMORY = 256 * 2**20

#: So many nodes and edges of all copies together, for each member, take some seconds.
_ELEMENTS = 20_000_000

_Array = np.ndarray[Any, Any]


@torch.no_grad()
def member_outputs(subject: Subject, changes: Changes, memory: int = MEMORY) -> Tensor:
    """Return every member's outputs for every copy, as float64 on the CPU.

    Shapes
    ------
    → (M, copies, K)
    """
    model = subject.estimator._model.to(subject.encoded.device)
    training = model.training
    model.eval()
    try:
        size, found = _copies_at_once(subject, memory), []
        for start in range(0, changes.count, size):
            subject.look()
            graphs, positions = copies(
                subject, changes.piece(start, min(start + size, changes.count))
            )
            found.append(
                outputs_of(model, inputs_of(model, graphs, subject), positions).double().cpu()
            )
    finally:
        model.train(training)
    return (
        torch.cat(found, dim=1)
        if found
        else torch.zeros(model.members or 1, 0, subject.estimator._encoding.outputs)
    )


def inputs_of(model: Model, graphs: Graphs, subject: Subject) -> Inputs:
    """Count what a model reads of encoded graphs."""
    dtype = torch.float64 if next(model.parameters()).dtype == torch.float64 else torch.float32
    return Inputs.of(
        graphs,
        dtype=dtype,
        multiplicity=subject.estimator._coder.multiplicity,
        **input_options(model.config),
    )


def outputs_of(model: Model, inputs: Inputs, positions: Tensor | None) -> Tensor:
    """Return the outputs for all graphs, or for some nodes, of which the rest is left out; shape (M, items, K)."""
    if positions is not None:
        inputs = inputs.around(
            positions, len(model.convs), constant_first=model.constant_first(inputs)
        )
    outputs: Tensor = model(inputs)
    return outputs if outputs.dim() == 3 else outputs.unsqueeze(0)


def explained(estimator: Estimator, outputs: Tensor, target: int) -> Tensor:
    """Return the log-odds of a class or label by the members' mean probability, or the mean of a regressor's outputs.

    Shapes
    ------
    outputs (M, n, K) → (n,)
    """
    task = estimator._encoding.task
    if task == "values":
        return outputs[..., target].mean(dim=0)
    logits = outputs / getattr(estimator, "temperature_", 1.0)
    if task == "labels":
        one, other = (
            torch.nn.functional.logsigmoid(sign * logits[..., target]) for sign in (1, -1)
        )
    else:
        logs = torch.log_softmax(logits, dim=-1)
        others = [column for column in range(logs.shape[-1]) if column != target]
        one, other = logs[..., target], torch.logsumexp(logs[..., others], dim=-1)
    members = math.log(len(outputs))
    return (torch.logsumexp(one, dim=0) - members) - (torch.logsumexp(other, dim=0) - members)


def mean_probabilities(estimator: Any, outputs: Tensor) -> _Array:
    """Return the members' mean probability of every class or label, shape (n, K)."""
    mean: _Array = probabilities(
        outputs.numpy(), estimator._encoding.task, estimator.temperature_
    ).mean(axis=0)
    return mean


def values_of(subject: Subject, changes: Changes, target: int, memory: int = MEMORY) -> _Array:
    """Return what is explained, for every copy."""
    found: _Array = explained(
        subject.estimator, member_outputs(subject, changes, memory), target
    ).numpy()
    return found


def copies_allowed(subject: Subject, most: int) -> int:
    """Return how many copies to try where nobody said: so many, or of a large graph as many as take some seconds."""
    members = subject.estimator._model.members or 1
    return max(
        1,
        min(
            most,
            _ELEMENTS // max(1, members * (subject.encoded.num_nodes + subject.encoded.num_edges)),
        ),
    )


def _copies_at_once(subject: Subject, memory: int) -> int:
    model, base = subject.estimator._model, subject.encoded
    width = max(int(conv.out_dim) for conv in model.convs) * (model.members or 1)
    per_node = (
        4
        * (3 * width + 2 * min(model.input_dim, 64) + 2 * min(int(model.config["edge_labels"]), 64))
        + 64
    )
    return max(1, int(memory) // max(1, base.num_nodes * per_node + base.num_edges * 120))
