"""Run folders made by an enemy: loading, predicting and reporting execute nothing of them and reach nothing outside."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import subprocess
import sys
from contextlib import suppress

import pytest
import torch

import edgnn
from edgnn.errors import RunError
from edgnn.models import load_model
from edgnn.report import write_report
from edgnn.training import RunFolder
from fuzz import samples
from fuzz.mutations import no_longer_than

#: Loads, predicts and reports from a sound folder, so that all modules are there; then from hostile ones, watched; then a pickle.
WATCHED = """
import json, pickle, sys, warnings
warnings.simplefilter("ignore")
import edgnn
from edgnn.models import load_model
from edgnn.report import write_report
graphs = edgnn.load_dataset("MUTAG").graphs[:2]

def use(place):
    try:
        load_model(place).predict(graphs)
    except edgnn.errors.EdgnnError:
        pass
    try:
        write_report(place)
    except edgnn.errors.EdgnnError:
        pass

use(sys.argv[1]), use(sys.argv[1]), use(sys.argv[2])
seen, watching = [], True
WATCH = ("exec", "compile", "import", "marshal.loads", "pickle.find_class", "code.__new__", "os.system", "os.exec", "os.fork",
         "os.posix_spawn", "os.spawn", "subprocess.Popen", "socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request",
         "ctypes.dlopen", "ctypes.dlsym", "shutil.rmtree", "webbrowser.open")
def hook(event, arguments):
    if watching and event in WATCH:
        seen.append([event, repr(arguments)[:200]])
sys.addaudithook(hook)
for place in sys.argv[4:]:
    use(place)
watching = False
print(json.dumps(seen))
watching = True
pickle.load(open(sys.argv[3], "rb"))
watching = False
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A stored classifier, as files."""
    data = edgnn.load_dataset("MUTAG")
    place = tmp_path_factory.mktemp("run") / "run"
    model = edgnn.GraphClassifier(hidden=4, layers=1, max_epochs=1, random_state=0)
    model.fit(data.graphs[:20], data.targets[:20]).save(place)
    files = samples.content_of(place)
    return files | {
        "metrics.json": b'{"metrics": {"accuracy": 0.5}}',
        "predictions.csv": b"item,target,prediction\n0,a,b\n",
    }


class Payload:
    """What a pickle would run."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.system, (f"touch {self.place}",)


def config(run, **changes):
    return run | {"config.json": json.dumps(json.loads(run["config.json"]) | changes).encode()}


def hostile_folders(run, pwned):
    payload = pickle.dumps(Payload(pwned))
    parameters = json.loads(run["config.json"])["parameters"]
    fitted = json.loads(run["config.json"])["fitted"]
    command = f"__import__('os').system('touch {pwned}')"
    yield run | {"model.safetensors": payload}
    yield run | {
        "model.safetensors": b"\x80\x04" + payload,
        "predictions.csv": payload,
        "config.json": run["config.json"],
    }
    yield run | {"metrics.json": payload, "environment.json": payload, "history.jsonl": payload}
    for name in (
        "os.system",
        "../../x",
        "edgnn.cli.main",
        command,
        "Estimator",
        "__import__",
        None,
        ["os", "system"],
        7,
    ):
        yield config(run, estimator=name)
    yield config(run, parameters=parameters | {"device": command})
    yield config(
        run,
        parameters=parameters
        | {"activation": command, "conv": "os.system", "class_weight": [[{"py/object": "os"}, 1]]},
    )
    yield config(run, parameters=parameters | {"__class__": "os.system", "self": 1})
    yield config(
        run,
        fitted=fitted
        | {"class_type": "O", "classes": [{"__reduce__": ["os.system", [f"touch {pwned}"]]}] * 2},
    )
    yield config(run, fitted=fitted | {"class_type": "V1000000000"})
    yield config(run, fitted=fitted | {"model": fitted["model"] | {"activation": command}})
    yield config(
        run,
        fitted=fitted | {"node_labels": [{"!!python/object/apply:os.system": [f"touch {pwned}"]}]},
    )
    yield config(
        run,
        command=f"`touch {pwned}`; $(touch {pwned})",
        class_names=[f"<script>{command}</script>"] * 2,
    )


def test_nothing_of_a_hostile_run_is_executed(run, tmp_path):
    sound = samples.put(tmp_path / "sound", run)
    other = samples.put(
        tmp_path / "other",
        run | {"model.safetensors": b"x", "metrics.json": b"x", "predictions.csv": b"\xff"},
    )
    pwned, control = tmp_path / "pwned", tmp_path / "control"
    control.write_bytes(pickle.dumps(Payload(tmp_path / "seen")))
    places = [
        samples.put(tmp_path / f"run{number}", files)
        for number, files in enumerate(hostile_folders(run, pwned))
    ]
    torch.save({"x": Payload(pwned)}, places[0] / "checkpoint.safetensors")
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, (sound, other, control, *places))],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    watched, by_pickle = map(json.loads, done.stdout.splitlines())
    assert watched == []
    assert not pwned.exists()
    assert {event for event, _ in by_pickle} >= {"pickle.find_class", "os.system"}, (
        "the watch itself does not work"
    )
    assert (tmp_path / "seen").exists()


@pytest.mark.parametrize(
    "name", ["../x.json", "/etc/passwd", "a/b.json", "..", "", "x\0.json", "C:\\x.json"]
)
def test_names_of_files_do_not_leave_the_folder(run, tmp_path, name):
    folder = RunFolder.open(samples.put(tmp_path / "run", run))
    for call in (
        folder.read_json,
        folder.has,
        folder.remove,
        lambda name: folder.write_json(name, 1),
    ):
        with pytest.raises(RunError, match="is no name of a file in a run folder"):
            call(name)


def test_links_to_other_files_show_nothing_of_them(run, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("root:x:0:0:the secret:/root:/bin/sh\n")
    place = samples.put(tmp_path / "run", run)
    for name in ("predictions.csv", "metrics.json", "environment.json", "history.jsonl"):
        (place / name).unlink()
        (place / name).symlink_to(secret)
    page = write_report(place).read_text()
    assert "the secret" not in page
    folder = RunFolder.open(place)
    with pytest.raises(RunError, match="no regular file"):
        folder.append_history({"epoch": 1})
    folder.write_json("metrics.json", {"own": 1})
    assert secret.read_text().startswith("root:")
    assert not (place / "metrics.json").is_symlink()


def test_a_pipe_in_place_of_a_file_does_not_block(run, tmp_path):
    place = samples.put(tmp_path / "run", run)
    for name in ("config.json", "model.safetensors"):
        (place / name).unlink()
        os.mkfifo(place / name)
        with pytest.raises(RunError, match=r"no regular file|has not ended"):
            load_model(place)
        (place / name).unlink()
        (place / name).write_bytes(run[name])
    assert load_model(place).hidden == 4


def test_a_pipe_as_the_data_that_a_run_remembers_does_not_block(run, tmp_path, monkeypatch, capfd):
    from edgnn.cli import main

    os.mkfifo(tmp_path / "pipe")
    source = {"name": str(tmp_path / "pipe"), "options": {}, "target": [], "data_dir": None}
    place = samples.put(tmp_path / "run", config(run, source=source))
    data = edgnn.load_dataset("MUTAG")
    edgnn.write(data.graphs[0], tmp_path / "one.json")
    monkeypatch.setattr("sys.argv", ["edgnn", "predict", str(place), str(tmp_path / "one.json")])
    with suppress(SystemExit):
        main()
    assert capfd.readouterr().out.count("\n") == 2


@pytest.fixture(scope="module")
def molecular(tmp_path_factory):
    """A run of ``edgnn train`` on a table of molecules, as files, beside its data."""
    from edgnn.cli import main

    place = tmp_path_factory.mktemp("molecular")
    (place / "mol.csv").write_text(
        "smiles,active\n" + "".join(f"{'C' * n}O,{n % 2}\n" for n in range(1, 13))
    )
    words = ["train", "mol.csv", "--target", "active", "--out", "run", "--max-epochs", "1", "-q"]
    with pytest.MonkeyPatch.context() as patch, suppress(SystemExit):
        patch.chdir(place)
        patch.setattr("sys.argv", ["edgnn", *words])
        main()
    return place


def hostile_source(molecular, place, **options):
    """Put the run into a folder, with options of the reader as a stranger would write them."""
    files = samples.content_of(molecular / "run")
    source = json.loads(files["config.json"])["source"]
    options = {**source["options"], **options}
    return samples.put(place / "run", config(files, source=source | {"options": options}))


def ended(patch, capfd, *words):
    """Run a command in this process and return its exit code and what it printed."""
    from edgnn.cli import main

    patch.setattr("sys.argv", ["edgnn", *map(str, words)])
    code = 0
    with no_longer_than(60):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    return code, *capfd.readouterr()


HOSTILE_OPTIONS = {
    "a file of secrets": {"target_file": "SECRET"},
    "a pipe": {"target_file": "PIPE"},
    "a node table": {"nodes": "SECRET", "graphs": "PIPE"},
    "a limit": {"max_bytes": 10**30, "max_atoms": 10**9},
    "words of load_dataset": {"path": "x", "name": "y", "data_dir": "PIPE", "like": "S"},
    "more of them": {"level": "node", "task": "values", "progress": 1, "target_column": "x"},
}


@pytest.mark.parametrize("options", HOSTILE_OPTIONS.values(), ids=HOSTILE_OPTIONS)
def test_options_of_a_strangers_run_open_no_file(molecular, tmp_path, monkeypatch, capfd, options):
    secret, pipe = tmp_path / "secret", tmp_path / "pipe"
    secret.write_text("root:*:20228:0:99999:7:::\n")
    os.mkfifo(pipe)
    places = {"SECRET": str(secret), "PIPE": str(pipe)}
    run = hostile_source(
        molecular, tmp_path, **{name: places.get(value, value) for name, value in options.items()}
    )
    (tmp_path / "p.csv").write_text("smiles\nCCO\n")
    for words in (("predict", run, tmp_path / "p.csv"), ("explain", run, tmp_path / "p.csv")):
        code, out, err = ended(monkeypatch, capfd, *words)
        assert (code, "root:" in out + err) == (0, False), err
    code, out, err = ended(monkeypatch, capfd, "train", "--out", run, "--resume")
    assert code in (0, 2)
    assert err.count("\n") <= 1


@pytest.mark.parametrize(
    "field", ["name", "target_file", "splits_file", "test_file", "validation_file", "data_dir"]
)
def test_files_that_a_strangers_run_names_are_not_opened_for_new_data(
    molecular, tmp_path, monkeypatch, capfd, field
):
    """A pipe would hang whoever opened it."""
    os.mkfifo(tmp_path / "pipe")
    files = samples.content_of(molecular / "run")
    source = json.loads(files["config.json"])["source"] | {field: str(tmp_path / "pipe")}
    run = samples.put(tmp_path / "run", config(files, source=source))
    (tmp_path / "p.csv").write_text("smiles\nCCO\n")
    new = tmp_path / "p.csv"
    for words in (("predict", run, new), ("predict", run, "--smiles", "C"), ("explain", run, new)):
        code, _, err = ended(monkeypatch, capfd, *words)
        assert code == 0, err
    assert ended(monkeypatch, capfd, "report", run)[0] == 0


def test_a_strangers_run_does_not_lift_the_limit_of_a_bomb(molecular, tmp_path, monkeypatch, capfd):
    run = hostile_source(molecular, tmp_path, max_bytes=10**30)
    bomb = tmp_path / "bomb.csv.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        stream.write(b"smiles\nC\n" + (b" " * 2**16 + b"\n") * 1_040)
    code, _, err = ended(monkeypatch, capfd, "predict", run, bomb)
    assert (code, "as a decompression bomb would" in err) == (2, True)


def test_markup_in_names_is_text_on_the_page(run, tmp_path):
    attack = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' onclick='x"
    table = f'item,target,prediction\n0,"{attack.replace(chr(34), chr(34) * 2)}",b\n'
    files = config(
        run, class_names=[attack, "b"], command=attack, task=attack, settings={attack: attack}
    )
    place = samples.put(
        tmp_path / "run",
        files
        | {"predictions.csv": table.encode(), "metrics.json": json.dumps({attack: 1}).encode()},
    )
    page = write_report(place).read_text()
    assert "alert(1)" in page
    assert len(re.findall("<script", page)) == len(re.findall("</script", page)) <= 2
    assert not re.search(r"<img|<[a-z]+[^>]* on(error|click)=", page)
