"""What a run ran on: machine, versions, threads, and the commit of the package itself."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

import edgnn

_PACKAGES = (
    "edgnn",
    "torch",
    "numpy",
    "scipy",
    "scikit-learn",
    "safetensors",
    "filelock",
    "gensim",
    "grakel",
    "networkx",
    "pyarrow",
    "pyoxigraph",
    "rdflib",
    "rdkit",
    "torch-geometric",
)


def environment() -> dict[str, Any]:
    """Return what a reader needs to judge and repeat a result, ready for JSON.

    ``date``, ``processor``, ``cores``, ``system``, ``accelerator`` (``None`` without CUDA),
    ``cuda`` (the version torch was built for), ``threads`` (torch's), ``python``, ``edgnn``,
    ``packages`` (version by name, ``None`` where absent), and ``commit``: that of the checkout
    edgnn is imported from, with ``-dirty`` behind it if files were changed, or ``None`` for an
    installed package.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cuda": torch.version.cuda,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "edgnn": edgnn.__version__,
        "commit": _commit(Path(edgnn.__file__).resolve().parents[2]),
        "packages": {package: _version(package) for package in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )


def _commit(checkout: Path) -> str | None:
    """Return the commit of a checkout of edgnn; None for any other folder."""
    if not (checkout / ".git").exists() or not (checkout / "src" / "edgnn").is_dir():
        return None
    command = [
        "git",
        "-C",
        str(checkout),
        "describe",
        "--always",
        "--abbrev=40",
        "--exclude=*",
        "--dirty",
    ]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            command,
            env=variables | {"GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
