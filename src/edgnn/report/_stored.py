"""The predictions that a run has stored, beside the truth where that is stored as well."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn.report._errors import ReportError
from edgnn.report._html import Html
from edgnn.report._predictions import confusion_section, points_section
from edgnn.training import PREDICTIONS, RunFolder

_TRUTH, _SAID, _PART = "target", "prediction", "part"
_JUDGED = ("test", "validation")


@dataclass(frozen=True, eq=False)
class Stored:
    """True and predicted values of the items that a run is judged on, as texts.

    Attributes
    ----------
    true, said : list of str
        One per item.
    values : bool
        Whether these are real values rather than classes.
    names : list of str
        The classes.
    note : str
        Which items these are.
    """

    true: list[str]
    said: list[str]
    values: bool
    names: list[str]
    note: str

    def sections(self) -> list[Html]:
        """Return the section that shows them."""
        if self.values:
            return points_section(_numbers(self.true), _numbers(self.said), self.note)
        return confusion_section(self.confusion(), self.names, self.note)

    def confusion(self) -> np.ndarray[Any, Any]:
        """Return how often each class (row) was taken for each (column)."""
        place = {name: number for number, name in enumerate(self.names)}
        counts = np.zeros((len(place), len(place)), dtype=np.int64)
        np.add.at(
            counts, ([place[name] for name in self.true], [place[name] for name in self.said]), 1
        )
        return counts

    def to_dict(self) -> dict[str, Any] | None:
        """Return the confusion matrix as plain values, or ``None`` if there is none."""
        return (
            None
            if self.values
            else {"class_names": self.names, "counts": self.confusion(), "items": self.note}
        )


def stored_predictions(run: RunFolder) -> Stored | None:
    """Return the predictions of a run, of its test part where parts are told apart; ``None`` without true values."""
    rows = [
        row
        for row in _rows((run.path / PREDICTIONS).read_bytes().decode())
        if row.get(_TRUTH) and row.get(_SAID)
    ]
    if not rows:
        return None
    judged = next((part for part in _JUDGED if any(row.get(_PART) == part for row in rows)), None)
    if judged:
        rows = [row for row in rows if row[_PART] == judged]
    known, given = [row[_TRUTH] for row in rows], [row[_SAID] for row in rows]
    note = f"{len(rows):,} items of " + (f"the {judged} part." if judged else f"{PREDICTIONS}.")
    values = _is_regression(run.config)
    return Stored(
        known, given, values, [] if values else _in_order({*known, *given}, run.config), note
    )


def _rows(text: str) -> list[dict[str, str]]:
    try:
        return [
            {str(name): value or "" for name, value in row.items() if isinstance(value, str | None)}
            for row in csv.DictReader(io.StringIO(text, newline=""))
        ]
    except csv.Error as error:
        raise ReportError(f"it is no table ({error})") from None


def _is_regression(config: dict[str, Any]) -> bool:
    return config.get("task") == "values" or str(config.get("estimator", "")).endswith("Regressor")


def _in_order(found: set[str], config: dict[str, Any]) -> list[str]:
    """Return classes in the order of the run if it names them all, else numbers by size and then texts by the alphabet."""
    names = config.get("class_names")
    known = [str(name) for name in names] if isinstance(names, list) else []
    if found <= set(known) and len(known) == len(set(known)):
        return known
    return sorted(
        found,
        key=lambda name: (
            math.isnan(number := _number(name)),
            0.0 if math.isnan(number) else number,
            name,
        ),
    )


def _numbers(texts: list[str]) -> np.ndarray[Any, Any]:
    return np.array([_number(text) for text in texts], dtype=float)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
