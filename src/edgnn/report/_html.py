"""Elements of HTML, built so that only what is known to be markup escapes being escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from edgnn.report._numbers import shown

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_WIDE, _NARROW, _PANEL = 680, 330, 344
_FEW = {1: _WIDE, 2: 520}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def markup(*content: str) -> Html:
    """Join pieces of a page; those that are not :class:`Html` are escaped."""
    return Html(
        "".join(
            part if isinstance(part, Html) else escape(_CONTROL.sub("\ufffd", part))
            for part in content
        )
    )


def tag(name: str, *content: str, **attributes: str | None) -> Html:
    """Return an element; ``class_`` is the attribute ``class``, ``data_x`` is ``data-x``, one that is ``None`` is left out."""
    names = {key: key.rstrip("_").replace("_", "-") for key in attributes}
    given = [
        f' {names[key]}="{markup(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    ]
    return Html(f"<{name}{''.join(given)}>{markup(*content)}</{name}>")


def section(title: str, *content: str, class_: str | None = None, id_: str | None = None) -> Html:
    """Return a part of the page under a heading; one of the class ``"long"`` may be split between two sheets of paper."""
    return tag("section", tag("h2", title), *content, class_=class_, id_=id_)


def part(title: str, *content: str, class_: str = "part") -> Html:
    """Return a part of a section under a heading of its own; one of the class ``"broad"`` too is printed across the sheet."""
    return tag("div", tag("h3", title), *content, class_=class_)


def folded(title: str, *content: str, open_: bool = False) -> Html:
    """Return what is shown when its title is clicked, and on paper."""
    inside = markup(tag("summary", title), *content)
    return Html(f"<details{' open' * open_}>{inside}</details>")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, class_: str | None = None) -> Html:
    """Return a table whose first column names the rows."""
    lines = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
        for row in rows
    ]
    top = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head)))
    return scrolled(tag("table", top, tag("tbody", *lines), class_=class_))


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
    """

    text: str
    value: float | None = None
    note: str = ""

    def html(self, name: str = "td", **attributes: str | None) -> Html:
        """Return the element."""
        below = tag("small", self.note) if self.note else Html("")
        value = (
            None if self.value is None else "" if math.isnan(self.value) else f"{self.value:.6g}"
        )
        return tag(name, self.text, below, data_value=value, **attributes)


def sortable(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]], *, class_: str = ""
) -> Html:
    """Return a table that readers may sort by any column; the first column names the rows, columns of numbers fall at first."""
    rows = list(rows)
    falls = [any(row[place].value is not None for row in rows) for place in range(len(head))]
    kinds = [None if down else "words" for down in falls]
    lines = [
        tag(
            "tr",
            row[0].html("th", scope="row"),
            *(cell.html(class_=kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)),
        )
        for row in rows
    ]
    names = [
        tag("th", name, scope="col", class_=kind, data_first="descending" if down else None)
        for name, kind, down in zip(head, kinds, falls, strict=True)
    ]
    top = markup(tag("caption", tag("span", tag("span", caption))), tag("thead", tag("tr", *names)))
    whole = tag("table", top, tag("tbody", *lines), class_=f"sortable numbers {class_}".strip())
    return tag("div", whole, class_="scroll", role="region", aria_label=caption, tabindex="0")


def pairs(values: Mapping[str, object]) -> Html:
    """Return a table of names and values; mappings inside become groups of rows under a heading."""
    single = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    groups = [
        (name, value) for name, value in values.items() if isinstance(value, Mapping) and value
    ]
    parts = [tag("tbody", *map(_pair, single.items()))] if single else []
    for name, group in groups:
        parts.append(
            tag(
                "tbody",
                tag("tr", tag("th", str(name), colspan="2", scope="rowgroup", class_="group")),
                *map(_pair, group.items()),
            )
        )
    return scrolled(tag("table", *parts, class_="pairs"))


def panels(draw: Callable[[str, int], str], names: Sequence[str], caption: str) -> Html:
    """Return one small picture per name, side by side as the screen allows; one or two are drawn wider on wide screens."""
    parts = []
    for name in names:
        if len(names) in _FEW:
            pictures = [
                tag("div", Html(draw(name, width)), class_=kind)
                for kind, width in (("wide", _FEW[len(names)]), ("narrow", _NARROW))
            ]
        else:
            pictures = [Html(draw(name, _PANEL))]
        parts.append(tag("div", tag("p", name, class_="panel-name"), *pictures))
    kind = "panels few" if len(names) in _FEW else "panels"
    return tag("figure", tag("div", *parts, class_=kind), tag("figcaption", caption))


def figure(draw: Callable[[int], str], caption: str) -> Html:
    """Return a picture twice, for screens and for phones, so that its letters keep their size; the page shows one of them."""
    wide, narrow = (
        tag("div", Html(draw(width)), class_=kind)
        for kind, width in (("wide", _WIDE), ("narrow", _NARROW))
    )
    return tag("figure", wide, narrow, tag("figcaption", caption))


def scrolled(content: Html) -> Html:
    """Let what is wider than the screen be moved sideways."""
    return tag("div", content, class_="scroll")


def _pair(pair: tuple[object, object]) -> Html:
    name, value = pair
    return tag("tr", tag("th", str(name), scope="row"), tag("td", shown(value)))
