import json
import os

import numpy as np
import pytest
from filelock import FileLock

from edgnn.errors import FormatError, StudyError
from edgnn.evaluation import Evaluation, Outcome, Split
from edgnn.studies import Cell, CellResult, Study
from study_pages import change_cell

CELL = Cell("graphs", "MUTAG", "edgnn", 3)


def result(cell=CELL, right=1):
    split = Split(np.arange(4), np.arange(4, 6), None, cell.run, 0, 7)
    probability = np.array([[0.25, 0.75], [1 / 3, 2 / 3]])
    outcome = Outcome(np.array([1, right]), probability, {"best_epoch": [2]}, 0.75)
    truth = np.array([0, 1, 0, 1, 1, 1])
    evaluation = Evaluation(
        "classes",
        ("accuracy", "balanced_accuracy"),
        (split,),
        truth,
        (outcome,),
        (0, 1),
        ("no", "yes"),
    )
    history = [{"epoch": 1, "train_loss": [0.5], "valid_loss": [float("nan")]}]
    return CellResult(
        cell, evaluation, 1.5, 2**20, history, {"seed": 3}, {"processor": "abacus"}, 0.9, "f" * 64
    )


@pytest.fixture
def study(tmp_path):
    return Study.create(tmp_path / "study")


def test_a_cell_is_read_as_it_was_written(study):
    study.write(result())
    found = Study.open(study.path).read(CELL)
    assert (found.cell, found.seconds, found.memory, found.ceiling) == (CELL, 1.5, 2**20, 0.9)
    assert (found.settings, found.environment, found.fingerprint) == (
        {"seed": 3},
        {"processor": "abacus"},
        "f" * 64,
    )
    assert np.isnan(found.history[0]["valid_loss"]).all()
    assert found.evaluation.outcomes[0].probability[1, 0] == 1 / 3
    assert (
        found.evaluation.mean,
        found.evaluation.training_accuracy,
        found.evaluation.splits[0].repeat,
    ) == (1.0, 0.75, 3)


def test_cells_lie_where_their_names_say_and_come_in_the_order_of_the_table(study):
    cells = [
        Cell("nodes", "AIFB", "edgnn", 0),
        Cell("graphs", "MUTAG", "edgnn", 12, "nested"),
        Cell("graphs", "MUTAG", "edgnn", 2),
        Cell("graphs", "MUTAG", "csm", 0),
    ]
    for cell in cells:
        study.write(result(cell))
    (study.path / "cells/graphs/MUTAG/unheard").mkdir()
    (study.path / "cells/graphs/MUTAG/edgnn/run-00.json.old").touch()
    assert study.cells() == [cells[3], cells[2], cells[1], cells[0]]
    assert (study.path / "cells/graphs/MUTAG/edgnn.nested/run-12.json").is_file()
    assert study.has(cells[0])
    assert not study.has(CELL)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"seconds": 1.5', b'"seconds": 1.4'),
        lambda data: b"",
        lambda data: b"\x00" * len(data),
        lambda data: data[:90] + data[91:],
        lambda data: b'{"format": 1}',
    ],
)
def test_any_damage_is_noticed_and_the_file_named(study, damage):
    study.write(result())
    path = study.path / CELL.path
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FormatError, match=r"run-03\.json: it is damaged"):
        study.read(CELL)


def test_a_cell_in_the_wrong_place_or_of_another_format_is_refused(study):
    study.write(result())
    other = Cell("graphs", "MUTAG", "edgnn", 4)
    (study.path / other.path).write_bytes((study.path / CELL.path).read_bytes())
    with pytest.raises(FormatError, match="it is that of edgnn on MUTAG, run 3"):
        study.read(other)
    change_cell(study.path / CELL.path, format=2)
    with pytest.raises(FormatError, match="upgrade edgnn"):
        study.read(CELL)
    change_cell(study.path / CELL.path, format=1, evaluation={"format": 1})
    with pytest.raises(FormatError, match="holds no cell of a study"):
        study.read(CELL)
    with pytest.raises(FormatError, match="cannot read"):
        study.read(Cell("graphs", "MUTAG", "edgnn", 9))


def test_calls_are_kept(study):
    study.add_call({"command": "edgnn reproduce graphs", "runs": 2})
    Study.create(study.path).add_call({"command": "edgnn reproduce nodes", "runs": 1})
    assert [call["runs"] for call in Study.open(study.path).calls] == [2, 1]


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(StudyError, match="is not the folder of a study"):
        Study.open(tmp_path)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(
        StudyError, match=r"is not empty and no study of edgnn \(it holds notes.txt\)"
    ):
        Study.create(tmp_path)
    with pytest.raises(StudyError, match="is a file"):
        Study.create(tmp_path / "notes.txt")
    with pytest.raises(StudyError, match="there is no folder"):
        Study.create(tmp_path / "a" / "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is damaged"),
        ('{"calls": []}', "no valid fields"),
        ('{"format": 1, "calls": [1]}', "no valid fields"),
        (
            '{"format": 99, "edgnn": "9.0", "calls": []}',
            r"written by edgnn 9.0 \(format 99\).*upgrade",
        ),
    ],
)
def test_a_study_of_another_kind_is_explained(study, text, message):
    (study.path / "study.json").write_text(text)
    with pytest.raises(StudyError, match=message):
        Study.create(study.path)


def test_a_study_without_its_first_file_keeps_its_cells(study):
    study.write(result())
    (study.path / "report.html").touch()
    (study.path / "study.json").write_text("{")
    with pytest.raises(StudyError, match="remove that file, and the cells beside it stay"):
        Study.create(study.path)
    (study.path / "study.json").unlink()
    assert Study.create(study.path).cells() == [CELL]
    (study.path / "study.json").unlink()
    (study.path / "notes.txt").touch()
    with pytest.raises(StudyError, match=r"it holds notes\.txt"):
        Study.create(study.path)


def test_a_copy_of_a_cell_under_another_name_counts_for_nothing(study):
    study.write(result())
    path = study.path / CELL.path
    path.with_name("run-003.json").write_bytes(path.read_bytes())
    path.with_name("run-0004.json").write_bytes(path.read_bytes())
    assert study.cells() == [CELL]


def test_one_command_works_in_a_folder_at_a_time(study):
    with (
        study.lock(),
        pytest.raises(StudyError, match="another command is working in"),
        Study.open(study.path).lock(),
    ):
        pass
    other = FileLock(study.path / ".edgnn.lock")
    with study.lock(), pytest.raises(TimeoutError):
        other.acquire(blocking=False)
    with study.lock():
        pass


def test_what_a_killed_command_left_unfinished_is_removed(study):
    study.write(result())
    left = study.path / CELL.path.parent / ".run-04.json.ab1_cd2e"
    kept = study.path / CELL.path.parent / ".notes"
    left.touch()
    kept.touch()
    with study.lock():
        assert (left.exists(), kept.exists()) == (False, True)


def test_a_full_disk_leaves_the_old_cell(study, monkeypatch):
    study.write(result())

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        StudyError,
        match=r"cannot write .*run-03.json: No space left on device; what is done is safe",
    ):
        study.write(result(right=0))
    assert study.read(CELL).evaluation.mean == 1.0
    assert [entry.name for entry in (study.path / CELL.path.parent).iterdir()] == ["run-03.json"]


def test_a_cell_is_plain_json(study):
    study.write(result())
    document = json.loads((study.path / CELL.path).read_text())
    assert document["cell"] == {
        "table": "graphs",
        "dataset": "MUTAG",
        "row": "edgnn",
        "run": 3,
        "protocol": "paper",
    }
    assert document["evaluation"]["splits"][0]["prediction"] == [1, 1]
