from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck

from edgnn import load_dataset
from edgnn.nn import BatchNorm, GraphModel
from nn_reference import normal, randomized


def pair(dim, **options):
    """Return our layer and torch's, in float64 with the same parameters."""
    ours, theirs = (
        randomized(BatchNorm(dim, **options)),
        torch.nn.BatchNorm1d(dim, **options).double(),
    )
    theirs.load_state_dict(ours.state_dict(), strict=False)
    return ours, theirs


@pytest.mark.parametrize("options", [{}, {"momentum": 0.3, "eps": 1e-2}])
def test_values_gradients_and_running_statistics_are_those_of_torch(options):
    ours, theirs = pair(4, **options)
    for step in range(3):
        inputs = [normal(30, 4, seed=step).mul(3).add(1).requires_grad_() for _ in range(2)]
        for layer, x in zip((ours, theirs), inputs, strict=True):
            layer(x).pow(3).sum().backward()
        torch.testing.assert_close(ours(inputs[0]), theirs(inputs[1]))
        torch.testing.assert_close(inputs[0].grad, inputs[1].grad)
        torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)
        torch.testing.assert_close(ours.bias.grad, theirs.bias.grad)
        torch.testing.assert_close(ours.running_mean, theirs.running_mean)
        torch.testing.assert_close(ours.running_var, theirs.running_var)
    x = normal(5, 4, seed=9)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x))


def test_gradients_are_those_of_finite_differences():
    mask = torch.tensor([[1.0, 1, 0], [1, 1, 1]], dtype=torch.float64)
    layer = randomized(BatchNorm(2, members=2))
    assert gradcheck(lambda x: layer(x, mask), normal(2, 3, 2).requires_grad_())


def test_members_have_statistics_of_their_own():
    fleet, x = randomized(BatchNorm(4, members=3)), normal(3, 20, 4)
    singles = [BatchNorm(4).double() for _ in range(3)]
    for member, single in enumerate(singles):
        single.load_state_dict({name: value[member] for name, value in fleet.state_dict().items()})
    together = fleet(x)
    for member, single in enumerate(singles):
        torch.testing.assert_close(together[member], single(x[member]))
        torch.testing.assert_close(fleet.running_mean[member], single.running_mean)
        torch.testing.assert_close(fleet.running_var[member], single.running_var)
    apart = fleet.eval()(x)
    assert all(
        torch.allclose(apart[member], single.eval()(x[member]))
        for member, single in enumerate(singles)
    )


def test_padding_counts_for_nothing():
    padded, short = randomized(BatchNorm(4, members=1)), randomized(BatchNorm(4, members=1))
    x = torch.cat(
        [normal(1, 7, 4), 1e6 * torch.ones(1, 5, 4, dtype=torch.float64)], dim=1
    ).requires_grad_()
    mask = (torch.arange(12) < 7).double()[None]
    result, expected = padded(x, mask)[:, :7], short(x[:, :7])
    torch.testing.assert_close(result, expected)
    torch.testing.assert_close(padded.running_mean, short.running_mean)
    torch.testing.assert_close(padded.running_var, short.running_var)
    gradients = [torch.autograd.grad(y.pow(3).sum(), x)[0] for y in (result, expected)]
    torch.testing.assert_close(*gradients)


def test_a_member_without_rows_remembers_nothing_and_stays_finite():
    layer = randomized(BatchNorm(4, members=2))
    before = layer.running_mean[1].clone(), layer.running_var[1].clone()
    result = layer(normal(2, 5, 4), torch.tensor([[1.0] * 5, [0.0] * 5], dtype=torch.float64))
    assert torch.equal(layer.running_mean[1], before[0])
    assert torch.equal(layer.running_var[1], before[1])
    assert result.isfinite().all()
    assert BatchNorm(4)(torch.zeros(0, 4)).shape == (0, 4)


def test_a_single_row_becomes_the_bias():
    layer = randomized(BatchNorm(4))
    torch.testing.assert_close(layer(normal(1, 4)), layer.bias.detach()[None])
    assert layer.running_var.isfinite().all()


def test_a_prediction_never_depends_on_what_else_is_predicted():
    graphs = load_dataset("MUTAG").graphs
    model = randomized(GraphModel(7, 4, 2, hidden=8, batch_norm=True))
    model.train()(graphs)
    whole = model.eval()(graphs)
    torch.testing.assert_close(model(graphs[7]), whole[7:8])
    torch.testing.assert_close(model(graphs[[3, 100, 7]]), whole[[3, 100, 7]])
    before = model.convs[0].norm.running_mean.clone()
    model(graphs[:5])
    assert torch.equal(model.convs[0].norm.running_mean, before)


def test_mixed_precision_takes_its_statistics_in_float32():
    x = normal(500, 4).mul(0.5).add(20).bfloat16()
    mixed, single = BatchNorm(4, momentum=1.0), BatchNorm(4, momentum=1.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = mixed(x)
    expected = single(x.float())
    torch.testing.assert_close(mixed.running_mean, single.running_mean)
    torch.testing.assert_close(mixed.running_var, single.running_var)
    torch.testing.assert_close(result.float(), expected, rtol=0.01, atol=0.01)


def test_starting_anew_forgets_everything():
    layer = randomized(BatchNorm(3))
    layer.reset_parameters()
    assert {name: value.tolist() for name, value in layer.state_dict().items()} == {
        "weight": [1, 1, 1],
        "bias": [0, 0, 0],
        "running_mean": [0, 0, 0],
        "running_var": [1, 1, 1],
    }
