"""Graph tasks and node tasks: how the outputs for some items come out of a model."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import TrainingError
from edgnn.graphs import CSR
from edgnn.nn import GraphModel, Inputs, LargeInputs, Model, NodeModel, Noise
from edgnn.nn.ops import row_sum
from edgnn.training._blocks import Blocks

Kind = Literal["graph", "node"]
MODELS: dict[str, type[Model]] = {"graph": GraphModel, "node": NodeModel}

#: About so many states (nodes times members) are computed at once where no gradient is needed.
_NODES_AT_ONCE = 200_000

#: Node tasks leave out what the items do not depend on, unless the items are more than this share
#: of all nodes.
_MOST_OF_ALL = 0.75


class GraphTask:
    """Items are graphs; each step takes some of each member's."""

    in_batches = True

    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.items = inputs, inputs.num_graphs
        self.blocks = Blocks(inputs)

    def outputs(self, model: Model, items: Tensor, noise: Noise | None = None) -> Tensor:
        """Return the outputs for every member's items."""
        outputs: Tensor = model(self.blocks.take(items), noise)
        return outputs

    def padded_outputs(
        self, model: Model, items: Tensor, noise: Noise | None, places: int
    ) -> Tensor:
        """Return the outputs for every member's items, in blocks of a given size; see :meth:`Blocks.take_padded`."""
        outputs: Tensor = model(self.blocks.take_padded(items, places), noise)
        return outputs[..., :-1, :]

    def shared_outputs(self, model: Model, items: Tensor) -> Tensor:
        """Return the outputs of all members for the same items, shape (M, B, K)."""
        outputs: Tensor = model(self.blocks.take(items[None]))
        return outputs

    def chunk(self, members: int) -> int:
        """Return how many items of each member to compute at once without gradients."""
        per_graph = max(1, self.inputs.num_nodes // max(1, self.items))
        return max(1, _NODES_AT_ONCE // (members * per_graph))

    def seen(self, train: list[np.ndarray[Any, Any]], node_labels: int) -> tuple[Tensor, Tensor]:
        """Return which labels each member's training graphs have."""
        return seen_labels(self.inputs, train, node_labels)


class NodeTask:
    """Items are nodes of graphs that every step runs over as a whole, as far as the items' states depend on it."""

    in_batches = False

    def __init__(self, inputs: Inputs, positions: Tensor) -> None:
        self.inputs, self.items, self.positions = (
            inputs,
            len(positions),
            positions.to(inputs.device),
        )
        self._views: dict[Any, tuple[Inputs, Tensor]] = {}

    def outputs(self, model: Model, items: Tensor, noise: Noise | None = None) -> Tensor:
        """Return the outputs for every member's items."""
        inputs, rows = self.view(model)
        outputs: Tensor = model(inputs, noise)
        row = rows[items.clamp(min=0)]
        shift = torch.arange(len(outputs), device=row.device).unsqueeze(1) * outputs.shape[1]
        return outputs.flatten(0, 1).index_select(0, (row + shift).flatten()).view(*items.shape, -1)

    def shared_outputs(self, model: Model, items: Tensor) -> Tensor:
        """Return the outputs of all members for the same items, shape (M, B, K)."""
        inputs, rows = self.view(model)
        outputs: Tensor = model(inputs)
        return outputs[..., rows[items], :]

    def view(self, model: Model) -> tuple[Inputs, Tensor]:
        """Return the inputs that the items' outputs depend on, and the row of each item; batch norm looks at all nodes."""
        layers, constant = len(model.convs), model.constant_first(self.inputs)
        key = None if any(conv.norm is not None for conv in model.convs) else (layers, constant)
        if key not in self._views:
            self._views[key] = self._view(layers, constant, whole=key is None)
        return self._views[key]

    def _view(self, layers: int, constant: bool, whole: bool) -> tuple[Inputs, Tensor]:
        nodes, rows = torch.unique(self.positions, return_inverse=True)
        if whole or len(nodes) > _MOST_OF_ALL * self.inputs.num_nodes:
            return self.inputs, self.positions
        return self.inputs.around(nodes, layers, constant_first=constant), rows

    def chunk(self, members: int) -> int:
        """Return how many items of each member to compute at once: all, for the whole graph is computed anyway."""
        return max(1, self.items)

    def seen(self, train: list[np.ndarray[Any, Any]], node_labels: int) -> tuple[Tensor, Tensor]:
        """Return which labels the graphs of each member's training nodes have: a node is learned with all of its graph in view."""
        owner = self.inputs.pool_t.indices[self.positions].cpu().numpy()
        return seen_labels(self.inputs, [np.unique(owner[items]) for items in train], node_labels)


def task_of(kind: Kind, inputs: Inputs, positions: Any = None) -> GraphTask | NodeTask:
    """Return the task; ``positions`` are the nodes of a node task's items, all nodes by default."""
    if kind == "graph":
        return GraphTask(inputs)
    if kind != "node":
        raise TrainingError(f"kind={kind!r}: choose 'graph' or 'node'")
    return NodeTask(inputs, node_positions(inputs, positions))


def node_positions(inputs: Inputs | LargeInputs, positions: Any = None) -> Tensor:
    """Return the nodes of a node task's items, or say that there are no such nodes."""
    numbers = (
        torch.arange(inputs.num_nodes)
        if positions is None
        else torch.as_tensor(positions, dtype=torch.int64)
    )
    if len(numbers) and (int(numbers.min()) < 0 or int(numbers.max()) >= inputs.num_nodes):
        raise TrainingError(
            f"positions reach from {int(numbers.min())} to {int(numbers.max())}, the graphs have {inputs.num_nodes} nodes"
        )
    return numbers


def seen_labels(
    inputs: Inputs, graphs: list[np.ndarray[Any, Any]], node_labels: int
) -> tuple[Tensor, Tensor]:
    """Return which node and edge labels occur in each member's graphs."""
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum([len(chosen) for chosen in graphs])])
    members = csr_array(
        (np.ones(starts[-1]), np.concatenate(graphs), starts),
        shape=(len(graphs), inputs.num_graphs),
    )
    counts = inputs.structure.C_in
    edges = (
        _host(row_sum(inputs.pool, counts))
        if isinstance(counts, Tensor)
        else inputs.pool.to_scipy() @ _host(counts)
    )
    return _positive(members @ _host(inputs.graph_H0), node_labels), _positive(members @ edges)


def _host(matrix: Tensor | CSR) -> Any:
    return matrix.to_scipy() if isinstance(matrix, CSR) else matrix.cpu().numpy()


def _positive(counts: Any, columns: int | None = None) -> Tensor:
    dense = counts if isinstance(counts, np.ndarray) else counts.toarray()
    return torch.from_numpy(dense[:, :columns] > 0)
