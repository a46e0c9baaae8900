"""What the paper reports: the accuracies of its two result tables, as data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from edgnn.errors import DatasetError


@dataclass(frozen=True)
class Published:
    """An accuracy as the paper prints it.

    Attributes
    ----------
    row : str
        The model, as the table names it.
    mean : float
        In percent.
    spread : float, optional
        Behind the ±; ``None`` where the table has none.
    says : str
        Which table that is.
    """

    row: str
    mean: float
    spread: float | None
    says: str

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if self.spread is None else f" ± {self.spread:.1f}")


def published_accuracy(name: str, row: str = "edGNN (avg)") -> Published | None:
    """Return what the paper reports for the set ``name``; ``None`` for sets that it does not have.

    Parameters
    ----------
    name : str
        A named data set, as :attr:`edgnn.Dataset.name` has it.
    row : str
        A row of its table, such as ``"R-GCN"``.
    """
    for level in ("graph", "node"):
        table = _stored()[level]
        if not any(name in numbers for numbers in table["rows"].values()):
            continue
        if row not in table["rows"]:
            raise DatasetError(
                f"the paper has no row {row!r} for {name}; it has {', '.join(table['rows'])}"
            )
        mean, *spread = table["rows"][row][name]
        return Published(row, mean, spread[0] if spread else None, table["says"])
    return None


def paper_row(model: str) -> str | None:
    """Return which row of the paper's tables a model by name stands beside, if any."""
    row: str | None = _stored()["models"].get(model)
    return row


@cache
def _stored() -> dict[str, Any]:
    return tomllib.loads(files("edgnn.studies").joinpath("paper.toml").read_text(encoding="utf-8"))
