import numpy as np
import pytest
from sklearn.metrics import log_loss

from edgnn.models import probabilities
from edgnn.models._probabilities import negative_log_likelihood, temperature_of, uncertainty_of


def sampled_logits(members=1, n=4000, K=3, seed=0):
    random = np.random.default_rng(seed)
    logits = random.normal(size=(members, n, K)) * 2
    p = probabilities(logits, "classes").mean(0)
    return logits, (p.cumsum(1) < random.random((n, 1))).sum(1)


@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0])
def test_the_temperature_undoes_a_scale(scale):
    logits, y = sampled_logits()
    assert temperature_of(logits * scale, y, "classes") == pytest.approx(scale, rel=0.08)


def test_the_temperature_of_an_ensemble_is_found_on_averaged_probabilities():
    logits, y = sampled_logits(members=4)
    assert temperature_of(logits * 3, y, "classes") == pytest.approx(3, rel=0.1)


def test_the_temperature_of_several_labels_leaves_out_missing_ones():
    random = np.random.default_rng(1)
    logits = random.normal(size=(1, 3000, 2)) * 2
    y = (random.random((3000, 2)) < probabilities(logits, "labels")[0]).astype(float)
    y[::3, 0] = np.nan
    assert temperature_of(logits * 4, y, "labels") == pytest.approx(4, rel=0.1)


def test_a_few_items_do_not_make_a_model_certain():
    logits = np.array([[[3.0, -3.0], [-3.0, 3.0]]])
    assert 0.5 < temperature_of(logits, np.array([0, 1]), "classes") < 1
    assert 1 < temperature_of(logits, np.array([1, 0]), "classes") < 100
    assert temperature_of(logits, np.full((2, 2), np.nan), "labels") == 1


def test_the_likelihood_is_that_of_scikit_learn():
    logits, y = sampled_logits(members=3, n=50)
    weight = np.random.default_rng(2).random(50)
    expected = log_loss(
        y, probabilities(logits, "classes", 2.0).mean(0), sample_weight=weight, labels=[0, 1, 2]
    )
    assert negative_log_likelihood(logits, y, "classes", 2.0, weight) == pytest.approx(expected)


def test_members_that_agree_have_no_mutual_information():
    p = np.array([[[0.5, 0.5], [1.0, 0.0]]] * 2)
    result = uncertainty_of(p, "classes")
    assert result.total_entropy == pytest.approx([np.log(2), 0])
    assert result.mutual_information == pytest.approx([0, 0])
    assert not result.std.any()


def test_members_that_contradict_each_other_have_all_of_it():
    p = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    result = uncertainty_of(p, "classes")
    assert result.total_entropy == pytest.approx([np.log(2)])
    assert result.expected_entropy == pytest.approx([0])
    assert result.mutual_information == pytest.approx([np.log(2)])
    assert result.std == pytest.approx(np.array([[0.5, 0.5]]))


def test_several_labels_have_an_entropy_each():
    result = uncertainty_of(np.array([[[0.5, 1.0, 0.0]]]), "labels")
    assert result.total_entropy == pytest.approx(np.array([[np.log(2), 0, 0]]))
