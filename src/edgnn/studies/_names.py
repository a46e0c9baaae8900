"""Names that nobody knows: an error that says which one was meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from edgnn._suggest import suggestion, suggestion_or
from edgnn.errors import EdgnnError

_Error = TypeVar("_Error", bound=EdgnnError)


def unknown_name(
    kind: type[_Error], what: str, name: str, known: Iterable[str], where: str = ""
) -> _Error:
    """Return the error for a name that is not among the known ones, with the closest of them."""
    names = list(known)
    hint = suggestion_or(name, names, f"there are {', '.join(names)}")
    return kind(f"there is no {what} {name!r}{where}; {hint}")


def similar(name: str, known: Iterable[str]) -> str:
    """Return what to say behind the complaint about an unknown name: the closest one, or all."""
    names = sorted(known)
    if not names:
        return "; it has none"
    return suggestion(name, names) or f"; known are {', '.join(names)}"
