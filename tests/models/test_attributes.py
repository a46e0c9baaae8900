"""Attributes and features of graphs in run folders, and in the hash that a run knows its data by."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from edgnn.errors import RunError
from edgnn.graphs import Graphs
from edgnn.models import WLClassifier, check_data, fingerprint, load_model, start_run

PATHS = Graphs.from_edges(
    [(0, 1), (2, 3), (4, 5), (6, 7)], sizes=[2, 2, 2, 2], node_labels="ababaccc"
)
FULL = PATHS.with_attributes(
    node={"charge": range(8), "isotope": [300] * 8}, edge={"stereo": [0, 1, 2, 0]}
).with_graph_features([[0.5], [1.0], [1.5], [2.0]], "dose")
TARGETS = np.array([0, 0, 1, 1])


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves a model of graphs, and returns the file of its tensors."""

    def save(graphs):
        WLClassifier().fit(graphs, TARGETS).save(tmp_path / "run", overwrite=True)
        return tmp_path / "run" / "model.safetensors"

    return save


@pytest.mark.parametrize(
    "graphs", [PATHS, FULL, FULL.with_attributes(node={"hash": [2**40] * 8}), FULL.labeled()]
)
def test_a_saved_model_keeps_the_graphs_it_learned_from(saved, graphs):
    back = load_model(saved(graphs).parent)._items
    for name in ("node_attributes", "edge_attributes", "graph_features"):
        one, other = getattr(back, name), getattr(graphs, name)
        assert (one is None) == (other is None)
        assert one is None or (one.dtype == other.dtype and one.equal(other))
    assert back.node_attribute_names == graphs.node_attribute_names
    assert back.edge_attribute_names == graphs.edge_attribute_names
    assert back.graph_feature_names == graphs.graph_feature_names


def test_attributes_are_stored_as_the_small_numbers_that_they_are(saved):
    stored = load_file(saved(FULL))
    assert stored["items.node_attributes"].dtype == torch.int16
    assert stored["items.edge_attributes"].dtype == torch.int8
    plain = load_file(saved(PATHS))
    assert set(stored) - set(plain) == {
        "items.node_attributes",
        "items.edge_attributes",
        "items.graph_features",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"items.node_attributes": torch.zeros(8, 2)},
        {"items.edge_attributes": torch.zeros(3, 1, dtype=torch.int8)},
        {"items.graph_features": torch.full((4, 1), float("nan"))},
    ],
)
def test_stored_attributes_that_fit_no_graphs_are_refused(saved, wrong):
    path = saved(FULL)
    save_file(load_file(path) | wrong, path)
    with pytest.raises(RunError):
        load_model(path.parent)


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
    for name in ("graph_offset", "node_label", "edge_source", "edge_target", "edge_label"):
        array = getattr(PATHS, name)
        digest.update(f"{name} <i8 {tuple(array.shape)};".encode() + array.numpy().tobytes())
    digest.update(b"node_features none;edge_features none;")
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
