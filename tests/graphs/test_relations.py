from __future__ import annotations

import pickle
from dataclasses import fields, replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgnn.graphs import CSR, UNKNOWN, Cells, Graphs, Relations, Structure, Vocabulary
from nn_reference import edges_of
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
        (relation, node_of_pair[pair]): relations.gather.indices[
            bounds[pair] : bounds[pair + 1]
        ].tolist()
        for relation, (start, stop) in enumerate(pairwise(relations.offset))
        for pair in range(start, stop)
    }


def received_by_hand(collection, labels, direction):
    listed: dict[tuple[int, int], list[int]] = {}
    triples = zip(
        collection.edge_source.tolist(),
        collection.edge_target.tolist(),
        collection.edge_label.tolist(),
        strict=True,
    )
    for source, target, label in triples:
        if label < labels:
            listed.setdefault((label, target), []).append(source)
            if direction == "both":
                listed.setdefault((label + labels, source), []).append(target)
    return {pair: sorted(neighbors) for pair, neighbors in listed.items()}


def sent(relations: Relations) -> dict[tuple[int, int], list[int]]:
    """Return the receivers listed for every (relation, source)."""
    listed: dict[tuple[int, int], list[int]] = {}
    sources, bounds = relations.gather.indices.tolist(), relations.spread.indptr.tolist()
    assert relations.gather.indptr.tolist() == list(range(len(sources) + 1))
    for node, (start, stop) in enumerate(pairwise(bounds)):
        for pair in relations.spread.indices[start:stop].tolist():
            relation = int(relations.relation_of_pair[pair])
            listed.setdefault((relation, sources[pair]), []).append(node)
    return listed


def sent_by_hand(collection, labels, direction):
    listed: dict[tuple[int, int], list[int]] = {}
    for source, target, label in edges_of(collection):
        kind = min(label, labels)
        listed.setdefault((kind, source), []).append(target)
        if direction == "both":
            listed.setdefault((kind + labels + 1, target), []).append(source)
    return {pair: sorted(nodes) for pair, nodes in listed.items()}


def cells_by_hand(collection, labels, direction, mean):
    """Return how often each node meets each (relation, neighbor's label), or its share of the node's edges of the relation."""
    edge_labels = len(collection.edge_vocabulary)
    received = received_by_hand(collection, edge_labels, direction)
    counts = torch.zeros(
        collection.num_nodes,
        edge_labels * (1 + (direction == "both")) * labels,
        dtype=torch.float64,
    )
    for (relation, node), neighbors in received.items():
        for neighbor in neighbors:
            label = int(collection.node_label[neighbor])
            if label < labels:
                counts[node, relation * labels + label] += 1 / len(neighbors) if mean else 1
    return counts


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
    collection = Graphs.from_edges(
        [(0, 1), (0, 1), (1, 1), (1, 0)], edge_labels="xxxy", num_nodes=3
    )
    relations = Structure.of(collection, relations=True).relations
    assert received(relations) == {
        (0, 1): [0, 0, 1],
        (1, 0): [1],
        (2, 0): [1, 1],
        (2, 1): [1],
        (3, 1): [0],
    }
    assert relations.offset == (0, 1, 2, 4, 5)


def test_edges_with_the_reserved_label_belong_to_no_relation():
    known = Graphs.from_edges([(0, 1)], edge_labels=["x"])
    collection = Graphs.from_edges(
        [(0, 1), (1, 2)], edge_labels=["x", "new"], like=known.with_node_labels(None), unknown="map"
    )
    assert collection.edge_vocabulary == Vocabulary(["x", UNKNOWN])
    relations = Structure.of(collection, relations=True).relations
    assert received(relations) == {(0, 1): [0], (1, 0): [1]}
    assert relations.num_relations == 2


def test_relations_are_left_out_unless_asked_for_and_count_as_memory():
    collection = Graphs.from_edges([(0, 1), (1, 2)], edge_labels="ab", edge_features=[[1.0], [2.0]])
    plain, listed = Structure.of(collection), Structure.of(collection, relations=True)
    assert plain.relations is None
    assert plain.sources is None
    assert listed.nbytes == plain.nbytes + listed.relations.nbytes + listed.sources.nbytes
    assert (
        listed.relations.nbytes
        == listed.relations.gather.nbytes + listed.relations.spread.nbytes
        > 0
    )
    assert (
        listed.sources.nbytes == listed.sources.gather.nbytes + listed.sources.spread.nbytes + 4 * 4
    )
    assert Structure.of(collection, relations="targets").sources is None
    assert Structure.of(collection, relations="sources").relations is None
    with pytest.raises(
        ValueError, match="relations='edges': choose False, True, 'targets' or 'sources'"
    ):
        Structure.of(collection, relations="edges")


def test_moving_keeps_relations():
    collection = Graphs.from_edges([(0, 1), (1, 2)], edge_labels="ab", edge_features=[[1.0], [2.0]])
    structure = Structure.of(collection, relations=True)
    moved = structure.to("cpu", torch.float64)
    assert received(moved.relations) == received(structure.relations)
    assert sent(moved.sources) == sent(structure.sources)
    assert moved.sources.features.dtype == torch.float64
    assert (
        moved.sources.features.tolist()
        == structure.sources.features.tolist()
        == [[1.0], [2.0], [1.0], [2.0]]
    )


@given(graphs(labels=LABELED, names=False), st.sampled_from(["both", "in"]))
def test_every_edge_stands_in_the_row_of_its_receiver_with_what_its_source_sends(
    collection, direction
):
    labels = len(collection.edge_vocabulary)
    sources = Structure.of(collection, direction=direction, relations="sources").sources
    assert {pair: sorted(nodes) for pair, nodes in sent(sources).items()} == sent_by_hand(
        collection, labels, direction
    )
    assert (
        sources.gather.shape
        == sources.spread.shape[::-1]
        == (sources.offset[-1], collection.num_nodes)
    )
    assert sources.num_relations == (labels + 1) * (2 if direction == "both" else 1)
    assert (sources.features is None) == (collection.edge_features is None)
    if collection.edge_features is None:
        assert sources.gather.nnz == len(sent_by_hand(collection, labels, direction))
    else:
        assert sources.gather.nnz == sources.spread.nnz == len(sources.features)


def test_features_of_edges_stand_beside_their_sources():
    collection = Graphs.from_edges(
        [(0, 1), (2, 1), (0, 1)],
        edge_labels="bab",
        edge_features=[[1.0], [2.0], [3.0]],
        num_nodes=3,
    )
    sources = Structure.of(collection, relations="sources").sources
    where = zip(
        sources.relation_of_pair.tolist(),
        sources.gather.indices.tolist(),
        sources.features[:, 0].tolist(),
        strict=True,
    )
    first = collection.edge_vocabulary.index("b")
    assert sorted(where) == sorted(
        [
            (first, 0, 1.0),
            (first, 0, 3.0),
            (1 - first, 2, 2.0),
            (3 + first, 1, 1.0),
            (3 + first, 1, 3.0),
            (4 - first, 1, 2.0),
        ]
    )


def test_loops_at_a_single_node_are_told_apart_by_their_label():
    collection = Graphs.from_edges(
        [(0, 0), (0, 0), (0, 0)], edge_labels="aab", edge_features=[[1.0], [2.0], [3.0]]
    )
    for graphs_ in (collection, collection._with(edge_features=None)):
        sources = Structure.of(graphs_, relations="sources").sources
        assert sent(sources) == {(0, 0): [0, 0], (1, 0): [0], (3, 0): [0, 0], (4, 0): [0]}


def test_edges_with_the_reserved_label_are_a_relation_of_their_own_by_source():
    known = Graphs.from_edges([(0, 1)], edge_labels=["x"])
    collection = Graphs.from_edges(
        [(0, 1), (1, 2)], edge_labels=["x", "new"], like=known.with_node_labels(None), unknown="map"
    )
    sources = Structure.of(collection, relations="sources").sources
    assert sent(sources) == {(0, 0): [1], (1, 1): [2], (2, 1): [0], (3, 2): [1]}


@given(
    graphs(labels=LABELED, features=False, names=False),
    st.sampled_from(["both", "in"]),
    st.booleans(),
)
def test_cells_count_the_labels_of_neighbors_per_relation(collection, direction, dense):
    labels = len(collection.node_vocabulary)
    relations = Structure.of(collection, direction=direction, relations="targets").relations
    limit = 10**6 if dense else -1
    cells = Cells.of(relations, collection.node_label, labels, dense=limit, dtype=torch.float64)
    assert isinstance(cells.sums, torch.Tensor) == dense
    assert cells.keys.tolist() == cells.index.tolist()
    for counts, mean in ((cells.sums, False), (cells.means, True)):
        expected = cells_by_hand(collection, labels, direction, mean)
        assert cells.keys.tolist() == expected.any(0).nonzero()[:, 0].tolist()
        given_dense = counts if dense else counts.to_dense(torch.float64)
        torch.testing.assert_close(given_dense, expected[:, cells.keys])


def test_only_the_cells_asked_for_are_counted():
    collection = Graphs.from_edges(
        [(0, 1), (2, 1), (1, 0), (0, 1)], edge_labels="xxyx", node_labels="abc"
    )
    relations = Structure.of(collection, direction="in", relations="targets").relations
    every = Cells.of(relations, collection.node_label, 3)
    assert every.keys.tolist() == [0, 2, 4]
    assert every.sums.to_dense().tolist() == [[0, 0, 1], [2, 1, 0], [0, 0, 0]]
    some = Cells.of(relations, collection.node_label, 3, keys=[1, 2, 4])
    assert some.keys.tolist() == [1, 2, 4]
    assert some.sums.to_dense().tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]
    torch.testing.assert_close(
        some.means.to_dense(), torch.tensor([[0, 0, 1], [0, 1 / 3, 0], [0, 0, 0]])
    )
    one = Cells.of(relations, collection.node_label, 3, keys=[0])
    assert isinstance(one.sums, CSR)
    assert isinstance(one.means, CSR)
    assert one.sums.to_dense().tolist() == [[0], [2], [0]]
    none = Cells.of(relations, collection.node_label, 3, keys=[])
    assert (none.sums.shape, none.keys.dtype, none.index.dtype) == (
        (3, 0),
        torch.int64,
        torch.int64,
    )


def test_a_cell_beyond_the_last_one_asked_for_is_not_counted_as_that():
    collection = Graphs.from_edges([(0, 2), (1, 2)], node_labels="abc")
    relations = Structure.of(collection, direction="in", relations="targets").relations
    assert Cells.of(relations, collection.node_label, 3, keys=[0]).sums.to_dense().tolist() == [
        [0],
        [0],
        [1],
    ]


def test_means_are_as_exact_as_their_type():
    collection = Graphs.from_edges([(0, 3), (1, 3), (2, 3)], node_labels="abbc")
    relations = Structure.of(collection, direction="in", relations="targets").relations
    cells = Cells.of(relations, collection.node_label, 3, dense=9, dtype=torch.float64)
    assert cells.means[3].tolist() == [1 / 3, 2 / 3]


def test_neighbors_with_unknown_labels_count_for_nothing_but_in_the_mean():
    collection = Graphs.from_edges([(0, 1), (2, 1)], node_labels="abc")
    relations = Structure.of(collection, direction="in", relations="targets").relations
    cells = Cells.of(relations, collection.node_label, 2, dense=9)
    assert cells.keys.tolist() == [0]
    assert cells.sums.tolist() == [[0], [1], [0]]
    assert cells.means.tolist() == [[0], [0.5], [0]]


def test_an_unknown_label_is_not_taken_for_the_first_one_of_the_next_relation():
    collection = Graphs.from_edges([(1, 2), (0, 2)], edge_labels="xy", node_labels="aba")
    relations = Structure.of(collection, direction="in", relations="targets").relations
    cells = Cells.of(relations, collection.node_label, 1, dense=9)
    assert cells.keys.tolist() == [1]
    assert cells.sums.tolist() == cells.means.tolist() == [[0], [0], [1]]


def reversed_by_hand(relations: Relations) -> dict[tuple[int, int], list[int]]:
    listed: dict[tuple[int, int], list[int]] = {}
    for (relation, node), neighbors in received(relations).items():
        for neighbor in neighbors:
            listed.setdefault((relation, neighbor), []).append(node)
    return {pair: sorted(nodes) for pair, nodes in listed.items()}


@given(graphs(labels=LABELED, features=False, names=False), st.sampled_from(["both", "in"]))
def test_turned_relations_list_who_receives(collection, direction):
    relations = Structure.of(collection, direction=direction, relations="targets").relations
    turned, groups = relations.turned, relations.num_relations
    listed = received(turned)
    if direction == "both":
        assert turned is relations
        listed = {
            ((relation + groups // 2) % groups, node): nodes
            for (relation, node), nodes in listed.items()
        }
    assert listed == reversed_by_hand(relations)
    unmirrored = replace(relations, mirrored=False)
    assert received(unmirrored.turned) == reversed_by_hand(relations)
    assert turned.spread.shape == (collection.num_nodes, turned.offset[-1])
    listed = replace(unmirrored, gather_t=relations.gather.T, spread_t=relations.spread.T)
    assert_fits(listed.turned, collection.num_nodes, collection.num_nodes)


def assert_fits(relations: Relations, senders: int, receivers: int) -> None:
    """Check the shapes and types of both matrices, and that no transpose is that of other pairs."""
    gather, spread = relations.gather, relations.spread
    assert gather.blocks == spread.blocks
    pairs = relations.offset[-1] * gather.blocks
    assert (gather.shape, spread.shape) == ((pairs, senders), (receivers, pairs))
    assert {
        part.dtype for part in (gather.indptr, gather.indices, spread.indptr, spread.indices)
    } == {torch.int32}
    for matrix, transpose in ((gather, relations.gather_t), (spread, relations.spread_t)):
        assert transpose is None or torch.equal(transpose.to_dense(), matrix.to_dense().T)


def in_blocks(relations: Relations, blocks: int) -> Relations:
    return replace(
        relations,
        gather=relations.gather.repeated(blocks),
        spread=relations.spread.repeated(blocks),
    )


def received_in_blocks(relations: Relations) -> dict[tuple[int, int, int], list[int]]:
    """Return the neighbors listed for every (member, relation, node), numbered within the member."""
    listed = {}
    nodes = relations.gather.shape[1] // relations.gather.blocks
    for member in range(relations.gather.blocks):
        for pair in range(relations.offset[-1]):
            row = member * relations.offset[-1] + pair
            start, stop = relations.gather.indptr[row : row + 2].tolist()
            if start < stop:
                key = (
                    member,
                    int(relations.relation_of_pair[pair]),
                    int(relations.owner[row]) - member * nodes,
                )
                listed[key] = [
                    node - member * nodes for node in relations.gather.indices[start:stop].tolist()
                ]
    return listed


@given(graphs(labels=LABELED, features=False, names=False), st.integers(2, 3))
def test_members_blocks_are_turned_each_by_itself(collection, blocks):
    relations = Structure.of(collection, direction="in", relations="targets").relations
    turned = in_blocks(relations, blocks).turned
    assert_fits(turned, blocks * collection.num_nodes, blocks * collection.num_nodes)
    expected = reversed_by_hand(relations)
    assert received_in_blocks(turned) == {
        (m, *pair): nodes for m in range(blocks) for pair, nodes in expected.items()
    }


@pytest.mark.parametrize("edges", [[(0, 1)], [(0, 0)], [(0, 0), (0, 0)]])
def test_the_smallest_blocks_are_turned(edges):
    relations = Structure.of(
        Graphs.from_edges(edges), direction="in", relations="targets"
    ).relations
    turned = in_blocks(relations, 2).turned
    source, target = edges[0]
    assert received_in_blocks(turned) == {(m, 0, source): [target] * len(edges) for m in range(2)}


def test_no_relations_turned_are_none():
    turned = Relations.of(Graphs.from_edges([(0, 1)]), 0, "in").turned
    assert (turned.offset, turned.gather.shape, turned.spread.shape) == ((0,), (0, 2), (2, 0))


@given(
    graphs(labels=LABELED, features=False, names=False),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_averaged_relations_give_every_neighbor_its_share(collection, dtype):
    relations = Structure.of(collection, relations="targets").relations
    averaged = relations.averaged(dtype)
    assert received(averaged) == received(relations)
    assert averaged.gather.values.dtype == dtype
    assert averaged.gather.values.tolist() == [
        torch.tensor(1 / len(neighbors), dtype=dtype).item()
        for neighbors in received(relations).values()
        for _ in neighbors
    ]
    assert relations.gather.values is None
    assert not averaged.mirrored
    assert_fits(averaged, collection.num_nodes, collection.num_nodes)


def test_averages_reversed_are_not_those_of_the_mirrored_edges():
    relations = Structure.of(Graphs.from_edges([(0, 2), (1, 2)]), relations="targets").relations
    back = relations.averaged(torch.float64).turned
    assert received(back) == {(0, 0): [2], (0, 1): [2], (1, 2): [0, 1]}
    assert back.gather.values.tolist() == [0.5, 0.5, 1.0, 1.0]


@given(
    graphs(labels=LABELED, features=False, names=False, max_nodes=12), st.sampled_from([1, 3, 8])
)
def test_pieces_hold_every_pair_once_and_no_more_than_asked_for_but_a_node(collection, size):
    relations = Structure.of(collection, relations="targets").relations
    found, rows = {}, 0
    for first, piece in relations.in_pieces(size):
        assert first == rows
        rows += piece.spread.shape[0]
        assert piece.gather.shape[0] == piece.offset[-1] < size + relations.num_relations
        assert piece.num_relations == relations.num_relations
        found |= {
            (relation, node + first): neighbors
            for (relation, node), neighbors in received(piece).items()
        }
        assert piece.owner.tolist() == [node for _, node in received(piece)]
        assert_fits(piece, collection.num_nodes, piece.spread.shape[0])
    assert rows == collection.num_nodes
    assert found == received(relations)


def test_pieces_keep_values_and_no_foreign_transposes():
    collection = Graphs.from_edges(
        [(0, 1), (2, 1), (1, 0), (0, 3), (3, 2), (0, 2)], edge_labels="xxyxyx"
    )
    relations = Structure.of(collection, direction="in", relations="targets").relations.averaged(
        torch.float64
    )
    listed = replace(relations, gather_t=relations.gather.T, spread_t=relations.spread.T)
    pieces = listed.in_pieces(2)
    assert len(pieces) > 1
    for first, piece in pieces:
        assert_fits(piece, collection.num_nodes, piece.spread.shape[0])
        neighbors = received(piece)
        shares = [1 / len(nodes) for nodes in neighbors.values() for _ in nodes]
        assert piece.gather.values.tolist() == shares
        assert neighbors == {
            (relation, node - first): nodes
            for (relation, node), nodes in received(relations).items()
            if first <= node < first + piece.spread.shape[0]
        }


def test_what_fits_is_left_in_one_piece_and_no_piece_is_without_pairs():
    collection = Graphs.from_edges([(0, 1), (1, 0), (1, 2)], num_nodes=9)
    relations = Structure.of(collection, direction="in", relations="targets").relations
    (first, piece), *others = relations.in_pieces(relations.offset[-1])
    assert (first, others) == (0, [])
    assert piece is relations
    assert [
        (first, piece.offset[-1], piece.spread.shape[0]) for first, piece in relations.in_pieces(2)
    ] == [
        (0, 2, 2),
        (2, 1, 7),
    ]
    assert [piece.offset[-1] for _, piece in relations.in_pieces(1)] == [1, 1, 1]
    last = Graphs.from_edges([(0, 1), (1, 0), (0, 1), (0, 1)], edge_labels="xxyz", num_nodes=5)
    pieces = Structure.of(last, direction="in", relations="targets").relations.in_pieces(2)
    assert [(first, piece.offset[-1], piece.spread.shape[0]) for first, piece in pieces] == [
        (0, 4, 5)
    ]
    twice = in_blocks(relations, 2)
    assert twice.in_pieces(1) == ((0, twice),)


def test_tiles_cover_each_relation_of_each_member():
    collection = Graphs.from_edges(
        [(n, n + 1) for n in range(9)], edge_labels="aaaaaaabb", num_nodes=10
    )
    relations = Structure.of(collection, direction="in", relations="targets").relations
    table, sums = relations.tiles(3)
    assert table.tolist() == [[0, 0, 3], [0, 3, 6], [0, 6, 7], [1, 7, 9]]
    assert sums.to_dense().tolist() == [[1, 1, 1, 0], [0, 0, 0, 1]]
    assert {part.dtype for part in (table, sums.indptr, sums.indices)} == {torch.int32}
    assert relations.tiles(8)[0].tolist() == [[0, 0, 7], [1, 7, 9]]
    twice = in_blocks(relations, 2)
    assert twice.tiles(8)[0].tolist() == [[0, 0, 7], [1, 7, 9], [2, 9, 16], [3, 16, 18]]


def test_what_was_derived_is_kept_but_not_pickled():
    relations = Structure.of(
        Graphs.from_edges([(0, 1), (1, 0)]), direction="in", relations="targets"
    ).relations
    assert relations.averaged(torch.float64) is relations.averaged(torch.float64)
    assert relations.averaged(torch.float32).gather.values.dtype == torch.float32
    assert relations.tiles(2) is relations.tiles(2)
    assert relations.in_pieces(1) is relations.in_pieces(1)
    assert relations.turned is relations.turned
    again = pickle.loads(pickle.dumps(relations))
    assert set(again.__dict__) == {field.name for field in fields(relations)}
    assert received(again) == received(relations)


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
    sources = Structure.from_edge_index(index.cuda(), kinds.cuda(), **options).sources
    expected = Structure.from_edge_index(index, kinds, **options).sources
    assert sources.offset == expected.offset
    assert sent(sources.to("cpu")) == sent(expected)
    label = torch.arange(41) % 7
    cells, on_host = Cells.of(ours, label.cuda(), 7), Cells.of(theirs, label, 7)
    assert torch.equal(cells.keys, on_host.keys)
    for name in ("sums", "means"):
        torch.testing.assert_close(
            getattr(cells, name).to("cpu").to_dense(), getattr(on_host, name).to_dense()
        )
    assert received(theirs.to("cuda").to("cpu")) == received(theirs)
