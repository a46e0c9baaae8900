"""Epochs as CUDA graphs: a step is recorded once, then repeated without the host in between."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from edgnn.training._judge import Judge
from edgnn.training._tasks import GraphTask

if TYPE_CHECKING:
    from edgnn.training._fleet import Fleet

#: So many epochs' batches are looked at in advance, to know how much room they need.
_EPOCHS_AHEAD = 50

#: Validation graphs of all members stay laid out if they have at most so many nodes.
_MOST_VALIDATION = 20_000_000

#: Steps get two sizes of room, if the largest step is so many times as large as nine tenths of them
#: are.
_UNEVEN = 1.5


def captured(fleet: Fleet, judge: Judge) -> Captured | None:
    """Return the recorded epochs of a fleet, or ``None`` where an epoch needs the host.

    It does on the CPU, over ranks, and where neighbors are sampled.
    """
    task = fleet.task
    if task.inputs.device.type != "cuda" or fleet.group is not None:
        return None
    if task.recorded_as == "epoch":
        return CapturedNodes(fleet, judge)
    if task.recorded_as is None or fleet.settings.batch_size is None:
        return None
    assert isinstance(task, GraphTask)
    validation = int(task.blocks.room_for(fleet.valid).sum())
    return CapturedGraphs(fleet, judge) if validation <= _MOST_VALIDATION else None


class Captured(ABC):
    """What both kinds of tasks share: what a recorded step reads and changes on the device."""

    def __init__(self, fleet: Fleet, judge: Judge) -> None:
        self.fleet, self.judge, device = fleet, judge, fleet.seeds.device
        self.epoch_number = torch.zeros((), dtype=torch.int64, device=device)
        self.step_number = torch.zeros((), dtype=torch.int64, device=device)
        self.total = torch.zeros(len(fleet.seeds), dtype=torch.float64, device=device)
        self.found = torch.zeros(5, len(fleet.seeds), dtype=torch.float64, device=device)
        self.counts = fleet.targets.counts(fleet.train)
        self._pool: Any = None

    def run(self, epoch: int) -> Tensor:
        """Train and judge for one epoch; return what the judge found, not yet waited for."""
        self.epoch_number.fill_(epoch)
        self.step_number.zero_()
        self.total.zero_()
        self._run(epoch)
        return self.found

    @abstractmethod
    def _run(self, epoch: int) -> None:
        """Launch what was recorded for all of an epoch."""

    def _validate(self) -> None:
        """Validate and judge, from and to tensors that stay where they are."""
        self.found.copy_(
            self.judge.look(self.epoch_number, self.total / self.counts, self.fleet.validate())
        )

    def _record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """Record ``work``; what it changes while it is tried out is set back."""
        own = (self.epoch_number, self.step_number, self.total, self.found)
        judged = (self.judge.best, self.judge.best_loss, self.judge.best_epoch, self.judge.stopped)
        before = [part.clone() for part in (*own, *judged)]
        state = {name: part.clone() for name, part in self.fleet.state().items()}
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            work()  # what is set up on first use must not be recorded
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(
            graph, pool=self._pool, stream=side, capture_error_mode="thread_local"
        ):
            work()
        self._pool = self._pool or graph.pool()
        for part, old in zip((*own, *judged), before, strict=True):
            part.copy_(old)
        self.fleet.load(state)
        return graph


class CapturedNodes(Captured):
    """One recording for all of an epoch: a step over the whole graph, validation, judgment."""

    def __init__(self, fleet: Fleet, judge: Judge) -> None:
        super().__init__(fleet, judge)
        self._epoch = self._record(self._work)

    def _work(self) -> None:
        fleet = self.fleet
        self.total += fleet.step(
            fleet.train, fleet.train, None, self.epoch_number, self.step_number
        )
        self._validate()

    def _run(self, epoch: int) -> None:
        self._epoch.replay()


class CapturedGraphs(Captured):
    """Two recordings: a step on the next batches of all members, and validation with judgment."""

    def __init__(self, fleet: Fleet, judge: Judge) -> None:
        super().__init__(fleet, judge)
        assert isinstance(fleet.task, GraphTask)
        self.blocks = fleet.task.blocks
        size = fleet.settings.batch_size
        assert isinstance(size, int)
        members, items = fleet.train.shape
        size = min(size, items)
        self.steps = -(-items // size)
        self.table = torch.full((members, self.steps, size), -1, device=fleet.train.device)
        self._rooms: dict[int, list[int]] = {}
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        fleet.keep_validation_blocks()
        self._last = self._record(self._validate)

    def _run(self, epoch: int) -> None:
        rooms = self._rooms_of(epoch)
        self._shuffle(epoch)
        for room in rooms:
            if room not in self._graphs:
                self._graphs[room] = self._record(partial(self._step, room))
            self._graphs[room].replay()
        self._last.replay()

    def _step(self, room: int) -> None:
        items = self.table.index_select(
            1, self.step_number.clamp(max=self.steps - 1).view(1)
        ).squeeze(1)
        counts = (items >= 0).sum(1)
        self.total += self.fleet.step(
            items, items, counts > 0, self.epoch_number, self.step_number, room
        )
        self.step_number += 1

    def _shuffle(self, epoch: int) -> None:
        items = self.fleet.shuffled(epoch)
        self.table.view(len(items), -1)[:, : items.shape[1]] = items

    def _rooms_of(self, epoch: int) -> list[int]:
        """Return how much room each step of an epoch needs, of two sizes at most."""
        if epoch not in self._rooms:
            self._look_ahead(epoch)
        return self._rooms.pop(epoch)

    def _look_ahead(self, epoch: int) -> None:
        # the same epochs are looked at together wherever a training was interrupted
        first = epoch - (epoch - 1) % _EPOCHS_AHEAD
        needed = []
        for number in range(first, first + _EPOCHS_AHEAD):
            self._shuffle(number)
            needed.append(self.blocks.room_for(self.table).sum(2).amax(0))
        nodes = torch.stack(needed).cpu().numpy()  # (epochs, steps)
        largest, usual = int(nodes.max()), int(np.quantile(nodes, 0.9))
        if largest <= _UNEVEN * usual:
            usual = largest
        for number, row in enumerate((nodes <= usual).tolist(), start=first):
            self._rooms[number] = [_rounded(usual if fits else largest) for fits in row]


def _rounded(room: int) -> int:
    """Return a little more room, so that later epochs can use the same recordings."""
    return -(-max(room, 1) // 16) * 16
