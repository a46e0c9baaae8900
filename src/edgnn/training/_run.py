"""Run: a training in progress, epoch by epoch, and what it leaves behind."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import TrainingError
from edgnn.nn import Model
from edgnn.training._captured import Captured, captured
from edgnn.training._fleet import Fleet
from edgnn.training._judge import Judge, Verdict
from edgnn.training._optimizer import Packed
from edgnn.training._tasks import Kind

#: A fleet is made smaller once at most this share of its members is still being trained.
_COMPACT_BELOW = 0.75


@dataclass(frozen=True, eq=False)
class Epoch:
    """What is known after an epoch, handed to ``on_epoch``.

    Attributes
    ----------
    number : int
        From 1.
    train_loss, valid_loss : list of float
        One per member; NaN for members that stopped earlier, and where there is no validation part.
    best_epoch : list of int
        Whose weights each member keeps so far.
    active : list of bool
        Which members go on.
    seconds : float
        Time the epoch took.
    """

    number: int
    train_loss: list[float]
    valid_loss: list[float]
    best_epoch: list[int]
    active: list[bool]
    seconds: float
    state: Callable[[], dict[str, Tensor]]


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained fleet.

    Attributes
    ----------
    model : Model
        All members, each with the weights of its best epoch.
    kind : {"graph", "node"}
        Of the task.
    history : list of dict
        ``epoch``, ``train_loss``, ``valid_loss`` (one number per member) and ``seconds`` of every
        epoch.
    best_epoch : list of int
        The epoch whose weights each member keeps.
    best_loss : list of float
        Its validation loss.
    """

    model: Model
    kind: Kind
    history: list[dict[str, Any]]
    best_epoch: list[int]
    best_loss: list[float]


class Run:
    """A training in progress: the fleet of active members, and the best of every member."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, members = fleet, fleet.members
        self.members, self.settings, self.group = members, fleet.settings, fleet.group
        self.alive = list(range(len(members)))
        self.best = self.fleet.packed.values()
        self.best_loss = np.full(len(members), np.inf)
        self.best_epoch = np.zeros(len(members), dtype=np.int64)
        self.stopped = np.zeros(len(members), dtype=bool)
        self.losses: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], float]] = []
        self._start()

    def _start(self) -> None:
        """Have the fleet judged from where its members stand."""
        self.judge = Judge(
            self.fleet.packed, (self.fleet.valid >= 0).any(1), self.settings.patience
        )
        self.judge.best.copy_(self.best[self.alive])
        for name in ("best_loss", "best_epoch", "stopped"):
            getattr(self.judge, name).copy_(torch.from_numpy(getattr(self, name)[self.alive]))
        self.recorded: Captured | None = None
        self.started = False

    def go(self, on_epoch: Callable[[Epoch], bool | None] | None) -> None:
        while len(self.losses) < self.settings.max_epochs and not self.stopped.all():
            number, start = len(self.losses) + 1, time.perf_counter()
            train, valid = self._record(number, Verdict(self._run(number)))
            self.losses.append((train, valid, time.perf_counter() - start))
            self._compact()
            if self._ends(on_epoch):
                break

    def _ends(self, on_epoch: Callable[[Epoch], bool | None] | None) -> bool:
        """Return whether the hook ends the training: of several ranks, that of rank 0."""

        def ends() -> bool:
            return on_epoch is not None and bool(on_epoch(self._epoch()))

        return ends() if self.group is None else self.group.decided(ends)

    def _run(self, number: int) -> Tensor:
        """Train and judge for one epoch, recorded where that is possible."""
        if not self.started:
            self.recorded, self.started = captured(self.fleet, self.judge), True
        if self.recorded is not None:
            return self.recorded.run(number)
        train = self.fleet.epoch(number)
        return self.judge.look(number, train, self.fleet.validate())

    def _record(
        self, number: int, verdict: Verdict
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Keep what the judge found; return all members' losses, NaN for those that had stopped."""
        for row in np.flatnonzero(verdict.lost):
            self._lose(self.alive[row], number)
        self.best_epoch[self.alive] = verdict.best_epoch
        self.stopped[self.alive] = verdict.stopped
        train = np.full(len(self.members), np.nan)
        valid = train.copy()
        train[self.alive] = verdict.train
        valid[self.alive] = verdict.valid
        return train, valid

    def _collect(self) -> None:
        """Fetch the best weights of the fleet's members."""
        self.best[self.alive] = self.judge.best
        self.best_loss[self.alive] = self.judge.best_loss.cpu().numpy()

    def _lose(self, position: int, number: int) -> None:
        member, kept = self.members[position], self.best_epoch[position]
        rate = self.settings.learning_rate if member.learning_rate is None else member.learning_rate
        what = (
            f"the loss of member {position} (seed {member.seed}, learning rate {rate:g}) "
            f"is NaN or infinite in epoch {number}"
        )
        self.stopped[position] = True
        if self.stopped.all() and not self.best_epoch.any():
            raise TrainingError(
                f"{what}: lower learning_rate, set clip_norm, or scale the features"
            )
        left = "it keeps its initial weights, which nothing was learned for"
        if kept:
            left = f"it keeps the weights of epoch {kept}"
        warnings.warn(f"{what}; {left}", RuntimeWarning, stacklevel=5)

    def _compact(self) -> None:
        """Leave stopped members out of the fleet once there are enough of them."""
        rows = [row for row, member in enumerate(self.alive) if not self.stopped[member]]
        if rows and len(rows) <= _COMPACT_BELOW * len(self.alive):
            self._shrink(rows, self.fleet.state())

    def _shrink(self, rows: list[int], state: dict[str, Tensor]) -> None:
        self._collect()
        self.recorded = None
        self.alive = [self.alive[row] for row in rows]
        self.fleet = self.fleet.of_members([self.members[member] for member in self.alive])
        self.fleet.load({name: part[rows] for name, part in state.items()})
        self._start()

    def _epoch(self) -> Epoch:
        train, valid, seconds = self.losses[-1]
        return Epoch(
            number=len(self.losses),
            train_loss=train.tolist(),
            valid_loss=valid.tolist(),
            best_epoch=self.best_epoch.tolist(),
            active=(~self.stopped).tolist(),
            seconds=seconds,
            state=self.state,
        )

    def state(self) -> dict[str, Tensor]:
        """Return all that is needed to go on, as tensors on the CPU."""
        self._collect()
        table = np.array([[*train, *valid, seconds] for train, valid, seconds in self.losses])
        arrays = {
            "alive": np.array(self.alive),
            "best_loss": self.best_loss,
            "best_epoch": self.best_epoch,
            "stopped": self.stopped,
            "losses": table,
        }
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        tensors["best"] = self.best
        tensors |= {f"fleet.{name}": part for name, part in self.fleet.state().items()}
        return {name: part.detach().cpu().clone() for name, part in tensors.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Go on from a stored state."""
        try:
            self._check_state(state)
            self._load(state)
        except KeyError as error:
            raise TrainingError(
                f"the checkpoint lacks {error.args[0]!r}: it was not written by a training"
            ) from None
        except (RuntimeError, IndexError, TypeError) as error:
            raise TrainingError(
                f"the checkpoint is damaged: {str(error).splitlines()[0]}"
            ) from None

    def _check_state(self, state: dict[str, Tensor]) -> None:
        count, width = len(self.members), self.best.shape[1]
        if state["best"].shape != (count, width):
            raise TrainingError(
                f"the checkpoint has {tuple(state['best'].shape)} weights, this training "
                f"{(count, width)}: it belongs to another model or other data"
            )
        shapes: dict[str, tuple[int, ...]] = {
            "best_loss": (count,),
            "best_epoch": (count,),
            "stopped": (count,),
            "losses": (len(state["losses"]), 2 * count + 1),
            "fleet.values": (len(state["alive"]), width),
        }
        for name, shape in shapes.items():
            if state[name].shape != shape:
                raise TrainingError(
                    f"the checkpoint is damaged: {name} has the shape "
                    f"{tuple(state[name].shape)}, not {shape}"
                )

    def _load(self, state: dict[str, Tensor]) -> None:
        count, prefix = len(self.members), "fleet."
        on_device = {
            name.removeprefix(prefix): part.to(self.best.device)
            for name, part in state.items()
            if name.startswith(prefix)
        }
        alive = state["alive"].tolist()
        if len(alive) < len(self.alive):
            empty = {
                name: part.new_zeros(count, *part.shape[1:]) for name, part in on_device.items()
            }
            self._shrink(alive, empty)
        self.fleet.load(on_device)
        self.best = state["best"].to(self.best)
        self.best_loss = state["best_loss"].numpy().copy()
        self.best_epoch = state["best_epoch"].numpy().copy()
        self.stopped = state["stopped"].numpy().copy()
        rows = state["losses"].numpy().copy()
        self.losses = [(row[:count], row[count:-1], float(row[-1])) for row in rows]
        self._start()

    def result(self, kind: Kind) -> Trained:
        """Return all members with their best weights."""
        self._collect()
        model = self.fleet.model.with_members(len(self.members)).to(self.best)
        Packed(model).load(self.best)
        model.eval()
        history = [
            {
                "epoch": number,
                "train_loss": train.tolist(),
                "valid_loss": valid.tolist(),
                "seconds": seconds,
            }
            for number, (train, valid, seconds) in enumerate(self.losses, start=1)
        ]
        return Trained(model, kind, history, self.best_epoch.tolist(), self.best_loss.tolist())
