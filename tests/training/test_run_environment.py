import json
import subprocess
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import torch

import edgnn
from edgnn.training import environment


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def checkout(folder):
    (folder / "src" / "edgnn").mkdir(parents=True)
    (folder / "file").write_text("1")
    git(folder, "init", "-q")
    git(folder, "add", "file")
    git(folder, "commit", "-q", "-m", "first")
    return git(folder, "rev-parse", "HEAD")


def commit_of(folder):
    """Return the commit that is noted where edgnn is imported from this folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edgnn, "__file__", str(folder / "src" / "edgnn" / "__init__.py"))
        return environment()["commit"]


def test_environment_is_plain_json():
    found = environment()
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_environment_names_versions_and_threads():
    found = environment()
    assert found["edgnn"] == edgnn.__version__
    assert found["packages"]["torch"] == torch.__version__
    assert found["threads"] == torch.get_num_threads()
    assert (found["accelerator"] is None) == (not torch.cuda.is_available())


def test_absent_package_has_no_version(monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", absent)
    assert set(environment()["packages"].values()) == {None}


def test_commit_of_a_checkout_says_whether_files_were_changed(tmp_path, monkeypatch):
    commit = checkout(tmp_path)
    git(tmp_path, "tag", "v1")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert commit_of(tmp_path) == commit
    (tmp_path / "file").write_text("2")
    assert commit_of(tmp_path) == f"{commit}-dirty"


def test_folder_within_somebody_elses_checkout_has_no_commit(tmp_path):
    checkout(tmp_path)
    installed = tmp_path / "venv" / "lib"
    (installed / "src" / "edgnn").mkdir(parents=True)
    assert commit_of(installed) is None


def test_no_commit_where_git_fails_or_is_missing(tmp_path, monkeypatch):
    checkout(tmp_path)
    (tmp_path / ".git" / "HEAD").unlink()
    assert commit_of(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert commit_of(tmp_path) is None
    assert environment()["commit"] is None


def test_processor_where_the_system_does_not_tell(monkeypatch):
    read_text = Path.read_text

    def missing(path, *args, **kwargs):
        if path == Path("/proc/cpuinfo"):
            raise FileNotFoundError
        return read_text(path, *args, **kwargs)

    monkeypatch.setattr("pathlib.Path.read_text", missing)
    monkeypatch.setattr("platform.processor", lambda: "a processor")
    assert environment()["processor"] == "a processor"
