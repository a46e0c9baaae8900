import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import small_tables
from edgnn.errors import FetchError
from edgnn.studies import Study, _cells, _study_files, _workers
from warm_python import warm_python

BASE = ("reproduce", "graphs", "--models", small_tables.GOOD)


@pytest.fixture
def small(monkeypatch):
    small_tables.use(monkeypatch)


def started(*words, python=sys.executable, **options):
    """Start the program with the small table, in a group of its own and with Ctrl-C as at a terminal, however the tests run."""
    command = [python, "-P", small_tables.__file__, *map(str, words)]
    pipes = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "start_new_session": True,
    }
    pipes["preexec_fn"] = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(
        command, **{"env": os.environ | {"OMP_NUM_THREADS": "1"}} | pipes | options
    )


def wait_for_cells(folder, count, seconds=120):
    """Wait until so many cells are there."""
    until = time.monotonic() + seconds
    while len(list(Path(folder).rglob("run-*.json"))) < count:
        assert time.monotonic() < until, "the command does not get on"
        time.sleep(0.01)


def children_of(pid):
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = status.parent.name, status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(rest[1]) == pid and rest[0] != "Z":
            found.append(int(number))
    return found


def runs(pid):
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def gone(pids, seconds=60):
    until = time.monotonic() + seconds
    while any(map(runs, pids)):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def content(folder):
    """Return all tables and predictions, without times, memory, dates and commands."""
    found = {}
    for path in sorted((folder / "tables").glob("*.*")) + sorted(
        (folder / "predictions").rglob("*.csv")
    ):
        text = path.read_text()
        if path.suffix == ".json":
            document = json.loads(text)
            document.pop("made")
            for entry in document["entries"]:
                entry.pop("cost")
            text = json.dumps(document)
        elif path.parent.name == "tables":
            lines = [
                line.rsplit("|", 3)[0] if line.count("|") == 14 else line
                for line in text.splitlines()
            ]
            text = (
                "\n".join(line.rsplit(",", 2)[0] for line in lines)
                if path.suffix == ".csv"
                else "\n".join(lines)
            )
        found[str(path.relative_to(folder))] = text
    assert len(found) == 4
    return found


def test_tables_are_filled_in_beside_the_paper(command, small, tmp_path):
    ended = command(*BASE, "--runs", 2, "--out", tmp_path / "out", "--jobs", 1)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == "Small  accuracy (%), 2 runs"
    assert lines[1].split() == ["ours", "(paper)", "MUTAG"]
    assert [line.split("  ")[0] for line in lines[2:6]] == [
        "majority",
        "edGNN (avg)",
        "edGNN (max)",
        "WL subtree",
    ]
    assert lines[3].endswith("(86.9 ± 1.0)")
    assert lines[4].endswith("(88.8)")
    assert lines[7].startswith("6 cells computed in ")
    assert lines[-1] == f"Next: edgnn report {tmp_path / 'out'}"
    assert ended.err.splitlines()[-1].startswith("cell 6 of 6: ")
    study = Study.open(tmp_path / "out")
    assert len(study.cells()) == 6
    (call,) = study.calls
    assert call["command"].startswith("edgnn reproduce graphs --models majority,")
    assert (call["runs"], call["models"], call["protocol"], call["jobs"]) == (
        2,
        small_tables.GOOD.split(","),
        "paper",
        1,
    )


def test_a_second_command_goes_on_with_the_first(command, small, tmp_path):
    words = ("--out", tmp_path / "out", "--quiet", "--jobs", 1)
    command("reproduce", "graphs", "--models", "majority", "--runs", 1, *words)
    ended = command(
        "reproduce",
        "graphs",
        "--models",
        "majority",
        "--models",
        "wl-subtree,",
        "--runs",
        2,
        *words,
    )
    assert (ended.code, "with single commas" in ended.err) == (2, True)
    ended = command(
        "reproduce",
        "graphs",
        "--models",
        "majority",
        "--models",
        "wl-subtree",
        "--runs",
        2,
        "--json",
        *words,
    )
    assert (ended.code, ended.err) == (0, "")
    document = json.loads(ended.out)
    assert [(entry["row"], entry["runs"]) for entry in document["tables"][0]["entries"]] == [
        ("majority", 2),
        ("wl-subtree", 2),
    ]
    assert document["tables"][0] == json.loads((tmp_path / "out/tables/graphs.json").read_text())
    assert document["failures"] == []
    assert len(document["tables"][0]["made"]["commands"]) == 2
    assert (
        "0 cells computed in 0.0 s, 4 were there"
        in command(
            "reproduce", "graphs", "--models", "majority,wl-subtree", "--runs", 2, *words
        ).out
    )


def test_the_data_sets_are_tables_without_cells(command, data_dir, tmp_path):
    ended = command(
        "reproduce",
        "node-datasets",
        "graph-datasets",
        "--out",
        tmp_path / "out",
        "--data-dir",
        data_dir,
    )
    assert (ended.code, ended.err) == (0, "")
    assert "8,285 (8,285)" in ended.out
    assert "* MUTAG: the paper counts 6 node and 3 edge labels" in ended.out
    rows = list(
        csv.DictReader((tmp_path / "out/tables/node-datasets.csv").read_text().splitlines())
    )
    assert {row["dataset"] for row in rows} == {"AIFB", "MUTAG-RDF"}
    assert not (tmp_path / "out/cells").exists()


def test_data_that_is_not_to_be_had_is_told_and_the_rest_is_written(command, tmp_path, monkeypatch):
    real = _cells.load_dataset

    def offline(name, **options):
        if name != "MUTAG":
            raise FetchError(f"{name} cannot be fetched")
        return real(name, **options)

    monkeypatch.setattr(_cells, "load_dataset", offline)
    _cells.loaded.cache_clear()
    words = (
        "--datasets",
        "mutag,PTC_FM",
        "--models",
        "majority",
        "--runs",
        1,
        "--jobs",
        1,
        "--quiet",
    )
    ended = command("reproduce", "graph-datasets", "graphs", *words, "--out", tmp_path / "out")
    assert ended.code == 2
    assert ended.err.splitlines() == [
        "edgnn: graph-datasets lacks PTC_FM: PTC_FM cannot be fetched",
        "edgnn: majority on PTC_FM (run 0) failed: PTC_FM cannot be fetched",
    ]
    assert re.search(r"majority +66\.5", ended.out)
    assert "| MUTAG | 188 (188) |" in (tmp_path / "out/tables/graph-datasets.md").read_text()


def test_a_row_that_fails_is_told_once_and_the_others_are_written(command, small, tmp_path):
    words = ("--runs", 3, "--out", tmp_path / "out", "--quiet", "--jobs", 1)
    ended = command("reproduce", "graphs", "--models", "broken,majority", *words)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith(
        "edgnn: broken on MUTAG (3 cells) failed: rdf2vec learns about nodes"
    )
    assert "majority  66.5 ± " in ended.out


def test_the_nested_protocol_writes_its_search(command, small, tmp_path, monkeypatch):
    monkeypatch.setattr(_cells, "search_grid", lambda level: [{"hidden": 4}, {"hidden": 6}])
    words = ("--runs", 1, "--out", tmp_path / "out", "--quiet", "--jobs", 1, "--protocol", "nested")
    ended = command("reproduce", "graphs", "--models", "edgnn,majority", *words)
    assert (ended.code, ended.err) == (0, "")
    assert "Small, nested" in ended.out
    document = json.loads((tmp_path / "out/tables/search-graphs.json").read_text())
    assert [entry["candidate"] for entry in document["entries"]] == ["hidden=4", "hidden=6"]
    assert sum(entry["chosen"] for entry in document["entries"]) == 3
    assert sorted(path.name for path in (tmp_path / "out/cells/graphs/MUTAG").iterdir()) == [
        "edgnn.nested",
        "majority",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["graph"], "there is no table 'graph'; did you mean 'graphs'?"),
        (
            ["graphs", "--models", "egnn"],
            "there is no model 'egnn' in the table graphs; did you mean 'edgnn'?",
        ),
        (
            ["graphs", "--datasets", "MUTAG,AIDS"],
            "there is no data set 'AIDS' in the table graphs; there are MUTAG, PTC_FM",
        ),
        (["nodes", "--device", "abacus"], "device='abacus': choose 'cpu'"),
        (["graphs", "--out", "nowhere/out"], "there is no folder nowhere"),
        (["graphs", "--out", "file.txt"], "file.txt is a file"),
        (["graphs", "--scheduler", "tcp://x:1"], "--scheduler is the address of a Dask cluster"),
    ],
)
def test_mistakes_are_one_line_before_any_work(command, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file.txt").touch()
    ended = command("reproduce", *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert message in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


def test_a_folder_is_worked_in_by_one_command(command, small, tmp_path):
    study = Study.create(tmp_path / "out")
    with study.lock():
        ended = command(*BASE, "--out", tmp_path / "out")
    assert (ended.code, ended.out) == (2, "")
    assert "another command is working in" in ended.err


def test_a_full_disk_is_one_line(command, small, tmp_path, monkeypatch):
    real = _study_files.atomic_file

    def full(path):
        if path.name == "run-01.json":
            raise OSError(28, "No space left on device")
        return real(path)

    monkeypatch.setattr(_study_files, "atomic_file", full)
    words = (*BASE, "--runs", 2, "--out", tmp_path / "out", "--quiet", "--jobs", 1)
    ended = command(*words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert (
        "No space left on device; what is done is safe: free some space and repeat the command"
        in ended.err
    )
    monkeypatch.setattr(_study_files, "atomic_file", real)
    assert "3 cells computed" in command(*words).out


def test_ctrl_c_in_one_process_leaves_the_tables_of_what_is_done(
    command, small, tmp_path, monkeypatch
):
    real, done = _workers.compute_together, []

    def pressed(tasks):
        done.append(tasks)
        if len(done) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return real(tasks)

    monkeypatch.setattr(_workers, "compute_together", pressed)
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a program in the background may not hear of it
    try:
        ended = command(*BASE, "--runs", 2, "--out", tmp_path / "out", "--quiet", "--jobs", 1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.code == 130
    assert ended.err == "edgnn: interrupted with 4 cells left; repeat the command to go on\n"
    assert "2 cells computed" in ended.out
    assert (tmp_path / "out/tables/graphs.md").is_file()


def test_a_terminal_that_knows_few_letters_is_shown_what_it_can(tmp_path):
    words = (
        "reproduce",
        "graphs",
        "--models",
        "majority",
        "--runs",
        2,
        "--jobs",
        1,
        "--quiet",
        "--out",
        tmp_path / "out",
    )
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "OMP_NUM_THREADS": "1"}
    process = started(*words, python=warm_python(), env=environment)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert "majority  66.5 ? " in out


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_ends_its_workers_and_writes_what_is_there(tmp_path, number, code):
    process = started(*BASE, "--runs", 200, "--out", tmp_path / "out", "--jobs", 2)
    wait_for_cells(tmp_path / "out", 3)
    workers = children_of(process.pid)
    assert len(workers) >= 2
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("edgnn: interrupted with ")
    assert "Small  accuracy (%)" in out
    assert gone(workers)
    assert (tmp_path / "out/tables/graphs.md").is_file()


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_killing_it_at_random_moments_ends_in_the_same_tables(command, small, tmp_path):
    words = (*BASE, "--runs", 4, "--quiet")
    assert command(*words, "--out", tmp_path / "whole", "--jobs", 1).code == 0
    chance = random.Random(7)
    for number, jobs in enumerate((1, 2, 2)):
        process = started(*words, "--out", tmp_path / "killed", "--jobs", jobs)
        wait_for_cells(tmp_path / "killed", 4 * number)
        time.sleep(chance.uniform(0.0, 0.4) if number else 1.0)
        workers = children_of(process.pid)
        process.kill()
        process.communicate()
        assert gone(workers)
    ended = command(*words, "--out", tmp_path / "killed", "--jobs", 1)
    assert (ended.code, ended.err) == (0, "")
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
    left = [path for path in (tmp_path / "killed").rglob(".*") if path.name != ".edgnn.lock"]
    assert left == []
