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
from edgnn.training._packed import Packed, clip_
from edgnn.training._settings import Member, Settings
from edgnn.training._targets import Targets
from edgnn.training._tasks import GraphTask, NodeTask

_SHUFFLE, _DROPOUT = 1, 2  # purposes of random numbers


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

    def epoch(self, number: int) -> Tensor:
        """Train for one epoch and return the members' mean losses, shape (M,)."""
        self.model.train()
        total = torch.zeros(len(self.seeds), device=self.seeds.device, dtype=torch.float64)
        for step, (items, counts) in enumerate(self._batches(number)):
            noise = Noise(self.seeds, _DROPOUT, number, step, rate=self.rate)
            with self._precision():
                outputs = self.task.outputs(self.model, items, noise)
            loss = self.targets.loss(outputs.to(self.settings.dtype), items, self.weights, self.std)
            loss.sum().backward()  # type: ignore[no-untyped-call]
            gradient = self.packed.gradient()
            if self.settings.clip_norm is not None:
                clip_(gradient, self.settings.clip_norm)
            self.optimizer.step(gradient, None if self._always_full else counts > 0)
            total += loss.detach() * self.targets.counts(items)
        return total / self.targets.counts(self.train)

    @torch.no_grad()
    def validate(self) -> Tensor:
        """Return the members' losses on their validation parts, NaN for those without, shape (M,)."""
        members, items = self.valid.shape
        if not items:
            return torch.full((members,), torch.nan)
        self.model.eval()
        chunk = self.task.chunk(members)
        with self._precision():
            parts = [self.task.outputs(self.model, self.valid[:, start : start + chunk]) for start in range(0, items, chunk)]
        outputs = torch.cat(parts, dim=1).to(self.settings.dtype)
        loss = self.targets.loss(outputs, self.valid, self.weights, self.std)
        return torch.where((self.valid >= 0).any(1), loss, torch.nan)

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
        if isinstance(self.task, NodeTask) or self.settings.batch_size is None:
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
