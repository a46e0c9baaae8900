"""Stored settings and figures: what the paper trained with, and the accuracies it reports."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Literal

from edgnn._words import suggestion_or
from edgnn.errors import DatasetError
from edgnn.evaluation import Split
from edgnn.io.datasets import Dataset


@dataclass(frozen=True)
class Recipe:
    """How one row of a table is made.

    Attributes
    ----------
    row : str
        Name of the row.
    says : str
        Where the settings come from.
    protocol : str
        ``"cv10x10"``, ``"holdout"`` or ``"split"``.
    validation : float or str, optional
        The fraction held out for early stopping, or ``"first-fifth"`` of a published training part.
    estimator : dict
        Parameters of the estimator.
    model : str
        The model they are for.
    """

    row: str
    says: str
    protocol: str
    validation: float | str | None
    estimator: dict[str, Any] = field(default_factory=dict)
    model: str = "edgnn"


def recipe_names() -> list[str]:
    """Return the names of the stored settings."""
    return [name for name in read_toml("settings.toml") if name != "search"]


def recipe(row: str, level: Literal["graph", "node"], name: str = "") -> Recipe:
    """Return stored settings.

    Parameters
    ----------
    row : str
        One of :func:`recipe_names`.
    level : {"graph", "node"}
        What is classified.
    name : str
        A data set that the row may have settings for in particular.
    """
    stored, names = read_toml("settings.toml"), recipe_names()
    if row not in names:
        hint = suggestion_or(row, names, f"there are {', '.join(names)}")
        raise DatasetError(f"there are no settings named {row!r}; {hint}")
    merged: dict[str, Any] = {"estimator": {}}
    for ancestor in _lineage(row):
        of_set = stored[ancestor].get("set", {}).get(name, {})
        for settings in (stored[ancestor].get(level, {}), of_set):
            estimator = merged["estimator"] | settings.get("estimator", {})
            merged = {**merged, **settings, "estimator": estimator}
    return Recipe(
        row=row,
        says=stored[row]["says"],
        protocol=merged["protocol"],
        validation=merged.get("validation"),
        estimator=merged["estimator"],
        model=stored[row].get("model", "edgnn"),
    )


def search_grid(level: Literal["graph", "node"]) -> list[dict[str, Any]]:
    """Return the candidates of the search over settings, as parameters, the simplest first."""
    axes = read_toml("settings.toml")["search"][level]
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


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
        if self.spread is None:
            return f"{self.mean:.1f}"
        return f"{self.mean:.1f} ± {self.spread:.1f}"


def published_accuracy(name: str, row: str = "edGNN (avg)") -> Published | None:
    """Return what the paper reports for the set ``name``; ``None`` for sets it does not have.

    Parameters
    ----------
    name : str
        A named data set, as :attr:`edgnn.Dataset.name` has it.
    row : str
        A row of its table, such as ``"R-GCN"``.
    """
    for level in ("graph", "node"):
        table = read_toml("paper.toml")[level]
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
    row: str | None = read_toml("paper.toml")["models"].get(model)
    return row


def is_of_paper(data: Dataset, protocol: str, splits: Sequence[Split]) -> bool:
    """Return whether a protocol is the paper's.

    That is ten times ten folds for graphs, the published split for nodes.
    """
    if data.level == "node":
        return protocol == "split"
    return len(splits) == 100 and re.fullmatch(r"cv10(x\d+)?", protocol) is not None


@cache
def read_toml(name: str) -> dict[str, Any]:
    """Return one of the data files of this package."""
    return tomllib.loads(files("edgnn.studies").joinpath(name).read_text(encoding="utf-8"))


def _lineage(row: str) -> list[str]:
    """Return the rows a row builds upon, and itself last."""
    parent = read_toml("settings.toml")[row].get("extends")
    return [row] if parent is None else [*_lineage(parent), row]
