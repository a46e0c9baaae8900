"""What templates show: scores, cells, tables, figures and settings as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from edgnn._words import number
from edgnn.evaluation import Evaluation, Metric, Summary
from edgnn.report._numbers import limits_text, metric_name, plus_minus, shown
from edgnn.report.draw import Estimate

#: Widths of pictures in pixels: on screens, on phones, and of one among many.
_WIDE, _NARROW, _PANEL = 680, 330, 344
#: One or two panels are drawn wider on wide screens.
_FEW = {1: _WIDE, 2: 520}


@dataclass(frozen=True)
class Cell:
    """A cell of a table that can be sorted.

    Parameters
    ----------
    text : str
        What is shown; a dash if it is not known.
    value : float, optional
        What a row is sorted by (NaN: unknown, goes last); ``None``: the text.
    note : str
        Shown below, smaller.
    spread, note_spread : str, optional
        What stands behind the text, and behind the note, in a column of its own; it may be empty.
    best : bool
        Whether it is set in bold.
    """

    text: str
    value: float | None = None
    note: str = ""
    spread: str | None = None
    note_spread: str | None = None
    best: bool = False

    @property
    def order(self) -> str | None:
        """The value as the page's script reads it: empty if unknown, ``None`` if there is none."""
        if self.value is None:
            return None
        return "" if math.isnan(self.value) else f"{self.value:.6g}"


#: The cell of a number that is not known.
MISSING = Cell("–", math.nan)


@dataclass(frozen=True, eq=False)
class Score:
    """A model's scores by one metric, as readers see them: in percent where that is usual."""

    summary: Summary

    @classmethod
    def of(cls, evaluation: Evaluation) -> Score:
        """Return the scores by the first metric of an evaluation."""
        return cls(evaluation[evaluation.metrics[0]])

    @property
    def metric(self) -> Metric:
        """What the scores measure."""
        return self.summary.metric

    @property
    def factor(self) -> int:
        """What scores are multiplied by on an axis."""
        return 100 if self.metric.percent else 1

    @property
    def axis(self) -> dict[str, Any]:
        """The name and the limits of an axis of such scores."""
        low, high = self.metric.bounds
        name = metric_name(self.metric.name, self.metric.percent)
        return {"x_label": name, "bounds": (self.factor * low, self.factor * high)}

    @property
    def mean_text(self) -> str:
        """The mean ± the spread."""
        return plus_minus(self.summary.mean, self.summary.spread, self.metric.percent)

    @property
    def interval_text(self) -> str:
        """The ends of the confidence interval."""
        return limits_text(self.summary.interval, self.metric.percent)

    def text(self, value: float) -> str:
        """Return a score as text."""
        return number(value, self.metric.percent)

    def cell(self, value: float) -> Cell:
        """Return a score as a cell."""
        return Cell(self.text(value), value)

    def estimate(self, name: str, text: str, **more: Any) -> Estimate:
        """Return the mean with its spread and its confidence interval as a row of a chart."""
        low, high = self.summary.interval
        return Estimate(
            name,
            text,
            mean=self.factor * self.summary.mean,
            interval=(self.factor * low, self.factor * high),
            **{"spread": self.factor * self.summary.spread, **more},
        )


@dataclass(frozen=True)
class Sortable:
    """A table that readers may sort by any column; the first column names the rows."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    kind: str = ""

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """The names of the columns, and whether each holds numbers, which fall at first."""
        return [
            (name, any(row[place].value is not None for row in self.rows))
            for place, name in enumerate(self.head)
        ]


@dataclass(frozen=True)
class Figure:
    """Pictures with a caption: one, or a panel for each of several names.

    A picture is drawn for screens and for phones, so that its letters keep their size; the page
    shows one of them.
    """

    caption: str
    panels: list[tuple[str, list[tuple[str, str]]]]
    kind: str = ""


def figure(caption: str, draw: Callable[..., str], *args: Any, **options: Any) -> Figure:
    """Return one picture, from a function that draws ``args`` in a given ``width``."""
    return Figure(caption, [("", _drawn(partial(draw, *args, **options), _WIDE))])


def panels(draw: Callable[[str, int], str], names: Sequence[str], caption: str) -> Figure:
    """Return one small picture per name, side by side as the screen allows."""
    wide = _FEW.get(len(names))
    if wide is None:
        return Figure(caption, [(name, [("", draw(name, _PANEL))]) for name in names], "panels")
    drawn = [(name, _drawn(partial(draw, name), wide)) for name in names]
    return Figure(caption, drawn, "panels few")


def _drawn(draw: Callable[..., str], wide: int) -> list[tuple[str, str]]:
    return [("wide", draw(width=wide)), ("narrow", draw(width=_NARROW))]


def evenly(count: int, most: int) -> np.ndarray[Any, Any]:
    """Return all of ``count`` places, or where they are more than ``most``, so many among them."""
    return np.linspace(0, count - 1, min(count, most)).round().astype(int)


def setting_groups(values: Mapping[str, object]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return names and values as text, first the single ones, then mappings under their names."""
    groups: dict[str, list[tuple[str, str]]] = {"": []}
    for name, value in values.items():
        if isinstance(value, Mapping):
            groups[str(name)] = [(str(inner), shown(entry)) for inner, entry in value.items()]
        else:
            groups[""].append((str(name), shown(value)))
    return [(name, rows) for name, rows in groups.items() if rows]


def side_by_side(
    settings: Mapping[str, Mapping[str, Any]],
) -> tuple[list[tuple[str, str]], dict[str, dict[str, str]]]:
    """Return the settings that several have in common, and the others with the value of each."""
    texts = {owner: _flat(values) for owner, values in settings.items()}
    same, different = [], {}
    for name in dict.fromkeys(name for values in texts.values() for name in values):
        of_owner = {owner: values.get(name, "–") for owner, values in texts.items()}
        if len(set(of_owner.values())) == 1:
            same.append((name, next(iter(of_owner.values()))))
        else:
            different[name] = of_owner
    return same, different


def _flat(settings: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Return settings as text, those inside others by names with dots."""
    texts: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            texts |= _flat(value, f"{before}{name}.")
        else:
            texts[f"{before}{name}"] = shown(value)
    return texts
