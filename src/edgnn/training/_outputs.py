"""Outputs of trained members for all items, in bounded memory."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from edgnn.nn import GraphModel, Inputs, Model
from edgnn.training._tasks import task_of
from edgnn.training._train import Trained


@torch.no_grad()
def outputs(trained: Trained | Model, inputs: Inputs, *, positions: Any = None) -> Tensor:
    """Return what every member gives for every item: logits, or values in the users' units.

    Graphs are computed some at a time, and no item's outputs depend on the others.

    Parameters
    ----------
    trained : Trained or Model
        With members, or without.
    inputs : Inputs
        Of the graphs.
    positions : sequence of int, optional
        Node models: the nodes wanted; all by default.

    Shapes
    ------
    → (M, items, K);  without members, (items, K)
    """
    model = trained.model if isinstance(trained, Trained) else trained
    some = next(model.parameters())
    task = task_of("graph" if isinstance(model, GraphModel) else "node", inputs.to(some.device, some.dtype), positions)
    members, training = model.members or 1, model.training
    model.eval()
    try:
        items = torch.arange(task.items, device=some.device)
        chunks = torch.split(items, task.chunk(members)) if task.items else [items]
        return torch.cat([task.shared_outputs(model, chunk) for chunk in chunks], dim=-2)
    finally:
        model.train(training)
