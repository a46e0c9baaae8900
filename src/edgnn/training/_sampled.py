"""Node tasks in batches: some nodes per step, with all or some of their neighbors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, tee
from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn._system import cores
from edgnn.errors import TrainingError
from edgnn.graphs import Structure
from edgnn.nn import Inputs, LargeInputs, Model, Noise
from edgnn.nn.ops import Sampler, keys
from edgnn.training._group import Group
from edgnn.training._layerwise import node_outputs
from edgnn.training._settings import Fanout
from edgnn.training._tasks import Job, Step, Task, seen_labels

_SAMPLE = 3  # the purpose of random numbers that draw neighbors

#: So many members' steps are prepared ahead.
_AHEAD = 2

#: From so many cores on, one of them is better spent on drawing than on computing, which uses them
#: all.
_MANY_CORES = 4


@dataclass(frozen=True, eq=False)
class Batch:
    """What a model reads for the items of one step, and the row of each item.

    It has no rows where there are no items.
    """

    inputs: Inputs
    rows: Tensor


class SampledTask(Task):
    """Items are nodes; each step takes some, with the neighbors that their states depend on.

    Parameters
    ----------
    inputs : Inputs or LargeInputs
        Of the whole graphs.
    positions : Tensor
        The node of each item.
    fanout : int, tuple of int, or None
        Most neighbors per node while training; see :class:`~edgnn.training.Settings`.
    """

    inputs: Inputs | LargeInputs

    def __init__(
        self, inputs: Inputs | LargeInputs, positions: Tensor, fanout: Fanout = None
    ) -> None:
        self.inputs, self.items = inputs, len(positions)
        self.positions, self.fanout = positions, fanout
        self.prefetch = _core_to_spare(inputs.device)
        self.sampler, self._drawing = Sampler(inputs.structure), Lock()
        self._ready: deque[tuple[Job, Future[Batch]]] = deque()
        self._coming: Iterator[tuple[Job, Future[Batch]]] = iter(())

    def outputs(
        self, model: Model, items: Tensor, noise: Noise | None = None, room: int | None = None
    ) -> Tensor:
        """Return the outputs for every member's items.

        While training they come from sampled neighbors, otherwise they are exact.
        """
        if noise is None:
            return self._exact(model, items)
        if len(items) != 1:
            raise TrainingError("sampled batches are computed for one member at a time")
        batch = self._batch(model, items, noise)
        outputs: Tensor = model(batch.inputs, noise)
        if not outputs.shape[-2]:  # nothing this time: no loss, but the gradient is there
            return outputs.sum(-2, keepdim=True).expand(*items.shape, -1)
        return outputs.index_select(-2, batch.rows)

    def shared_outputs(self, model: Model, items: Tensor) -> Tensor:
        """Return the outputs of all members for the same items, shape (M, B, K)."""
        return node_outputs(model, self.inputs, self.positions[items.cpu()])

    def members_at_once(self, model: Model, number: int, group: Group | None) -> int | None:
        """Return one: each has nodes of its own."""
        return 1

    def seen(self, train: list[np.ndarray[Any, Any]], node_labels: int) -> tuple[Tensor, Tensor]:
        """Return which labels the graphs of each member's training nodes have.

        A node is learned with its graph in reach.
        """
        nodes = [self.positions.numpy()[items] for items in train]
        if isinstance(self.inputs, LargeInputs):
            return self.inputs.seen(nodes, node_labels)
        owner = self.inputs.pool_t.indices.cpu().numpy()
        return seen_labels(self.inputs, [np.unique(owner[chosen]) for chosen in nodes], node_labels)

    def check(self, model: Model) -> None:
        """Raise where the fan-out does not fit the model."""
        fanouts(self.fanout, model, self.inputs)

    def steps(
        self,
        model: Model,
        batches: Iterator[Step],
        jobs: Callable[[int, Tensor], list[Job]],
    ) -> Generator[Step, None, None]:
        """Pass steps on while a thread prepares, one member after the other, what comes next.

        Where computing keeps all of a few cores busy, steps are prepared when their turn comes: a
        thread would only get in the way.
        """
        if not self.prefetch or self.inputs.structure.device.type != "cpu":
            yield from batches
            return
        batches, later = tee(batches)
        coming = (job for step, (items, _) in enumerate(later) for job in jobs(step, items))
        worker = ThreadPoolExecutor(1, thread_name_prefix="edgnn-sampling")
        try:
            self._coming = ((job, worker.submit(self.prepare, model, *job)) for job in coming)
            self._ready.extend(islice(self._coming, _AHEAD))
            yield from batches
        finally:
            worker.shutdown(wait=True, cancel_futures=True)
            self._ready.clear()
            self._coming = iter(())

    def prepare(self, model: Model, items: Tensor, noise: Noise) -> Batch:
        """Draw the neighbors for one member's items and put together what the model reads."""
        chosen = items.flatten().cpu()
        there = chosen >= 0
        nodes, row = torch.unique(self.positions[chosen.clamp(min=0)][there], return_inverse=True)
        rows = torch.zeros_like(chosen)
        rows[there] = row
        device = self.inputs.structure.device
        with self._drawing:
            inputs = self._around(model, nodes.to(device), noise)
        return Batch(inputs, rows.to(self.inputs.device))

    def _batch(self, model: Model, items: Tensor, noise: Noise) -> Batch:
        """Return what was prepared for these items, or prepare it."""
        self._ready.extend(islice(self._coming, 1))
        if self._ready:
            (prepared, of_noise), future = self._ready.popleft()
            same = noise.purpose == of_noise.purpose and torch.equal(noise.seeds, of_noise.seeds)
            if same and torch.equal(prepared, items):
                return future.result()
        return self.prepare(model, items, noise)

    def _around(self, model: Model, nodes: Tensor, noise: Noise) -> Inputs:
        hops: list[Structure] = []
        rows, columns, most = nodes, nodes, fanouts(self.fanout, model, self.inputs)
        for layer in range(len(model.convs), 0, -1):
            rows, number = columns, len(hops)
            if number == len(most):
                hops.append(self.inputs.structure.rows(rows))
                break
            conv = model.convs[layer - 1]
            (key,) = keys(noise.seeds.cpu(), *noise.purpose, _SAMPLE, number).tolist()
            hops.append(
                self.sampler.hop(
                    rows, most[number], key, relations=conv.relations, means=conv.averages
                )
            )
            columns = _columns(hops[-1])
        return self.inputs.of_hops(tuple(reversed(hops)), rows)

    def _exact(self, model: Model, items: Tensor) -> Tensor:
        nodes, row = torch.unique(self.positions[items.cpu().clamp(min=0)], return_inverse=True)
        outputs = node_outputs(model, self.inputs, nodes)
        pairs = zip(outputs, row.to(outputs.device), strict=True)
        return torch.stack([of_member[rows] for of_member, rows in pairs])


def fanouts(fanout: Fanout, model: Model, inputs: Inputs | LargeInputs) -> tuple[int | None, ...]:
    """Return the fan-out of every layer that reads neighbors, last layer first.

    As many as there are such layers, or one number for all of them; others are an error.
    """
    exact = model.constant_first(inputs)
    reading = len(model.convs) - exact
    of_layers = tuple(fanout) if isinstance(fanout, Sequence) else (fanout,) * reading
    if len(of_layers) != reading:
        why = " (the first layer's sums are exact, so it takes none)" if exact else ""
        if isinstance(inputs, LargeInputs) and "cells" in model.convs[0].own_options:
            why = (
                " (of LargeInputs, which estimators make of graphs above 1 GiB, the first layer "
                "reads them too)"
            )
        advice = "leave fanout out"
        if reading:
            advice = "give as many, or one number (without brackets) for all of them"
        raise TrainingError(
            f"fanout={fanout} has {len(of_layers)} numbers, but {reading} of the model's "
            f"{len(model.convs)} layers read neighbors{why}: {advice}"
        )
    return of_layers


def _core_to_spare(device: torch.device) -> bool:
    usable = cores()
    return device.type != "cpu" or usable >= _MANY_CORES or torch.get_num_threads() < usable


def _columns(hop: Structure) -> Tensor:
    assert hop.nodes is not None
    return hop.nodes
