"""Fleet: the members that are still being trained, their weights, rates and randomness."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.nn import BatchNorm, Inputs, Model, Noise
from edgnn.nn.ops import random_order
from edgnn.training._group import Group
from edgnn.training._optimizer import FleetAdam, Packed, clip_, take_gradient
from edgnn.training._settings import Member, Settings
from edgnn.training._targets import Targets
from edgnn.training._tasks import Job, Step, Task

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
    group : Group, optional
        The ranks that share the work; all keep the same weights.
    """

    def __init__(
        self,
        model: Model,
        task: Task,
        targets: Targets,
        members: list[Member],
        settings: Settings,
        group: Group | None = None,
    ) -> None:
        self.model, self.task, self.targets = model, task, targets
        self.members, self.settings, self.group = members, settings, group
        device, dtype = task.inputs.device, settings.dtype
        self.model.to(device=device, dtype=dtype)
        self.packed = Packed(self.model)

        def per_member(name: str, default: float) -> Tensor:
            own = [getattr(member, name) for member in members]
            numbers = [default if number is None else number for number in own]
            return torch.tensor(numbers, dtype=dtype, device=device)

        self.optimizer = FleetAdam(
            self.packed.parameters,
            per_member("learning_rate", settings.learning_rate),
            per_member("weight_decay", settings.weight_decay),
            settings.optimizer,
        )
        self.rate = None
        if any(member.dropout is not None for member in members):
            self.rate = per_member("dropout", model.config["dropout"])
        self.seeds = torch.tensor([member.seed % 2**63 for member in members], device=device)
        self.train = item_table([member.train for member in members], device)
        self.valid = item_table([member.valid for member in members], device)
        self.own_train, self.own_valid = self._own(self.train), self._own(self.valid)
        weights = targets.item_weights(self.train)
        self.weights = None if weights is None else weights.to(dtype)
        self.std = model.output_std if model.scaled else None
        self.groups = self._groups()
        self._valid_blocks: list[Inputs] | None = None
        if group is not None:
            self._normalize_over(group)

    def of_members(self, members: list[Member]) -> Fleet:
        """Return a fleet of some of the members, whose state is to be loaded."""
        model = self.model.with_members(len(members))
        return Fleet(model, self.task, self.targets, members, self.settings, self.group)

    def _normalize_over(self, group: Group) -> None:
        """Have batch norm add up its sums over all ranks."""
        for model, _ in self.groups:
            for part in model.modules():
                if isinstance(part, BatchNorm):
                    part.over_ranks = group.sum_

    def epoch(self, number: int) -> Tensor:
        """Train for one epoch and return the members' mean losses, shape (M,)."""
        total = torch.zeros(len(self.seeds), device=self.seeds.device, dtype=torch.float64)
        with closing(self._steps(number)) as steps:
            for step, (items, counts) in enumerate(steps):
                own = self.own_train if items is self.train else self._own(items)
                total += self.step(
                    items, own, None if self._always_full else counts > 0, number, step
                )
        return total / self.targets.counts(self.train)

    def step(
        self,
        items: Tensor,
        own: Tensor,
        active: Tensor | None,
        epoch: int | Tensor,
        step: int | Tensor,
        room: int | None = None,
    ) -> Tensor:
        """Take one step of the active members, and return their summed losses, shape (M,).

        ``items`` are all of the step's, ``own`` this rank's. With ``room``, members' blocks have so
        many places.
        """
        learned = (self._learn(*group, items, own, epoch, step, room) for group in self.groups)
        losses, gradients = (
            parts[0] if len(parts) == 1 else torch.cat(parts)
            for parts in zip(*learned, strict=True)
        )
        loss, gradient = self._over_ranks(losses, gradients)
        if self.settings.clip_norm is not None:
            clip_(gradient, self.settings.clip_norm)
        self.optimizer.step(gradient, active)
        return loss * self.targets.counts(items)

    def _learn(
        self,
        model: Model,
        rows: slice,
        items: Tensor,
        own: Tensor,
        epoch: int | Tensor,
        step: int | Tensor,
        room: int | None,
    ) -> tuple[Tensor, Tensor]:
        """Return losses and gradients of some members, over the items that are this rank's own."""
        model.train()
        noise = self._noise(rows, epoch, step)
        with self._precision():
            outputs = self.task.outputs(model, own[rows], noise, room)
        loss = self._loss(outputs, items, own, rows)
        loss.sum().backward()  # type: ignore[no-untyped-call]
        return loss.detach(), take_gradient(model.parameters())

    def _noise(self, rows: slice, epoch: int | Tensor, step: int | Tensor) -> Noise:
        rate = None if self.rate is None else self.rate[rows]
        return Noise(self.seeds[rows], _DROPOUT, epoch, step, *self._apart, rate=rate)

    def _loss(self, outputs: Tensor, items: Tensor, own: Tensor, rows: slice) -> Tensor:
        """Return what this rank's own items add to the members' mean losses over all items."""
        weights, std = (None if part is None else part[rows] for part in (self.weights, self.std))
        loss = self.targets.loss(outputs.to(self.settings.dtype), own[rows], weights, std)
        if self.group is None:
            return loss
        counts = self.targets.counts
        return loss * (counts(own[rows]).to(loss.dtype) / counts(items[rows]).clamp(min=1))

    def _own(self, items: Tensor) -> Tensor:
        """Return the items that this rank works on."""
        if self.group is None or not items.shape[1]:
            return items
        return self.task.own(items, self.group)

    @property
    def _apart(self) -> tuple[int, ...]:
        """What tells the dropout of ranks with different items apart."""
        if self.group is None or self.group.first or self.task.knows_nodes:
            return ()
        return (self.group.rank,)

    def _over_ranks(self, loss: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
        if self.group is None:
            return loss, gradient
        both = self.group.sum_(torch.cat([gradient, loss[:, None].to(gradient)], dim=1))
        return both[:, -1], both[:, :-1].contiguous()

    @torch.no_grad()
    def validate(self) -> Tensor:
        """Return the members' losses on their validation items, NaN without any, shape (M,)."""
        members, items = self.valid.shape
        if not items:
            return torch.full((members,), torch.nan, device=self.valid.device)
        chunk, losses = self.task.chunk(members), []
        for model, rows in self.groups:
            model.eval()
            with self._precision():
                if self._valid_blocks is not None:
                    outputs = torch.cat([model(block) for block in self._valid_blocks], dim=1)
                else:
                    chunks = torch.split(self.own_valid[rows], chunk, dim=1)
                    outputs = torch.cat([self.task.outputs(model, part) for part in chunks], dim=1)
            losses.append(self._loss(outputs, self.valid, self.own_valid, rows))
        loss = torch.cat(losses) if self.group is None else self.group.sum_(torch.cat(losses))
        return torch.where((self.valid >= 0).any(1), loss, torch.nan)

    def keep_validation_blocks(self) -> None:
        """Lay out the validation graphs once instead of at every epoch."""
        if self.valid.shape[1]:
            self._valid_blocks = self.task.laid_out(self.valid)

    def _groups(self) -> list[tuple[Model, slice]]:
        """Return the members that are worked on together, as models that share the weights."""
        members, number = len(self.seeds), self.packed.parameters.element_size()
        size = self.task.members_at_once(self.model, number, self.group)
        if size is None:
            return [(self.model, slice(0, members))]
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

    def _steps(self, epoch: int) -> Generator[Step, None, None]:
        """Return what :meth:`_batches` does; the task may prepare the next steps meanwhile."""

        def jobs(step: int, items: Tensor) -> list[Job]:
            own = self._own(items)
            return [(own[rows], self._noise(rows, epoch, step)) for _, rows in self.groups]

        return self.task.steps(self.model, self._batches(epoch), jobs)

    def _batches(self, epoch: int) -> Iterator[Step]:
        """Yield every step's items of each member (below zero: none), and how many there are."""
        items = self.train
        if not self.task.in_batches or self.settings.batch_size is None:
            self._always_full = True
            yield items, (items >= 0).sum(1)
            return
        items = self.shuffled(epoch)
        size = self.settings.batch_size
        assert size != "auto"
        shortest = int((items >= 0).sum(1).min())
        for start in range(0, items.shape[1], size):
            batch = items[:, start : start + size]
            self._always_full = start < shortest
            yield batch, (batch >= 0).sum(1)

    def shuffled(self, epoch: int) -> Tensor:
        """Return the members' training items in the order of an epoch, those below zero last."""
        items = self.train
        order = random_order(self.seeds, items.shape[1], _SHUFFLE, epoch)
        order = torch.where(items >= 0, order, torch.iinfo(order.dtype).max)
        return items.gather(1, torch.argsort(order, dim=1, stable=True))

    def _precision(self) -> Any:
        kind = self.task.inputs.device.type
        return torch.autocast(
            kind, dtype=torch.bfloat16, enabled=self.settings.precision == "bfloat16"
        )


def item_table(parts: list[Any], device: torch.device) -> Tensor:
    """Return the members' items as rows of one table, filled up with −1."""
    arrays = [np.asarray(() if part is None else part, dtype=np.int64) for part in parts]
    table = np.full((len(arrays), max(map(len, arrays))), -1)
    for row, array in zip(table, arrays, strict=True):
        row[: len(array)] = array
    return torch.from_numpy(table).to(device)
