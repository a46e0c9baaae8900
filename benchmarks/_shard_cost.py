"""What sharded training costs a rank, in bytes: by formula, and as measured."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from edgnn._system import process_memory, restart_peak_memory
from edgnn.errors import TrainingError
from edgnn.graphs import CSR, Traffic
from edgnn.nn import Inputs
from edgnn.training import Fleet, Group, Member, Settings, Targets, new_fleet


@dataclass(frozen=True)
class ShardSize:
    """What the cost of one rank follows from.

    The model is edGNN or 1-GNN on node labels or features, all of them dense.

    Parameters
    ----------
    rows : int
        Nodes it owns, R.
    halo : int
        Neighbors of these that other ranks own, H.
    sent : int
        Own rows that others need, S, counted once for each of them.
    entries : int
        Length of all own neighbor lists, E.
    width, layers : int
        d and L.
    parameters : int
        Weights of one member.
    members : int
        M: all of them exchange states, on CUDA all at once.
    at_once : int
        How many of them are computed at a time.
    node_inputs, edge_labels : int
        Width of the inputs, and number of edge labels in all directions.
    normalized, dropping : bool
        Whether there is batch norm, or dropout.
    validated : bool
        Whether a validation part is computed after every epoch.
    number : int
        Bytes of one number, b.
    """

    rows: int
    halo: int
    sent: int
    entries: int
    width: int = 64
    layers: int = 2
    parameters: int = 0
    members: int = 1
    at_once: int = 1
    node_inputs: int = 1
    edge_labels: int = 1
    normalized: bool = False
    dropping: bool = False
    validated: bool = True
    number: int = 4

    @property
    def constants(self) -> int:
        """Neighbor lists, their transpose, node numbers, rows to send, inputs, label counts."""
        columns = self.rows + self.halo
        lists = 4 * (2 * self.entries + self.rows + columns + 2)
        counts = self.number * self.rows * (2 * self.node_inputs + self.edge_labels)
        return lists + 8 * columns + 8 * self.sent + counts + 12 * self.rows

    @property
    def states(self) -> int:
        """The most that a step holds beside the constants."""
        kept = 3 * self.layers if self.normalized or self.dropping else self.layers + 2
        return (
            self.number
            * self.at_once
            * self.width
            * (kept * self.rows + self.halo + max(self.rows, self.sent))
        )

    @property
    def states_sent(self) -> int:
        """Per epoch: states of every layer but the first, their gradients, states to validate."""
        rows = (2 if self.validated else 1) * self.sent + self.halo
        return self.number * self.members * self.width * (self.layers - 1) * rows

    @property
    def states_received(self) -> int:
        """Per epoch, likewise."""
        rows = (2 if self.validated else 1) * self.halo + self.sent
        return self.number * self.members * self.width * (self.layers - 1) * rows

    @property
    def summed(self) -> int:
        """Per epoch: what is added up over ranks: gradients, losses, the sums of batch norm."""
        norms = self.layers * (4 * self.width + 1) if self.normalized else 0
        return self.number * self.members * (self.parameters + 1 + norms + self.validated)


@dataclass(frozen=True)
class ShardCosts:
    """A rank's sizes, its costs in bytes by formula and as measured, and an epoch's time.

    The names are ``constants``, ``states``, ``states_sent``, ``states_received`` and ``summed``;
    what cannot be measured here is ``None``.
    """

    size: ShardSize
    predicted: dict[str, int]
    measured: dict[str, int | None]
    seconds: float


_COSTS = ("constants", "states", "states_sent", "states_received", "summed")


def shard_costs(
    model_config: dict[str, Any],
    inputs: Inputs,
    targets: Targets,
    members: list[Member],
    settings: Settings,
    group: Group,
) -> ShardCosts:
    """Train for two epochs on all nodes, and return what the second one cost this rank.

    Every rank makes this call.

    Parameters are those of :func:`~edgnn.training.train`. On the CPU, the peak of memory is that of
    the process, where the system tells it.
    """
    device = group.device(settings.device)
    fleet = new_fleet("node", model_config, inputs, targets, members, settings, group=group)
    shard = fleet.task.inputs
    size = _size(fleet)
    fleet.epoch(1)
    fleet.validate()
    halo = shard.structure.halo
    assert halo is not None
    before = replace(halo.traffic), replace(group.traffic)
    held, start = _restart_peak(device), time.perf_counter()
    fleet.epoch(2)
    float(fleet.validate().sum())
    peak, seconds = _peak(device), time.perf_counter() - start
    of_states, of_sums = _since(before[0], halo.traffic), _since(before[1], group.traffic)
    measured = {
        "constants": _constants(shard),
        "states": None if peak is None or held is None else peak - held,
        "states_sent": of_states.sent,
        "states_received": of_states.received,
        "summed": of_sums.sent,
    }
    return ShardCosts(size, {name: getattr(size, name) for name in _COSTS}, measured, seconds)


def _size(fleet: Fleet) -> ShardSize:
    model, inputs = fleet.model, fleet.task.inputs
    config = model.config
    structure, halo = inputs.structure, inputs.structure.halo
    assert halo is not None
    dense = not any(
        isinstance(part, CSR) for part in (inputs.H0, inputs.AH0, structure.C_in, structure.C_out)
    )
    if not (dense and model.convs[0].reads_sums and model.constant_first(inputs)):
        raise TrainingError(
            "the formulas are those of conv='edgnn' and 'gnn' on dense labels, without embedding "
            "or input dropout"
        )
    rows, columns = structure.neighbors.shape
    return ShardSize(
        rows=rows,
        halo=columns - rows,
        sent=sum(halo.sent),
        entries=structure.neighbors.nnz,
        width=config["hidden"],
        layers=config["layers"],
        parameters=fleet.packed.parameters.shape[1],
        members=len(fleet.seeds),
        at_once=max(members.stop - members.start for _, members in fleet.groups),
        node_inputs=inputs.H0.shape[1],
        edge_labels=structure.num_edge_labels * (1 if structure.C_out is None else 2),
        normalized=config["batch_norm"],
        dropping=config["dropout"] > 0,
        validated=fleet.valid.shape[1] > 0,
        number=fleet.packed.parameters.element_size(),
    )


def _constants(inputs: Inputs) -> int:
    structure = inputs.structure
    halo = structure.halo
    assert halo is not None
    parts = [
        inputs.H0,
        inputs.AH0,
        inputs.pool,
        inputs.pool_t,
        structure.neighbors,
        structure.neighbors.T,
        structure.C_in,
    ]
    parts += [part for part in (structure.C_out, structure.nodes) if part is not None]
    return sum(part.nbytes for part in parts) + halo.rows.nbytes


def _since(before: Traffic, now: Traffic) -> Traffic:
    old, new = asdict(before), asdict(now)
    return Traffic(**{name: new[name] - old[name] for name in new})


def _restart_peak(device: torch.device) -> int | None:
    """Begin to look for the peak, and return what is held now."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    restart_peak_memory()
    return _peak(device)


def _peak(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return process_memory("VmHWM")
