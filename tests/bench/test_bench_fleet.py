import sys

import numpy as np
import pytest
import torch

import edgnn
from edgnn.bench import Row, Skipped
from edgnn.bench._fleet import as_pyg, fleet, folds, gine, train_gine


@pytest.fixture(scope="module")
def mutag():
    return edgnn.load_dataset("MUTAG")


@pytest.fixture
def loader():
    return pytest.importorskip("torch_geometric.loader").DataLoader


def test_hundred_models_are_ten_times_ten_folds():
    splits = folds(188, 100)
    assert len(splits) == 100
    for repeat in range(10):
        tests = np.concatenate([test for _, _, test in splits[10 * repeat : 10 * repeat + 10]])
        assert np.array_equal(np.sort(tests), np.arange(188))
    for training, validation, test in splits:
        assert len(validation) == 18
        assert np.array_equal(np.sort(np.concatenate([training, validation, test])), np.arange(188))
    assert not np.array_equal(splits[0][2], splits[10][2])


def test_the_peer_gets_nothing_to_collate_but_what_it_reads(mutag):
    pytest.importorskip("torch_geometric")
    data = as_pyg(mutag)
    assert len(data) == 188
    assert set(data[0].keys()) == {"x", "edge_index", "edge_attr", "y"}
    assert (data[0].x.shape[1], data[0].edge_attr.shape[1]) == (7, 4)
    assert [int(item.y) for item in data] == mutag.targets.tolist()


@pytest.mark.parametrize("batch_norm", [False, True])
def test_the_peer_reads_edge_labels_and_treats_each_graph_by_itself(mutag, loader, batch_norm):
    data = as_pyg(mutag)[:5]
    model = gine(7, 4, 2, batch_norm).eval()
    with torch.no_grad():
        together = model(next(iter(loader(data, 5))))
        alone = torch.cat([model(batch) for batch in loader(data, 1)])
        torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-4)
        for item in data:
            item.edge_attr = item.edge_attr.roll(1, 1)
        assert not torch.allclose(model(next(iter(loader(data, 5)))), together)


def test_the_peer_learns(mutag, loader):
    data = as_pyg(mutag)
    training, validation, _ = folds(188, 1)[0]
    torch.manual_seed(0)
    losses = train_gine(gine(7, 4, 2), data, training, validation, epochs=5, device="cpu")
    assert len(losses) == 5
    assert losses[-1] < losses[0]


@pytest.mark.slow
def test_bench_fleet_compares_with_the_peer_and_with_its_own_size(data_dir):
    pytest.importorskip("torch_geometric")
    rows = list(fleet(data_dir=data_dir, quick=True))
    assert all(isinstance(row, Row) and row.ours_s > 0 for row in rows)
    assert [row.goal for row in rows] == ["≥ 10×"] * 2 + [""] * 5
    for row in rows[:2]:
        assert row.extra["peer_models_timed"] == 2
        assert row.peer_s == pytest.approx(4 * row.extra["peer_ms_per_model"] / 1e3, rel=0.01)
        assert 0 < row.extra["test_accuracy"] <= 1


def test_bench_fleet_without_pyg_or_aifb_says_what_it_left_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    monkeypatch.setattr("edgnn.bench._fleet.folder_of", lambda name, data_dir: None)
    rows = list(fleet(quick=True))
    left_out = [row.reason for row in rows if isinstance(row, Skipped)]
    assert left_out[:2] == ["torch_geometric is not installed"] * 2
    assert all(reason.startswith("AIFB is not on this machine") for reason in left_out[2:])
    assert len(left_out) == 4
    assert len(rows) == 7
