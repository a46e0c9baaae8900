"""Did you mean …? The known name that a mistyped one is closest to, for every error about a name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

_MOST_CHOICES = 5_000
_LONGEST = 100


def closest(name: Any, choices: Iterable[Any], *, cutoff: float = 0.6) -> str | None:
    """Return the choice that a mistyped name is closest to, or ``None`` where none is close.

    Parameters
    ----------
    name : object
        What was asked for; only text is close to anything.
    choices : iterable
        What there is; what is no text is passed over. Case, ``-``, ``_`` and space around do not
        matter.
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
    """Return ``; did you mean 'color'?`` to stand behind a complaint, or nothing where no choice is close."""
    close = closest(name, choices)
    return "" if close is None else f"; did you mean {close!r}?"


def suggestion_or(name: Any, choices: Iterable[Any], otherwise: str) -> str:
    """Return ``did you mean 'color'?``, or where no choice is close, ``otherwise``."""
    close = closest(name, choices)
    return otherwise if close is None else f"did you mean {close!r}?"


def _fold(name: str) -> str:
    return name.strip().casefold().replace("-", "_")
