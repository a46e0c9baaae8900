"""What a training is asked to do: one member of a fleet, and what all members share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch

from edgnn._rules import NOT_NEGATIVE, Rules, check, one_of, whole
from edgnn.errors import TrainingError

_Index = Sequence[int] | np.ndarray[Any, Any] | torch.Tensor
Precision = Literal["float32", "float64", "bfloat16"]
Fanout = int | Sequence[int | None] | None

_RULES: Rules = {
    "max_epochs": whole(1),
    "batch_size": whole(1).or_none("all at once").or_word("auto", "8 graphs, or all nodes"),
    "fanout": whole(1).or_none("all neighbors").or_several(least=0),
    "learning_rate": NOT_NEGATIVE,
    "weight_decay": NOT_NEGATIVE,
    "optimizer": one_of("adam", "adamw"),
    "patience": whole(1).or_none("all epochs"),
    "clip_norm": NOT_NEGATIVE.or_none("no clipping"),
    "precision": one_of("float32", "float64", "bfloat16"),
}


@dataclass(frozen=True, eq=False)
class Member:
    """One model of a fleet.

    Parameters
    ----------
    train : sequence of int
        The items (graphs, or nodes with a target) to train on.
    valid : sequence of int, optional
        The items whose loss decides which epoch's weights are kept; without them the last epoch's
        are.
    seed : int
        Of its initial weights, shuffles and dropout; these depend on nothing else.
    learning_rate, weight_decay, dropout : float, optional
        The member's own, instead of the fleet's.
    """

    train: _Index
    valid: _Index | None = None
    seed: int = 0
    learning_rate: float | None = None
    weight_decay: float | None = None
    dropout: float | None = None


@dataclass(frozen=True)
class Settings:
    """How a fleet is trained.

    Parameters
    ----------
    max_epochs : int
        Number of passes over the training part.
    batch_size : int, None or "auto"
        Items per step and member; with ``None`` all at once. ``"auto"``: 8 graphs, or all nodes.
    fanout : int or tuple of int, optional
        Node tasks in batches: most neighbors per node that a step reads, drawn anew at every step.
        One number for all layers that read neighbors, or one for each, the last layer first
        (``None`` in it: all); all without. The sums of edGNN's first layer are exact, so it takes
        none: two layers take one number. ``"joint"`` and ``"rgcn"`` have exact sums in
        :class:`Inputs` of graphs without node features; of :class:`LargeInputs`, their first layer
        takes a number too.
    learning_rate, weight_decay : float
        Of members that have none of their own.
    optimizer : {"adam", "adamw"}
        With weight decay in the gradient, or apart from it.
    patience : int, optional
        Stop a member after so many epochs without a lower validation loss; never without.
    clip_norm : float, optional
        Largest norm of a member's gradient.
    precision : {"float32", "float64", "bfloat16"}
        ``"bfloat16"`` is mixed: weights and sums stay float32.
    device : str
        Where to train.
    """

    max_epochs: int = 40
    batch_size: int | Literal["auto"] | None = "auto"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    optimizer: Literal["adam", "adamw"] = "adam"
    patience: int | None = None
    clip_norm: float | None = None
    precision: Precision = "float32"
    device: str = "cpu"
    fanout: Fanout = None

    def __post_init__(self) -> None:
        check(vars(self), _RULES, TrainingError)

    def of(self, kind: Literal["graph", "node"]) -> Settings:
        """Return the settings with the batch size that ``"auto"`` means for graphs or nodes."""
        auto = 8 if kind == "graph" else None
        chosen = replace(self, batch_size=auto) if self.batch_size == "auto" else self
        if self.fanout is not None and (kind == "graph" or chosen.batch_size is None):
            raise TrainingError(
                f"fanout={self.fanout} is for node tasks in batches: set batch_size, or leave it "
                "out"
            )
        return chosen

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights."""
        return torch.float64 if self.precision == "float64" else torch.float32
