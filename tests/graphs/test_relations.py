from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.graphs import UNKNOWN, Graphs, Structure, Vocabulary
from edgnn.graphs._relations import Relations
from strategies import INTEGERS, STRINGS, graphs

LABELED = st.sampled_from([None, STRINGS, INTEGERS])


def received(relations: Relations) -> dict[tuple[int, int], list[int]]:
    """Return the neighbors listed for every (relation, node)."""
    node_of_pair = {
        pair: node
        for node, (start, stop) in enumerate(pairwise(relations.spread.indptr.tolist()))
        for pair in relations.spread.indices[start:stop].tolist()
    }
    bounds = relations.gather.indptr.tolist()
    return {
        (relation, node_of_pair[pair]): relations.gather.indices[bounds[pair] : bounds[pair + 1]].tolist()
        for relation, (start, stop) in enumerate(pairwise(relations.offset))
        for pair in range(start, stop)
    }


def received_by_hand(collection, labels, direction):
    listed: dict[tuple[int, int], list[int]] = {}
    triples = zip(collection.edge_source.tolist(), collection.edge_target.tolist(), collection.edge_label.tolist(), strict=True)
    for source, target, label in triples:
        if label < labels:
            listed.setdefault((label, target), []).append(source)
            if direction == "both":
                listed.setdefault((label + labels, source), []).append(target)
    return {pair: sorted(neighbors) for pair, neighbors in listed.items()}


@given(graphs(labels=LABELED, features=False, names=False), st.sampled_from(["both", "in"]))
def test_every_edge_stands_in_the_row_of_its_relation_and_node(collection, direction):
    labels = len(collection.edge_vocabulary)
    relations = Structure.of(collection, direction=direction, relations=True).relations
    assert received(relations) == received_by_hand(collection, labels, direction)
    assert relations.num_relations == labels * (2 if direction == "both" else 1)
    assert relations.gather.shape == (relations.offset[-1], collection.num_nodes)
    assert relations.spread.shape == (collection.num_nodes, relations.offset[-1])
    assert relations.relation_of_pair.tolist() == [
        r for r, (a, b) in enumerate(pairwise(relations.offset)) for _ in range(a, b)
    ]


def test_parallel_edges_and_self_loops_are_counted_one_by_one():
    collection = Graphs.from_edges([(0, 1), (0, 1), (1, 1), (1, 0)], edge_labels="xxxy", num_nodes=3)
    relations = Structure.of(collection, relations=True).relations
    assert received(relations) == {(0, 1): [0, 0, 1], (1, 0): [1], (2, 0): [1, 1], (2, 1): [1], (3, 1): [0]}
    assert relations.offset == (0, 1, 2, 4, 5)


def test_edges_with_the_reserved_label_belong_to_no_relation():
    known = Graphs.from_edges([(0, 1)], edge_labels=["x"])
    collection = Graphs.from_edges([(0, 1), (1, 2)], edge_labels=["x", "new"], like=known.with_node_labels(None), unknown="map")
    assert collection.edge_vocabulary == Vocabulary(["x", UNKNOWN])
    relations = Structure.of(collection, relations=True).relations
    assert received(relations) == {(0, 1): [0], (1, 0): [1]}
    assert relations.num_relations == 2


def test_relations_are_left_out_unless_asked_for_and_count_as_memory():
    collection = Graphs.from_edges([(0, 1), (1, 2)], edge_labels="ab")
    plain, listed = Structure.of(collection), Structure.of(collection, relations=True)
    assert plain.relations is None
    assert listed.nbytes == plain.nbytes + listed.relations.nbytes
    assert listed.relations.nbytes == listed.relations.gather.nbytes + listed.relations.spread.nbytes > 0


def test_moving_keeps_relations():
    structure = Structure.of(Graphs.from_edges([(0, 1), (1, 2)], edge_labels="ab"), relations=True)
    assert received(structure.to("cpu", torch.float64).relations) == received(structure.relations)


@pytest.mark.gpu
@pytest.mark.parametrize("direction", ["both", "in"])
def test_cuda_relations_agree_with_the_cpu(direction):
    index = torch.randint(0, 40, (2, 300), generator=torch.Generator().manual_seed(0))
    kinds = torch.randint(0, 5, (300,), generator=torch.Generator().manual_seed(1))
    options = {"num_nodes": 41, "num_edge_labels": 6, "direction": direction, "relations": True}
    ours = Structure.from_edge_index(index.cuda(), kinds.cuda(), **options).relations
    theirs = Structure.from_edge_index(index, kinds, **options).relations
    assert ours.offset == theirs.offset
    assert received(ours.to("cpu")) == received(theirs)
    assert received(theirs.to("cuda").to("cpu")) == received(theirs)
