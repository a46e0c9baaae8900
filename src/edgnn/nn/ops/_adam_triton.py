"""Adam on CUDA: one pass over all members' parameters."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from edgnn.nn.ops._row_sum import launching

_AT_ONCE = 1024


@triton.jit
def _kernel(
    parameters,
    gradient,
    first,
    second,
    steps,
    rates,
    decays,
    active,
    width,
    beta_1: tl.constexpr,
    beta_2: tl.constexpr,
    eps: tl.constexpr,
    within: tl.constexpr,
    apart: tl.constexpr,
    some: tl.constexpr,
    at_once: tl.constexpr,
):
    member = tl.program_id(1)
    column = tl.program_id(0) * at_once + tl.arange(0, at_once)
    inside = column < width
    if some:
        inside = inside & (tl.load(active + member + 0 * column) != 0)
    place = member.to(tl.int64) * width + column
    number = tl.load(steps + member) + 1.0  # float64, as all that is computed once for a member
    rate = tl.load(rates + member).to(tl.float64)
    root = tl.sqrt(1.0 - tl.exp(number * tl.log(tl.full((), beta_2, tl.float64))))
    length = (rate * root / (1.0 - tl.exp(number * tl.log(tl.full((), beta_1, tl.float64))))).to(
        parameters.dtype.element_ty
    )
    value = tl.load(parameters + place, mask=inside, other=0.0)
    slope = tl.load(gradient + place, mask=inside, other=0.0)
    decay = tl.load(decays + member)
    if within:
        slope += value * decay
    if apart:
        value *= 1.0 - tl.load(rates + member) * decay
    mean = tl.load(first + place, mask=inside, other=0.0)
    mean += (slope - mean) * (1 - beta_1)
    square = tl.load(second + place, mask=inside, other=0.0) * beta_2 + slope * slope * (1 - beta_2)
    value -= mean * length / (tl.sqrt(square) + (eps * root).to(parameters.dtype.element_ty))
    tl.store(first + place, mean, mask=inside)
    tl.store(second + place, square, mask=inside)
    tl.store(parameters + place, value, mask=inside)


def adam_step(
    parameters: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    steps: Tensor,
    rate: Tensor,
    decay: Tensor,
    active: Tensor | None,
    *,
    betas: tuple[float, float],
    eps: float,
    within: bool,
    apart: bool,
) -> None:
    """Move parameters and both moments of all members, or of the active ones.

    Their steps are not counted here.

    Weight decay is part of the gradient (``within``), or apart from it.

    Shapes
    ------
    parameters (M, P), gradient (M, P), first (M, P), second (M, P), steps (M, 1), rate (M, 1),
    decay (M, 1), active (M,)
    """
    members, width = gradient.shape
    with launching(gradient):
        _kernel[(triton.cdiv(width, _AT_ONCE), members)](
            parameters,
            gradient,
            first,
            second,
            steps,
            rate,
            decay,
            gradient if active is None else active,
            width,
            beta_1=betas[0],
            beta_2=betas[1],
            eps=eps,
            within=within,
            apart=apart,
            some=active is not None,
            at_once=_AT_ONCE,
        )
