from __future__ import annotations

from dataclasses import fields

import pytest
import torch

import edgnn.wl._refine as refinement
from edgnn import Graphs, wl
from edgnn.errors import EdgnnError
from edgnn.wl._neighborhood import Neighborhood
from edgnn.wl._prove import prove_round

KINDS = pytest.mark.parametrize("kind", ["arrays", "tensors"])  # the CPU's and a device's
STAR = Graphs.from_edges([(0, 1), (0, 2), (3, 4), (3, 5)], edge_labels="xxxy", node_labels="aaaaaa")


def proved(graphs, scheme, before, after, kind, first=True, multiplicity="once"):
    around = Neighborhood.of(graphs, scheme, multiplicity)
    colors = [torch.tensor(before), torch.tensor(after)]
    if kind == "arrays":
        return prove_round(around, *(color.numpy() for color in colors), first)
    parts = {field.name: getattr(around, field.name) for field in fields(around)}
    tensors = {
        name: torch.from_numpy(part) if hasattr(part, "dtype") else part
        for name, part in parts.items()
    }
    return prove_round(Neighborhood(**tensors), *colors, first)


@KINDS
@pytest.mark.parametrize("scheme", ["node", "separate", "joint"])
def test_every_round_of_a_refinement_is_proved(scheme, kind):
    path, chords = [(node, node + 1) for node in range(59)], [(3, 17), (22, 40), (41, 58), (9, 9)]
    graphs = Graphs.from_edges(path + chords, edge_labels=["x"] * 40 + ["y"] * 23)
    coloring = wl.refine(graphs, scheme=scheme)
    assert coloring.rounds > 2
    for round in range(1, coloring.rounds + 1):
        before, after = coloring.at(round - 1).tolist(), coloring.at(round).tolist()
        assert proved(graphs, scheme, before, after, kind, first=round == 1)
        assert not proved(graphs, scheme, before, before, kind, first=round == 1)


@KINDS
def test_colors_that_were_different_before_may_not_be_merged(kind):
    pair = Graphs.from_edges([], num_nodes=2)
    assert proved(pair, "node", [0, 0], [5, 5], kind)
    assert proved(pair, "node", [0, 1], [5, 6], kind)
    assert not proved(pair, "node", [0, 1], [5, 5], kind)


@KINDS
def test_a_color_of_nodes_with_more_and_with_fewer_neighbors_is_refuted(kind):
    path = Graphs.from_edges([(0, 1), (1, 2)])
    assert proved(path, "node", [0, 0, 0], [1, 0, 1], kind)
    assert not proved(path, "node", [0, 0, 0], [0, 0, 1], kind)


@KINDS
def test_a_color_of_nodes_with_other_neighbors_is_refuted(kind):
    paths = Graphs.from_edges([(0, 1), (2, 3)])
    assert proved(paths, "node", [0, 1, 0, 1], [0, 1, 0, 1], kind)
    assert not proved(paths, "node", [0, 1, 0, 2], [0, 1, 0, 2], kind)


@KINDS
def test_the_order_in_which_neighbors_are_listed_does_not_matter(kind):
    stars = Graphs.from_edges([(6, 0), (6, 1), (6, 2), (7, 3), (7, 4), (7, 5)])
    assert proved(stars, "joint", [1, 2, 3, 3, 1, 2, 0, 0], [1, 2, 3, 3, 1, 2, 0, 0], kind)
    assert not proved(stars, "joint", [1, 2, 3, 3, 1, 1, 0, 0], [1, 2, 3, 3, 1, 1, 0, 0], kind)


@KINDS
@pytest.mark.parametrize(("labels", "same"), [("xyyx", True), ("xyxx", False), ("xxyy", False)])
def test_joint_compares_label_and_neighbor_of_each_edge(labels, same, kind):
    graphs = Graphs.from_edges([(0, 2), (0, 3), (1, 2), (1, 3)], edge_labels=labels)
    leaves = [1, 1] if same else [1, 2]
    assert proved(graphs, "joint", [0, 0, 1, 1], [0, 0, *leaves], kind) == same
    assert not proved(graphs, "joint", [0, 0, 1, 2], [0, 0, 1, 2], kind)


@KINDS
def test_joint_tells_an_edge_from_its_reverse(kind):
    pair = Graphs.from_edges([(0, 1)])
    assert proved(pair, "node", [0, 0], [0, 0], kind)
    assert not proved(pair, "joint", [0, 0], [0, 0], kind)


@KINDS
def test_label_counts_are_looked_at_in_the_first_round_only(kind):
    merged = [1, 0, 0, 1, 0, 0]
    assert not proved(STAR, "separate", [0] * 6, merged, kind, first=True)
    assert proved(STAR, "separate", [0] * 6, merged, kind, first=False)
    assert proved(STAR, "node", [0] * 6, merged, kind, first=True)
    assert proved(STAR, "separate", [0] * 6, [1, 0, 0, 3, 0, 2], kind, first=True)


@KINDS
def test_nothing_is_proved_of_no_nodes(kind):
    assert proved(Graphs.from_edges([], num_nodes=0), "separate", [], [], kind)


def test_exact_comparisons_and_classes_are_proved(monkeypatch):
    monkeypatch.setattr(refinement, "mix", lambda values, seed=0: values * 0)
    path, star = (
        Graphs.from_edges([(0, 1), (1, 2), (2, 3)]),
        Graphs.from_edges([(0, 1), (0, 2), (0, 3)]),
    )
    assert not wl.compare(path, star, "node").distinguished
    assert wl.classes([path, star], scheme="node").tolist() == [0, 0]
    for call in (
        lambda: wl.compare(path, star, "node", exact=True),
        lambda: wl.classes([path, star], scheme="node", exact=True),
    ):
        with pytest.raises(EdgnnError, match="collided"):
            call()


def test_an_exact_extension_refuses_colors_that_label_counts_refute(monkeypatch):
    known, new = (
        Graphs.from_edges([(0, 1), (1, 0)], edge_labels=labels) for labels in ("xx", "yy")
    )
    coloring = wl.refine(known, 1, exact=True)
    assert set(coloring.extend(new).at(1).tolist()).isdisjoint(coloring.at(1).tolist())
    monkeypatch.setattr(Neighborhood, "fixed_sum", lambda self, seed: 0)
    assert wl.refine(known, 1).extend(new).at(1).tolist() == coloring.at(1).tolist()
    with pytest.raises(EdgnnError, match="one hash in round 1"):
        wl.refine(known, 1, exact=True).extend(new)
