from __future__ import annotations

import pytest
import torch

from edgnn.graphs import CSR
from edgnn.nn import Linear, parameter
from edgnn.nn._parameters import glorot_, plus_product
from nn_reference import normal, randomized


def generators(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def sparse(matrix):
    rows, columns = matrix.nonzero(as_tuple=True)
    indptr = torch.cat(
        [torch.zeros(1, dtype=torch.int64), torch.bincount(rows, minlength=len(matrix)).cumsum(0)]
    )
    return CSR(indptr.int(), columns.int(), matrix[rows, columns], tuple(matrix.shape))


def test_members_weights_come_from_their_own_generators():
    fleet, alone = parameter(4, 5, members=3), parameter(4, 5, members=1)
    glorot_(fleet, generators(1, 2, 1))
    glorot_(alone, generators(2))
    assert torch.equal(fleet[0], fleet[2])
    assert torch.equal(fleet[1], alone[0])
    assert not torch.equal(fleet[0], fleet[1])


def test_glorot_bounds_depend_on_one_layer_not_on_members():
    weight = parameter(100, 50, members=7)
    glorot_(weight)
    bound = (6 / 150) ** 0.5
    assert 0.98 * bound < float(weight.detach().abs().max()) <= bound
    assert abs(float(weight.detach().std()) - bound / 3**0.5) < 0.01 * bound


def test_products_are_added_to_what_is_there_in_every_shape():
    matrix = torch.tensor([[0.0, 1, 0], [2, 0, 0], [0, 0, 0], [1, 0, 3]], dtype=torch.float64)
    for weight in (normal(3, 2), normal(5, 3, 2)):
        product = torch.matmul(matrix, weight)
        total = normal(*product.shape, seed=1)
        for form in (matrix, matrix.float(), sparse(matrix)):
            torch.testing.assert_close(plus_product(None, form, weight), product)
            torch.testing.assert_close(plus_product(total.clone(), form, weight), total + product)
    apart = normal(5, 4, 3)
    torch.testing.assert_close(
        plus_product(normal(5, 4, 2), apart, normal(5, 3, 2)),
        normal(5, 4, 2) + apart @ normal(5, 3, 2),
    )


@pytest.mark.parametrize("members", [None, 2])
def test_a_linear_map_reads_its_columns_in_parts(members):
    layer = randomized(Linear(7, 3, members=members))
    counts = torch.tensor([[0.0, 1], [2, 0], [0, 0]], dtype=torch.float64)
    states = normal(3, 5) if members is None else normal(2, 3, 5)
    joined = torch.cat([counts.expand(*states.shape[:-1], 2), states], dim=-1)
    expected = joined @ layer.weight + layer.bias.unsqueeze(-2)
    torch.testing.assert_close(layer(counts, states), expected)
    torch.testing.assert_close(layer(sparse(counts), states), expected)
    torch.testing.assert_close(layer(joined), expected)


def test_a_linear_map_may_lack_a_bias_and_says_its_sizes():
    layer = Linear(7, 3, bias=False)
    assert layer.bias is None
    assert repr(layer) == "Linear(7, 3, bias=False)"
    torch.testing.assert_close(layer(torch.ones(2, 7)), torch.ones(2, 7) @ layer.weight)
