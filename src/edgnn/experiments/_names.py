"""Names that nobody knows: an error that says which one was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeVar

from edgnn.errors import EdgnnError

_Error = TypeVar("_Error", bound=EdgnnError)


def unknown_name(kind: type[_Error], what: str, name: str, known: Iterable[str], where: str = "") -> _Error:
    """Return the error for a name that is not among the known ones, with the closest of them."""
    names = {other.lower(): other for other in known}
    close = get_close_matches(name.lower(), names, n=1)
    hint = f"did you mean {names[close[0]]!r}?" if close else f"there are {', '.join(names.values())}"
    return kind(f"there is no {what} {name!r}{where}; {hint}")


def similar(name: str, known: Iterable[str]) -> str:
    """Return what to say behind the complaint about an unknown name: the closest one, or all."""
    names = sorted(known)
    if not names:
        return "; it has none"
    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(names)}"
