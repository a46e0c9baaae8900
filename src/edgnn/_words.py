"""Words of messages: foreign text made safe, counts, durations, numbers, IRIs, did-you-mean."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from edgnn.errors import EdgnnError

_Error = TypeVar("_Error", bound=EdgnnError)
#: Beyond so many choices, or for so long a name, no suggestion is searched: it would take too long.
_MOST_CHOICES = 5_000
_LONGEST = 100

_IRI = re.compile(r"<?(?<![\w+.-])[a-z][a-z0-9+.-]*+://([^\s,;\]>]*+)>?(?=[\s,;\]]|$)")


def short(value: Any, most: int = 80) -> str:
    """Return a value as Python would write it, cut to a bearable length."""
    if isinstance(value, str):
        return repr(value if len(value) <= most else f"{value[:most]}…")
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a whole number of very many digits
        text = f"of type {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}…"


def one_line(text: object, most: int = 200) -> str:
    """Return the message of another library on one line, to be quoted in an error."""
    letters = str(text)[: most + 1]
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in letters)
    return shown if len(shown) <= most else f"{shown[:most]}…"


def preview(values: Sequence[Any], most: int = 6) -> str:
    """Return the first few values as text, with an ellipsis where some were left out."""
    shown = ", ".join(map(short, values[:most]))
    return shown if len(values) <= most else f"{shown}, … ({len(values)} in all)"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 graph``, ``1,200 graphs``, ``2 classes``."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")) and noun != "epoch":
        return f"{count:,} {noun}es"
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy")):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}s"


def with_article(name: str) -> str:
    """Return a name behind its article: ``a RidgeClassifier``, ``an AutoClassifier``."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def number(value: float, percent: bool = False) -> str:
    """Return a value with four digits, or in percent with one decimal; a dash if it is NaN."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{100 * value:.1f}" if percent else f"{value:.4g}"
    return text.replace("-", "−")


def duration(seconds: float) -> str:
    """Return a duration: ``4.2 s``, ``3 min 5 s``, ``2 h 10 min``; – if it is unknown."""
    if not math.isfinite(seconds) or seconds < 0:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60:,} h {minutes % 60} min"


def short_iri(text: str) -> str:
    """Return text with every IRI in it shortened to its last segment."""
    if "://" not in text:
        return text

    def last_segment(iri: re.Match[str]) -> str:
        return re.split("[/#]", iri[1].rstrip("/#"))[-1] or iri[0]

    return _IRI.sub(last_segment, text)


def cut(text: str, most: int) -> str:
    """Return text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def closest(name: Any, choices: Iterable[Any], *, cutoff: float = 0.6) -> str | None:
    """Return the choice that a mistyped name is closest to, or ``None`` where none is close.

    Parameters
    ----------
    name : object
        What was asked for; only text is close to anything.
    choices : iterable
        The names there are; other values are passed over. Case, ``-``, ``_`` and space around do
        not matter.
    cutoff : float
        How alike two names must be, from 0 to 1.
    """
    if not isinstance(name, str) or len(name) > _LONGEST:
        return None
    folded: dict[str, str] = {}
    for choice in choices:
        if isinstance(choice, str):
            folded.setdefault(_fold(choice), choice)
    meant = _fold(name)
    if meant in folded:
        return folded[meant]
    if len(folded) > _MOST_CHOICES:
        return None
    close = get_close_matches(meant, folded, n=1, cutoff=cutoff)
    return folded[close[0]] if close else None


def suggestion(name: Any, choices: Iterable[Any]) -> str:
    """Return ``; did you mean 'color'?``, or nothing where no choice is close."""
    close = closest(name, choices)
    return "" if close is None else f"; did you mean {close!r}?"


def suggestion_or(name: Any, choices: Iterable[Any], otherwise: str) -> str:
    """Return ``did you mean 'color'?``, or where no choice is close, ``otherwise``."""
    close = closest(name, choices)
    return otherwise if close is None else f"did you mean {close!r}?"


def _fold(name: str) -> str:
    return name.strip().casefold().replace("-", "_")


def unknown_name(
    kind: type[_Error], what: str, name: str, choices: Iterable[str], where: str = ""
) -> _Error:
    """Return the error for a name that is not among the choices, with the closest of them."""
    names = list(choices)
    hint = suggestion_or(name, names, f"there are {', '.join(names)}")
    return kind(f"there is no {what} {short(name)}{where}; {hint}")


def similar(name: str, choices: Iterable[str]) -> str:
    """Return the end of an error about an unknown name: the closest name, or all."""
    names = sorted(choices)
    if not names:
        return "; it has none"
    return suggestion(name, names) or f"; known are {', '.join(names)}"
