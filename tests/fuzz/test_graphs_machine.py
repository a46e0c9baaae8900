"""Graphs under random operations, beside plain Python lists that say what they must hold."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

import edgnn
from edgnn import wl
from edgnn.errors import EdgnnError
from edgnn.graphs import Graphs
from fuzz.mutations import CAMPAIGN, check_line, no_waiting_for_the_disk

LABELS = st.sampled_from(["C", "N", "", "ß", "a b"])


class GraphsMachine(RuleBasedStateMachine):
    """A model is a list of graphs, each (labels of nodes, edges as (source, target, label))."""

    kept = Bundle("kept")

    @rule(target=kept, data=st.data())
    def build(self, data):
        model = []
        for _ in range(data.draw(st.integers(0, 3))):
            nodes = data.draw(st.lists(LABELS, max_size=4))
            ends = st.integers(0, len(nodes) - 1)
            edges = data.draw(st.lists(st.tuples(ends, ends, LABELS), max_size=5)) if nodes else []
            model.append((nodes, edges))
        return made(model), model

    @rule(target=kept, one=kept, other=kept)
    def join(self, one, other):
        return Graphs.concat([one[0], other[0]]), one[1] + other[1]

    @rule(
        target=kept,
        one=kept,
        start=st.integers(-4, 4),
        stop=st.integers(-4, 4),
        step=st.sampled_from([1, 2, -1]),
    )
    def slice(self, one, start, stop, step):
        return one[0][start:stop:step], one[1][start:stop:step]

    @rule(target=kept, one=kept, data=st.data())
    def choose(self, one, data):
        if not one[1]:
            return one
        places = data.draw(st.lists(st.integers(0, len(one[1]) - 1), max_size=4))
        return one[0][torch.tensor(places, dtype=torch.int64)], [one[1][place] for place in places]

    @rule(target=kept, one=kept)
    def reverse(self, one):
        return one[0].reverse(), [
            (nodes, [(target, source, label) for source, target, label in edges])
            for nodes, edges in one[1]
        ]

    @rule(target=kept, one=kept, label=LABELS)
    def relabel(self, one, label):
        found = one[0].with_edge_labels([label] * one[0].num_edges)
        return found, [
            (nodes, [(source, target, label) for source, target, _ in edges])
            for nodes, edges in one[1]
        ]

    @rule(target=kept, one=kept)
    def pickled(self, one):
        return pickle.loads(pickle.dumps(one[0])), one[1]

    @rule(target=kept, one=kept, kind=st.sampled_from(["x.graphs", "tables"]))
    def stored(self, one, kind):
        with TemporaryDirectory() as folder, no_waiting_for_the_disk():
            place = Path(folder) / kind
            try:
                edgnn.write(one[0], place, format="arrays" if kind == "x.graphs" else "tables")
            except EdgnnError as error:
                check_line(str(error))
                return one
            if kind == "tables":
                assert edgnn.read(place).num_edges == one[0].num_edges
                return one
            found = edgnn.read(place, verify=True)
            return pickle.loads(pickle.dumps(found)), one[1]

    @rule(one=kept)
    def through_networkx(self, one):
        if one[1]:
            found = edgnn.from_networkx(edgnn.to_networkx(one[0][0]))
            assert (found.num_nodes, found.num_edges) == (len(one[1][0][0]), len(one[1][0][1]))

    @rule(one=kept, index=st.integers(-9, 9))
    def one_graph(self, one, index):
        try:
            expected = one[1][index]
        except IndexError:
            try:
                one[0][index]
                raise AssertionError("an index out of range was taken")
            except IndexError as error:
                check_line(str(error))
            return
        check_same(one[0][index], [expected])

    @rule(one=kept, scheme=st.sampled_from(["node", "separate", "joint"]))
    def refine(self, one, scheme):
        coloring = wl.refine(one[0], rounds=2, scheme=scheme)
        reversed_order = wl.refine(one[0][::-1], rounds=2, scheme=scheme)
        assert sorted(map(len, histograms(coloring, one[0]))) == sorted(
            map(len, histograms(reversed_order, one[0][::-1]))
        )

    @rule(one=kept)
    def compare(self, one):
        for graph in one[0][:2]:
            assert not wl.compare(graph, graph).distinguished

    @rule(one=kept)
    def structure(self, one):
        structure = edgnn.Structure.of(one[0], multiplicity="per-edge")
        assert structure.neighbors.nnz == 2 * sum(len(edges) for _, edges in one[1])

    @rule(one=kept)
    def same(self, one):
        check_same(*one)

    @invariant()
    def nothing_is_left_open(self):
        assert torch.is_grad_enabled()


def histograms(coloring, graphs):
    colors, offset = coloring.at(2).tolist(), graphs.graph_offset.tolist()
    return [set(colors[start:stop]) for start, stop in pairwise(offset)]


def made(model):
    edges, labels, start = [], [], 0
    for nodes, own in model:
        edges += [(start + source, start + target) for source, target, _ in own]
        labels += [label for _, _, label in own]
        start += len(nodes)
    return Graphs.from_edges(
        edges,
        sizes=[len(nodes) for nodes, _ in model],
        node_labels=[label for nodes, _ in model for label in nodes],
        edge_labels=labels,
    )


def check_same(graphs, model):
    assert len(graphs) == len(model)
    for graph, (nodes, edges) in zip(graphs, model, strict=True):
        assert graph.node_labels == nodes
        found = zip(
            graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels, strict=True
        )
        assert list(found) == edges


TestGraphs = GraphsMachine.TestCase
TestGraphs.settings = settings(
    max_examples=40 if not CAMPAIGN else int(400 * CAMPAIGN),
    stateful_step_count=15,
    derandomize=True,
    database=None,
    deadline=None,
)
