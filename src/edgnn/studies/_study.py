"""Study: the folder of a reproduction, one file per cell, each written at once or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import edgnn
from edgnn._files import Path_
from edgnn._json import to_json
from edgnn._words import one_line, short
from edgnn.errors import FormatError
from edgnn.evaluation import Evaluation, is_number, stored_evaluation
from edgnn.studies._study_files import (
    STUDY,
    locked,
    make_study_folder,
    read_signed,
    read_study,
    write_bytes,
    write_signed,
)
from edgnn.studies._tables import TABLES, find_table

if TYPE_CHECKING:
    from edgnn.studies._summaries import TableSummary

Protocol = Literal["paper", "nested"]

_FORMAT = 1
_CELL_FILE = re.compile(r"run-(\d{2,})\.json")


@dataclass(frozen=True)
class Cell:
    """One run of one row on one data set: all folds of a repeat, or one model of a published split.

    Attributes
    ----------
    table, dataset, row : str
        Where it stands.
    run : int
        Which run, from 0.
    protocol : {"paper", "nested"}
        Whether settings are the stored ones or chosen inside the training part.
    """

    table: str
    dataset: str
    row: str
    run: int
    protocol: Protocol = "paper"

    def __str__(self) -> str:
        nested = ", nested" if self.protocol == "nested" else ""
        return f"{self.row} on {self.dataset}, run {self.run} ({self.table}{nested})"

    @property
    def path(self) -> Path:
        """Where its file lies in a study."""
        row = self.row + (".nested" if self.protocol == "nested" else "")
        return Path("cells") / self.table / self.dataset / row / f"run-{self.run:02d}.json"


@dataclass(frozen=True, eq=False)
class CellResult:
    """What computing a cell gave.

    Attributes
    ----------
    cell : Cell
        Which one.
    evaluation : Evaluation
        Splits, predictions and scores of this run.
    seconds : float
        How long it took.
    memory : int, optional
        Most bytes that the process held while computing it, those on a device included; ``None``
        where that is not known.
    history : list of dict
        ``"epoch"``, ``"train_loss"`` and ``"valid_loss"`` (one per model); empty for methods
        without epochs.
    settings : dict
        Model, parameters, validation, protocol, seed and data.
    environment : dict
        What :func:`edgnn.training.environment` says.
    ceiling : float, optional
        Best training accuracy of any model bounded by Eq. 2.
    fingerprint : str
        Hash of the settings that the predictions depend on.
    """

    cell: Cell
    evaluation: Evaluation
    seconds: float
    memory: int | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    ceiling: float | None = None
    fingerprint: str = ""


class Study:
    """The folder of a reproduction: ``study.json``, ``cells/``, and the tables made from them.

    A cell is written beside its place and renamed, with a hash over its content, so an interruption
    leaves the whole file or none, and damage is noticed. Made by :meth:`create` and :meth:`open`.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: Path, document: dict[str, Any]) -> None:
        self.path = path
        self._document = document

    @classmethod
    def create(cls, path: Path_) -> Study:
        """Open the study in a folder, or start one in a new or empty folder."""
        place = Path(path)
        if make_study_folder(place):
            write_bytes(
                place / STUDY,
                to_json({"format": _FORMAT, "edgnn": edgnn.__version__, "calls": []}, indent=2),
            )
        return cls.open(place)

    @classmethod
    def open(cls, path: Path_) -> Study:
        """Open the folder of a study that was started before."""
        place = Path(path)
        return cls(place, read_study(place, _FORMAT))

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r})"

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What was asked so far, one entry per command."""
        return [dict(call) for call in self._document["calls"]]

    def add_call(self, call: Mapping[str, Any]) -> None:
        """Take note of a command."""
        document = read_study(self.path, _FORMAT)
        document["calls"].append(dict(call))
        write_bytes(self.path / STUDY, to_json(document, indent=2))
        self._document = document

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other commands out of this folder: they get a ``StudyError`` at once."""
        with locked(self.path):
            yield

    def cells(self) -> list[Cell]:
        """Return the cells of known rows that are there, by table, data set, row and run."""
        protocols: tuple[Protocol, ...] = ("paper", "nested")
        cells: list[Cell] = []
        for table in map(find_table, TABLES):
            for dataset, row, protocol in product(table.datasets, table.rows, protocols):
                cells += self.runs(table.name, dataset, row.id, protocol)
        return cells

    def runs(self, table: str, dataset: str, row: str, protocol: Protocol = "paper") -> list[Cell]:
        """Return the runs of one row on one data set that are there."""
        folder = self.path / Cell(table, dataset, row, 0, protocol).path.parent
        if not folder.is_dir():
            return []
        cells = []
        for entry in folder.iterdir():
            file_name = _CELL_FILE.fullmatch(entry.name)
            if file_name is None:
                continue
            cell = Cell(table, dataset, row, int(file_name[1]), protocol)
            if cell.path.name == entry.name:  # not run-007.json
                cells.append(cell)
        return sorted(cells, key=lambda cell: cell.run)

    def has(self, cell: Cell) -> bool:
        """Return whether a cell is there."""
        return (self.path / cell.path).is_file()

    def read(self, cell: Cell) -> CellResult:
        """Return what a cell gave; a :class:`~edgnn.errors.FormatError` names a damaged file."""
        path = self.path / cell.path
        stored = read_signed(path)
        if stored.get("format") != _FORMAT:
            raise FormatError(
                path,
                f"it has format {short(stored.get('format'))}, "
                f"but this edgnn reads format {_FORMAT}: upgrade edgnn",
            )
        try:
            return _result(cell, stored)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            reason = f"{type(error).__name__}: {one_line(error)}"
            raise FormatError(path, f"it holds no cell of a study ({reason})") from None

    def write(self, result: CellResult) -> None:
        """Write what a cell gave."""
        path = self.path / result.cell.path
        write_signed(path, _stored(result))

    def set_aside(self, cell: Cell) -> None:
        """Rename the file of a cell that does not count any more, to ``run-NN.json.old``."""
        path = self.path / cell.path
        path.replace(path.with_name(path.name + ".old"))

    def summaries(self, tell: Callable[[str], Any] | None = None) -> list[TableSummary]:
        """Return the summaries of all tables with cells, then those of nested cells.

        Tables of statistics and of measured figures, which have no accuracies to compare, are not
        among them.

        ``tell`` hears of damaged cells, as in :func:`summarize`.
        """
        from edgnn.studies._summaries import summarize

        nested = {cell.table for cell in self.cells() if cell.protocol == "nested"}
        tables = [find_table(name) for name in TABLES]
        compared = [table.name for table in tables if not table.statistics and not table.metrics]
        names: list[tuple[str, Protocol]] = [(name, "paper") for name in compared]
        names += [(name, "nested") for name in compared if name in nested]
        made = [summarize(self, find_table(name), protocol, tell) for name, protocol in names]
        return [summary for summary in made if summary.entries]


_PLAIN_FIELDS = (
    "fingerprint",
    "settings",
    "ceiling",
    "history",
    "seconds",
    "memory",
    "environment",
)


def _stored(result: CellResult) -> dict[str, Any]:
    head = {"format": _FORMAT, "cell": asdict(result.cell)}
    fields = {name: getattr(result, name) for name in _PLAIN_FIELDS}
    return head | fields | {"evaluation": result.evaluation.to_dict()}


def _result(cell: Cell, stored: Mapping[str, Any]) -> CellResult:
    written = Cell(**stored["cell"])
    if written != cell:
        raise ValueError(f"it is that of {written}")
    numbers = [stored[name] for name in ("seconds", "memory", "ceiling")]
    mappings = [stored["settings"], stored["environment"], *stored["history"]]
    are_numbers = all(map(is_number, numbers)) and stored["seconds"] is not None
    if not are_numbers or {*map(type, mappings)} != {dict}:
        raise ValueError("its fields are of other types")
    evaluation = stored_evaluation(stored["evaluation"])
    return CellResult(cell, evaluation, **{name: stored[name] for name in _PLAIN_FIELDS})
