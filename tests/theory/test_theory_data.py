"""The theorems on the paper's data: MUTAG and PTC until stable, AIFB until stable, with both activations."""

from __future__ import annotations

import pytest
import torch

import edgnn
from edgnn.theory import check_upper_bound, expressivity, readouts, verify, wl_weights
from edgnn.wl import classes, compare


@pytest.fixture(scope="module")
def mutag():
    return edgnn.load_dataset("MUTAG").graphs


def test_upper_bound_and_explicit_weights_on_mutag_for_three_rounds(mutag):
    bound = check_upper_bound(mutag, 3, draws=2)
    assert bound.holds
    assert (
        [entry.embeddings for entry in bound.rounds]
        == [entry.colors for entry in bound.rounds]
        == [7, 58, 270, 793]
    )
    report = verify(wl_weights(mutag, 3), mutag)
    assert report.holds
    assert [entry.embeddings for entry in report.rounds] == [7, 58, 270, 793]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "activation"),
    [("separate", "sign"), ("separate", "relu"), ("joint", "sign"), ("node", "sign")],
)
def test_explicit_weights_on_mutag_until_stable(mutag, scheme, activation):
    weights = wl_weights(mutag, scheme=scheme, activation=activation)
    report = verify(weights, mutag)
    assert weights.rounds == 13
    assert report.holds, str(report)
    assert report.rounds[-1].colors == (2586 if scheme == "node" else 3046)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "colors"), [("PTC_FM", 3663), ("PTC_FR", 3752), ("PTC_MM", 3470), ("PTC_MR", 3639)]
)
def test_explicit_weights_on_ptc_until_stable(data_dir, name, colors):
    graphs = edgnn.load_dataset(name).graphs
    weights = wl_weights(graphs)
    report = verify(weights, graphs)
    assert weights.rounds == 13
    assert report.holds, str(report)
    assert report.rounds[-1].embeddings == colors


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["sign", "relu"])
def test_explicit_weights_on_aifb_until_stable(data_dir, activation):
    graphs = edgnn.load_dataset("AIFB").graphs
    weights = wl_weights(graphs, activation=activation)
    report = verify(weights, graphs)
    assert report.holds, str(report)
    assert [entry.embeddings for entry in report.rounds] == [1, 1502, 6009, 7361, 7393]
    assert report.largest < 2**53


@pytest.mark.slow
def test_upper_bound_on_aifb_for_every_network(data_dir):
    graphs = edgnn.load_dataset("AIFB").graphs
    for scheme in ("node", "separate", "joint"):
        report = check_upper_bound(graphs, 3, scheme, draws=2)
        assert report.holds
        assert [entry.embeddings for entry in report.rounds] == [
            entry.colors for entry in report.rounds
        ]


@pytest.mark.slow
def test_readouts_of_ptc_graphs_agree_exactly_when_compare_does_not_distinguish(data_dir):
    graphs = edgnn.load_dataset("PTC_FM").graphs
    found = readouts(wl_weights(graphs), graphs)
    number = found.classes()
    wanted = classes(graphs)
    assert (
        len(torch.unique(number))
        == len(torch.unique(wanted))
        == len(torch.unique(torch.stack([number, wanted]), dim=1)[0])
        == 342
    )
    alike = [(a, b) for a in range(349) for b in range(a) if number[a] == number[b]]
    different = [(a, (a * 7 + 3) % 349) for a in range(0, 349, 25)]
    for first, second in alike + different:
        assert compare(graphs[first], graphs[second]).distinguished == bool(
            number[first] != number[second]
        )


@pytest.mark.slow
def test_random_network_is_measured_as_what_it_is(mutag):
    weights = wl_weights(mutag, 2)
    report = expressivity(lambda graphs: weights.apply(graphs).at(2), mutag, "node", rounds=2)
    assert report.outputs == 270
    assert (report.bounded_by, report.reaches) == ("separate", "separate")
    assert not report.schemes[0].bounds
