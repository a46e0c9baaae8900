"""What a model can tell apart: outputs against classes, for models of known power."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from edgnn.errors import GraphError
from edgnn.graphs import Graphs, Structure
from edgnn.theory import expressivity, pairs, readouts, wl_weights
from edgnn.theory._partitions import group_rows
from edgnn.wl import classes
from strategies import graphs as random_graphs

TRIANGLES = Graphs.concat(pairs.directed_triangles())
SMALL = st.sampled_from([None, st.integers(0, 1)])
several = random_graphs(
    min_graphs=1, max_graphs=4, max_nodes=4, max_edges=6, labels=SMALL, features=False, names=False
)


class TwoLayers(nn.Module):
    """Eq. 4 twice and a sum readout, with dense matrices."""

    def __init__(self, labels: int, edge_labels: int, width: int = 8) -> None:
        super().__init__()
        self.first = nn.ModuleList(
            nn.Linear(size, width, bias=False)
            for size in (labels, labels, edge_labels, edge_labels)
        )
        self.second = nn.ModuleList(
            nn.Linear(size, width, bias=False) for size in (width, width, edge_labels, edge_labels)
        )
        self.drop = nn.Dropout(0.5)

    def forward(self, graphs):
        structure = Structure.of(graphs)
        dtype = self.first[0].weight.dtype
        structure = structure.to(dtype=dtype)
        x = nn.functional.one_hot(graphs.node_label, len(graphs.node_vocabulary)).to(dtype)
        A = structure.neighbors.to_dense(x.dtype)
        for W1, W2, W3, W4 in (self.first, self.second):
            x = self.drop(torch.tanh(W1(x) + W2(A @ x) + W3(structure.C_in) + W4(structure.C_out)))
        ends = structure.graph_offset
        return torch.stack([x[a:b].sum(0) for a, b in pairwise(ends.tolist())])


def rows_by_scheme(report):
    return {entry.scheme: (entry.merged, entry.split) for entry in report.schemes}


@given(several, st.sampled_from(["node", "separate", "joint"]))
def test_explicit_weights_are_exactly_as_powerful_as_their_refinement(graphs, scheme):
    weights = wl_weights(graphs, scheme=scheme)
    nodes = expressivity(
        lambda given: weights.apply(given).at(-1), graphs, "node", schemes=(scheme,), tolerance=0
    )
    assert rows_by_scheme(nodes) == {scheme: (0, 0)}
    found = readouts(weights, graphs)
    whole = expressivity(
        lambda given: torch.hstack([found.at(t) for t in range(found.rounds + 1)]),
        graphs,
        schemes=(scheme,),
    )
    assert rows_by_scheme(whole) == {scheme: (0, 0)}
    assert whole.outputs == len(torch.unique(classes(graphs, scheme=scheme)))


def test_model_that_uses_node_numbers_splits_classes():
    hexagon = Graphs.concat(pairs.hexagon_and_triangles())
    report = expressivity(lambda graphs: torch.arange(12), hexagon, "node")
    assert report.bounded_by is None
    assert rows_by_scheme(report)["joint"] == (0, 1)
    assert report.schemes[2].split_examples == ((0, 1),)
    assert "bounded by none of them" in str(report)
    assert rows_by_scheme(expressivity(lambda graphs: torch.arange(6), TRIANGLES, "node"))[
        "separate"
    ] == (0, 3)


def test_model_that_sees_the_order_of_nodes_is_not_bounded():
    same = Graphs.concat([Graphs.from_edges([(0, 1)]), Graphs.from_edges([(1, 0)])])
    report = expressivity(
        lambda graphs: graphs.edge_source[graphs.edge_offset[:-1]] - graphs.graph_offset[:-1], same
    )
    assert not report.schemes[2].bounds
    assert report.schemes[2].split_examples == ((0, 1),)


def test_constant_model_merges_everything():
    report = expressivity(lambda graphs: np.zeros((2, 3)), TRIANGLES)
    assert report.bounded_by == "node"
    assert report.schemes[2].merged == 1
    assert report.schemes[2].merged_examples == ((0, 1),)
    assert not report.schemes[2].reached


def test_model_can_be_neither_weaker_nor_stronger_than_a_refinement():
    cycles = [graph.with_edge_labels([1] * 4) for graph in pairs.directed_cycles()]
    both = Graphs.concat(
        [*cycles, *(graph.with_edge_labels([1] * 3) for graph in pairs.directed_triangles())]
    )
    neighbors = [2, 1, 2, 2]
    report = expressivity(
        lambda graphs: torch.tensor(
            [[n, size] for n, size in zip(neighbors, graphs.sizes.tolist(), strict=True)]
        ),
        both,
    )
    assert (report.bounded_by, report.reaches) == ("node", "node")
    joint = report.schemes[2]
    assert (joint.bounds, joint.reached) == (False, False)
    assert "neither weaker nor stronger" in str(report)


def test_untrained_edgnn_is_bounded_by_separate_in_evaluation_mode():
    torch.manual_seed(0)
    labeled = Graphs.concat(
        [*pairs.labeled_squares(), *pairs.swapped_loops(), *pairs.labeled_squares()]
    )
    model = TwoLayers(len(labeled.node_vocabulary), len(labeled.edge_vocabulary))
    model.second.eval()
    report = expressivity(model, labeled, rounds=2)
    assert report.bounded_by == "node"
    assert report.outputs == 2
    assert rows_by_scheme(report)["joint"] == (2, 0)
    assert model.drop.training
    assert not model.second[0].training
    assert expressivity(model.double(), labeled, rounds=2).outputs == 2


def pyg_arguments(graphs):
    x = nn.functional.one_hot(graphs.node_label, len(graphs.node_vocabulary)).float()
    return x, torch.stack([graphs.edge_source, graphs.edge_target]), graphs.edge_label


def test_modules_that_take_other_arguments_work_with_an_adapter():
    class Degrees(nn.Module):
        def forward(self, x, edge_index, edge_type):
            rows = torch.zeros(len(x), 2).index_add_(
                0, edge_index[1], nn.functional.one_hot(edge_type, 2).float()
            )
            return torch.cat([x, rows], 1)

    squares = Graphs.concat(pairs.labeled_squares())
    assert (
        expressivity(Degrees(), squares, "node", adapter=pyg_arguments, rounds=1).bounded_by
        == "node"
    )
    own = expressivity(
        lambda sizes, double: sizes * double, squares, adapter=lambda graphs: (graphs.sizes, 2)
    )
    assert own.outputs == 1


def test_rounding_noise_is_not_taken_for_power():
    noise = torch.tensor([[1.0, 1000.0], [1.0 + 1e-7, 1000.0 - 1e-3]])
    report = expressivity(lambda graphs: noise, TRIANGLES)
    assert report.outputs == 1
    assert "depends on the tolerance" not in str(report)


def test_outputs_near_the_tolerance_are_flagged():
    report = expressivity(lambda graphs: torch.tensor([1.0, 1.0 + 5e-6]), TRIANGLES)
    assert (report.outputs, report.outputs_nearby) == (1, (2, 1))
    assert "depends on the tolerance: 2 outputs at 1e-06, 1 at 1e-04" in str(report)


def test_report_is_plain_data():
    report = expressivity(lambda graphs: graphs.sizes, TRIANGLES)
    plain = json.loads(json.dumps(asdict(report)))
    assert plain["schemes"][2]["merged_examples"] == [[0, 1]]


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (lambda graphs: torch.zeros(6, 2), {}, r"shape \(6, 2\) for 2 graphs"),
        (lambda graphs: torch.zeros(2, 2, 2), {}, "one row per graph"),
        (lambda graphs: torch.tensor([1.0, float("nan")]), {}, "graph 1 is not finite"),
        (lambda graphs: torch.zeros(2), {"level": "edge"}, "level='edge'"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(model, options, message):
    with pytest.raises(GraphError, match=message):
        expressivity(model, TRIANGLES, **options)


def test_rows_linked_in_every_column_but_not_together_are_parted():
    across = [(0.05 * step, 0.0) for step in range(21)]
    up = [(0.0, 0.05 * step) for step in range(21)]
    groups = group_rows(torch.tensor([*across, *up, (1.0, 1.0)]), 0.06)
    assert groups.tolist() == [0] * 42 + [1]


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=12),
    st.sampled_from([0.0, 0.1, 0.26]),
)
def test_groups_are_chains_of_rows_that_agree(points, tolerance):
    rows = torch.tensor(points, dtype=torch.float64).reshape(-1, 2)
    scale = rows.abs().max(0).values.clamp(min=1) if len(rows) else torch.ones(2)
    near = [[bool(((a - b).abs() / scale <= tolerance + 1e-12).all()) for b in rows] for a in rows]
    number = [-1] * len(points)
    for start in range(len(points)):
        if number[start] < 0:
            number[start] = max(number, default=-1) + 1
            waiting = [start]
            while waiting:
                here = waiting.pop()
                for other in range(len(points)):
                    if near[here][other] and number[other] < 0:
                        number[other] = number[start]
                        waiting.append(other)
    assert group_rows(rows, tolerance + 1e-12).tolist() == number
