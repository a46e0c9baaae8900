"""Batch normalization with an optional member axis, blind to padding."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from edgnn.nn._parameters import Generators
from edgnn.nn.ops import raise_if_differentiated_again


class BatchNorm(nn.Module):
    r"""Normalize each column over the nodes of a batch.

    .. math:: y = \gamma\, (x - \mu) / \sqrt{\sigma^2 + \epsilon} + \beta

    While training, :math:`\mu` and :math:`\sigma` are those of the batch, and running ones are
    kept; afterwards the running ones are used, so a prediction never depends on what else is
    predicted with it. Where a batch is spread over several processes, ``over_ranks`` adds up their
    sums in place, and the statistics are those of the whole batch.

    Parameters
    ----------
    dim : int
        Number of columns.
    momentum : float
        Weight of the newest batch in the running statistics.
    eps : float
        Added to the variance.
    members : int, optional
        Statistics and parameters for each of so many members.

    Shapes
    ------
    x : (…, N, dim), mask : (…, N) → (…, N, dim)
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self, dim: int, *, momentum: float = 0.1, eps: float = 1e-5, members: int | None = None
    ) -> None:
        super().__init__()
        shape = (dim,) if members is None else (members, dim)
        self.momentum, self.eps = momentum, eps
        self.over_ranks: Callable[[Tensor], Tensor] | None = None
        self.weight, self.bias = nn.Parameter(torch.empty(shape)), nn.Parameter(torch.empty(shape))
        self.register_buffer("running_mean", torch.empty(shape))
        self.register_buffer("running_var", torch.empty(shape))
        self.reset_parameters()

    def reset_parameters(self, generators: Generators = None) -> None:
        """Start anew."""
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)
        nn.init.zeros_(self.running_mean)
        nn.init.ones_(self.running_var)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Normalize ``x``; rows where ``mask`` is zero count for nothing."""
        if not self.training:
            scale = self.weight * torch.rsqrt(self.running_var + self.eps)
            return torch.addcmul(
                (self.bias - self.running_mean * scale).unsqueeze(-2), x, scale.unsqueeze(-2)
            )
        x = x.to(self.weight.dtype)  # in mixed precision, sums are those of float32
        real = (x.new_ones(x.shape[:-1]) if mask is None else mask.to(x.dtype)).unsqueeze(-2)
        count = _total(real.sum(-1, keepdim=True), self.over_ranks)
        with _exactly(x.device.type):
            y, _, _, mean, variance = _Normalize.apply(  # type: ignore[no-untyped-call]
                x,
                self.weight.unsqueeze(-2),
                self.bias.unsqueeze(-2),
                real,
                count,
                self.eps,
                self.over_ranks,
            )
        self._remember(mean.squeeze(-2), variance.squeeze(-2), count.squeeze(-2))
        normalized: Tensor = y
        return normalized

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        weight = torch.where(count > 0, self.momentum, 0.0).to(self.running_mean.dtype)
        unbiased = variance * (count / (count - 1).clamp(min=1))
        self.running_mean.lerp_(mean.to(weight.dtype), weight.expand_as(self.running_mean))
        self.running_var.lerp_(unbiased.to(weight.dtype), weight.expand_as(self.running_var))


class _Normalize(torch.autograd.Function):
    """The formula with its derivative written out.

    That takes a third of the passes over memory that torch's derivative of each operation takes.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        real: Tensor,
        count: Tensor,
        eps: float,
        over_ranks: Callable[[Tensor], Tensor] | None,
    ) -> tuple[Tensor, ...]:
        ctx.over_ranks = over_ranks
        row = real / count.clamp(min=1)
        mean = _total(row @ x, over_ranks)
        unit = x - mean
        variance = _total(row @ unit.square(), over_ranks)
        inverse = torch.rsqrt(variance + eps)
        unit.mul_(inverse)
        # what is saved has to be a result for second derivatives: then it is known how it depends
        # on x, which need not be kept
        ctx.save_for_backward(unit, weight, inverse, row)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(mean, variance)
        return torch.addcmul(bias, unit, weight), unit, inverse, mean, variance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        unit, weight, inverse, row = ctx.saved_tensors
        grad, of_unit, of_inverse = grads[:3]
        is_second = of_unit is not None or of_inverse is not None
        if grad is None or is_second or torch.is_grad_enabled():
            if ctx.over_ranks is not None:
                raise_if_differentiated_again("batch norm over several processes")
            gradients = _gradients(unit, weight, inverse, row, grad, of_unit, of_inverse)
            return *gradients, None, None, None, None
        grad_weight, grad_bias = (grad * unit).sum(-2, keepdim=True), grad.sum(-2, keepdim=True)
        scale, shift = grad_weight, grad_bias
        if ctx.over_ranks is not None:
            scale, shift = ctx.over_ranks(torch.stack([grad_weight, grad_bias])).unbind()
        through_statistics = torch.addcmul(shift, unit, scale).mul_(row.transpose(-1, -2))
        grad_x = torch.sub(grad, through_statistics, out=through_statistics).mul_(weight * inverse)
        return grad_x, grad_weight, grad_bias, None, None, None, None


def _gradients(
    unit: Tensor,
    weight: Tensor,
    inverse: Tensor,
    row: Tensor,
    grad: Tensor | None,
    of_unit: Tensor | None,
    of_inverse: Tensor | None,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return the gradients by x, weight and bias, in operations that have derivatives."""
    fraction = row.transpose(-1, -2)
    grad_weight = grad_bias = None
    total = torch.zeros_like(unit) if of_unit is None else of_unit
    if grad is not None:
        grad_weight, grad_bias = (grad * unit).sum(-2, keepdim=True), grad.sum(-2, keepdim=True)
        total = total + grad * weight
    shift, scale = total.sum(-2, keepdim=True), (total * unit).sum(-2, keepdim=True)
    if of_inverse is not None:
        scale = scale + of_inverse * inverse
    return (total - fraction * (shift + unit * scale)) * inverse, grad_weight, grad_bias


def _exactly(device_type: str) -> AbstractContextManager[Any]:
    """Leave mixed precision; the device of shapes alone has none."""
    if device_type == "meta":
        return nullcontext()
    return torch.autocast(device_type, enabled=False)


def _total(sums: Tensor, over_ranks: Callable[[Tensor], Tensor] | None) -> Tensor:
    return sums if over_ranks is None else over_ranks(sums.contiguous())
