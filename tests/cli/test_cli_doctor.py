import importlib.metadata
import json
import sys

import numpy as np
import pytest

import edgnn


class Guessing:
    """A model that learns nothing, and answers otherwise each time."""

    calls = 0

    def __init__(self, **parameters):
        pass

    def fit(self, graphs, targets):
        return self

    def predict(self, graphs):
        return np.zeros(len(graphs), dtype=int)

    def predict_proba(self, graphs):
        Guessing.calls += 1
        return np.full((len(graphs), 2), float(Guessing.calls))

    def save(self, path):
        return None


@pytest.fixture
def guessing(monkeypatch):
    """Models in the place of ours that take no time and are wrong."""
    monkeypatch.setattr("edgnn.models.GraphClassifier", Guessing)
    monkeypatch.setattr("edgnn.models.load_model", lambda path: Guessing())


@pytest.fixture
def examined(command):
    """Run ``edgnn doctor --json`` and return its findings by name."""

    def run(*words):
        document = json.loads(command("doctor", "--json", *words).out)
        findings = {finding["name"]: finding for finding in document["findings"]}
        states = [finding["state"] for finding in findings.values()]
        assert document["works"] is ("failed" not in states)
        return findings

    return run


@pytest.fixture
def installed(monkeypatch, examined):
    """Examine packages that edgnn is made to need, with versions that are made to be there."""

    def run(*lines, **versions):
        real = importlib.metadata.version
        monkeypatch.setattr("importlib.metadata.requires", lambda name: list(lines))
        monkeypatch.setattr(
            "importlib.metadata.version", lambda name: versions.get(name) or real(name)
        )
        return examined("--no-self-test")

    return run


@pytest.mark.slow
def test_doctor_finds_the_core_at_work(command):
    ended = command("doctor")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == "The core works."
    for words in (
        "Installed",
        "Machine",
        "Data, in the order it is looked for",
        "Self-test",
        "MUTAG (60 graphs)",
    ):
        assert words in ended.out


@pytest.mark.slow
def test_a_synthetic_task_takes_the_place_of_mutag(examined, monkeypatch):
    monkeypatch.setattr("edgnn.io.datasets._registry.find_spec", lambda name: None)
    monkeypatch.delenv("EDGNN_DATA", raising=False)
    monkeypatch.setenv("EDGNN_CACHE", "/nonexistent")
    findings = examined()
    tests = {name: one for name, one in findings.items() if one["group"] == "self-test"}
    assert list(tests) == ["refinement", "training", "repetition", "fleet", "files"]
    assert {finding["state"] for finding in tests.values()} == {"ok"}
    assert all(finding["seconds"] > 0 for finding in tests.values())
    trained = "built-in rings (60 graphs): 100% of them right, 50% by guessing"
    assert trained in tests["training"]["text"]


def test_json_has_the_version(command):
    document = json.loads(command("doctor", "--json", "--no-self-test").out)
    assert (document["edgnn"], document["works"]) == (edgnn.__version__, True)


def test_names_with_control_characters_are_shown_as_text(command, monkeypatch):
    monkeypatch.setenv("EDGNN_DATA", "no\x1b[31msuch")
    ended = command("doctor", "--no-self-test")
    assert "no\\x1b[31msuch is no folder" in " ".join(ended.out.split())
    assert "\x1b[31m" not in ended.out


def test_without_the_self_test_nothing_is_trained(command, monkeypatch):
    monkeypatch.setattr("edgnn.wl.compare", lambda *_, **__: pytest.fail("it was tried"))
    ended = command("doctor", "--no-self-test")
    assert (ended.code, "Self-test" in ended.out) == (0, False)
    assert "it was not tried" in ended.out


@pytest.mark.usefixtures("guessing")
def test_a_wrong_answer_is_exit_code_2_and_one_line(command, monkeypatch):
    def verdict(*_, **__):
        return type("Verdict", (), {"distinguished": True})

    monkeypatch.setattr("edgnn.wl.compare", verdict)
    monkeypatch.setenv("COLUMNS", "120")
    ended = command("doctor")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith("edgnn: the core does not work here: refinement, training, ")
    assert "wrong verdict on directed_triangles" in " ".join(ended.out.split())


@pytest.mark.usefixtures("guessing")
def test_every_check_can_fail_and_the_others_go_on(examined, monkeypatch):
    def crash(*_, **__):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("edgnn.wl.compare", crash)
    findings = examined()
    assert findings["refinement"]["text"] == "ZeroDivisionError: by zero"
    assert findings["fleet"]["state"] == "ok"
    for name, text in (
        ("training", "always guessing one class"),
        ("repetition", "the same training gave other bits"),
        ("files", "predicts something else"),
    ):
        assert (findings[name]["state"], text in findings[name]["text"]) == ("failed", True)
        assert "install edgnn anew" in findings[name]["fix"]


@pytest.mark.usefixtures("guessing")
def test_a_device_that_does_not_work_is_a_warning(examined, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    finding = examined()["CUDA"]
    assert (finding["state"], "--device cpu" in finding["fix"]) == ("warning", True)


@pytest.mark.gpu
def test_a_device_is_tried_too(examined):
    finding = examined()["CUDA"]
    assert finding["state"] == "ok", finding["text"]


def test_a_broken_torch_is_reported_and_ends_the_examination(examined, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    last = list(examined().values())[-1]
    assert (last["name"], last["state"]) == ("torch", "failed")
    assert "pip install" in last["fix"]


def test_extras_are_listed_with_the_command_that_adds_them(installed):
    findings = installed(
        "numpy>=2.0",
        'rdkit>=2024.9; extra == "molecules"',
        'nonesuch>=1; extra == "odd"',
        'pytest>=8; extra == "dev"',
        'edgnn[odd]; extra == "all"',
        'numpy>=99.1; extra == "new"',
        rdkit="2026.1",
    )
    odd, new = findings["odd"], findings["new"]
    assert (odd["state"], odd["fix"]) == ("absent", "pip install 'edgnn[odd]'")
    assert (new["state"], findings["molecules"]["state"]) == ("warning", "ok")
    assert "is installed, >=99.1 is needed" in new["text"]
    assert not {"dev", "all"} & set(findings)


def test_a_core_package_that_is_too_old_fails(installed):
    findings = installed("numpy>=99.1", "scipy>=1.13")
    assert findings["numpy"]["state"] == "failed"
    assert findings["numpy"]["fix"] == "pip install 'numpy>=99.1'"


@pytest.mark.parametrize(
    ("version", "needed", "fits"),
    [
        ("2.10.0", ">=2.9", True),
        ("2.9", ">=2.10", False),
        ("2.13.0+cpu", ">=2.11", True),
        ("1", "", True),
    ],
)
def test_versions_are_compared_as_numbers(installed, version, needed, fits):
    findings = installed(f"some{needed}", some=version)
    assert ("some" in findings) is not fits


def test_source_files_without_a_record_have_no_list_of_packages(examined, monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.requires", missing)
    assert "not installed" in examined("--no-self-test")["edgnn"]["text"]


def test_folders_of_data_are_listed_in_order(examined, monkeypatch, tmp_path):
    monkeypatch.setenv("EDGNN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EDGNN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data" / "TUDataset").mkdir(parents=True)
    findings = examined("--no-self-test")
    data = {name: one for name, one in findings.items() if one["group"] == "data"}
    assert list(data) == ["EDGNN_DATA", "cache", "sets here", "sets away", "temporary files"]
    assert (data["EDGNN_DATA"]["state"], "TUDataset" in data["EDGNN_DATA"]["text"]) == ("ok", True)
    assert "made when first needed" in data["cache"]["text"]
    assert data["sets here"]["text"] == "MUTAG (installed package)"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("variable", "value", "name", "text"),
    [
        ("EDGNN_DATA", "nowhere", "EDGNN_DATA", "is no folder"),
        ("EDGNN_DATA", "empty", "EDGNN_DATA", "holds neither TUDataset/ nor rdf/"),
        ("EDGNN_CACHE", "file/cache", "cache", "cannot be written"),
    ],
)
def test_a_folder_that_is_no_use_is_a_warning_with_a_fix(
    examined, monkeypatch, tmp_path, variable, value, name, text
):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setenv(variable, str(tmp_path / value))
    finding = examined("--no-self-test")[name]
    assert (finding["state"], text in finding["text"]) == ("warning", True)
    assert finding["fix"]


def test_a_temporary_folder_that_cannot_be_written_fails(examined, monkeypatch):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    finding = examined("--no-self-test")["temporary files"]
    assert (finding["state"], "TMPDIR" in finding["fix"]) == ("failed", True)
