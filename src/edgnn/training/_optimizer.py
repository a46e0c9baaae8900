"""All weights of a fleet as one matrix with a row per member, and Adam on that matrix.

One operation then updates, clips, compares or copies the weights of all members.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

_BETA1, _BETA2, _EPS = 0.9, 0.999, 1e-8


class Packed:
    """Moves a model's parameters and running statistics into two matrices, one row per member.

    Rows can then be updated, clipped, compared and copied for all members in one operation.

    Parameters
    ----------
    model : Module
        Every parameter and buffer has a leading member axis.

    Attributes
    ----------
    parameters, buffers : Tensor
        The values; the model works on views of them.

    Shapes
    ------
    parameters (M, P), buffers (M, Q)
    """

    def __init__(self, model: nn.Module) -> None:
        own = list(model.buffers())
        self.parameters = _pack([parameter.data for parameter in model.parameters()])
        self.buffers = _pack(own) if own else self.parameters.new_zeros(len(self.parameters), 0)
        self.lend(model, slice(None))

    def lend(self, model: nn.Module, rows: slice) -> None:
        """Make a model of the same shape work on the values of some of the members."""
        for matrix, parts in (
            (self.parameters, list(model.parameters())),
            (self.buffers, list(model.buffers())),
        ):
            for part, view in zip(parts, _views(matrix[rows], parts), strict=True):
                part.data = view

    def values(self) -> Tensor:
        """Return parameters and buffers side by side, as a copy."""
        return torch.cat([self.parameters, self.buffers], dim=1)

    def load(self, values: Tensor) -> None:
        """Set parameters and buffers to stored ``values``."""
        split = self.parameters.shape[1]
        self.parameters.copy_(values[:, :split])
        self.buffers.copy_(values[:, split:])


def _pack(parts: list[Tensor]) -> Tensor:
    return torch.cat([part.reshape(len(part), -1) for part in parts], dim=1)


def _views(matrix: Tensor, parts: Sequence[Tensor]) -> list[Tensor]:
    sizes = [part[0].numel() for part in parts]
    return [
        piece.view(part.shape)
        for piece, part in zip(torch.split(matrix, sizes, dim=1), parts, strict=True)
    ]


def take_gradient(parameters: Iterable[nn.Parameter]) -> Tensor:
    """Return some members' gradients as one matrix with a row per member, and clear them."""
    parts = []
    for parameter in parameters:
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        parts.append(gradient.reshape(len(parameter), -1))
        parameter.grad = None
    return torch.cat(parts, dim=1)


def clip_(gradient: Tensor, largest: float) -> None:
    """Scale down the rows of ``gradient`` whose norm is above ``largest``."""
    norm = gradient.norm(dim=1, keepdim=True)
    gradient.mul_((largest / norm.clamp(min=1e-12)).clamp(max=1.0))


class FleetAdam:
    """Adam or AdamW on a matrix with one row of parameters per member, as in ``torch.optim``.

    Parameters
    ----------
    parameters : Tensor
        Changed in place.
    learning_rate, weight_decay : Tensor
        One per member.
    kind : {"adam", "adamw"}
        Weight decay as part of the gradient, or apart from it.

    Shapes
    ------
    parameters (M, P), learning_rate (M,), weight_decay (M,)
    """

    def __init__(
        self,
        parameters: Tensor,
        learning_rate: Tensor,
        weight_decay: Tensor,
        kind: Literal["adam", "adamw"] = "adam",
    ) -> None:
        self.parameters, self.kind = parameters, kind
        self.rate = learning_rate[:, None].to(parameters)
        self.decay = weight_decay[:, None].to(parameters)
        self.decays = bool((weight_decay > 0).any())
        self.first, self.second = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.steps = torch.zeros(len(parameters), 1, dtype=torch.float64, device=parameters.device)

    @torch.no_grad()
    def step(self, gradient: Tensor, active: Tensor | None = None) -> None:
        """Take one step along ``gradient``, which is overwritten; only ``active`` members move.

        Shapes
        ------
        gradient (M, P), active (M,) of bool
        """
        if self.parameters.device.type != "cpu":
            self._step_on_device(gradient, active)
            return
        state = (self.parameters, self.first, self.second, self.steps)
        before = None if active is None else [part.clone() for part in state]
        self._step(gradient)
        if active is not None and before is not None:
            for part, old in zip(state, before, strict=True):
                part.copy_(torch.where(active[:, None], part, old))

    def _step_on_device(self, gradient: Tensor, active: Tensor | None) -> None:
        from edgnn.nn.ops import adam_step

        moments = self.parameters, gradient.contiguous(), self.first, self.second
        within, apart = (self.decays and self.kind == kind for kind in ("adam", "adamw"))
        options = {"betas": (_BETA1, _BETA2), "eps": _EPS, "within": within, "apart": apart}
        adam_step(
            *moments,
            self.steps,
            self.rate,
            self.decay,
            active,
            **options,  # type: ignore[arg-type]
        )
        self.steps += 1 if active is None else active[:, None]

    def _step(self, gradient: Tensor) -> None:
        self.steps += 1
        if self.decays and self.kind == "adam":
            gradient.addcmul_(self.parameters, self.decay)
        elif self.decays:
            self.parameters.mul_(1 - self.rate * self.decay)
        self.first.lerp_(gradient, 1 - _BETA1)
        self.second.mul_(_BETA2).addcmul_(gradient, gradient, value=1 - _BETA2)
        root = (1 - _BETA2**self.steps).sqrt()
        length = (self.rate * root / (1 - _BETA1**self.steps)).to(gradient)
        # the gradient is not needed any more: its memory holds the denominator
        denominator = torch.sqrt(self.second, out=gradient)
        denominator.add_((_EPS * root).to(gradient)).div_(length)
        self.parameters.addcdiv_(self.first, denominator, value=-1)

    def state(self) -> dict[str, Tensor]:
        """Return what is needed to go on."""
        return {"first": self.first, "second": self.second, "steps": self.steps}

    def load(self, state: dict[str, Tensor]) -> None:
        """Go on from a stored state."""
        self.first.copy_(state["first"])
        self.second.copy_(state["second"])
        self.steps.copy_(state["steps"])
