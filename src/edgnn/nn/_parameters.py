"""Weights with an optional leading member axis: how they are made, drawn and multiplied."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from edgnn.graphs import CSR
from edgnn.nn._edges import times
from edgnn.nn.ops import constant_product

#: One generator per member; without them torch's own draws, as for any other module.
Generators = Sequence[Generator] | None


def parameter(*shape: int, members: int | None) -> nn.Parameter:
    """Return an uninitialized parameter of ``shape``, with a leading axis for members if any."""
    return nn.Parameter(torch.empty(shape if members is None else (members, *shape)))


def glorot_(weight: Tensor, generators: Generators = None, *, rows: int | None = None) -> None:
    """Draw from U(−b, b), b² = 6 / (rows + columns) of the last two axes.

    ``rows`` are those of the matrix that a weight is a part of.
    """
    own, columns = weight.shape[-2:]
    if rows is None:
        rows = own
    _uniform_(weight, math.sqrt(6 / max(rows + columns, 1)), generators)


def linear_(
    weights: Sequence[Tensor], generators: Generators = None, bias: Tensor | None = None
) -> None:
    """Draw weights and a bias as torch does for one linear map of all inputs side by side.

    That is U(−b, b), b² = 1 / inputs.
    """
    inputs = sum(weight.shape[-2] for weight in weights)
    bound = 1 / math.sqrt(max(inputs, 1))
    for weight in weights:
        _uniform_(weight, bound, generators)
    if bias is not None:
        _uniform_(bias, bound, generators)


@torch.no_grad()
def _uniform_(weight: Tensor, bound: float, generators: Generators) -> None:
    if generators is None:
        weight.uniform_(-bound, bound)
        return
    for part, generator in zip(weight, generators, strict=True):
        part.uniform_(-bound, bound, generator=generator)


def plus_product(total: Tensor | None, matrix: Tensor | CSR, weight: Tensor) -> Tensor:
    """Return ``total + matrix @ weight``, in place where shapes allow it.

    ``total`` must be the caller's to change.
    """
    if total is None:
        return constant_product(matrix, weight)
    # mixed precision multiplies in a type of its own
    if isinstance(matrix, CSR) or total.dtype != weight.dtype:
        return total.add_(constant_product(matrix, weight))
    matrix = matrix.to(weight.dtype)
    if weight.dim() == 2:
        return total.addmm_(matrix, weight)
    return total.baddbmm_(matrix.expand(len(weight), -1, -1), weight)


def plus_products(total: Tensor | None, products: Sequence[tuple[Tensor | CSR, Tensor]]) -> Tensor:
    """Add several products.

    Narrow blocks of members are put side by side first, since one product of them is faster.
    """
    blocks: list[Tensor] = []
    weights: list[Tensor] = []
    others: list[tuple[Tensor | CSR, Tensor]] = []
    for matrix, weight in products:
        if isinstance(matrix, Tensor) and matrix.dim() == 3:
            blocks.append(matrix)
            weights.append(weight)
        else:
            others.append((matrix, weight))
    if len(blocks) > 1:
        total = plus_product(total, _side_by_side(blocks), torch.cat(weights, dim=-2))
        products = others
    for matrix, weight in products:
        total = plus_product(total, matrix, weight)
    assert total is not None
    return total


def _side_by_side(matrices: Sequence[Tensor]) -> Tensor:
    """Put matrices side by side, without a copy where they are columns of one matrix already."""
    first = matrices[0]
    beside = first.stride(-1) == 1
    offset = first.storage_offset()
    for matrix in matrices:
        same_storage = matrix.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        same_stride = matrix.stride() == first.stride()
        beside &= same_storage and same_stride and matrix.storage_offset() == offset
        offset += matrix.shape[-1]
    if not beside:
        return torch.cat(list(matrices), dim=-1)
    return first.as_strided((*first.shape[:-1], offset - first.storage_offset()), first.stride())


class Linear(nn.Module):
    """One linear map, or one per member.

    Shapes
    ------
    x : (…, n, in_dim) → (…, n, out_dim)
    """

    def __init__(
        self, in_dim: int, out_dim: int, *, bias: bool = True, members: int | None = None
    ) -> None:
        super().__init__()
        self.in_dim, self.out_dim = in_dim, out_dim
        self.weight = parameter(in_dim, out_dim, members=members)
        self.bias = parameter(out_dim, members=members) if bias else None
        self.reset_parameters()

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw new weights."""
        linear_([self.weight], generators, self.bias)

    def forward(self, *parts: Tensor | CSR) -> Tensor:
        """Map the columns of ``parts``, side by side, without putting them side by side."""
        total, start = None, 0
        for part in parts:
            width = part.shape[-1] if isinstance(part, Tensor) else part.shape[1] // part.blocks
            total = plus_product(total, part, self.weight[..., start : start + width, :])
            start += width
        assert total is not None
        return total if self.bias is None else total + self.bias.unsqueeze(-2)

    def plain_forward(self, x: Tensor) -> Tensor:
        """Map states in torch's own operations alone: (M, n, in_dim) → (M, n, out_dim)."""
        mapped = times(x, self.weight)
        return mapped if self.bias is None else mapped + self.bias.unsqueeze(-2)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"{self.in_dim}, {self.out_dim}, bias={self.bias is not None}"
