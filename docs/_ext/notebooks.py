"""Run the notebooks of ``docs/notebooks`` and keep their outputs: ``python docs/_ext/notebooks.py``."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def run(path: Path) -> Any:
    """Return a notebook with the outputs of a fresh run in an empty folder, without what differs from run to run."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=120, kernel_name="python3", coalesce_streams=True)
        client.resources = {"metadata": {"path": folder}}
        client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


if __name__ == "__main__":
    for place in sorted(NOTEBOOKS.glob("*.ipynb")):
        nbformat.write(run(place), place)  # type: ignore[no-untyped-call]
