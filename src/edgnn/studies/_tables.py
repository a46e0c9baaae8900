"""The tables of a reproduction and their rows, as tables.toml has them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from edgnn._words import unknown_name
from edgnn.errors import StudyError


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

    def row(self, name: str) -> Row:
        """Return the row of that id."""
        for row in self.rows:
            if row.id == name:
                return row
        raise unknown_name(
            StudyError, "row", name, [row.id for row in self.rows], f" in the table {self.name}"
        )

    def rows_of(self, level: str) -> list[Row]:
        """Return the rows for graphs or for nodes."""
        return [row for row in self.rows if row.level in (None, level)]


def table(name: str) -> Table:
    """Return a table by its name."""
    if name not in TABLES:
        raise unknown_name(StudyError, "table", name, TABLES)
    stored = dict(_stored()["tables"][name])
    rows = tuple(_row(name) for name in stored.pop("rows", ()))
    protocol = stored.pop("protocol", {})
    by_level = (
        dict.fromkeys(("graph", "node"), protocol) if isinstance(protocol, str) else dict(protocol)
    )
    return Table(
        name=name,
        rows=rows,
        protocol=by_level,
        **(stored | {"datasets": tuple(stored["datasets"])}),
    )


@cache
def _row(name: str) -> Row:
    if name not in _stored()["rows"]:
        raise StudyError(f"tables.toml names the row {name!r}, but does not define it")
    return Row(id=name, **_stored()["rows"][name])


@cache
def _stored() -> dict[str, Any]:
    return tomllib.loads(files("edgnn.studies").joinpath("tables.toml").read_text(encoding="utf-8"))


#: The names of all tables.
TABLES: tuple[str, ...] = tuple(_stored()["tables"])
