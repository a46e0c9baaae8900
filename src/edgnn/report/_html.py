"""Elements of HTML, built so that only what is known to be markup escapes being escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

from edgnn.report._numbers import shown

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_WIDE, _NARROW = 680, 330


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def markup(*content: str) -> Html:
    """Join pieces of a page; those that are not :class:`Html` are escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(_CONTROL.sub("\ufffd", part)) for part in content))


def tag(name: str, *content: str, **attributes: str | None) -> Html:
    """Return an element; ``class_`` is the attribute ``class``, one that is ``None`` is left out."""
    given = [f' {key.rstrip("_")}="{markup(str(value))}"' for key, value in attributes.items() if value is not None]
    return Html(f"<{name}{''.join(given)}>{markup(*content)}</{name}>")


def section(title: str, *content: str, class_: str | None = None) -> Html:
    """Return a part of the page under a heading; one of the class ``"long"`` may be split between two sheets of paper."""
    return tag("section", tag("h2", title), *content, class_=class_)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, class_: str | None = None) -> Html:
    """Return a table whose first column names the rows."""
    lines = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    top = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head)))
    return scrolled(tag("table", top, tag("tbody", *lines), class_=class_))


def pairs(values: Mapping[str, object]) -> Html:
    """Return a table of names and values; mappings inside become groups of rows under a heading."""
    single = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    groups = [(name, value) for name, value in values.items() if isinstance(value, Mapping) and value]
    parts = [tag("tbody", *map(_pair, single.items()))] if single else []
    for name, group in groups:
        parts.append(tag("tbody", tag("tr", tag("th", str(name), colspan="2", class_="group")), *map(_pair, group.items())))
    return scrolled(tag("table", *parts, class_="pairs"))


def figure(draw: Callable[[int], str], caption: str) -> Html:
    """Return a picture twice, for screens and for phones, so that its letters keep their size; the page shows one of them."""
    wide, narrow = (tag("div", Html(draw(width)), class_=kind) for kind, width in (("wide", _WIDE), ("narrow", _NARROW)))
    return tag("figure", wide, narrow, tag("figcaption", caption))


def scrolled(content: Html) -> Html:
    """Let what is wider than the screen be moved sideways."""
    return tag("div", content, class_="scroll")


def _pair(pair: tuple[object, object]) -> Html:
    name, value = pair
    return tag("tr", tag("th", str(name), scope="row"), tag("td", shown(value)))
