"""Damaged run folders, studies and evaluations: they are loaded, or told as damaged in one line."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from safetensors.torch import load, save

import edgnn
from edgnn.io.datasets import (
    load_dataset,
    loadable_origin,
    molecule_options,
    reading_options,
)
from edgnn.models import checkpoint_epoch, estimator_of, load_model
from edgnn.report import write_report
from edgnn.studies import Study
from edgnn.training import RunFolder
from fuzz import samples
from fuzz.mutations import (
    check_told,
    explore,
    hostile_options,
    mutated,
    mutated_json,
    no_waiting_for_the_disk,
)
from study_pages import made_evaluation, make_study

SHARE = 1 / 12


@pytest.fixture(scope="module", autouse=True)
def quick_disk():
    with no_waiting_for_the_disk():
        yield


@pytest.fixture(scope="module")
def small():
    data = edgnn.load_dataset("MUTAG")
    return data.graphs[:24], data.targets[:24]


@pytest.fixture(scope="module")
def run_files(tmp_path_factory, small):
    """A run of edgnn train, of two small models."""
    from edgnn.cli import main

    place = tmp_path_factory.mktemp("runs")
    edgnn.write(small[0], place / "SMALL", format="tu", name="SMALL", targets=2 * small[1] - 1)
    words = [
        "train",
        place / "SMALL",
        "--out",
        place / "run",
        "--max-epochs",
        2,
        "--hidden",
        4,
        "--members",
        2,
        "-q",
    ]
    with pytest.MonkeyPatch.context() as patch, suppress(SystemExit):
        patch.setattr("sys.argv", ["edgnn", *map(str, words)])
        main()
    files = samples.content_of(place / "run")
    state = {
        name: value
        for name, value in load(files["model.safetensors"]).items()
        if name.startswith("model.")
    }
    checkpoint = state | {"losses": next(iter(state.values())).new_zeros(2, 2)}
    files["checkpoint.safetensors"] = packed(checkpoint)
    return files


@pytest.fixture(scope="module")
def auto_files(tmp_path_factory, small):
    """A run of a classifier on counts, with all that it stores."""
    place = tmp_path_factory.mktemp("runs") / "auto"
    model = edgnn.AutoClassifier(("ridge", "sparse", "forest"), rounds=2, random_state=0)
    model.fit(*small).save(place)
    return samples.content_of(place)


def packed(tensors):
    """Return what a run keeps of tensors, with its checksum."""
    with TemporaryDirectory() as place:
        run = RunFolder.create(Path(place) / "run", {})
        run.save_tensors("checkpoint.safetensors", tensors)
        return (run.path / "checkpoint.safetensors").read_bytes()


def damaged(files, source):
    changed = dict(files)
    name = source.choice([*sorted(changed), "config.json", "config.json", "model.safetensors"])
    if name.endswith(".safetensors") and source.random() < 0.5:
        changed[name] = reshaped(changed[name], source)
    elif name.endswith(".json") and source.random() < 0.8:
        changed[name] = mutated_json(changed[name], source)
    elif name.endswith(".jsonl") and source.random() < 0.5:
        lines = changed[name].splitlines()
        place = source.randrange(len(lines))
        lines[place] = mutated_json(lines[place], source)
        changed[name] = b"\n".join(lines) + b"\n"
    elif source.random() < 0.05:
        del changed[name]
    else:
        changed[name] = mutated(changed[name], source)
    return changed


def reshaped(data, source):
    """Return a sound safetensors file whose tensors are not what the configuration says."""
    tensors = dict(load(data))
    name = source.choice(sorted(tensors))
    value = tensors.pop(name)
    other = source.choice(
        (
            value[:0],
            value.flatten(),
            value.double(),
            value.long(),
            value * float("nan"),
            value * float("inf"),
            value * 3e38,
            value.bool(),
            None,
        )
    )
    if other is not None:
        tensors[source.choice((name, "model.x", "x", name))] = other.contiguous()
    return save(tensors) if source.random() < 0.5 else packed(tensors)


def used(place, graphs):
    estimator = load_model(place)
    repr(estimator)
    estimator.predict(graphs)
    estimator.predict_proba(graphs)


def test_a_damaged_run_is_loaded_or_told(run_files, small):
    def check(source):
        with TemporaryDirectory() as folder:
            place = samples.put(Path(folder) / "run", damaged(run_files, source))
            check_told(lambda: used(place, small[0][:3]))

    with TemporaryDirectory() as folder:
        assert check_told(lambda: used(samples.put(Path(folder) / "run", run_files), small[0][:3]))
    explore(check, 120, SHARE * 3, seed=1)


def test_a_damaged_run_on_counts_is_loaded_or_told(auto_files, small):
    def use(place):
        model = load_model(place)
        model.predict_set(small[0][:3])
        assert (model.predict_proba(small[0][:3]) >= 0).all()
        model.update(small[0][:1], small[1][:1])

    def check(source):
        with TemporaryDirectory() as folder:
            place = samples.put(Path(folder) / "run", damaged(auto_files, source))
            check_told(lambda: use(place))

    with TemporaryDirectory() as folder:
        assert check_told(lambda: use(samples.put(Path(folder) / "run", auto_files)))
    explore(check, 40, SHARE * 2, seed=7)


def test_options_of_a_stranger_are_used_or_told(run_files, tmp_path):
    """Whatever a run says of its data: new files are read or told, and no other file is opened."""
    config = json.loads(run_files["config.json"])
    os.mkfifo(tmp_path / "pipe")
    news = {name: samples.FILES[name][0] for name in ("molecules.csv", "edges.csv", "x.nt")}
    kinds = {"molecules.csv": "smiles", "edges.csv": "tables", "x.nt": "rdf"}
    samples.put(tmp_path, news)

    def check(source):
        new = source.choice(sorted(news))
        options = hostile_options({}, source)
        places = {
            name: str(tmp_path / "pipe") if value == "PIPE" else value
            for name, value in options.items()
        }
        name = source.choice((str(tmp_path / new), "MUTAG", "PTC_MR", "/etc/passwd", "x"))
        stored = {"name": name, "format": source.choice((kinds[new], None)), "options": places}
        document = config | {"source": stored}

        def read_new():
            load_dataset(tmp_path / new, **reading_options(document, tmp_path / new))

        check_told(read_new)
        check_told(lambda: molecule_options(document))
        check_told(lambda: loadable_origin(document))

    explore(check, 60, SHARE, seed=6)


def test_a_damaged_run_is_opened_and_resumed_or_told(run_files):
    def check(source):
        with TemporaryDirectory() as folder:
            place = samples.put(Path(folder) / "run", damaged(run_files, source))
            check_told(lambda: RunFolder.open(place).history())
            check_told(lambda: estimator_of(RunFolder.open(place)))
            check_told(lambda: checkpoint_epoch(RunFolder.open(place)))
            for name in ("metrics.json", "environment.json"):
                check_told(lambda name=name: RunFolder.open(place).read_json(name))

    explore(check, 60, SHARE, seed=2)


def test_a_page_about_a_damaged_run_is_written_or_told(run_files):
    def check(source):
        with TemporaryDirectory() as folder:
            place = samples.put(Path(folder) / "run", damaged(run_files, source))
            check_told(lambda: write_report(place))

    explore(check, 80, SHARE * 2, seed=3)


def test_a_page_about_a_damaged_evaluation_is_written_or_told():
    document = {
        "model": "edgnn",
        "data": "MUTAG",
        "seconds": 1.5,
        "paper": {"row": "edgnn", "mean": 0.8, "spread": 0.1},
        "environment": {"packages": {"torch": "9"}},
        "evaluation": made_evaluation(0.8, items=20, folds=3).to_dict(),
    }
    data = json.dumps(document, default=lambda value: value.tolist()).encode()

    def check(source):
        with TemporaryDirectory() as folder:
            place = Path(folder) / "evaluation.json"
            place.write_bytes((mutated_json if source.random() < 0.8 else mutated)(data, source))
            check_told(lambda: write_report(place))

    explore(check, 80, SHARE * 3, seed=4)


@pytest.fixture(scope="module")
def study_files(tmp_path_factory):
    place = tmp_path_factory.mktemp("studies") / "study"
    make_study(place, {"majority": 0.6, "edgnn": 0.9}, ("MUTAG",), runs=2, items=20, folds=3)
    return samples.content_of(place)


def test_a_page_about_a_damaged_study_is_written_or_told(study_files):
    def check(source):
        changed = dict(study_files)
        name = source.choice(sorted(changed))
        if source.random() < 0.7:
            document = json.loads(mutated_json(changed[name], source))
            if isinstance(document, dict) and document.pop("sha256", None) is not None:
                body = json.dumps(document).encode()[1:]
                changed[name] = (
                    b'{"sha256": "%s",\n' % hashlib.sha256(body).hexdigest().encode() + body
                )
            else:
                changed[name] = json.dumps(document).encode()
        else:
            changed[name] = mutated(changed[name], source)
        with TemporaryDirectory() as folder:
            place = samples.put(Path(folder) / "study", changed)
            check_told(lambda: write_report(place))
            check_told(lambda: Study.open(place))
            shutil.rmtree(place)

    explore(check, 40, SHARE * 3, seed=5)
