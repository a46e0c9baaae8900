"""Outputs of trained members for all items, in bounded memory."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from edgnn.errors import TrainingError
from edgnn.nn import GraphModel, Inputs, LargeInputs, Model, NodeModel
from edgnn.training._group import Group
from edgnn.training._layerwise import default_memory, node_outputs
from edgnn.training._run import Trained
from edgnn.training._shard import ShardTask
from edgnn.training._tasks import (
    STATES_AT_ONCE,
    GraphTask,
    NodeTask,
    node_positions,
    task_of,
)


@torch.no_grad()
def outputs(
    trained: Trained | Model,
    inputs: Inputs | LargeInputs,
    *,
    positions: Any = None,
    group: Group | None = None,
    memory: int | None = None,
) -> Tensor:
    r"""Return what every member gives for every item: logits, or values in the users' units.

    Graphs are computed some at a time, and no item's outputs depend on the others. Nodes of large
    graphs are computed layer by layer, a chunk of rows at a time: beyond graph and result, that
    takes the states of the layers t and t + 1 before the last,

    .. math:: m \cdot b \cdot \max_t (N_t d_t + N_{t+1} d_{t+1}) + c \le \mathtt{memory}

    for m members at a time, :math:`N_t \le N` nodes that are needed of a layer, of width
    :math:`d_t`, b bytes per number, and a chunk c of at most 64 MiB (more only where one node's
    neighbors need more). Of two layers, only the first is kept. Where that is still too much for
    one member, states go to temporary files; the environment variable ``TMPDIR`` names their
    folder.

    Parameters
    ----------
    trained : Trained or Model
        With members, or without.
    inputs : Inputs or LargeInputs
        Of the graphs.
    positions : sequence of int, optional
        Node models: the nodes wanted; all by default.
    group : Group, optional
        The ranks that compute them together, each of which makes this call; all return all outputs.
    memory : int, optional
        Node models: bytes for states. By default 1 GiB (on CUDA, half of what is free), and layer
        by layer only where all at once would take more.

    Shapes
    ------
    → (M, items, K);  without members, (items, K)
    """
    model = trained.model if isinstance(trained, Trained) else trained
    some, training = next(model.parameters()), model.training
    if training:
        model.eval()
    try:
        if group is not None:
            return _over_ranks(model, inputs, positions, group, memory)
        if isinstance(model, NodeModel) and (memory is not None or _is_large(model, inputs)):
            return node_outputs(
                model,
                inputs.to(some.device, some.dtype),
                node_positions(inputs, positions),
                memory=memory,
            )
        if isinstance(inputs, LargeInputs):
            raise TrainingError(
                "LargeInputs are for models of nodes: count everything with Inputs.of"
            )
        inputs = inputs.to(some.device, some.dtype)
        if isinstance(model, GraphModel):
            return _of_graphs(model, inputs)
        task = task_of("node", inputs, positions)
        return _in_chunks(model, task, torch.arange(task.items, device=some.device))
    finally:
        if training:
            model.train()


def _is_large(model: Model, inputs: Inputs | LargeInputs) -> bool:
    """Return whether the states of all nodes are too much for memory.

    Those that enter a layer, their sums over neighbors, and those that leave it.
    """
    if isinstance(inputs, LargeInputs):
        return True
    some, width = next(model.parameters()), max(int(conv.out_dim) for conv in model.convs)
    return 3 * (
        model.members or 1
    ) * inputs.num_nodes * width * some.element_size() > default_memory(some.device)


def _of_graphs(model: GraphModel, inputs: Inputs) -> Tensor:
    """Compute graphs some at a time; where all fit, as they are, for cutting takes longer."""
    if inputs.num_nodes * (model.members or 1) <= STATES_AT_ONCE:
        outputs: Tensor = model(inputs)
        return outputs
    task = GraphTask(inputs)
    return _in_chunks(model, task, torch.arange(task.items, device=inputs.device))


def _in_chunks(model: Model, task: GraphTask | NodeTask, items: Tensor) -> Tensor:
    chunks = torch.split(items, task.chunk(model.members or 1)) if len(items) else [items]
    return torch.cat([task.shared_outputs(model, chunk) for chunk in chunks], dim=-2)


def _over_ranks(
    model: Model, inputs: Inputs | LargeInputs, positions: Any, group: Group, memory: int | None
) -> Tensor:
    """Let every rank compute some of the outputs, and put them together."""
    some = next(model.parameters())
    if isinstance(model, GraphModel) and isinstance(inputs, Inputs):
        items = inputs.num_graphs
        own = torch.arange(group.rank, items, group.size, device=some.device)
        part = _in_chunks(model, GraphTask(inputs.to(some.device, some.dtype)), own)
    elif isinstance(inputs, LargeInputs):
        numbers = node_positions(inputs, positions)
        own, items = torch.arange(group.rank, len(numbers), group.size), len(numbers)
        part = node_outputs(model, inputs.to(some.device, some.dtype), numbers[own], memory=memory)
    else:
        task = ShardTask(inputs, node_positions(inputs, positions), group, some.device, some.dtype)
        own, items = task.owned.nonzero().flatten(), task.items
        part = _in_chunks(model, task, own)
    whole = part.new_zeros(*part.shape[:-2], items, part.shape[-1])
    whole[..., own.to(whole.device), :] = part
    return group.sum_(whole)
