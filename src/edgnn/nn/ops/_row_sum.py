"""Sums over the entries of sparse rows: behind neighbor sums, label products and readouts."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from edgnn.errors import GraphError
from edgnn.graphs import CSR, Structure
from edgnn.nn.ops._halo import with_halo

#: Up to so many entries, a matrix that members share is repeated for them: one call then does for
#: all, without a copy.
_REPEATED_ENTRIES = 2**25


def neighbor_sum(x: Tensor, structure: Structure) -> Tensor:
    r"""Return :math:`y_v = \sum_{u \in N(v)} x_u`.

    Differentiable; sums are taken in the order of the neighbor lists, so the same call gives the
    same bits. bfloat16 states are added up in float32. Memory: the result alone.

    Parameters
    ----------
    x : Tensor
        States, one row per node; float32, float64 or bfloat16.
    structure : Structure
        Built once from a :class:`~edgnn.Graphs`; holds N(v) as CSR (its own transpose unless
        ``direction="in"``).

    Shapes
    ------
    x : (N, d) → (N, d);  with members in front, (M, N, d) → (M, N, d), where all members share a
    structure of N nodes, or it has a block of N nodes for each
    """
    return sparse_product(structure.neighbors, with_halo(x, structure.halo), structure.neighbors_t)


def sparse_product(matrix: CSR, x: Tensor, transposed: CSR | None = None) -> Tensor:
    """Return the product of a constant sparse matrix with ``x``, differentiable by ``x``.

    ``transposed`` is derived when the backward pass needs it, if not given.

    Shapes
    ------
    matrix (R, C), x (C, d) → (R, d);  x (M, C, d) → (M, R, d);  matrix (M·R, M·C) of M blocks,
    x (M, C, d) → (M, R, d)
    """
    if x.dim() == 2:
        return _product(x, matrix, transposed)
    members, rows, width = x.shape
    _check_rows(rows, matrix.shape[1] // matrix.blocks)
    is_small = members * max(matrix.nnz, *matrix.shape) <= _REPEATED_ENTRIES
    if matrix.blocks == 1 and is_small and not _on_device(x.device):
        matrix = matrix.repeated(members)
        transposed = None if transposed is None else transposed.repeated(members)
    if matrix.blocks == members:
        product = _product(x.flatten(0, 1), matrix, transposed)
        return product.view(members, matrix.shape[0] // members, width)
    return _product(x, matrix, transposed)


def constant_product(matrix: Tensor | CSR, weight: Tensor) -> Tensor:
    """Return the product of a constant matrix, dense or sparse, with ``weight``.

    Shapes are those of :func:`sparse_product`.
    """
    if isinstance(matrix, CSR):
        return sparse_product(matrix, weight)
    return torch.matmul(matrix.to(weight.dtype), weight)


class _RowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: CSR, transposed: CSR | None) -> Tensor:
        ctx.matrices = matrix, transposed
        return row_sum(matrix, x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        matrix, transposed = ctx.matrices
        turned = matrix.T if transposed is None else transposed
        return _product(grads[0], turned, matrix), None, None


def _product(x: Tensor, matrix: CSR, transposed: CSR | None) -> Tensor:
    product: Tensor = _RowSum.apply(x, matrix, transposed)  # type: ignore[no-untyped-call]
    return product


def row_sum(matrix: CSR, x: Tensor) -> Tensor:
    """Return ``matrix @ x`` without a backward pass, for x of shape (C, d) or (M, C, d)."""
    _check_rows(x.shape[-2], matrix.shape[1])
    if not matrix.nnz or not x.numel():
        return x.new_zeros(*x.shape[:-2], matrix.shape[0], x.shape[-1])
    if _on_device(x.device):
        from edgnn.nn.ops._row_sum_triton import row_sum_on_device

        return row_sum_on_device(matrix, x)
    if x.device.type != "cpu":
        return _gathered_sum(matrix, x)
    if x.dim() == 2:
        return _row_sum(matrix, x)
    return torch.stack([_row_sum(matrix, of_member) for of_member in x])


def launching(x: Tensor) -> AbstractContextManager[Any]:
    """Make the device of ``x`` the current one: Triton launches there, not where arguments are."""
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()


def _on_device(device: torch.device) -> bool:
    """Return whether Triton's kernels are to be used."""
    return device.type == "cuda"


def _check_rows(rows: int, nodes: int) -> None:
    if rows != nodes:
        raise GraphError(f"x has {rows} rows, but the graphs have {nodes} nodes")


def _row_sum(matrix: CSR, x: Tensor) -> Tensor:
    """Return ``matrix @ x`` by torch's embedding bags.

    A bag is a row of the matrix, its indices the columns, and a bag's sum the row of the product.
    Of torch's CPU kernels this is the fastest: it needs no values, loads whole rows at a time and
    uses all threads; the order of a sum is that of the list, so the bits are always the same.
    """
    weights = None if matrix.values is None else matrix.values.to(x.dtype)
    return embedding_bag(
        matrix.indices,
        x.contiguous(),
        matrix.indptr,
        mode="sum",
        include_last_offset=True,
        per_sample_weights=weights,
    )


def _gathered_sum(matrix: CSR, x: Tensor) -> Tensor:
    """Return ``matrix @ x`` on any device, by operations that all have.

    ``index_add`` may add in another order at every call, and needs memory for every entry.
    """
    sent = x.index_select(-2, matrix.indices.long())
    if matrix.values is not None:
        sent = sent * matrix.values.to(x.dtype).unsqueeze(-1)
    empty = x.new_zeros(*x.shape[:-2], matrix.shape[0], x.shape[-1])
    return empty.index_add(-2, matrix.row_of_entry, sent)
