"""The exchange of boundary states between ranks: states forward, their gradients backward."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from edgnn.errors import ModelError, TrainingError
from edgnn.graphs import Halo

_IN_SOURCE = re.compile(r"^\[[^\]]*\] ")  # where in its own source gloo noticed something


def with_halo(x: Tensor, halo: Halo | None) -> Tensor:
    """Return own states and behind them those of the halo, fetched from the ranks that own them.

    Differentiable once. Every rank has to call it, forward and backward, in the same order. Without
    a halo, the states are as they were.

    Shapes
    ------
    x (R, d) → (R + H, d);  x (M, R, d) → (M, R + H, d)
    """
    if halo is None:
        return x
    wide: Tensor = _Exchange.apply(x, halo)  # type: ignore[no-untyped-call]
    return wide


class _Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, halo: Halo) -> Tensor:
        ctx.halo = halo
        rows = x.shape[-2]
        wide = x.new_empty(*x.shape[:-2], rows + len(halo), x.shape[-1])
        wide[..., :rows, :] = x
        _swap(x.index_select(-2, halo.rows), wide[..., rows:, :], halo, halo.sent, halo.received)
        return wide

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        raise_if_differentiated_again("the exchange of states between processes")
        halo: Halo = ctx.halo
        rows, sent = grads[0].shape[-2] - len(halo), list(halo.sent)
        own, lent = grads[0][..., :rows, :], grads[0][..., rows:, :]
        back = own.new_empty(*own.shape[:-2], len(halo.rows), own.shape[-1])
        _swap(lent, back, halo, halo.received, halo.sent)
        own = own.clone()
        # one rank's rows are distinct, so that nothing is added to a row twice at once: the same
        # bits every time, on every device
        for rows_of_rank, part in zip(
            torch.split(halo.rows, sent), torch.split(back, sent, dim=-2), strict=True
        ):
            own.index_add_(-2, rows_of_rank, part)
        return own, None


def raise_if_differentiated_again(name: str) -> None:
    """Raise inside a backward pass whose result is to be differentiated again.

    torch's ``once_differentiable`` raises later, when the second derivative reaches the operation;
    ``torch.autograd.grad`` may pass it by, and what comes out then lacks a summand.
    """
    if torch.is_grad_enabled():
        raise ModelError(
            f"{name} has no second derivative: leave out create_graph=True, or compute it in one "
            "process"
        )


def _swap(
    x: Tensor, into: Tensor, halo: Halo, sent: tuple[int, ...], received: tuple[int, ...]
) -> None:
    """Send rows of ``x`` to every rank, and write the rows that come from every rank."""
    rows = _by_row(x).contiguous()
    direct = _by_row(into)
    got = direct
    if not direct.is_contiguous():
        got = torch.empty_like(direct, memory_format=torch.contiguous_format)
    with lost_ranks_as_errors():
        dist.all_to_all_single(got, rows, list(received), list(sent), group=halo.process_group)
    if got is not direct:
        direct.copy_(got)
    halo.traffic.exchanges += 1
    halo.traffic.sent += rows.nbytes
    halo.traffic.received += got.nbytes


def _by_row(x: Tensor) -> Tensor:
    """Return states row by row, whatever the members: what goes to one rank stands together."""
    if x.dim() == 2:
        return x
    return x[0] if len(x) == 1 else x.transpose(0, 1)


@contextmanager
def lost_ranks_as_errors() -> Iterator[None]:
    """Turn what torch reports of a rank that is gone into an error that says what to do."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError):
            raise
        first = _IN_SOURCE.sub(
            "", (str(error).splitlines() or [type(error).__name__])[0]
        ).partition(". ")[0]
        raise TrainingError(
            "another rank ended, or did not answer in time, so this one cannot go on; its own "
            "error tells why. Under torchrun --max-restarts, all ranks start again after the last "
            f"checkpoint; --resume does the same by hand ({first})"
        ) from None
