import os
import signal
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

import mortal
from edgnn.errors import StudyError
from edgnn.studies import (
    Cell,
    Expected,
    Plan,
    Report,
    Reproduction,
    Request,
    Study,
    Task,
    _runner,
    _study_files,
    _workers,
    failure_lines,
    reproduce,
)


class Notes:
    def __init__(self):
        self.seen = []

    def started(self, task):
        self.seen.append(("started", task.cell))

    def ended(self, report):
        self.seen.append((report.kind, report.task.cell))

    def tick(self):
        pass


@pytest.fixture
def study(tmp_path):
    return Study.create(tmp_path / "study")


def kept(one, *rows, **changes):
    return replace(one, rows=tuple(one.row(row) for row in rows), **changes)


def work(asked, study, notes=None):
    made = reproduce(asked, study, lambda plan, expected: nullcontext(notes or Notes()))
    return made.plan


def test_what_is_done_is_never_computed_again(small, study):
    asked = Request((kept(small, "majority", "wl-subtree"),), runs=1)
    assert len(work(asked, study).took) == 2
    before = {path: path.stat().st_mtime_ns for path in study.path.rglob("run-*.json")}
    made = work(replace(asked, runs=2), study)
    assert [task.cell.run for task, _ in made.took] == [1, 1]
    assert {task.cell.run for task, _ in made.done} == {0}
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(work(replace(asked, runs=2), study).done) == 4


def test_a_damaged_cell_is_computed_anew_and_that_is_said(small, study):
    asked = Request((kept(small, "majority"),), runs=2)
    work(asked, study)
    cell = study.cells()[1]
    good = (study.path / cell.path).read_bytes()
    (study.path / cell.path).write_bytes(good[:-5])
    made = work(asked, study)
    assert [task.cell for task, _ in made.took] == [cell]
    (note,) = made.notes
    assert note.startswith("1 cell is damaged and set aside (such as ")
    assert str(study.path / cell.path) in note
    assert (study.path / cell.path).with_suffix(".json.old").read_bytes() == good[:-5]
    assert study.read(cell).evaluation.mean > 0.6


def test_cells_of_other_settings_are_computed_anew_and_never_mixed(small, study):
    asked = Request((kept(small, "wl-subtree"),), runs=3)
    work(asked, study)
    row = replace(small.row("wl-subtree"), estimator={"scheme": "node"})
    changed = Request((replace(small, rows=(row,)),), runs=1)
    made = work(changed, study)
    assert made.notes[0].startswith("3 cells are of other settings and set aside")
    assert [task.cell.run for task, _ in made.took] == [0]
    assert [cell.run for cell in study.cells()] == [0]
    assert len(list(study.path.rglob("run-*.json.old"))) == 3
    assert work(changed, study).notes == []


def test_a_row_that_fails_stops_nobody(small, study):
    made = work(Request((kept(small, "broken", "majority"),), runs=2), study)
    assert [task.row.id for task, _ in made.took] == ["majority", "majority"]
    assert {report.task.row.id for report in made.failures} == {"broken"}
    assert len(made.failures) == 2
    assert "rdf2vec learns about nodes" in made.failures[0].error


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (MemoryError(), "failed", "out of memory"),
        (ValueError("a bug"), "unexpected", r"unexpected ValueError: a bug \(test_runner.py, line"),
    ],
)
def test_what_goes_wrong_in_a_cell_is_told(small, study, monkeypatch, error, kind, message):
    real = _workers.compute_together

    def compute(tasks):
        if tasks[0].cell.run == 1:
            raise error
        return real(tasks)

    monkeypatch.setattr(_workers, "compute_together", compute)
    made = work(Request((kept(small, "majority"),), runs=3), study)
    (report,) = made.failures
    assert (report.kind, report.task.cell.run, len(made.took)) == (kind, 1, 2)
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(report.error)


def test_data_that_is_not_to_be_had_fails_its_cells_only(small, study, monkeypatch, tmp_path):
    (tmp_path / "data").mkdir()
    wanted = kept(small, "majority", "edgnn", "edgnn-max", datasets=("no such set", "MUTAG"))
    made = work(Request((wanted,), runs=2), study)
    assert {task.cell.dataset for task in made.todo} == {"MUTAG"}
    failed = [(report.task.cell.row, report.task.cell.run, report.kind) for report in made.failures]
    assert failed == [(row, run, "failed") for row in ("majority", "edgnn") for run in (0, 1)]
    assert "no such set" in made.failures[0].error


def test_a_full_disk_stops_everything_and_spoils_nothing(small, study, monkeypatch):
    asked = Request((kept(small, "majority"),), runs=5)
    real, count = _study_files.atomic_file, []

    def full(path):
        count.append(path)
        if len(count) == 3:
            raise OSError(28, "No space left on device")
        return real(path)

    monkeypatch.setattr(_study_files, "atomic_file", full)
    with pytest.raises(
        StudyError,
        match="No space left on device; what is done is safe: free some space and repeat",
    ):
        work(asked, study)
    assert len(study.cells()) == 2
    assert len(work(asked, study).took) == 3


def test_the_first_of_every_row_comes_first_and_then_the_longest(small):
    def task(row, run):
        return Task(Cell("graphs", "MUTAG", row, run), small, small.row(row))

    rows = ("majority", "edgnn", "wl-subtree")
    waiting = [task(row, run) for run in range(3) for row in rows]
    expected = Expected([])
    first = [_runner.next_task(waiting, expected, ()).row.id for _ in range(1)]
    running = [task("majority", 0)]
    while len(first) < 3:
        running.append(_runner.next_task(waiting, expected, running))
        first.append(running[-1].row.id)
    assert first == list(rows)
    for row, seconds in zip(rows, (1.0, 9.0, 5.0), strict=True):
        expected.add(task(row, 0), seconds)
    assert [_runner.next_task(waiting, expected, ()).row.id for _ in range(6)] == ["edgnn"] * 2 + [
        "wl-subtree"
    ] * 2 + ["majority"] * 2


def test_the_time_left_follows_the_same_row_then_any(small):
    def task(row, dataset, run=0):
        return Task(Cell("graphs", dataset, row, run), small, small.row(row))

    expected = Expected([])
    rest = [task("edgnn", "MUTAG", 1), task("edgnn", "PTC_FM"), task("majority", "MUTAG")]
    assert expected.left(rest, [], 2) is None
    quick = Expected([(task("majority", "MUTAG"), 0.01)])
    assert quick.left(rest, [], 1) is None
    expected.add(task("edgnn", "MUTAG"), 4.0)
    assert expected.left(rest, [], 1) == 12.0
    expected.add(task("edgnn", "PTC_FM", 1), 8.0)
    expected.add(task("majority", "PTC_FM"), 0.0)
    assert expected.left(rest, [], 1) == 12.0
    assert expected.left(rest[:2], [(rest[2], 3.0)], 2) == 8.0
    assert expected.left([], [(task("edgnn", "MUTAG"), 3.0)], 2) == 1.0


def test_runs_that_are_trained_together_count_one_by_one(small, study):
    fleet = Task(
        Cell("graphs", "MUTAG", "edgnn", 0), small, small.row("edgnn"), together=(0, 1, 2, 3)
    )
    expected = Expected([(replace(fleet, together=()), 2.0)])
    assert (fleet.count, expected.of(fleet)) == (4, 8.0)
    expected.add(fleet, 8.0)
    assert expected.of(replace(fleet, together=())) == 2.0
    made = Reproduction(
        plan=Plan(todo=[fleet], failures=[Report(fleet, None, "it broke", "failed")])
    )
    assert failure_lines(made) == ["edgnn on MUTAG (4 cells) failed: it broke"]


def workers_of(name):
    """Return the processes of this one that compute cells, by a word of their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_bytes().decode()
        except (OSError, ValueError):
            continue
        if parent == os.getpid() and name in words:
            found.append(int(folder.name))
    return found


@pytest.fixture
def deaths(tmp_path, monkeypatch):
    with mortal.known(tmp_path / "mortal", monkeypatch) as deaths:
        yield deaths


def with_mortal(small, deaths, *rows):
    mortal_row = deaths.row(small.row("wl-subtree"))
    return replace(small, rows=(mortal_row, *(small.row(row) for row in rows)))


@pytest.mark.slow
@pytest.mark.usefixtures("quick_workers")
def test_cells_whose_worker_was_killed_once_are_computed_again(small, study, deaths):
    deaths.plan(1)
    notes = Notes()
    made = work(Request((with_mortal(small, deaths, "majority"),), runs=2, jobs=2), study, notes)
    assert deaths.left == 0
    assert (len(made.took), made.failures) == (4, [])
    assert len(study.cells()) == 4
    assert sum(kind == "started" for kind, _ in notes.seen) == 4


@pytest.mark.slow
@pytest.mark.usefixtures("quick_workers")
def test_a_cell_that_kills_its_worker_fails_alone(small, study, deaths):
    deaths.plan(9)
    others = set(workers_of("popen_loky"))  # those that other tests of this process left idle
    made = work(Request((with_mortal(small, deaths, "majority"),), runs=1, jobs=2), study)
    (report,) = made.failures
    assert (report.task.cell.row, report.kind) == ("wl-subtree", "failed")
    assert "the worker that computed it died" in report.error
    assert deaths.left == 7  # once beside others, once alone
    assert [cell.row for cell in study.cells()] == ["majority"]
    for _ in range(100):  # workers that were told to end take a moment to do so
        if others.issuperset(workers_of("popen_loky")):
            break
        time.sleep(0.1)
    assert others.issuperset(workers_of("popen_loky"))


@pytest.mark.slow
def test_ctrl_c_does_not_reach_a_worker_that_is_still_starting(small, study, capfd):
    class Pressed(Notes):
        def started(self, task):
            super().started(task)
            for _ in range(20):
                for pid in workers_of("popen_loky"):
                    os.kill(pid, signal.SIGINT)
                time.sleep(0.02)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    made = work(Request((kept(small, "majority"),), runs=2, jobs=2), study, Pressed())
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert len(made.took) == 2
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.usefixtures("quick_workers")
def test_a_dask_cluster_gives_the_same_cells_though_its_workers_are_killed(
    small, study, tmp_path, deaths
):
    alone = Study.create(tmp_path / "alone")
    request = Request((with_mortal(small, deaths, "edgnn"),), runs=2)
    work(request, alone)
    deaths.plan(1)
    made = work(replace(request, jobs=2, backend="dask"), study)
    assert deaths.left == 0
    assert (len(made.took), made.failures) == (4, [])
    for cell in alone.cells():
        assert _without_jobs(alone.read(cell)) == _without_jobs(study.read(cell))


@pytest.mark.slow
@pytest.mark.usefixtures("quick_workers")
def test_a_cell_that_kills_dask_workers_fails_alone(small, study, deaths):
    import dask

    deaths.plan(9)
    request = Request((with_mortal(small, deaths, "majority"),), runs=1, jobs=2, backend="dask")
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        made = work(request, study)
    (report,) = made.failures
    assert (report.task.cell.row, report.kind) == ("wl-subtree", "failed")
    assert "the worker that computed it died" in report.error
    assert deaths.left == 7
    assert [cell.row for cell in study.cells()] == ["majority"]


@pytest.mark.slow
@pytest.mark.usefixtures("quick_workers")
def test_a_scheduler_at_an_address_computes_the_cells(small, study):
    from distributed import LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    request = Request((kept(small, "majority", "wl-subtree"),), runs=2, backend="dask")
    with LocalCluster(n_workers=2, **options) as cluster:
        request = replace(request, scheduler=cluster.scheduler_address)
        assert len(work(request, study).took) == 4
    with LocalCluster(n_workers=1, **options | {"threads_per_worker": 2}) as cluster:
        request = replace(request, runs=3, scheduler=cluster.scheduler_address)
        with pytest.raises(StudyError, match=r"has 2 threads; .* --nthreads 1"):
            work(request, study)
    dask = pytest.importorskip("dask")
    no_answer = pytest.raises(
        StudyError, match=r"does not answer .*; give the address that `dask s"
    )
    with no_answer, dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        work(request, study)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_workers")
def test_workers_give_what_this_process_gives(small, study, tmp_path):
    asked = Request((kept(small, "edgnn", "wl-subtree", "broken"),), runs=2)
    alone = Study.create(tmp_path / "alone")
    work(asked, alone)
    notes = Notes()
    made = work(replace(asked, jobs=2), study, notes)
    assert (len(made.took), len(made.failures)) == (4, 2)
    assert {kind for kind, _ in notes.seen} == {"started", "done"}
    for cell in alone.cells():
        one, two = alone.read(cell), study.read(cell)
        assert (one.fingerprint, one.history, one.ceiling) == (
            two.fingerprint,
            two.history,
            two.ceiling,
        )
        assert _without_jobs(one) == _without_jobs(two)


def _without_jobs(result):
    document = result.evaluation.to_dict()
    document["settings"]["parameters"].pop("n_jobs", None)
    return document
