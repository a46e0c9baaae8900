import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
NO_INDEX = (
    "No matching distribution",
    "Could not find a version",
    "Could not fetch",
    "ConnectionError",
    "NewConnectionError",
)
OURS = (
    "EDGNN_DATA",
    "EDGNN_CACHE",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "COVERAGE_PROCESS_START",
    "COVERAGE_PROCESS_CONFIG",
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def done(*command, **options):
    """Run a command; where it needs an index of packages that cannot be reached, skip."""
    environment = {
        name: value for name, value in os.environ.items() if name not in OURS
    } | options.pop("env", {})
    ended = subprocess.run(
        list(map(str, command)),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    told = ended.stdout + ended.stderr
    if ended.returncode and any(words in told for words in NO_INDEX):
        pytest.skip(f"no index of packages can be reached: {told.strip().splitlines()[-1]}")
    assert ended.returncode == 0, told
    return ended.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The files of the repository, as a fresh clone would have them."""
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip(
            "this is no checkout of git, so nothing tells which files belong to the repository"
        )
    listed = done(
        "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=REPOSITORY
    )
    place = tmp_path_factory.mktemp("packaging") / "edgnn"
    for name in filter(None, listed.split("\0")):
        if (REPOSITORY / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / name, place / name)
    return place


@pytest.fixture(scope="module")
def built(copy) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    pytest.importorskip("build", reason="the package 'build' is not installed")
    done(sys.executable, "-m", "build", "--outdir", copy.parent / "dist", copy)
    return copy.parent / "dist"


@pytest.fixture(scope="module")
def only_core(built, copy) -> Path:
    """An environment in which nothing but the wheel and what it needs is installed; its folder of programs."""
    place = copy.parent / "environment"
    venv.create(place)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    into = (sys.executable, "-m", "pip", "--python", programs / "python")
    done(
        *into,
        "install",
        "--quiet",
        "--no-compile",
        "-c",
        REPOSITORY / "constraints.txt",
        *built.glob("*.whl"),
    )
    return programs


def members(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built, copy):
    (wheel,) = built.glob("*.whl")
    names = members(wheel)
    package = copy / "src"
    wanted = {
        str(path.relative_to(package).as_posix())
        for path in (package / "edgnn").rglob("*")
        if path.is_file()
    }
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert {
        "edgnn/py.typed",
        "edgnn/io/datasets/registry.toml",
        "edgnn/studies/settings.toml",
    } <= names


def test_the_wheel_says_what_it_is(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        info = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        told = Parser().parsestr(archive.read(info).decode())
        programs = archive.read(info.replace("METADATA", "entry_points.txt")).decode()
        assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())
    assert (told["Name"], told["License-Expression"]) == ("edgnn", "MIT")
    assert {"rdf", "molecules", "serve", "all"} <= set(told.get_all("Provides-Extra"))
    assert "edgnn = edgnn.cli:run" in programs


def test_sdist_and_checkout_make_the_same_wheel(built, copy):
    done(sys.executable, "-m", "build", "--wheel", "--outdir", copy.parent / "direct", copy)
    (direct,), (wheel,) = (copy.parent / "direct").glob("*.whl"), built.glob("*.whl")
    assert members(direct) == members(wheel)
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        top = {Path(*Path(name).parts[1:]).as_posix() for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO", "src/edgnn/__init__.py"} <= top


def test_the_wheel_works_in_an_empty_environment(only_core, tmp_path):
    alone = {"HOME": str(tmp_path), "EDGNN_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    told = json.loads(done(only_core / "edgnn", "doctor", "--json", env=alone, cwd=tmp_path))
    states = {finding["name"]: finding["state"] for finding in told["findings"]}
    assert told["works"] is True
    assert any("trained on built-in rings" in finding["text"] for finding in told["findings"])
    assert {states[extra] for extra in ("rdf", "molecules", "tables", "kernels", "serve")} == {
        "absent"
    }
    code = "import edgnn; print(edgnn.__file__); [getattr(edgnn, name) for name in edgnn.__all__]"
    where = Path(
        done(only_core / "python", "-W", "error", "-c", code, env=alone, cwd=tmp_path).strip()
    )
    assert only_core.parent in where.parents
    version = done(only_core / "edgnn", "--version", env=alone, cwd=tmp_path)
    assert version.startswith("edgnn ")
    assert "not installed: " in version
