"""The command line in this process: its exit code, and what it prints."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import edgnn
from edgnn.cli import main
from edgnn.training import Epoch


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch, capfd) -> Callable[..., Ended]:
    """Run ``edgnn`` with these words."""

    def run(*words: object) -> Ended:
        monkeypatch.setattr("sys.argv", ["edgnn", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        return Ended(code, captured.out, captured.err)

    return run


@pytest.fixture
def press_ctrl_c(monkeypatch) -> Callable[[int], None]:
    """Press Ctrl-C in an epoch of the trainings that follow."""

    def in_epoch(number: int) -> None:
        real = Epoch.__init__

        def pressed(self, *arguments, **options):
            real(self, *arguments, **options)
            if self.number == number:
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(Epoch, "__init__", pressed)

    return in_epoch


@pytest.fixture(scope="session")
def molecules(tmp_path_factory) -> Path:
    """Forty graphs of MUTAG with their classes, as a TU folder."""
    data = edgnn.load_dataset("MUTAG")
    folder = tmp_path_factory.mktemp("data") / "SMALL"
    edgnn.write(
        data.graphs[:40], folder, format="tu", name="SMALL", targets=2 * data.targets[:40] - 1
    )
    return folder


@pytest.fixture(scope="session")
def smiles(tmp_path_factory) -> Path:
    """Twenty molecules with a class, a value, a whole number, and two labels of which some are missing."""
    path = tmp_path_factory.mktemp("smiles") / "molecules.csv"
    rows = [
        f"{'C' * length}{end},{kind},{length}.5,{length},{length % 2},{'' if length == 3 else 1 - length % 2}"
        for length in range(1, 11)
        for end, kind in (("O", "alcohol"), ("N", "amine"))
    ]
    path.write_text("smiles,kind,value,length,odd,even\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="session")
def people(tmp_path_factory) -> Path:
    """A graph of thirty nodes in tables, of which twenty have a group: their successor's edge tells which."""
    folder = tmp_path_factory.mktemp("people") / "people"
    folder.mkdir()
    groups = ["" if number % 3 == 0 else "xy"[number % 2] for number in range(30)]
    (folder / "nodes.csv").write_text(
        "node,label,group\n" + "".join(f"p{n},a,{g}\n" for n, g in enumerate(groups))
    )
    edges = [
        f"p{number},p{(number + 1) % 30},{'knows' if number % 2 else 'likes'}"
        for number in range(30)
    ]
    (folder / "edges.csv").write_text("source,target,label\n" + "\n".join(edges) + "\n")
    return folder
