from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
import torch

from edgnn.errors import TrainingError
from edgnn.training import Targets

NAN = float("nan")


def losses(targets, outputs, items, train=None, std=None):
    """Return the members' losses in float64; ``train`` are the items that weights and scales come from."""
    targets = targets.to("cpu", torch.float64)
    items = torch.tensor(items)
    weights = targets.item_weights(items if train is None else torch.tensor(train))
    return targets.loss(torch.tensor(outputs, dtype=torch.float64), items, weights, std).tolist()


def softplus(x):
    return log(1 + exp(x))


def test_classes_by_hand():
    targets = Targets.classes(np.array([0, 1, 2]), 3)
    outputs = [[[0.0, 0, 0], [1, 3, 2]]]
    second = log(exp(1) + exp(3) + exp(2)) - 3
    assert losses(targets, outputs, [[0, 1]]) == pytest.approx([(log(3) + second) / 2])
    assert losses(targets, outputs, [[2, -1]]) == pytest.approx([log(3)])
    assert losses(targets, outputs, [[-1, -1]]) == [0]
    assert (targets.outputs, len(targets), targets.kind) == (3, 3, "classes")


def test_members_have_losses_of_their_own():
    targets = Targets.classes(torch.tensor([0, 1]), 2)
    outputs = [[[0.0, 0], [0, 2]], [[4, 0], [9, 9]]]
    first = (log(2) + softplus(-2)) / 2
    assert losses(targets, outputs, [[0, 1], [1, -1]]) == pytest.approx([first, softplus(4)])


def test_item_weights_have_mean_one_over_the_training_part():
    targets = Targets.classes(np.array([0, 0, 1]), 2, weight=np.array([1.0, 3, 8]))
    weights = targets.to("cpu", torch.float64).item_weights(torch.tensor([[0, 1], [2, -1]]))
    assert weights.tolist() == [[0.5, 1.5, 4], [0.125, 0.375, 1]]
    outputs = [[[0.0, 0], [0, 2]]]
    assert losses(targets, outputs, [[0, 1]]) == pytest.approx(
        [(0.5 * log(2) + 1.5 * softplus(2)) / 2]
    )


def test_class_weights_by_hand():
    targets = Targets.classes(np.array([0, 0, 1]), 2, class_weight=[1.0, 4.0])
    outputs = [[[0.0, 0], [0, 2], [3, 0]]]
    expected = (
        log(2) + softplus(2) + 4 * softplus(3)
    ) / 6  # weights 1, 1, 4 over their mean 2, then the mean over three items
    assert losses(targets, outputs, [[0, 1, 2]]) == pytest.approx([expected])


def test_balanced_weights_give_every_class_of_a_member_the_same_say():
    y = np.array([0, 0, 0, 1, 2])
    weights = Targets.classes(y, 3, class_weight="balanced").item_weights(
        torch.tensor([[0, 1, 2, 3], [0, 3, 4, -1]])
    )
    torch.testing.assert_close(
        weights[0, :4], torch.tensor([2 / 3, 2 / 3, 2 / 3, 2], dtype=torch.float64)
    )
    torch.testing.assert_close(weights[1, [0, 3, 4]], torch.ones(3, dtype=torch.float64))
    assert weights[0, 4] == 0  # a class that the member never met
    both = Targets.classes(y, 3, weight=np.array([1.0, 1, 2, 1, 1]), class_weight="balanced")
    weights = both.to("cpu", torch.float64).item_weights(torch.tensor([[0, 1, 2, 3, 4]]))[0]
    torch.testing.assert_close(
        weights, torch.tensor([5 / 9, 5 / 9, 10 / 9, 5 / 3, 5 / 3], dtype=torch.float64) * 0.9
    )


def test_balanced_weights_are_exact_in_float64():
    targets = Targets.classes(np.array([0, 0, 1]), 2, class_weight="balanced").to(
        "cpu", torch.float64
    )
    weights = targets.item_weights(torch.tensor([[0, 1, 2]]))
    torch.testing.assert_close(
        weights, torch.tensor([[0.75, 0.75, 1.5]], dtype=torch.float64), rtol=1e-15, atol=0
    )
    sevenths = Targets.classes(np.array([0] * 6 + [1]), 2, class_weight="balanced").to(
        "cpu", torch.float64
    )
    weights = sevenths.item_weights(torch.arange(7)[None])
    torch.testing.assert_close(
        weights[0, 0], torch.tensor(7 / 12, dtype=torch.float64), rtol=1e-15, atol=0
    )


def test_without_weights_there_is_no_table():
    assert Targets.classes(np.array([0, 1]), 2).item_weights(torch.tensor([[0, 1]])) is None


def test_weights_of_zero_leave_items_out():
    targets = Targets.classes(np.array([0, 1]), 2, weight=np.array([0.0, 1]))
    assert losses(targets, [[[9.0, -9], [0, 0]]], [[0, 1]]) == pytest.approx([log(2)])
    nothing = Targets.classes(np.array([0, 1]), 2, weight=np.array([0.0, 0]))
    assert losses(nothing, [[[9.0, -9], [0, 0]]], [[0, 1]]) == [0]


def test_several_labels_with_missing_ones_by_hand():
    targets = Targets.labels(np.array([[1, 0, NAN], [NAN, NAN, NAN], [NAN, 1, 1]]))
    outputs = [[[2.0, 1, 7], [5, 5, 5], [8, 0, -3]]]
    first, third = (softplus(-2) + softplus(1)) / 2, (log(2) + softplus(3)) / 2
    assert losses(targets, outputs, [[0, 1, 2]]) == pytest.approx([(first + third) / 2])
    assert losses(targets, outputs, [[1, 0, -1]]) == pytest.approx(
        [(softplus(-5) + softplus(5)) / 2]
    )
    assert targets.outputs == 3


def test_labels_weigh_as_their_items_do():
    targets = Targets.labels(np.array([[1.0], [0.0]]), weight=np.array([1.0, 3.0]))
    assert losses(targets, [[[0.0], [1.0]]], [[0, 1]]) == pytest.approx(
        [(0.5 * log(2) + 1.5 * softplus(1)) / 2]
    )


def test_values_are_measured_in_standard_deviations():
    targets = Targets.values(np.array([[1.0, 10], [3, NAN], [NAN, 30], [5, 50]]))
    mean, std = targets.scale(torch.tensor([[0, 1, 2, 3], [0, 2, -1, -1]]))
    assert mean.tolist() == [[3, 30], [1, 20]]
    torch.testing.assert_close(
        std, torch.tensor([[(8 / 3) ** 0.5, (800 / 3) ** 0.5], [1, 10]], dtype=torch.float64)
    )
    outputs = [[[1.0, 12], [0, 99]]]
    expected = ((0 + (2 / 10) ** 2) / 2 + (3 / 2) ** 2) / 2
    assert losses(
        targets, outputs, [[0, 1]], std=torch.tensor([[2.0, 10.0]], dtype=torch.float64)
    ) == pytest.approx([expected])


def test_a_single_column_may_be_a_vector():
    targets = Targets.values([1.0, NAN, 3.0])
    assert targets.y.shape == (3, 1)
    assert targets.scale(torch.tensor([[0, 1, 2]]))[0].tolist() == [[2.0]]


@pytest.mark.parametrize(
    "values", [[7.0, 7, 7], [1e6 + 0.1] * 3, [0.0, 0, 0], [NAN, NAN, 5], [NAN, NAN, NAN]]
)
def test_constant_targets_have_the_scale_one(values):
    known = [value for value in values if value == value]
    for dtype in (torch.float64, torch.float32):
        mean, std = (
            Targets.values(np.array(values)).to("cpu", dtype).scale(torch.tensor([[0, 1, 2]]))
        )
        assert std.tolist() == [[1.0]]
        assert mean.item() == pytest.approx(known[0] if known else 0)


def test_missing_targets_have_no_gradient():
    targets = Targets.values(np.array([[NAN, 2.0]]))
    outputs = torch.tensor([[[1e300, 1.0]]], dtype=torch.float64, requires_grad=True)
    targets.loss(
        outputs, torch.tensor([[0]]), None, torch.ones(1, 2, dtype=torch.float64)
    ).sum().backward()
    assert outputs.grad.tolist() == [[[0.0, -2.0]]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Targets.classes(np.array([0, 3]), 3),
            "item 1 has the class 3, but there are 3 classes",
        ),
        (
            lambda: Targets.classes(np.array([0, -1]), 3),
            "item 1 has the class -1, but there are 3 classes",
        ),
        (
            lambda: Targets.classes(np.array([0.0, 1.0]), 2),
            "class numbers must be one whole number per item",
        ),
        (
            lambda: Targets.classes(np.array([[0, 1]]), 2),
            "class numbers must be one whole number per item",
        ),
        (
            lambda: Targets.classes(np.array([0, 1]), 2, class_weight=[1.0]),
            r"class_weight has the shape \(1,\), one number per",
        ),
        (
            lambda: Targets.classes(np.array([0, 1]), 2, class_weight="even"),
            "class_weight='even': choose 'balanced', None, or",
        ),
        (
            lambda: Targets.classes(np.array([0, 1]), 2, class_weight=[1.0, -1.0]),
            r"class_weight=\[1.0, -1.0\]: weights are finite",
        ),
        (
            lambda: Targets.classes(np.array([0, 1]), 2, class_weight=[1.0, NAN]),
            "weights are finite and at least 0",
        ),
        (
            lambda: Targets.classes(np.array([0, 1]), 2, weight=[1.0]),
            r"one number for each of 2 items, got the shape \(1,\)",
        ),
        (
            lambda: Targets.classes(np.array([0, 1]), 2, weight=[1.0, -2.0]),
            "the weight of item 1 is -2.0; weights are finite",
        ),
        (
            lambda: Targets.values([1.0, 2.0], weight=[NAN, 1.0]),
            "the weight of item 0 is nan; weights are finite and at least 0",
        ),
        (lambda: Targets.values([1.0, 2.0], weight=[np.inf, 1.0]), "the weight of item 0 is inf"),
        (
            lambda: Targets.labels(np.array([[0, 1], [1, 0.5]])),
            "label 1 of item 1 is 0.5, neither 0 nor 1 nor missing",
        ),
        (lambda: Targets.labels(np.array([[np.inf]])), "label 0 of item 0 is inf"),
        (
            lambda: Targets.values(np.array([[1.0, 2.0], [np.inf, 1.0]])),
            "target 0 of item 1 is infinite",
        ),
        (
            lambda: Targets.values(np.zeros((2, 2, 2))),
            r"targets must be one row per item, got the shape \(2, 2, 2\)",
        ),
    ],
)
def test_wrong_targets_are_named(make, message):
    with pytest.raises(TrainingError, match=message):
        make()


def test_moving_keeps_class_numbers_whole():
    targets = Targets.classes(
        np.array([0, 1], dtype=np.int32), 2, weight=[1.0, 2.0], class_weight=[1.0, 2.0]
    )
    moved = targets.to("cpu", torch.float32)
    assert (moved.y.dtype, moved.weight.dtype, moved.class_weight.dtype) == (
        torch.int64,
        torch.float32,
        torch.float32,
    )
    assert Targets.labels(np.array([[0, 1]])).to("cpu", torch.float32).y.dtype == torch.float32


def test_items_without_any_target_are_not_counted():
    items = torch.tensor([[0, 1, 2], [1, -1, -1]])
    assert Targets.values(np.array([[1.0, NAN], [NAN, NAN], [NAN, 2]])).counts(items).tolist() == [
        2,
        0,
    ]
    assert Targets.classes(np.array([0, 1, 0]), 2).counts(items).tolist() == [3, 1]


@pytest.mark.parametrize("values", [[1e8, 1e8 + 1, NAN], [0.0, 1e200, 0], [1e-200, 2e-200, 0]])
def test_values_that_rounding_would_make_equal_are_refused(values):
    targets = Targets.values(np.array([[0.0, value] for value in values]))
    with pytest.raises(
        TrainingError,
        match=r"target 1 lie between .* torch.float32 cannot tell apart.*precision='float64'",
    ):
        targets.to("cpu", torch.float32)


@pytest.mark.parametrize(
    "values", [[1e6, 1e6 + 5, 1e6 + 9], [1e-30, 2e-30, NAN], [1e30, 3e30, 2e30]]
)
def test_values_far_from_one_are_fine_while_rounding_leaves_them_apart(values):
    Targets.values(np.array(values)).to("cpu", torch.float32)
    Targets.values(np.array([1e8, 1e8 + 1, 1e8 + 2])).to("cpu", torch.float64)
