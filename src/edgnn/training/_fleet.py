"""Fleet: the members that are still being trained, their weights, rates and randomness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.nn import Model, Noise
from edgnn.ops import random_order
from edgnn.training._optimizer import FleetAdam
from edgnn.training._packed import Packed, clip_, take_gradient
from edgnn.training._settings import Member, Settings
from edgnn.training._targets import Targets
from edgnn.training._tasks import GraphTask, NodeTask

_SHUFFLE, _DROPOUT = 1, 2  # purposes of random numbers

#: On the CPU, node tasks take so many members at a time that a layer's states stay below this many bytes: larger arrays go back to
#: the system whenever they are freed and come back page by page, which doubles the time.
_BYTES_AT_ONCE = 28 * 2**20


class Fleet:
    """Some members of a training, side by side.

    Parameters
    ----------
    model : Model
        With as many members, weights set.
    task, targets, settings
        What is learned, and how.
    members : list of Member
        With their items as arrays.
    """

    def __init__(
        self, model: Model, task: GraphTask | NodeTask, targets: Targets, members: list[Member], settings: Settings
    ) -> None:
        self.model, self.task, self.targets, self.settings = model, task, targets, settings
        device, dtype = task.inputs.device, settings.dtype
        self.model.to(device=device, dtype=dtype)
        self.packed = Packed(self.model)
        rates = [_or(member.learning_rate, settings.learning_rate) for member in members]
        decays = [_or(member.weight_decay, settings.weight_decay) for member in members]
        self.optimizer = FleetAdam(
            self.packed.parameters,
            torch.tensor(rates, dtype=dtype, device=device),
            torch.tensor(decays, dtype=dtype, device=device),
            settings.optimizer,
        )
        own = model.config["dropout"]
        self.rate = None
        if any(member.dropout is not None for member in members):
            self.rate = torch.tensor([_or(member.dropout, own) for member in members], dtype=dtype, device=device)
        self.seeds = torch.tensor([member.seed % 2**63 for member in members], device=device)
        self.train, self.valid = (
            item_table([getattr(member, part) for member in members], device) for part in ("train", "valid")
        )
        weights = targets.item_weights(self.train)
        self.weights = None if weights is None else weights.to(dtype)
        self.std = model.output_std if model.scaled else None
        self.groups = self._groups()

    def epoch(self, number: int) -> Tensor:
        """Train for one epoch and return the members' mean losses, shape (M,)."""
        total = torch.zeros(len(self.seeds), device=self.seeds.device, dtype=torch.float64)
        for step, (items, counts) in enumerate(self._batches(number)):
            losses, gradients = zip(*(self._learn(*group, items, number, step) for group in self.groups), strict=True)
            gradient = gradients[0] if len(gradients) == 1 else torch.cat(gradients)
            if self.settings.clip_norm is not None:
                clip_(gradient, self.settings.clip_norm)
            self.optimizer.step(gradient, None if self._always_full else counts > 0)
            total += torch.cat(losses) * self.targets.counts(items)
        return total / self.targets.counts(self.train)

    def _learn(self, model: Model, rows: slice, items: Tensor, epoch: int, step: int) -> tuple[Tensor, Tensor]:
        """Return losses and gradients of some of the members."""
        model.train()
        noise = Noise(self.seeds[rows], _DROPOUT, epoch, step, rate=None if self.rate is None else self.rate[rows])
        with self._precision():
            outputs = self.task.outputs(model, items[rows], noise)
        loss = self._loss(outputs, items, rows)
        loss.sum().backward()  # type: ignore[no-untyped-call]
        return loss.detach(), take_gradient(model.parameters())

    def _loss(self, outputs: Tensor, items: Tensor, rows: slice) -> Tensor:
        weights, std = (None if part is None else part[rows] for part in (self.weights, self.std))
        return self.targets.loss(outputs.to(self.settings.dtype), items[rows], weights, std)

    @torch.no_grad()
    def validate(self) -> Tensor:
        """Return the members' losses on their validation parts, NaN for those without, shape (M,)."""
        members, items = self.valid.shape
        if not items:
            return torch.full((members,), torch.nan)
        chunk, losses = self.task.chunk(members), []
        for model, rows in self.groups:
            model.eval()
            chunks = torch.split(self.valid[rows], chunk, dim=1)
            with self._precision():
                outputs = torch.cat([self.task.outputs(model, part) for part in chunks], dim=1)
            losses.append(self._loss(outputs, self.valid, rows))
        return torch.where((self.valid >= 0).any(1), torch.cat(losses), torch.nan)

    def _groups(self) -> list[tuple[Model, slice]]:
        """Return the members that are worked on together, as models that share the fleet's weights."""
        members, inputs = len(self.seeds), self.task.inputs
        if isinstance(self.task, GraphTask) or inputs.device.type != "cpu":
            return [(self.model, slice(0, members))]
        first = self.task.view(self.model)[0].layer(0)
        states = first.neighbors.shape[1] * self.model.config["hidden"] * self.packed.parameters.element_size()
        size = max(1, _BYTES_AT_ONCE // max(1, states))
        groups = []
        for start in range(0, members, size):
            rows = slice(start, min(start + size, members))
            model = self.model.with_members(rows.stop - rows.start).to(self.packed.parameters)
            self.packed.lend(model, rows)
            groups.append((model, rows))
        return groups

    def state(self) -> dict[str, Tensor]:
        """Return what is needed to go on."""
        return {"values": self.packed.values(), **self.optimizer.state()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Go on from a stored state."""
        self.packed.load(state["values"])
        self.optimizer.load(state)

    def _batches(self, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield every step's items of each member (below zero: none), and how many there are."""
        items = self.train
        if not self.task.in_batches or self.settings.batch_size is None:
            self._always_full = True
            yield items, (items >= 0).sum(1)
            return
        order = random_order(self.seeds, items.shape[1], _SHUFFLE, epoch)
        order = torch.where(items >= 0, order, torch.iinfo(order.dtype).max)
        items = items.gather(1, torch.argsort(order, dim=1, stable=True))
        size = self.settings.batch_size
        shortest = int((items >= 0).sum(1).min())
        for start in range(0, items.shape[1], size):
            batch = items[:, start : start + size]
            self._always_full = start < shortest
            yield batch, (batch >= 0).sum(1)

    def _precision(self) -> Any:
        kind = self.task.inputs.device.type
        return torch.autocast(kind, dtype=torch.bfloat16, enabled=self.settings.precision == "bfloat16")


def _or(own: float | None, shared: float) -> float:
    return shared if own is None else own


def item_table(parts: list[Any], device: torch.device) -> Tensor:
    """Return the members' items as rows of one table, filled up with −1."""
    arrays = [np.zeros(0, np.int64) if part is None else np.asarray(part, dtype=np.int64) for part in parts]
    table = np.full((len(arrays), max(map(len, arrays))), -1)
    for row, array in zip(table, arrays, strict=True):
        row[: len(array)] = array
    return torch.from_numpy(table).to(device)
