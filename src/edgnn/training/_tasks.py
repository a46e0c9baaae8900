"""Graph tasks and node tasks: how the outputs for some items come out of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import TrainingError
from edgnn.graphs import CSR
from edgnn.nn import GraphModel, Inputs, LargeInputs, Model, NodeModel, Noise
from edgnn.nn.ops import row_sum
from edgnn.training._blocks import Blocks
from edgnn.training._group import Group

Kind = Literal["graph", "node"]
MODELS: dict[str, type[Model]] = {"graph": GraphModel, "node": NodeModel}

#: About so many states (nodes times members) are computed at once where no gradient is needed.
_NODES_AT_ONCE = 200_000

#: Node tasks leave out what the items do not depend on, unless the items are more than this
#: fraction of all nodes.
_MOST_OF_ALL = 0.75

#: On the CPU, node tasks take so many members at a time that a layer's states stay below this many
#: bytes: larger arrays go back to the system whenever they are freed and come back page by page,
#: which doubles the time.
_BYTES_AT_ONCE = 28 * 2**20

#: Items of a step and how many each member has of them.
Step = tuple[Tensor, Tensor]
#: What the outputs of one member's step will be asked for with: its items and its noise.
Job = tuple[Tensor, Noise]


class Task(ABC):
    """What the items are, and how a model's outputs for them are computed.

    Attributes
    ----------
    inputs : Inputs or LargeInputs
        What the model reads.
    items : int
        How many there are.
    in_batches : bool
        Whether a step takes some of the items; all otherwise.
    knows_nodes : bool
        Whether the node of each state is known by number, so that dropout is the same on every
        rank that computes the node.
    recorded_as : {"epoch", "steps"}, optional
        What of an epoch can be recorded as a CUDA graph: all of it, or its steps.
    """

    inputs: Any
    items: int
    in_batches: ClassVar[bool] = True
    knows_nodes: ClassVar[bool] = True

    @property
    def recorded_as(self) -> Literal["epoch", "steps"] | None:
        """Nothing, unless a task says otherwise."""
        return None

    @abstractmethod
    def outputs(
        self, model: Model, items: Tensor, noise: Noise | None = None, room: int | None = None
    ) -> Tensor:
        """Return the outputs for every member's items.

        With ``room``, members' graphs are laid out in blocks of so many nodes, where the task has
        such blocks.
        """

    @abstractmethod
    def shared_outputs(self, model: Model, items: Tensor) -> Tensor:
        """Return the outputs of all members for the same items, shape (M, B, K)."""

    @abstractmethod
    def seen(self, train: list[np.ndarray[Any, Any]], node_labels: int) -> tuple[Tensor, Tensor]:
        """Return which node and edge labels each member learns from."""

    def chunk(self, members: int) -> int:
        """Return how many items of each member to compute at once without gradients: all."""
        return max(1, self.items)

    def check(self, model: Model) -> None:  # noqa: B027 - most tasks fit every model
        """Raise where the task does not fit the model."""

    def own(self, items: Tensor, group: Group) -> Tensor:
        """Return the items of every member that this rank works on."""
        return group.deal(items)

    def members_at_once(self, model: Model, number: int, group: Group | None) -> int | None:
        """Return how many members to work on together, of ``number`` bytes per number; or all."""
        return None

    def laid_out(self, items: Tensor) -> list[Inputs] | None:
        """Return what a model reads for these items, where that can be kept."""
        return None

    def steps(
        self,
        model: Model,
        batches: Iterator[Step],
        jobs: Callable[[int, Tensor], list[Job]],
    ) -> Generator[Step, None, None]:
        """Pass steps on; a task may prepare the coming ones meanwhile.

        Parameters
        ----------
        model : Model
            Whose layers tell what is needed.
        batches : iterator
            Items and counts of each step.
        jobs : callable
            From the number of a step and its items to what :meth:`outputs` will be called with.
        """
        yield from batches


class GraphTask(Task):
    """Items are graphs; each step takes some of each member's."""

    inputs: Inputs
    knows_nodes = False

    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.items = inputs, inputs.num_graphs
        self.blocks = Blocks(inputs)

    @property
    def recorded_as(self) -> Literal["epoch", "steps"] | None:
        """Steps, where blocks can be padded to a given size."""
        return "steps" if self.blocks.static else None

    def outputs(
        self, model: Model, items: Tensor, noise: Noise | None = None, room: int | None = None
    ) -> Tensor:
        """Return the outputs for every member's items."""
        if room is None:
            outputs: Tensor = model(self.blocks.take(items), noise)
            return outputs
        outputs = model(self.blocks.take_padded(items, room), noise)
        return outputs[..., :-1, :]  # without the graph that has the padding for nodes

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

    def laid_out(self, items: Tensor) -> list[Inputs] | None:
        """Return the graphs of all members as blocks."""
        chunks = torch.split(items, self.chunk(len(items)), dim=1)
        return [self.blocks.take(chunk) for chunk in chunks]


def fit_at_once(inputs: Inputs, members: int) -> bool:
    """Return whether all graphs can be computed at once where no gradient is needed."""
    return inputs.num_nodes * members <= _NODES_AT_ONCE


class NodeTask(Task):
    """Items are nodes of graphs that every step runs over as a whole.

    What the items' states do not depend on is left out.
    """

    inputs: Inputs
    in_batches = False

    def __init__(self, inputs: Inputs, positions: Tensor) -> None:
        self.inputs, self.items = inputs, len(positions)
        self.positions = positions.to(inputs.device)
        self._views: dict[Any, tuple[Inputs, Tensor]] = {}

    @property
    def recorded_as(self) -> Literal["epoch", "steps"] | None:
        """All of an epoch: it is a single step."""
        return "epoch"

    def outputs(
        self, model: Model, items: Tensor, noise: Noise | None = None, room: int | None = None
    ) -> Tensor:
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
        """Return the inputs that the items' outputs depend on, and the row of each item.

        Batch norm looks at all nodes, so nothing is left out then.
        """
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

    def members_at_once(self, model: Model, number: int, group: Group | None) -> int | None:
        """Return how many members' states of a layer stay small enough; all, on a device."""
        if self.inputs.device.type != "cpu":
            return None
        nodes = self.view(model)[0].layer(0).neighbors.shape[1]
        if group is not None:  # ranks exchange states group by group
            nodes = group.largest(nodes)
        states: int = nodes * model.config["hidden"] * number
        return max(1, _BYTES_AT_ONCE // max(1, states))

    def seen(self, train: list[np.ndarray[Any, Any]], node_labels: int) -> tuple[Tensor, Tensor]:
        """Return which labels the graphs of each member's training nodes have.

        A node is learned with all of its graph in view.
        """
        owner = self.inputs.pool_t.indices[self.positions].cpu().numpy()
        return seen_labels(self.inputs, [np.unique(owner[items]) for items in train], node_labels)


def task_of(kind: Kind, inputs: Inputs, positions: Any = None) -> GraphTask | NodeTask:
    """Return the task; ``positions`` are the nodes of a node task's items, all by default."""
    if kind == "graph":
        return GraphTask(inputs)
    if kind != "node":
        raise TrainingError(f"kind={kind!r}: choose 'graph' or 'node'")
    return NodeTask(inputs, node_positions(inputs, positions))


def node_positions(inputs: Inputs | LargeInputs, positions: Any = None) -> Tensor:
    """Return the nodes of a node task's items; nodes that are not there are an error."""
    if positions is None:
        return torch.arange(inputs.num_nodes)
    numbers = torch.as_tensor(positions, dtype=torch.int64)
    if len(numbers) and (int(numbers.min()) < 0 or int(numbers.max()) >= inputs.num_nodes):
        raise TrainingError(
            f"positions reach from {int(numbers.min())} to {int(numbers.max())}, "
            f"the graphs have {inputs.num_nodes} nodes"
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
    if isinstance(counts, Tensor):
        edges = _host(row_sum(inputs.pool, counts))
    else:
        edges = inputs.pool.to_scipy() @ counts.to_scipy()
    return _positive(members @ _host(inputs.graph_H0), node_labels), _positive(members @ edges)


def _host(matrix: Tensor | CSR) -> Any:
    return matrix.to_scipy() if isinstance(matrix, CSR) else matrix.cpu().numpy()


def _positive(counts: Any, columns: int | None = None) -> Tensor:
    dense = counts if isinstance(counts, np.ndarray) else counts.toarray()
    return torch.from_numpy(dense[:, :columns] > 0)
