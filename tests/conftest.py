"""Shared set-up: where the real data lies, how hard Hypothesis tries, what a machine without CUDA skips."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing import spawn
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from warm_python import warm_python

_REPOSITORY = Path(__file__).resolve().parents[1]
_SHARED_DATA = _REPOSITORY.parent / "shared" / "data"

if "EDGNN_DATA" not in os.environ and _SHARED_DATA.is_dir():
    os.environ["EDGNN_DATA"] = str(_SHARED_DATA)

settings.register_profile(
    "edgnn", deadline=None, max_examples=60, derandomize=os.environ.get("CI") == "true"
)
settings.load_profile("edgnn")


#: What only the extras of edgnn install, and packages that tests alone use.
_OPTIONAL = [
    "dask",
    "defusedxml",
    "distributed",
    "fastapi",
    "gensim",
    "grakel",
    "httpx",
    "igraph",
    "playwright",
    "pooch",
    "pyarrow",
    "pydantic",
    "pyoxigraph",
    "rdflib",
    "rdkit",
    "schemathesis",
    "starlette",
    "torch_geometric",
    "uvicorn",
]


class _Module(pytest.Module):
    """A test file; skipped where it imports an optional package that is not installed."""

    def _getobj(self) -> object:
        try:
            return super()._getobj()
        except self.CollectError as error:
            cause = error.__cause__
            missing = getattr(cause, "name", None) or ""
            if not isinstance(cause, ImportError) or missing.split(".")[0] not in _OPTIONAL:
                raise
            pytest.skip(f"{missing} is not installed", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    module: pytest.Module = _Module.from_parent(parent, path=module_path)
    return module


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="there is no CUDA device"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    place = Path(os.environ.get("EDGNN_DATA", ""))
    if not (place / "TUDataset").is_dir():
        pytest.skip("the real data sets are not here; EDGNN_DATA names their folder")
    return place


@pytest.fixture(scope="session")
def run_python() -> Callable[..., str]:
    """Run a piece of code in a fresh interpreter, warnings being errors, and return what it prints."""

    def run(code: str, *arguments: object, **environment: str) -> str:
        command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
        done = subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def quick_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let processes of joblib and Dask start at once."""
    before = spawn.get_executable()
    monkeypatch.setattr(sys, "executable", warm_python())
    spawn.set_executable(warm_python())
    yield
    spawn.set_executable(before)
