"""Random command lines: every command ends with 0, or with 2 and one line on stderr."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import edgnn
from edgnn.cli import app, main
from edgnn.errors import FetchError
from fuzz import samples
from fuzz.mutations import explore, mutated, mutated_json, no_longer_than, no_waiting_for_the_disk
from warm_python import warm_python

SHARE = 1 / 8
#: Warnings, progress and notes, of which there may be any number.
NO_MISTAKE = re.compile(
    r"edgnn: warning: |there is no run in |resuming |(candidate|epoch|split) \d+ of \d+"
)
ODD = [
    "",
    " ",
    "-",
    "--",
    "-1",
    "0",
    "1e9",
    "nan",
    "inf",
    "none",
    "true",
    "x=",
    "=",
    "a=b",
    "source=0",
    "\u202e",
    "\x1b[31m",
    "a\nb",
    "é",
    "/",
    "/dev/null",
    ".",
    "..",
    "~",
    "no/such/place",
    "99999999999999999999",
    "0x10",
    "1_0",
    "{}",
    "[]",
    "x" * 300,
    "--help",
    "-q",
    "cuda",
    "cuda:7",
    "meta",
    "float16",
    "MUTAG ",
    "mutga",
    "2GiB",
    "-5MB",
    "1e400",
    "all",
    "paper",
    "cv0x1",
    "cv99999999999x9",
    "cv2x1",
]
SLOW = ("reproduce", "serve", "doctor")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with small data, a run and an evaluation."""
    place = tmp_path_factory.mktemp("world")
    data = edgnn.load_dataset("MUTAG")
    edgnn.write(
        data.graphs[:12], place / "SMALL", format="tu", name="SMALL", targets=data.targets[:12]
    )
    edgnn.write(data.graphs[0], place / "one.json")
    for name in ("x.nt", "molecules.csv", "edges.csv"):
        (place / name).write_bytes(samples.FILES[name][0])
    (place / "config.toml").write_text("hidden = 4\nmax_epochs = 1\n")
    with no_waiting_for_the_disk():
        model = edgnn.GraphClassifier(hidden=4, layers=1, max_epochs=1, random_state=0)
        model.fit(data.graphs[:12], data.targets[:12]).save(place / "saved")
        ended(["train", "SMALL", "--out", "run", "--max-epochs", "1", "--hidden", "4", "-q"], place)
        yield place


def ended(words, place) -> tuple[int, str, str]:
    """Run a command in a folder, in this process."""
    out, err, code, before = io.StringIO(), io.StringIO(), 0, Path.cwd()
    kept = sys.argv
    try:
        os.chdir(place)
        sys.argv = ["edgnn", *words]
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
            no_longer_than(60),
        ):
            main()
    except SystemExit as exit_:
        code = exit_.code or 0
    finally:
        os.chdir(before)
        sys.argv = kept
    return code, out.getvalue(), err.getvalue()


def check_ended(words, code, err):
    told = [line for line in err.split("\n") if line and not NO_MISTAKE.match(line)]
    assert code in (0, 2, 3), (words, code, err)  # 3: some rows have no prediction
    if code == 2 and told and not told[0].startswith("edgnn: "):
        assert told[0].strip().startswith("Usage:"), (
            words,
            err,
        )  # a command without any word shows its help
        return
    assert len(told) == (1 if code else 0), (words, code, err)
    assert "Traceback" not in err


def commands(group=None, path=()):
    """Return every command with its options."""
    from typer.main import get_command

    found = {}
    for name, command in (group or get_command(app)).commands.items():
        if hasattr(command, "commands"):
            found |= commands(command, (*path, name))
        elif name not in SLOW:
            found[(*path, name)] = [
                word
                for one in command.params
                if one.param_type_name == "option"
                for word in (*one.opts, *one.secondary_opts)
            ]
    return found


COMMANDS = commands()
PLACES = [
    "SMALL",
    "one.json",
    "x.nt",
    "molecules.csv",
    "edges.csv",
    "saved",
    "run",
    "config.toml",
    "MUTAG",
    "AIFBB",
    "new",
]
QUICK = {
    "train": ["--max-epochs", "1", "--hidden", "4"],
    "evaluate": ["--max-epochs", "1", "--hidden", "4", "--protocol", "cv2x1"],
}


def random_words(command, source):
    """Return a command line that is often nearly right."""
    words = [*command, *QUICK.get(command[0], [])]
    if source.random() < 0.8:
        words += source.sample(PLACES, source.choice((1, 1, 2)))
    for _ in range(source.choice((0, 1, 1, 2, 3))):
        words.append(source.choice(COMMANDS[command]))
        if source.random() < 0.7:
            words.append(source.choice(ODD + PLACES))
    if command[0] == "train" and source.random() < 0.7:
        words += ["--out", source.choice(["new", "run", "saved", "x.nt"])]
    if source.random() < 0.1:
        words.insert(source.randrange(len(words) + 1), source.choice(ODD))
    return [word for word in words if word not in ("--open",)]


def test_every_command_is_tried():
    assert {
        ("train",),
        ("predict",),
        ("evaluate",),
        ("report",),
        ("convert",),
        ("wl", "compare"),
    } <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_random_command_line_works_or_is_told_in_one_line(world, command, monkeypatch):
    monkeypatch.setattr("edgnn.io.datasets._load.ensure", no_network)

    def check(source):
        words = random_words(command, source)
        with TemporaryDirectory(dir=world.parent) as folder:
            for entry in world.iterdir():
                (Path(folder) / entry.name).symlink_to(entry)
            code, _, err = ended(words, folder)
        check_ended(words, code, err)

    explore(check, 6, SHARE / 2, seed=sum(map(len, command)))


def no_network(*_, **__):
    raise FetchError("there is no network in these tests")


@pytest.mark.parametrize(
    "words",
    [["predict", "run", "SMALL"], ["report", "run"], ["train", "--out", "run", "--resume"]],
    ids=" ".join,
)
def test_commands_on_a_damaged_run_work_or_are_told_in_one_line(world, words, monkeypatch):
    monkeypatch.setattr("edgnn.io.datasets._load.ensure", no_network)
    monkeypatch.setattr(
        "edgnn.cli._train._train", lambda *_: None
    )  # a run may well ask for billions of epochs
    files = samples.content_of(world / "run")

    def check(source):
        changed = dict(files)
        name = source.choice([*sorted(files), "config.json", "config.json"])
        change = mutated_json if name.endswith(".json") else mutated
        changed[name] = change(changed[name], source)
        with TemporaryDirectory() as folder:
            samples.put(Path(folder) / "run", changed)
            (Path(folder) / "SMALL").symlink_to(world / "SMALL")
            code, _, err = ended(words, folder)
        check_ended(words, code, err)

    explore(check, 15, SHARE, seed=99)


def test_a_mistake_is_one_line_of_a_real_process(world):
    words = ["train", "SMALL\x1b[31m", "--ouT"]
    command = [warm_python(), "-m", "edgnn", *words]
    done = subprocess.run(
        command, cwd=world, capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    check_ended(words, done.returncode, done.stderr)
