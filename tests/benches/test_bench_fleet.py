import sys

import numpy as np
import pytest
import torch

import edgnn
from benchmarks import Row, Skipped, _fleet, _gine
from benchmarks._fleet import CUDA, QUICK, fleet, folds, plot
from benchmarks._gine import GineModels, as_pyg, gine, train_gine
from edgnn.errors import TrainingError
from edgnn.studies import recipe


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


def test_a_part_of_the_epochs_is_counted_for_all(mutag, monkeypatch):
    pytest.importorskip("torch_geometric")
    models = GineModels(
        mutag, folds(188, 3), batch_norm=False, epochs=40, timed_epochs=1, device="cpu"
    )
    monkeypatch.setattr("benchmarks._gine.timed", lambda function, device: (0.25, None))
    models.train_some()
    models.train_some()
    assert models.times == [10.0] * 4
    assert models.seconds == 10.0


@pytest.mark.slow
def test_bench_fleet_compares_with_the_peer_with_time_and_with_its_own_size(data_dir):
    pytest.importorskip("torch_geometric")
    rows = list(fleet(data_dir=data_dir, quick=True))
    assert all(isinstance(row, Row) and row.ours_s > 0 for row in rows)
    assert [row.goal for row in rows] == ["≥ 10×", "≥ 10×", "≤ 5 s", "", "", "", "", "≤ 0.7 s"]
    for row, models in zip(rows[:3], (4, 4, 20), strict=True):
        assert row.extra["peer_models_timed"] == models // 2
        assert row.peer.endswith("(from 1 of 2 epochs)")
        assert row.peer_s == pytest.approx(models * row.extra["peer_ms_per_model"] / 1e3, rel=0.01)
        assert 0 < row.extra["test_accuracy"] <= 1
    assert rows[2].what.startswith("20 models of 5 TU sets")
    assert rows[2].met is (rows[2].ours_s <= 5)
    svg = plot(rows)
    assert svg.count('class="chart"') == 2
    assert svg.count("<polyline") == 3


def test_bench_fleet_without_pyg_or_data_times_the_rest_and_says_what_it_left_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    monkeypatch.setattr("benchmarks._fleet.folder_of", lambda name, data_dir: None)
    rows = list(fleet(quick=True))
    left_out = [row.reason for row in rows if isinstance(row, Skipped)]
    assert left_out[:2] == ["torch_geometric is not installed"] * 2
    assert left_out[2].startswith("PTC_FM, PTC_FR, PTC_MM, PTC_MR: not on this machine")
    assert all(reason.startswith("AIFB is not on this machine") for reason in left_out[3:])
    assert len(left_out) == 5
    timed = [row for row in rows if isinstance(row, Row)]
    assert len(timed) == 5
    assert all(row.peer_s is None and row.met is None for row in timed)


def test_fleets_are_trained_with_the_settings_of_the_paper():
    graph, node = (recipe("paper", level).estimator for level in ("graph", "node"))
    ours = {
        "layers": _gine.LAYERS,
        "hidden": _gine.HIDDEN,
        "batch_size": _gine.BATCH_SIZE,
        "max_epochs": CUDA.epochs,
    }
    ours |= {"learning_rate": _gine.LEARNING_RATE, "weight_decay": _gine.WEIGHT_DECAY}
    assert {name: graph[name] for name in ours} == ours
    ours = {
        "layers": _gine.LAYERS,
        "hidden": _gine.HIDDEN,
        "max_epochs": CUDA.node_epochs,
        "weight_decay": 0.0,
    }
    ours |= {
        "learning_rate": _fleet.NODE_LEARNING_RATE,
        "dropout": _fleet.NODE_DROPOUT,
        "degree_labels": "in",
    }
    assert {name: node[name] for name in ours} == ours


def test_the_run_that_is_published_trains_five_hundred_models():
    assert (CUDA.models, CUDA.epochs, CUDA.all_sets, CUDA.all_sets_goal) == (100, 40, True, "≤ 5 s")
    assert (CUDA.node_members[-1], CUDA.node_epochs, CUDA.node_goal) == (20, 400, "≤ 0.7 s")
    assert QUICK.all_sets_goal == CUDA.all_sets_goal


def test_a_fleet_too_large_for_the_device_is_left_out_and_the_others_are_timed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    monkeypatch.setattr("benchmarks._fleet.folder_of", lambda name, data_dir: None)
    train = _fleet.train

    def short_of_memory(kind, config, inputs, targets, members, settings, **options):
        if len(members) == 4:
            raise TrainingError(
                "out of memory on cuda with 4 members and batches of 8 graphs each: lower batch_size"
            )
        return train(kind, config, inputs, targets, members, settings, **options)

    monkeypatch.setattr(_fleet, "train", short_of_memory)
    rows = list(fleet(quick=True))
    assert [row.what for row in rows if isinstance(row, Row)] == [
        "fleet of 1, 2 epochs",
        "fleet of 2, 2 epochs",
    ]
    assert "MUTAG (graphs), fleet of 4" in [row.what for row in rows if isinstance(row, Skipped)]
    assert "out of memory on cpu" in [row.reason for row in rows if isinstance(row, Skipped)]
