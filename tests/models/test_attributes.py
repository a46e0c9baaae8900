"""Attributes and features of graphs in run folders, and in the hash that a run knows its data by."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given

from edgnn.errors import GraphError, RunError
from edgnn.graphs import Graphs, Nodes
from edgnn.models import WLClassifier, fingerprint, load_model
from edgnn.models._fingerprint import _ARRAYS
from edgnn.models._runs import check_data, start_run
from edgnn.models._state import pack_items, unpack_items
from strategies import graphs

PATHS = Graphs.from_edges(
    [(0, 1), (2, 3), (4, 5), (6, 7)], sizes=[2, 2, 2, 2], node_labels="ababaccc"
)
FULL = PATHS.with_attributes(
    node={"charge": range(8), "isotope": [300] * 8}, edge={"stereo": [0, 1, 2, 0]}
).with_graph_features([[0.5], [1.0], [1.5], [2.0]], "dose")
TARGETS = np.array([0, 0, 1, 1])


@given(graphs(attributes=True))
def test_stored_items_come_back_with_attributes_and_features(collection):
    stored = pack_items(collection)
    assert unpack_items(stored).equals(collection)


def test_attributes_are_stored_as_the_small_numbers_that_they_are():
    stored = pack_items(FULL)
    assert stored["items.node_attributes"].dtype == torch.int16
    assert stored["items.edge_attributes"].dtype == torch.int8
    huge = PATHS.with_attributes(node={"hash": [2**40] * 8})
    assert unpack_items(pack_items(huge)).equals(huge)


def test_items_stored_without_attributes_have_none():
    assert set(pack_items(PATHS)) == set(pack_items(FULL)) - {
        "items.node_attributes",
        "items.edge_attributes",
        "items.graph_features",
    }


def test_stored_attributes_that_are_none_are_refused():
    stored = pack_items(FULL)
    with pytest.raises(ValueError, match="attributes are whole numbers"):
        unpack_items(stored | {"items.node_attributes": torch.zeros(8, 2)})
    with pytest.raises(GraphError, match="3 rows of edge attributes"):
        unpack_items(stored | {"items.edge_attributes": torch.zeros(3, 1, dtype=torch.int8)})


def test_a_saved_model_keeps_the_attributes_of_the_graphs_it_learned_from(tmp_path):
    model = WLClassifier().fit(FULL, TARGETS)
    model.save(tmp_path / "run")
    assert load_model(tmp_path / "run")._items.node_attributes.equal(FULL.node_attributes)


def test_the_hash_of_data_does_not_know_attributes_unless_a_model_reads_them():
    plain = FULL.labeled().with_graph_features(None)
    assert fingerprint(plain, TARGETS) == fingerprint(PATHS, TARGETS)
    without_features = FULL.with_graph_features(None)
    assert fingerprint(without_features, TARGETS) == fingerprint(PATHS, TARGETS)
    hashes = {
        fingerprint(X, TARGETS, attributes=True)
        for X in (
            plain,
            without_features,
            without_features.with_attributes(node={"charge": [0] * 8}),
            without_features.with_attributes(edge={"bond": [0, 1, 2, 0]}),
        )
    }
    assert len(hashes) == 4


def test_the_hash_of_data_without_attributes_is_that_of_every_version():
    digest = hashlib.sha256()
    for name in _ARRAYS:
        array = getattr(PATHS, name)
        if array is None:
            digest.update(f"{name} none;".encode())
            continue
        digest.update(f"{name} <i8 {tuple(array.shape)};".encode() + array.numpy().tobytes())
    digest.update(b'items none;["a", "b", "c"][null]targets <i8 (4,);' + TARGETS.tobytes())
    assert fingerprint(PATHS, TARGETS) == digest.hexdigest()


def test_the_hash_of_data_knows_features_of_graphs():
    hashes = {
        fingerprint(PATHS, TARGETS),
        fingerprint(FULL, TARGETS),
        fingerprint(FULL.with_graph_features([[1]] * 4, "dose"), TARGETS),
        fingerprint(FULL.with_graph_features(FULL.graph_features, "weight"), TARGETS),
    }
    assert len(hashes) == 4


def test_a_run_of_a_model_that_reads_attributes_notices_when_they_change(tmp_path):
    class Reading(WLClassifier):
        reads_attributes = True

    changed = FULL.with_attributes(node={"charge": [0] * 8})
    blind = start_run(tmp_path / "blind", WLClassifier(random_state=0), FULL, TARGETS)
    check_data(blind, changed, TARGETS)
    assert (
        start_run(tmp_path / "reading", Reading(random_state=0), FULL, TARGETS).config[
            "data_sha256"
        ]
        != start_run(tmp_path / "other", Reading(random_state=0), changed, TARGETS).config[
            "data_sha256"
        ]
    )
    with pytest.raises(RunError, match="the data is not what"):
        check_data(blind, changed.with_graph_features(None), TARGETS)


def test_nodes_are_stored_with_the_attributes_of_their_graphs():
    back = unpack_items(pack_items(Nodes(FULL, [3, 1])))
    assert back.index.tolist() == [3, 1]
    assert back.graphs.equals(FULL)
