from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from edgnn.errors import GraphError
from edgnn.graphs import CSR, Graphs, Structure, from_keys, pack
from edgnn.nn.ops import constant_product, neighbor_sum, row_sum, sparse_product
from nn_reference import neighbors_of, normal, states
from strategies import graphs

OPTIONS = [
    {"direction": d, "multiplicity": m} for d in ("both", "in") for m in ("once", "per-edge")
]
DTYPES = [torch.float32, torch.float64, torch.bfloat16]
SMALL = Graphs.from_edges([(0, 0), (0, 1), (0, 1), (1, 0), (2, 1), (4, 2)], num_nodes=6)
PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=15)


def matrix_of(pairs, rows=5, columns=4, count=None):
    ends = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    keys = pack(ends[:, 0].contiguous(), ends[:, 1].contiguous())
    return from_keys(keys, rows, columns, distinct=count is not None, count=count)


def blocks_of(matrices):
    """Return matrices of one shape along the diagonal, as one CSR that knows its blocks."""
    rows, columns = matrices[0].shape
    starts = torch.cumsum(torch.tensor([0, *[matrix.nnz for matrix in matrices]]), 0).tolist()
    indptr = [
        m.indptr[bool(n) :] + start
        for n, (m, start) in enumerate(zip(matrices, starts[:-1], strict=True))
    ]
    indices = [matrix.indices + number * columns for number, matrix in enumerate(matrices)]
    values = (
        None if matrices[0].values is None else torch.cat([matrix.values for matrix in matrices])
    )
    shape = (rows * len(matrices), columns * len(matrices))
    return CSR(torch.cat(indptr).int(), torch.cat(indices).int(), values, shape, len(matrices))


def random_structure(nodes=60, edges=400, device="cpu", **options):
    index = torch.randint(0, nodes, (2, edges), generator=torch.Generator().manual_seed(3))
    return Structure.from_edge_index(index.to(device), num_nodes=nodes, **options)


@given(graphs(features=False, names=False), st.integers(0, 3), st.sampled_from(OPTIONS))
def test_the_sum_over_neighbors_is_that_of_a_loop(collection, width, options):
    x = states(collection, width)
    result = neighbor_sum(x, Structure.of(collection, **options))
    assert result.shape == x.shape
    for v, row in enumerate(neighbors_of(collection, **options)):
        torch.testing.assert_close(
            result[v], sum((x[u] for u in row), torch.zeros(width, dtype=torch.float64))
        )


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_precision_agrees_with_the_dense_product(options, dtype):
    structure = random_structure(**options)
    x = normal(60, 33).to(dtype)
    result = neighbor_sum(x, structure)
    expected = structure.neighbors.to_dense(torch.float64) @ x.double()
    assert result.dtype == dtype
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 2**-8}[dtype]
    torch.testing.assert_close(result.double(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("leaves", [1001, 3001, 5001])
def test_bfloat16_sums_are_float32_sums_rounded_once(leaves):
    star = Structure.from_edge_index(
        torch.stack([torch.arange(leaves), torch.zeros(leaves, dtype=torch.int64)]), direction="in"
    )
    ones = torch.ones(leaves, 2, dtype=torch.bfloat16)
    assert torch.equal(neighbor_sum(ones, star)[0], torch.full((2,), float(leaves)).bfloat16())
    weighted = CSR(
        star.neighbors.indptr,
        star.neighbors.indices,
        torch.full((leaves,), 3.0),
        star.neighbors.shape,
    )
    assert torch.equal(row_sum(weighted, ones)[0], torch.full((2,), 3.0 * leaves).bfloat16())


@pytest.mark.parametrize("options", OPTIONS)
def test_first_and_second_derivatives_are_those_of_finite_differences(options):
    structure = Structure.of(SMALL, **options)
    x = normal(6, 2).requires_grad_()
    assert gradcheck(lambda x: neighbor_sum(x, structure), x)
    assert gradgradcheck(lambda x: neighbor_sum(x, structure).pow(3), x)
    members = normal(3, 6, 2).requires_grad_()
    assert gradcheck(lambda x: neighbor_sum(x, structure), members)


@given(PAIRS, st.booleans(), st.booleans())
def test_products_with_any_matrix_and_their_gradients_are_dense_ones(
    pairs, weighted, given_transpose
):
    matrix = matrix_of(pairs, count=torch.float64 if weighted else None)
    x = normal(4, 3).requires_grad_()
    result = sparse_product(matrix, x, matrix.T if given_transpose else None)
    dense = matrix.to_dense(torch.float64)
    torch.testing.assert_close(result, dense @ x)
    upstream = normal(5, 3, seed=1)
    (gradient,) = torch.autograd.grad(result, x, upstream)
    torch.testing.assert_close(gradient, dense.T @ upstream)


@given(st.lists(PAIRS, min_size=2, max_size=3), st.booleans())
def test_blocks_are_products_of_their_own(parts, weighted):
    matrices = [matrix_of(pairs, count=torch.float64 if weighted else None) for pairs in parts]
    x = normal(len(parts), 4, 3).requires_grad_()
    result = sparse_product(blocks_of(matrices), x)
    expected = torch.stack(
        [sparse_product(matrix, x[number]) for number, matrix in enumerate(matrices)]
    )
    torch.testing.assert_close(result, expected)
    upstream = normal(*expected.shape, seed=1)
    torch.testing.assert_close(
        *(torch.autograd.grad(y, x, upstream)[0] for y in (result, expected))
    )


@given(PAIRS)
def test_a_transpose_is_the_transpose_and_is_built_once(pairs):
    for matrix in (matrix_of(pairs), matrix_of(pairs, count=torch.float32)):
        turned = matrix.T
        assert turned.shape == (4, 5)
        assert torch.equal(turned.to_dense(), matrix.to_dense().T)
        assert all(
            turned.indices[start:stop].tolist() == sorted(turned.indices[start:stop].tolist())
            for start, stop in zip(
                turned.indptr[:-1].tolist(), turned.indptr[1:].tolist(), strict=True
            )
        )
        assert matrix.T is turned


@given(graphs(features=False, names=False), st.sampled_from(OPTIONS))
def test_members_share_a_structure_without_seeing_each_other(collection, options):
    structure = Structure.of(collection, **options)
    x = torch.stack([states(collection, 3, seed) for seed in range(3)]).requires_grad_()
    apart = torch.stack([neighbor_sum(part, structure) for part in x])
    (expected,) = torch.autograd.grad(apart.pow(2).sum(), x)
    for most in (
        0,
        2**25,
    ):  # member by member, or with the neighbor lists repeated for all in one call
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("edgnn.nn.ops._row_sum._REPEATED_ENTRIES", most)
            together = neighbor_sum(x, structure)
        assert torch.equal(together, apart)
        torch.testing.assert_close(torch.autograd.grad(together.pow(2).sum(), x)[0], expected)


def test_constant_products_take_dense_and_sparse_matrices_alike():
    matrix = matrix_of([(0, 1), (0, 1), (3, 2), (4, 0)], count=torch.float32)
    for weight in (normal(4, 3), normal(2, 4, 3)):
        torch.testing.assert_close(
            constant_product(matrix, weight), constant_product(matrix.to_dense(), weight)
        )


@pytest.mark.parametrize("values", [None, torch.ones(1)])
def test_strided_states_are_read_in_their_own_order(values):
    matrix = CSR(
        torch.tensor([0, 1], dtype=torch.int32),
        torch.tensor([1], dtype=torch.int32),
        values,
        (1, 2),
    )
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).T
    assert row_sum(matrix, x).tolist() == [[2.0, 4.0, 6.0]]


def test_states_of_the_wrong_number_of_nodes_are_refused():
    for x in (torch.zeros(5, 2), torch.zeros(3, 5, 2)):
        with pytest.raises(GraphError, match="x has 5 rows, but the graphs have 6 nodes"):
            neighbor_sum(x, Structure.of(SMALL))


def test_sums_have_the_same_bits_whatever_the_number_of_threads():
    structure, x = random_structure(500, 20_000), normal(500, 64).float()
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 2):
            torch.set_num_threads(count)
            results.append(neighbor_sum(x, structure))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(results[0], other) for other in results[1:])


def test_nothing_of_the_size_of_edges_times_width_is_allocated():
    nodes, edges, width = 200, 20_000, 32
    structure = random_structure(nodes, edges, multiplicity="per-edge")
    x = normal(nodes, width).float().requires_grad_()
    assert structure.neighbors.nnz == 2 * edges
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: saved.append(t.numel()) or t, lambda t: t
    ):
        neighbor_sum(
            x, structure
        ).sum().backward()  # once before, so that the profiler sees no set-up
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
        ) as profile:
            neighbor_sum(x, structure).sum().backward()
    largest = max(event.self_cpu_memory_usage for event in profile.key_averages())
    assert not saved
    assert 0 < largest <= 8 * nodes * width * 4 < edges * width * 4 / 10


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 33, 64, 200])
def test_cuda_row_sums_agree_with_the_cpu(dtype, width):
    structure = random_structure(direction="in", multiplicity="per-edge")
    x = normal(60, width).to(dtype)
    values = torch.rand(structure.neighbors.nnz, generator=torch.Generator().manual_seed(1))
    plain = structure.neighbors
    weighted = CSR(plain.indptr, plain.indices, values.to(dtype), plain.shape)
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 2**-7}[dtype]
    for matrix, given_x in (
        (plain, x),
        (weighted, x),
        (plain, torch.stack([x, 2 * x, -x])),
        (weighted, torch.stack([x, -x])),
        (blocks_of([plain, plain]), torch.stack([x, 3 * x])),
        (blocks_of([weighted, weighted]), torch.stack([x, 3 * x])),
    ):
        exact, ours = (
            given_x.double().detach().requires_grad_(),
            given_x.cuda().detach().requires_grad_(),
        )
        expected, result = (
            sparse_product(matrix.to(dtype=torch.float64), exact),
            sparse_product(matrix.to("cuda"), ours),
        )
        upstream = normal(*expected.shape, seed=2).to(dtype)
        expected.backward(upstream.double())
        result.backward(upstream.cuda())
        assert result.dtype == ours.grad.dtype == dtype
        torch.testing.assert_close(
            result.cpu().double(), expected, rtol=tolerance, atol=tolerance * 4
        )
        torch.testing.assert_close(
            ours.grad.cpu().double(), exact.grad, rtol=tolerance, atol=tolerance * 4
        )


@pytest.mark.gpu
def test_cuda_sums_have_the_same_bits_every_time():
    structure = random_structure(500, 50_000, device="cuda")
    x = normal(4, 500, 64).float().cuda()
    first, *others = (neighbor_sum(x, structure) for _ in range(4))
    assert all(torch.equal(first, other) for other in others)
    assert torch.equal(first[1], neighbor_sum(x[1], structure))


@pytest.mark.gpu
def test_cuda_bfloat16_is_added_up_in_float32():
    index = torch.stack([torch.arange(5001), torch.zeros(5001, dtype=torch.int64)]).cuda()
    total = neighbor_sum(
        torch.ones(5001, 3, dtype=torch.bfloat16, device="cuda"),
        Structure.from_edge_index(index, direction="in"),
    )
    assert torch.equal(total[0].cpu(), torch.full((3,), 5001.0).bfloat16())


@pytest.mark.gpu
@pytest.mark.parametrize("count", [None, torch.float32])
def test_cuda_transposes_agree_with_the_cpu(count):
    pairs = torch.randint(0, 40, (600, 2), generator=torch.Generator().manual_seed(2)).tolist()
    matrix = matrix_of(pairs, 50, 40, count)
    ours, theirs = matrix.to("cuda").T, matrix.T
    assert ours.shape == theirs.shape
    for name in ("indptr", "indices", "values"):
        part = getattr(theirs, name)
        assert part is None or torch.equal(getattr(ours, name).cpu(), part)


@pytest.mark.gpu
def test_cuda_derivatives_are_those_of_finite_differences():
    structure = Structure.of(SMALL.to("cuda"), direction="in")
    x = normal(6, 2).cuda().requires_grad_()
    assert gradcheck(lambda x: neighbor_sum(x, structure), x)
    assert gradgradcheck(lambda x: neighbor_sum(x, structure).pow(3), x)
