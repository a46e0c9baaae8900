"""Targets: what the items of a task should come out as, and how far off a model is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from edgnn.errors import TrainingError

_Rows = np.ndarray[Any, Any] | Tensor

_LEAST = 1e-150  # its square is still a number
_CONSTANT = 1e-12  # values that differ by no more than this share of them are taken to be equal


@dataclass(frozen=True, eq=False)
class Targets:
    """One target per item, made by ``classes``, ``labels`` or ``values``.

    Attributes
    ----------
    kind : {"classes", "labels", "values"}
        One class per item; several yes-or-no labels; numbers.
    y : Tensor
        Class numbers, or a matrix whose missing entries are NaN.
    weight : Tensor, optional
        How much each item counts.
    class_weight : Tensor or "balanced", optional
        How much each class counts.
    outputs : int
        How many numbers a model gives per item.

    Shapes
    ------
    y (n,) or (n, K), weight (n,), class_weight (K,)
    """

    kind: Literal["classes", "labels", "values"]
    y: Tensor
    outputs: int
    weight: Tensor | None = None
    class_weight: Tensor | Literal["balanced"] | None = None

    @classmethod
    def classes(
        cls, y: _Rows, num_classes: int, weight: _Rows | None = None, class_weight: Any = None
    ) -> Targets:
        """One of so many classes per item; ``class_weight``: ``"balanced"``, or one per class."""
        numbers = torch.as_tensor(y)
        if numbers.is_floating_point() or numbers.dim() != 1:
            raise TrainingError("class numbers must be one whole number per item")
        wrong = ((numbers < 0) | (numbers >= num_classes)).nonzero()
        if len(wrong):
            item = int(wrong[0])
            raise TrainingError(
                f"item {item} has the class {int(numbers[item])}, but there are {num_classes} "
                "classes"
            )
        if class_weight is not None and not isinstance(class_weight, str):
            class_weight = torch.as_tensor(class_weight, dtype=torch.float64)
            if class_weight.shape != (num_classes,):
                raise TrainingError(
                    f"class_weight has the shape {tuple(class_weight.shape)}, one number per "
                    "class is needed"
                )
            if not bool(((class_weight >= 0) & class_weight.isfinite()).all()):
                raise TrainingError(
                    f"class_weight={class_weight.tolist()}: weights are finite and at least 0"
                )
        elif class_weight not in (None, "balanced"):
            raise TrainingError(
                f"class_weight={class_weight!r}: choose 'balanced', None, or one number per class"
            )
        return cls(
            "classes",
            numbers.to(torch.int64),
            num_classes,
            _weights(weight, len(numbers)),
            class_weight,
        )

    @classmethod
    def labels(cls, Y: _Rows, weight: _Rows | None = None) -> Targets:
        """Several labels per item, each 0 or 1, NaN where it is not known."""
        matrix = _matrix(Y)
        wrong = (~(matrix.isnan() | (matrix == 0) | (matrix == 1))).nonzero()
        if len(wrong):
            item, column = wrong[0].tolist()
            raise TrainingError(
                f"label {column} of item {item} is {float(matrix[item, column])}, neither 0 nor 1 "
                "nor missing (NaN)"
            )
        return cls("labels", matrix, matrix.shape[1], _weights(weight, len(matrix)))

    @classmethod
    def values(cls, Y: _Rows, weight: _Rows | None = None) -> Targets:
        """One or several numbers per item, NaN where one is not known."""
        matrix = _matrix(Y)
        wrong = matrix.isinf().nonzero()
        if len(wrong):
            raise TrainingError(f"target {int(wrong[0, 1])} of item {int(wrong[0, 0])} is infinite")
        return cls("values", matrix, matrix.shape[1], _weights(weight, len(matrix)))

    def __len__(self) -> int:
        return len(self.y)

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Targets:
        """Return the targets on ``device``, numbers in ``dtype``."""
        if self.kind == "values":
            _check_resolution(self.y, dtype)
        y = self.y.to(device) if self.kind == "classes" else self.y.to(device, dtype)
        weight = None if self.weight is None else self.weight.to(device, dtype)
        of_class = self.class_weight
        if isinstance(of_class, Tensor):
            of_class = of_class.to(device, dtype)
        return replace(self, y=y, weight=weight, class_weight=of_class)

    def scale(self, train: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation of each column over each member's training items.

        Items below zero are none.

        Shapes
        ------
        train (M, n) → (M, K), (M, K)
        """
        y = self.y[train.clamp(min=0)].to(torch.float64)
        known = ~y.isnan() & (train >= 0).unsqueeze(-1)
        count = known.sum(1).clamp(min=1)
        mean = torch.where(known, y, 0.0).sum(1) / count
        variance = torch.where(known, y - mean.unsqueeze(1), 0.0).square().sum(1) / count
        std = variance.sqrt()
        return mean, torch.where(
            std > _CONSTANT * mean.abs().clamp(min=1e-30), std, torch.ones_like(std)
        )

    @property
    def usable(self) -> Tensor:
        """Whether each item has a target and a weight above zero, shape (items,)."""
        known = self._known
        return known if self.weight is None else known & (self.weight > 0)

    def counts(self, items: Tensor) -> Tensor:
        """Return how many of each member's items (below zero: none) have a target.

        Shapes
        ------
        items (M, B) → (M,)
        """
        real = items >= 0
        if self.kind != "classes":  # all classes are known
            real = real & self._known[items.clamp(min=0)]
        return real.sum(1)

    @cached_property
    def _known(self) -> Tensor:
        """Whether each item has any target that is known."""
        if self.kind == "classes":
            return torch.ones(len(self), dtype=torch.bool, device=self.y.device)
        return ~self.y.isnan().all(1)

    def item_weights(self, train: Tensor) -> Tensor | None:
        """Return how much every item counts for every member; ``None`` if all count the same.

        The mean over a member's training items is one.

        Shapes
        ------
        train (M, n) → (M, items)
        """
        if self.weight is None and self.class_weight is None:
            return None
        real = train >= 0
        chosen = train.clamp(min=0)
        weight = self.weight
        if weight is None:
            weight = torch.ones(len(self), dtype=torch.float64, device=self.y.device)
        table = weight.expand(len(train), -1)
        if self.class_weight is not None:
            table = table * self._class_weights(chosen, real).gather(
                1, self.y.expand(len(train), -1)
            )
        mean = torch.where(real, table.gather(1, chosen), 0.0).sum(1) / real.sum(1).clamp(min=1)
        return table / torch.where(mean > 0, mean, torch.ones_like(mean)).unsqueeze(1)

    def _class_weights(self, train: Tensor, real: Tensor) -> Tensor:
        """Return the weight of each class for each member, shape (M, K)."""
        if isinstance(self.class_weight, Tensor):
            return self.class_weight.expand(len(train), -1)
        counts = torch.zeros(len(train), self.outputs, device=self.y.device, dtype=torch.float64)
        counts.scatter_add_(1, self.y[train], real.to(torch.float64))
        balanced = real.sum(1, keepdim=True) / (self.outputs * counts)
        return torch.where(counts > 0, balanced, 0.0)

    def loss(
        self, outputs: Tensor, items: Tensor, weights: Tensor | None, std: Tensor | None
    ) -> Tensor:
        """Return every member's mean loss over its items (below zero: none).

        Cross-entropy, or the squared error in units of ``std``.

        Shapes
        ------
        outputs (M, B, K), items (M, B), weights (M, items), std (M, K) → (M,)
        """
        real = items >= 0
        chosen = items.clamp(min=0)
        y = self.y[chosen]
        if self.kind == "classes":
            single = functional.cross_entropy(
                outputs.flatten(0, 1), y.flatten(), reduction="none"
            ).view(items.shape)
        else:
            known = ~y.isnan()
            y = torch.where(known, y, 0.0)
            if self.kind == "labels":
                single = functional.binary_cross_entropy_with_logits(outputs, y, reduction="none")
            else:
                assert std is not None
                single = ((outputs - y) / std.unsqueeze(1)).square()
            counts = known.sum(-1)
            single = torch.where(known, single, 0.0).sum(-1) / counts.clamp(min=1)
            real = real & (counts > 0)
        if weights is not None:
            single = single * weights.gather(1, chosen)
        return torch.where(real, single, 0.0).sum(1) / real.sum(1).clamp(min=1)


def _check_resolution(y: Tensor, dtype: torch.dtype) -> None:
    """Raise where rounding to ``dtype`` would hide what tells the values of a target apart."""
    limits = torch.finfo(dtype)
    for column, values in enumerate(y.T):
        known = values[~values.isnan()]
        if not len(known):
            continue
        spread, largest = float((known - known.mean()).abs().mean()), float(known.abs().max())
        if spread <= _CONSTANT * largest:
            continue
        if (
            spread < max(limits.tiny, _LEAST)
            or largest > min(limits.max, 1 / _LEAST)
            or limits.eps * largest > spread / 4
        ):
            raise TrainingError(
                f"the values of target {column} lie between {float(known.min()):.10g} and "
                f"{float(known.max()):.10g}, which "
                f"{dtype} cannot tell apart well: subtract their mean, change their unit, or set "
                "precision='float64'"
            )


def _matrix(Y: _Rows) -> Tensor:
    matrix = torch.as_tensor(Y).to(torch.float64)
    if matrix.dim() == 1:
        matrix = matrix.unsqueeze(1)
    if matrix.dim() != 2:
        raise TrainingError(
            f"targets must be one row per item, got the shape {tuple(matrix.shape)}"
        )
    return matrix


def _weights(weight: _Rows | None, items: int) -> Tensor | None:
    if weight is None:
        return None
    numbers = torch.as_tensor(weight).to(torch.float64)
    if numbers.shape != (items,):
        raise TrainingError(
            f"weights must be one number for each of {items} items, got the shape "
            f"{tuple(numbers.shape)}"
        )
    wrong = (~(numbers >= 0) | numbers.isinf()).nonzero()
    if len(wrong):
        raise TrainingError(
            f"the weight of item {int(wrong[0])} is {float(numbers[wrong[0]])}; weights are finite "
            "and at least 0"
        )
    return numbers
