"""Judge: after every epoch, on the device, whose weights are kept and who stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.training._optimizer import Packed


class Judge:
    """The best of every member of a fleet so far.

    Parameters
    ----------
    packed : Packed
        The weights of the fleet.
    judged : Tensor
        Which members have a validation part; the others keep the weights of every epoch.
    patience : int, optional
        After how many epochs without a lower validation loss a member stops.

    Attributes
    ----------
    best, best_loss, best_epoch, stopped : Tensor
        Weights and running statistics of the best epoch, its validation loss and number, and who
        has stopped.
    """

    def __init__(self, packed: Packed, judged: Tensor, patience: int | None) -> None:
        self.packed, self.judged, self.patience = packed, judged, patience
        members, device = len(judged), judged.device
        self.best = packed.values()
        self.best_loss = torch.full((members,), torch.inf, dtype=torch.float64, device=device)
        self.best_epoch = torch.zeros(members, dtype=torch.int64, device=device)
        self.stopped = torch.zeros(members, dtype=torch.bool, device=device)

    @torch.no_grad()
    def look(self, epoch: int | Tensor, train: Tensor, valid: Tensor) -> Tensor:
        """Keep the weights of members that improved, stop those that wait too long or diverged.

        Return what happened.

        Shapes
        ------
        train (M,), valid (M,) → (5, M), as :class:`Verdict` reads it
        """
        train, valid = train.to(torch.float64), valid.to(torch.float64)
        active = ~self.stopped
        lost = active & ~(train.isfinite() & (valid.isfinite() | ~self.judged))
        improved = active & ~lost & (~self.judged | (valid < self.best_loss))
        self.best.copy_(torch.where(improved[:, None], self.packed.values(), self.best))
        self.best_loss.copy_(torch.where(improved, valid, self.best_loss))
        self.best_epoch.copy_(torch.where(improved, epoch, self.best_epoch))
        self.stopped |= lost
        if self.patience is not None:
            self.stopped |= active & self.judged & (epoch - self.best_epoch >= self.patience)
        shown = torch.where(active, torch.stack([train, valid]), torch.nan)
        return torch.cat(
            [shown, torch.stack([self.best_epoch, self.stopped, lost]).to(torch.float64)]
        )


class Verdict:
    """What a :class:`Judge` found, read once from the device.

    Attributes
    ----------
    train, valid : array of float
        Losses; NaN for members that had stopped before.
    best_epoch : array of int
        Whose weights each member keeps.
    stopped, lost : array of bool
        Who is not trained any further, and who of them because a loss is NaN or infinite.
    """

    def __init__(self, found: Tensor) -> None:
        table: np.ndarray[Any, Any] = found.cpu().numpy()
        self.train, self.valid = table[0], table[1]
        self.best_epoch = table[2].astype(np.int64)
        self.stopped, self.lost = table[3].astype(bool), table[4].astype(bool)
