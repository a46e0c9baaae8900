"""What templates show: cells, tables and figures as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from edgnn.report._numbers import shown

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


def figure(draw: Callable[[int], str], caption: str) -> Figure:
    """Return one picture, from a function that draws it in a given width."""
    return Figure(caption, [("", _drawn(draw, _WIDE))])


def panels(draw: Callable[[str, int], str], names: Sequence[str], caption: str) -> Figure:
    """Return one small picture per name, side by side as the screen allows."""
    wide = _FEW.get(len(names))
    if wide is None:
        return Figure(caption, [(name, [("", draw(name, _PANEL))]) for name in names], "panels")
    found = [(name, _drawn(partial(draw, name), wide)) for name in names]
    return Figure(caption, found, "panels few")


def _drawn(draw: Callable[[int], str], wide: int) -> list[tuple[str, str]]:
    return [("wide", draw(wide)), ("narrow", draw(_NARROW))]


def setting_groups(values: Mapping[str, object]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return names and values as text, first the single ones, then mappings under their names."""
    single = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    groups = [("", _texts(single))] if single else []
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            groups.append((str(name), _texts(value)))
    return groups


def _texts(values: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(str(name), shown(value)) for name, value in values.items()]
