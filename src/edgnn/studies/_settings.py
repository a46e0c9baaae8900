"""Stored settings: what the paper trained with, as data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Literal

from edgnn._words import suggestion_or
from edgnn.errors import DatasetError


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
        The share held out for early stopping, or ``"first-fifth"`` of a published training part.
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


def rows() -> list[str]:
    """Return the names of the stored rows."""
    return list(_stored())


def recipe(row: str, level: Literal["graph", "node"], name: str = "") -> Recipe:
    """Return the settings of a row for graphs or nodes, with what it says of the set ``name`` in particular."""
    stored = _stored()
    if row not in stored:
        raise DatasetError(
            f"there are no settings named {row!r}; {suggestion_or(row, stored, 'there are ' + ', '.join(stored))}"
        )
    merged: dict[str, Any] = {}
    for part in _lineage(row):
        for table in (stored[part].get(level, {}), stored[part].get("set", {}).get(name, {})):
            estimator = merged.get("estimator", {}) | table.get("estimator", {})
            merged = {**merged, **table, "estimator": estimator}
    says, model = stored[row]["says"], stored[row].get("model", "edgnn")
    return Recipe(
        row, says, merged["protocol"], merged.get("validation"), merged["estimator"], model
    )


def search_grid(level: Literal["graph", "node"]) -> list[dict[str, Any]]:
    """Return what the search over settings tries for graphs or nodes: parameters that replace those of a row, simplest first."""
    axes = _file()["search"][level]
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _lineage(row: str) -> list[str]:
    """Return the rows a row builds upon, and itself last."""
    parent = _stored()[row].get("extends")
    return [row] if parent is None else [*_lineage(parent), row]


def _stored() -> dict[str, Any]:
    return {name: part for name, part in _file().items() if name != "search"}


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(
        files("edgnn.studies").joinpath("settings.toml").read_text(encoding="utf-8")
    )
