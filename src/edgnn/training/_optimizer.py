"""Adam for all members of a fleet at once, each with its own rates."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

_BETA1, _BETA2, _EPS = 0.9, 0.999, 1e-8


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
        self.rate, self.decay = (
            learning_rate[:, None].to(parameters),
            weight_decay[:, None].to(parameters),
        )
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
        denominator = (
            torch.sqrt(self.second, out=gradient).add_((_EPS * root).to(gradient)).div_(length)
        )
        self.parameters.addcdiv_(self.first, denominator, value=-1)

    def state(self) -> dict[str, Tensor]:
        """Return what is needed to go on."""
        return {"first": self.first, "second": self.second, "steps": self.steps}

    def load(self, state: dict[str, Tensor]) -> None:
        """Go on from a stored state."""
        self.first.copy_(state["first"])
        self.second.copy_(state["second"])
        self.steps.copy_(state["steps"])
