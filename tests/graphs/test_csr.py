from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.graphs import CSR, from_keys, pack

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=15)


def columns_of(pairs):
    ends = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    return ends[:, 0].contiguous(), ends[:, 1].contiguous()


def counted(pairs):
    matrix = torch.zeros(5, 4)
    for row, column in pairs:
        matrix[row, column] += 1
    return matrix


@given(PAIRS)
def test_rows_hold_their_sorted_columns(pairs):
    for distinct in (True, False):
        matrix = from_keys(pack(*columns_of(pairs)), 5, 4, distinct=distinct)
        kept = sorted(set(pairs) if distinct else pairs)
        assert matrix.indices.tolist() == [column for _, column in kept]
        assert matrix.indptr.tolist() == [sum(row < bound for row, _ in kept) for bound in range(6)]
        assert matrix.values is None
        assert matrix.nnz == len(kept)
        assert torch.equal(matrix.to_dense(), counted(kept))


@given(PAIRS, st.sampled_from([torch.float32, torch.float64]))
def test_counts_say_how_often_each_pair_occurs(pairs, dtype):
    matrix = from_keys(pack(*columns_of(pairs)), 5, 4, distinct=True, count=dtype)
    assert matrix.values.dtype == dtype
    assert matrix.nnz == len(set(pairs))
    assert torch.equal(matrix.to_dense(), counted(pairs))


@given(PAIRS)
def test_packing_both_ways_adds_the_transpose(pairs):
    row, column = columns_of(pairs)
    matrix = from_keys(pack(row, column, both=True), 5, 5, distinct=False)
    square = torch.nn.functional.pad(counted(pairs), (0, 1))
    assert torch.equal(matrix.to_dense(), square + square.T)


def test_packing_leaves_its_input_alone_and_orders_large_numbers():
    row, column = torch.tensor([2**31 - 1, 0, 2**31 - 1]), torch.tensor([0, 2**31 - 1, 2**31 - 1])
    keys = pack(row, column)
    assert keys.tolist() == [
        r << 32 | c for r, c in zip(row.tolist(), column.tolist(), strict=True)
    ]
    assert torch.argsort(keys).tolist() == [1, 0, 2]
    from_keys(pack(torch.tensor([1, 0]), torch.tensor([0, 1])), 2, 2, distinct=False)
    assert row.tolist() == [2**31 - 1, 0, 2**31 - 1]


@given(PAIRS, st.integers(1, 4), st.booleans())
def test_a_repeated_matrix_has_its_blocks_along_the_diagonal(pairs, blocks, with_values):
    matrix = from_keys(
        pack(*columns_of(pairs)),
        5,
        4,
        distinct=with_values,
        count=torch.float64 if with_values else None,
    )
    many = matrix.repeated(blocks)
    assert (many.blocks, many.shape, many.nnz) == (
        blocks,
        (5 * blocks, 4 * blocks),
        matrix.nnz * blocks,
    )
    assert torch.equal(many.to_dense(), torch.block_diag(*[counted(pairs)] * blocks))
    assert (many.values is not None) == with_values
    assert many.indptr.dtype == many.indices.dtype == torch.int32


def test_the_last_repetition_is_kept():
    matrix = from_keys(pack(*columns_of([(0, 1), (4, 3)])), 5, 4, distinct=False)
    assert matrix.repeated(1) is matrix
    twice = matrix.repeated(2)
    assert matrix.repeated(2) is twice
    assert (matrix.repeated(3).blocks, matrix.repeated(2).blocks) == (3, 2)
    assert torch.equal(matrix.repeated(2).to_dense(), twice.to_dense())


@given(PAIRS)
def test_scipy_gets_its_own_copy_with_duplicates_added_up(pairs):
    matrix = from_keys(pack(*columns_of(pairs)), 5, 4, distinct=False)
    before = matrix.indptr.tolist(), matrix.indices.tolist()
    foreign = matrix.to_scipy()
    assert np.array_equal(foreign.toarray(), counted(pairs).numpy())
    assert foreign.nnz == len(set(pairs))
    foreign.data[:] = 7
    assert (matrix.indptr.tolist(), matrix.indices.tolist()) == before
    counts = from_keys(pack(*columns_of(pairs)), 5, 4, distinct=True, count=torch.float64)
    assert np.array_equal(counts.to_scipy().toarray(), counted(pairs).numpy())
    counts.to_scipy().data[:] = 7
    assert torch.equal(counts.to_dense(), counted(pairs))


def test_moving_changes_values_only_in_type():
    matrix = CSR(
        torch.tensor([0, 1], dtype=torch.int32),
        torch.tensor([0], dtype=torch.int32),
        torch.tensor([2.0]),
        (1, 1),
    )
    moved = matrix.to("cpu", torch.float64)
    assert (moved.values.dtype, moved.indices.dtype, moved.shape) == (
        torch.float64,
        torch.int32,
        (1, 1),
    )
    assert matrix.to(dtype=None).values.dtype == torch.float32
    assert matrix.nbytes == 8 + 4 + 4


def test_moving_takes_every_array_along_and_keeps_what_is_known():
    matrix = CSR(
        torch.tensor([0, 1, 2]),
        torch.tensor([0, 1]),
        torch.tensor([2.0, 3.0]),
        (2, 2),
        blocks=2,
        short=True,
    )
    moved = matrix.to("meta", torch.float64)
    assert {
        part.device.type for part in (moved.indptr, moved.indices, moved.values, moved.to_dense())
    } == {"meta"}
    assert (moved.values.dtype, moved.shape, moved.blocks, moved.short) == (
        torch.float64,
        (2, 2),
        2,
        True,
    )


@pytest.mark.gpu
def test_cuda_agrees_with_the_cpu():
    generator = torch.Generator().manual_seed(0)
    row, column = torch.randint(0, 50, (2, 1000), generator=generator)
    for options in (
        {"distinct": True},
        {"distinct": False},
        {"distinct": True, "count": torch.float32},
    ):
        ours = from_keys(pack(row.cuda(), column.cuda()), 50, 50, **options)
        expected = from_keys(pack(row, column), 50, 50, **options)
        for name in ("indptr", "indices", "values"):
            theirs = getattr(expected, name)
            assert theirs is None or torch.equal(getattr(ours, name).cpu(), theirs)
        assert np.array_equal(ours.to_scipy().toarray(), expected.to_scipy().toarray())
