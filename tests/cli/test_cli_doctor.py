import json
import sys

import numpy as np
import pytest

import edgnn
from edgnn.cli.doctor import _packages, _self_test
from edgnn.cli.doctor._examine import examine, works
from edgnn.cli.doctor._packages import Package, cuda_of_torch, packages
from edgnn.cli.doctor._places import places


def found(findings):
    return {finding.name: finding for finding in findings}


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


def test_doctor_tells_json(command, monkeypatch):
    assert list(_self_test._CHECKS) == ["refinement", "training", "repetition", "fleet", "files"]
    monkeypatch.setattr(_self_test, "_CHECKS", {"refinement": _self_test._refines})
    told = json.loads(command("doctor", "--json").out)
    assert (told["edgnn"], told["works"]) == (edgnn.__version__, True)
    tests = {
        finding["name"]: finding for finding in told["findings"] if finding["group"] == "self-test"
    }
    assert tests["refinement"]["state"] == "ok"
    assert tests["refinement"]["seconds"] > 0


def test_names_with_control_characters_are_shown_as_text(command, monkeypatch):
    monkeypatch.setenv("EDGNN_DATA", "no\x1b[31msuch")
    ended = command("doctor", "--no-self-test")
    assert "no\\x1b[31msuch is no folder" in " ".join(ended.out.split())
    assert "\x1b[31m" not in ended.out


def test_without_the_self_test_nothing_is_trained(command, monkeypatch):
    monkeypatch.setattr(
        "edgnn.cli.doctor._self_test.self_test", lambda: pytest.fail("it was tried")
    )
    ended = command("doctor", "--no-self-test")
    assert (ended.code, "Self-test" in ended.out) == (0, False)
    assert "it was not tried" in ended.out


@pytest.mark.slow
def test_the_built_in_task_takes_the_place_of_mutag(monkeypatch):
    monkeypatch.setattr("edgnn.io.datasets._locate.find_spec", lambda name: None)
    monkeypatch.delenv("EDGNN_DATA", raising=False)
    monkeypatch.setenv("EDGNN_CACHE", "/nonexistent")
    findings = found(_self_test.self_test())
    assert {finding.state for finding in findings.values()} == {"ok"}
    assert (
        "built-in rings (60 graphs): 100% of them right, 50% by guessing"
        in findings["training"].told
    )


def test_the_built_in_task_is_balanced_and_needs_edge_labels():
    data = _self_test.built_in()
    assert np.bincount(data.targets).tolist() == [30, 30]
    assert len(data.graphs.node_vocabulary) == 1
    assert edgnn.wl.compare(data.graphs[0], data.graphs[1], "node").distinguished is False
    assert edgnn.wl.compare(data.graphs[0], data.graphs[1], "separate").distinguished is True


def test_a_wrong_answer_is_exit_code_2_and_one_line(command, monkeypatch):
    def verdict(*_, **__):
        return type("Verdict", (), {"distinguished": True})

    monkeypatch.setattr("edgnn.wl.compare", verdict)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(_self_test, "_CHECKS", {"refinement": _self_test._refines})
    ended = command("doctor")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith("edgnn: the core does not work here: refinement failed")
    assert "wrong verdict on directed_triangles" in " ".join(ended.out.split())
    assert json.loads(command("doctor", "--json").out)["works"] is False


def test_a_check_that_crashes_is_a_finding_and_the_others_go_on(monkeypatch):
    def crash():
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(_self_test, "_CHECKS", {"bad": crash, "good": lambda: "fine"})
    findings = found(_self_test.self_test())
    assert (findings["bad"].state, findings["bad"].told) == ("failed", "ZeroDivisionError: by zero")
    assert findings["good"].state == "ok"
    assert not works(list(findings.values()))


@pytest.mark.parametrize("check", ["_learns", "_repeats", "_keeps"])
def test_every_check_can_fail(monkeypatch, check):
    class Guessing:
        calls = 0

        def fit(self, *_):
            return self

        def predict(self, graphs):
            return np.zeros(len(graphs), dtype=int)

        def predict_proba(self, graphs):
            Guessing.calls += 1
            return np.full((len(graphs), 2), float(Guessing.calls))

        def save(self, path):
            return None

    monkeypatch.setattr(_self_test, "_data", _self_test.built_in)
    monkeypatch.setattr(_self_test, "_fitted", Guessing)
    monkeypatch.setattr(_self_test, "_estimator", Guessing)
    monkeypatch.setattr("edgnn.models.load_estimator", lambda path: Guessing())
    with pytest.raises(_self_test.Wrong):
        getattr(_self_test, check)()


def test_a_broken_torch_is_told_and_ends_the_examination(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    findings = list(examine())
    assert (findings[-1].name, findings[-1].state) == ("torch", "failed")
    assert "pip install" in findings[-1].way_out


def test_extras_are_told_with_the_command_that_adds_them(monkeypatch, command):
    lines = [
        "numpy>=2.0",
        'rdkit>=2024.9; extra == "molecules"',
        'nonesuch>=1; extra == "odd"',
        'pytest>=8; extra == "dev"',
    ]
    monkeypatch.setattr(
        _packages,
        "requires",
        lambda name: [*lines, 'edgnn[odd]; extra == "all"', 'numpy>=99.1; extra == "new"'],
    )
    findings = found(examine(self_test=False))
    assert (findings["odd"].state, findings["odd"].way_out) == (
        "absent",
        "pip install 'edgnn[odd]'",
    )
    assert (findings["new"].state, findings["molecules"].state) == ("warning", "ok")
    assert "is installed, >=99.1 is needed" in findings["new"].told
    assert not {"dev", "all"} & set(findings)
    assert works(list(findings.values()))


def test_a_core_package_that_is_too_old_fails(monkeypatch):
    monkeypatch.setattr(_packages, "requires", lambda name: ["numpy>=99.1", "scipy>=1.13"])
    findings = list(examine(self_test=False))
    assert found(findings)["numpy"].way_out == "pip install 'numpy>=99.1'"
    assert not works(findings)


@pytest.mark.parametrize(
    ("version", "needed", "fits"),
    [
        ("2.10.0", ">=2.9", True),
        ("2.9", ">=2.10", False),
        (None, ">=1", False),
        ("2.13.0+cpu", ">=2.11", True),
        ("1", "", True),
    ],
)
def test_versions_are_compared_as_numbers(version, needed, fits):
    assert Package("some", needed, None, version).fits is fits


def test_source_files_without_a_record_have_no_list_of_packages(monkeypatch):
    def missing(name):
        raise _packages.PackageNotFoundError(name)

    monkeypatch.setattr(_packages, "requires", missing)
    assert packages() == []
    assert "not installed" in found(examine(self_test=False))["edgnn"].told


def test_the_cuda_of_torch_is_known_without_importing_it():
    import torch

    assert cuda_of_torch() == torch.version.cuda


def test_places_are_told_in_order(monkeypatch, tmp_path):
    monkeypatch.setenv("EDGNN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EDGNN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data" / "TUDataset").mkdir(parents=True)
    findings = list(places())
    assert [finding.name for finding in findings] == [
        "EDGNN_DATA",
        "cache",
        "sets here",
        "sets away",
        "temporary files",
    ]
    assert (findings[0].state, "TUDataset" in findings[0].told) == ("ok", True)
    assert "made when first needed" in findings[1].told
    assert findings[2].told == "MUTAG (installed package)"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("variable", "value", "name", "told"),
    [
        ("EDGNN_DATA", "nowhere", "EDGNN_DATA", "is no folder"),
        ("EDGNN_DATA", "empty", "EDGNN_DATA", "holds neither TUDataset/ nor rdf/"),
        ("EDGNN_CACHE", "file/cache", "cache", "cannot be written"),
    ],
)
def test_a_place_that_is_no_use_is_a_warning_with_a_way_out(
    monkeypatch, tmp_path, variable, value, name, told
):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setenv(variable, str(tmp_path / value))
    finding = found(places())[name]
    assert (finding.state, told in finding.told, bool(finding.way_out)) == ("warning", True, True)


def test_a_temporary_folder_that_cannot_be_written_fails(monkeypatch):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    finding = found(places())["temporary files"]
    assert (finding.state, "TMPDIR" in finding.way_out) == ("failed", True)


@pytest.mark.gpu
def test_a_device_is_tried_too():
    findings = found(_self_test.self_test())
    assert findings["CUDA"].state == "ok", findings["CUDA"].told


def test_a_device_that_does_not_work_is_a_warning(monkeypatch):
    def broken():
        raise RuntimeError("no kernel image is available")

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr(_self_test, "_CHECKS", {})
    monkeypatch.setattr(_self_test, "_cuda_agrees", broken)
    (finding,) = _self_test.self_test()
    assert (finding.name, finding.state, "--device cpu" in finding.way_out) == (
        "CUDA",
        "warning",
        True,
    )
