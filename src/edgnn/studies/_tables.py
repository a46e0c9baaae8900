"""The tables of a reproduction and their rows, as tables.toml has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from edgnn._words import unknown_name
from edgnn.errors import StudyError
from edgnn.studies._settings import read_toml

#: What is reproduced unless tables are named: the four tables of the paper's appendix.
PAPER_TABLES = ("graph-datasets", "node-datasets", "graphs", "nodes")


@dataclass(frozen=True)
class Row:
    """One row: a model with settings, or the best run of another row.

    Attributes
    ----------
    id : str
        What ``edgnn reproduce --models`` calls it.
    title : str
        What the table calls it.
    says : str
        What it is, and where the paper describes it.
    model : str, optional
        A name in :data:`edgnn.registry.MODELS`; ``None`` for a row that is made out of another.
    settings : str, optional
        Stored settings it starts from; see :func:`~edgnn.studies.recipe`.
    estimator : mapping
        Parameters on top of these.
    validation : float or str, optional
        The validation part, in the place of that of the settings.
    paper : str, optional
        The row of the paper's tables that it stands beside.
    level : {"graph", "node"}, optional
        What it classifies; ``None``: both.
    best_of : str, optional
        The row whose best run it is.
    search : bool
        Whether the nested protocol chooses its layers and width.
    transform : {"ring-sizes", "turned"}, optional
        What is done to the graphs first: ring sizes added to their labels, or all edges turned
        round.
    trained : bool
        Whether it is a network whose weights are trained, and nothing else.
    """

    id: str
    title: str
    says: str
    model: str | None = None
    settings: str | None = None
    estimator: Mapping[str, Any] = field(default_factory=dict)
    validation: float | str | None = None
    paper: str | None = None
    level: str | None = None
    best_of: str | None = None
    search: bool = False
    transform: str | None = None
    trained: bool = False


@dataclass(frozen=True)
class Table:
    """One table.

    Attributes
    ----------
    name, title, says : str
        Its name, its headline, and what it shows.
    datasets : tuple of str
        Its columns.
    rows : tuple of Row
        Its rows; none for a table of statistics.
    protocol : mapping
        Protocol of the splits of one run, by level: ``"cv10"``, ``"cv5"``, ``"split"``,
        ``"train-cv10"``; empty for statistics.
    seed : int
        Of run 0; run ``r`` has ``seed + r``.
    paper : bool
        Whether the paper's figures were found in the same way, so that they stand beside ours.
    statistics : bool
        Whether it shows the data themselves.
    metrics : mapping
        Metrics by task, the one that is shown first; empty for accuracies beside the paper's.
    published : str
        The file of figures that stand beside ours in a table with metrics.
    """

    name: str
    title: str
    says: str
    datasets: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    protocol: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    paper: bool = True
    statistics: bool = False
    metrics: Mapping[str, Sequence[str]] = field(default_factory=dict)
    published: str = ""

    def row(self, name: str) -> Row:
        """Return the row of that id."""
        for row in self.rows:
            if row.id == name:
                return row
        raise unknown_name(
            StudyError, "row", name, [row.id for row in self.rows], f" in the table {self.name}"
        )

    def narrow(self, rows: set[str], datasets: set[str]) -> Table:
        """Return the table with some of its rows and data sets."""
        return replace(
            self,
            rows=tuple(row for row in self.rows if row.id in rows),
            datasets=tuple(name for name in self.datasets if name in datasets),
        )

    @property
    def is_empty(self) -> bool:
        """Whether it has no cells, nor statistics of data sets."""
        return not self.datasets or not (self.rows or self.statistics)


def find_table(name: str) -> Table:
    """Return a table by its name."""
    if name not in TABLES:
        raise unknown_name(StudyError, "table", name, TABLES)
    stored = dict(_stored()["tables"][name])
    protocol = stored.pop("protocol", {})
    if isinstance(protocol, str):
        protocol = dict.fromkeys(("graph", "node"), protocol)
    return Table(
        name=name,
        rows=tuple(_row(row) for row in stored.pop("rows", ())),
        protocol=protocol,
        datasets=tuple(stored.pop("datasets")),
        **stored,
    )


def select(
    names: Sequence[str], models: Sequence[str] = (), datasets: Sequence[str] = ()
) -> tuple[Table, ...]:
    """Return tables with the rows and data sets that are asked for.

    Tables that are left without any are dropped.

    Parameters
    ----------
    names : sequence of str
        Of tables; none: those of the paper.
    models : sequence of str
        Ids of rows; none: all. A row that is the best run of another brings that one along.
    datasets : sequence of str
        Names of data sets (case, ``-`` and ``_`` do not matter); none: all. Tables that lack one
        are passed over.
    """
    distinct = list(dict.fromkeys(names or PAPER_TABLES))
    tables = [find_table(name) for name in distinct]
    noun = "table" if len(tables) == 1 else "tables"
    where = f" in the {noun} {', '.join(distinct)}"
    wanted_datasets = _wanted_datasets(tables, datasets, where)
    wanted_rows = _wanted_rows(tables, models, where)
    selected = []
    for table in tables:
        narrowed = table.narrow(wanted_rows, wanted_datasets)
        if not narrowed.is_empty:
            selected.append(narrowed)
    if not selected:
        raise StudyError(f"there is nothing{where} that has these models and data sets together")
    return tuple(selected)


def _wanted_datasets(tables: list[Table], names: Sequence[str], where: str) -> set[str]:
    known: dict[str, str] = {}
    for table in tables:
        known |= {_key(name): name for name in table.datasets}
    wanted = set()
    for name in names or known.values():
        if _key(name) not in known:
            raise unknown_name(StudyError, "data set", name, known.values(), where)
        wanted.add(known[_key(name)])
    return wanted


def _wanted_rows(tables: list[Table], ids: Sequence[str], where: str) -> set[str]:
    known: dict[str, Row] = {}
    for table in tables:
        known |= {row.id: row for row in table.rows}
    wanted: set[str] = set()
    for name in ids if known else ():
        if name not in known:
            raise unknown_name(StudyError, "model", name, known, where)
        wanted |= {name, known[name].best_of or name}
    return wanted or set(known)


def _key(name: str) -> str:
    return name.casefold().replace("-", "_")


def _row(name: str) -> Row:
    if name not in _stored()["rows"]:
        raise StudyError(f"tables.toml names the row {name!r}, but does not define it")
    return Row(id=name, **_stored()["rows"][name])


def _stored() -> dict[str, Any]:
    return read_toml("tables.toml")


#: The names of all tables.
TABLES: tuple[str, ...] = tuple(_stored()["tables"])
