import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import edgnn
from edgnn.errors import StudyError
from edgnn.evaluation import protocol_splits, run_splits
from edgnn.studies import Cell, Task, _cells, find_table, recipe

_TWICE = """
import json, sys
import pytest, torch
import small_tables
from edgnn.studies import Cell, Task, _cells
torch.set_num_threads(int(sys.argv[1]))
one = small_tables.use(pytest.MonkeyPatch())
for row in ("edgnn", "wl-subtree"):
    found = _cells.compute(Task(Cell("graphs", "MUTAG", row, 1), one, one.row(row), jobs=int(sys.argv[1])))
    print(json.dumps([found.fingerprint, [one.probability.tolist() for one in found.evaluation.outcomes], found.history]))
"""


def task(one, row, run=0, protocol="paper", dataset="MUTAG", **options):
    return Task(Cell(one.name, dataset, row, run, protocol), one, one.row(row), **options)


def same(one, two):
    return (
        one.repeat,
        one.fold,
        one.seed,
        one.train.tolist(),
        one.test.tolist(),
        one.valid.tolist(),
    ) == (
        two.repeat,
        two.fold,
        two.seed,
        two.train.tolist(),
        two.test.tolist(),
        two.valid.tolist(),
    )


def test_the_splits_of_a_run_are_those_of_its_repeat():
    data = edgnn.load_dataset("MUTAG")
    all_runs = protocol_splits(data, "cv10", runs=10, validation=0.1)
    for run in (0, 7):
        alone = _cells.splits_of(task(find_table("graphs"), "edgnn", run), data)
        assert all(map(same, alone, [split for split in all_runs if split.repeat == run]))
    later = _cells.splits_of(task(replace(find_table("graphs"), seed=100), "edgnn", 2), data)
    assert all(
        map(
            same,
            later,
            [replace(split, repeat=2) for split in protocol_splits(data, "cv10", runs=1, seed=102)],
        )
    )


def test_folds_of_the_training_part_never_see_the_test_part():
    data = edgnn.load_dataset("MUTAG")
    split = {"train": np.arange(60, 188), "test": np.arange(60)}
    parted = edgnn.Dataset("parted", data.graphs, data.targets, split=split)
    splits = protocol_splits(parted, "train-cv10x2", validation=0.1)
    assert len(splits) == 20
    for one in splits:
        assert sorted([*one.known, *one.test]) == list(range(60, 188))
        assert len(one.valid) == 13
    assert sorted(item for one in splits[:10] for item in one.test) == list(range(60, 188))
    alone = run_splits(parted, "train-cv10", run=1, validation=0.1)
    assert all(map(same, alone, splits[10:]))


def test_rows_have_the_estimator_of_their_settings(data_dir):
    nodes = find_table("nodes")
    for name in nodes.datasets:
        data = edgnn.load_dataset(name, data_dir=data_dir)
        paper, closest = (recipe(row, "node", name) for row in ("paper", "closest"))
        made = {
            row: _cells.estimator_of(task(nodes, row, dataset=name), data)
            for row in ("edgnn", "edgnn-emb", "edgnn-reg", "edgnn-text")
        }
        for row, own, stored in (
            ("edgnn", {}, closest),
            ("edgnn-emb", {"embedding": 64, "edge_embedding": 64}, closest),
            ("edgnn-reg", {"direction": "in"}, closest),
            ("edgnn-text", {}, paper),
        ):
            assert {
                key: getattr(made[row], key) for key in stored.estimator | own
            } == stored.estimator | own
        valid = [
            len(_cells.splits_of(task(nodes, row, dataset=name), data)[0].valid)
            for row in ("edgnn", "edgnn-text")
        ]
        assert valid == {"AIFB": [35, 35], "MUTAG-RDF": [54, 68]}[name]
        assert _cells.splits_of(task(nodes, "rgcn", dataset=name), data)[0].valid is None
        repeated = _cells.splits_of(task(find_table("nodes-repeated"), "edgnn", dataset=name), data)
        assert len(repeated) == 5
        assert len(repeated[0].valid) == {"AIFB": 35, "MUTAG-RDF": 54}[name]


def test_a_cell_says_all_that_is_known_of_it(small):
    threads = torch.get_num_threads()
    found = _cells.compute(task(small, "edgnn", 1))
    assert torch.get_num_threads() == threads
    assert found.evaluation.metrics == ("accuracy", "balanced_accuracy", "roc_auc")
    assert {split.repeat for split in found.evaluation.splits} == {1}
    assert [row["epoch"] for row in found.history] == [1, 2, 3]
    assert len(found.history[0]["valid_loss"]) == 3
    assert 0 < found.seconds < 100
    assert found.memory > 2**24
    assert (
        found.settings["model"],
        found.settings["seed"],
        found.settings["parameters"]["hidden"],
    ) == ("edgnn", 1, 8)
    assert found.settings["data"]["sha256"]["MUTAG_A.txt"].startswith("d9656ca7")
    assert 0.9 < found.ceiling <= 1
    assert 0 < found.evaluation.training_accuracy <= found.ceiling
    assert found.environment["threads"] == 1
    assert _cells.compute(task(small, "wl-subtree")).history == []


def test_models_without_probabilities_have_no_roc_auc(small):
    csm = replace(small.row("majority"), id="csm", model="csm", estimator={"k": 2, "C": [1.0]})
    found = _cells.compute(Task(Cell("graphs", "MUTAG", "csm", 0), small, csm))
    assert found.evaluation.metrics == ("accuracy", "balanced_accuracy")


def test_a_nested_cell_keeps_every_candidate(small, monkeypatch):
    monkeypatch.setattr(_cells, "search_grid", lambda level: [{"hidden": 4}, {"hidden": 6}])
    found = _cells.compute(task(small, "edgnn", protocol="nested"))
    chosen = found.evaluation.outcomes[0].chosen
    assert set(chosen["candidates"]) == {"hidden=4", "hidden=6"}
    assert found.settings["parameters"]["candidates"] == {
        "hidden=4": {"hidden": 4},
        "hidden=6": {"hidden": 6},
    }
    assert found.evaluation.metrics[-1] == "roc_auc"
    assert found.history == []


@pytest.mark.slow
def test_a_cell_predicts_the_same_in_any_process_with_any_number_of_threads(small, run_python):
    import small_tables

    place = str(small_tables.__file__).rsplit("/", 1)[0]
    printed = run_python(_TWICE, 2, PYTHONPATH=place, PYTHONHASHSEED="2").splitlines()
    for line, row in zip(printed, ("edgnn", "wl-subtree"), strict=True):
        found = _cells.compute(task(small, row, 1))
        chances = [outcome.probability.tolist() for outcome in found.evaluation.outcomes]
        assert json.loads(line) == json.loads(
            json.dumps([found.fingerprint, chances, found.history])
        )


def test_the_fingerprint_is_that_of_what_predictions_depend_on(small):
    data = edgnn.load_dataset("MUTAG")

    def fingerprint(**changes):
        changed = replace(task(small, "edgnn"), **changes)
        return _cells.fingerprint_of(
            _cells.settings_of(changed, data, _cells.estimator_of(changed, data))
        )

    row = small.row("edgnn")
    assert fingerprint() == fingerprint(jobs=7, data_dir="elsewhere")
    others = [
        fingerprint(cell=Cell("graphs", "MUTAG", "edgnn", 1)),
        fingerprint(row=replace(row, estimator={"hidden": 9})),
        fingerprint(row=replace(row, validation=0.2)),
        fingerprint(row=replace(row, model="gin", settings=None, estimator={})),
        fingerprint(table=replace(small, protocol={"graph": "cv4"})),
        fingerprint(table=replace(small, seed=100)),
        fingerprint(cell=Cell("graphs", "MUTAG", "edgnn", 0, "nested")),
    ]
    assert len({fingerprint(), *others}) == 8


def test_runs_trained_together_are_one_result_each(small):
    alone = _cells.compute(task(small, "edgnn", 1))
    first, second = _cells.compute_together(replace(task(small, "edgnn"), together=(0, 1)).each())
    assert [first.cell.run, second.cell.run] == [0, 1]
    assert second.fingerprint == alone.fingerprint
    assert all(map(same, second.evaluation.splits, alone.evaluation.splits))
    assert second.evaluation.settings == alone.evaluation.settings
    for mine, its in zip(second.evaluation.outcomes, alone.evaluation.outcomes, strict=True):
        np.testing.assert_allclose(mine.probability, its.probability, atol=1e-4)
    assert second.history == []
    assert len(first.history[0]["train_loss"]) == 2 * len(alone.history[0]["train_loss"])


def test_transforms_change_labels_or_directions():
    rings, turned = (_cells.transformed("MUTAG", None, kind) for kind in ("ring-sizes", "turned"))
    data = edgnn.load_dataset("MUTAG")
    assert ("C", 6) in rings.graphs.node_vocabulary
    assert turned.graphs.edge_source.tolist() == data.graphs.edge_target.tolist()
    with pytest.raises(StudyError, match="transform 'other'"):
        _cells.transformed("MUTAG", None, "other")
