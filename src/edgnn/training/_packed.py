"""All weights of a fleet as one matrix with a row per member; the model's own are views of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn


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
        """Set parameters and buffers to stored :meth:`values`."""
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
