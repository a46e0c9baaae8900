"""What others have written, within our errors: short, on one line, and with nothing that a terminal would obey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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
    """Return what another library says, as words of an error."""
    said = str(text)[: most + 1]
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in said)
    return shown if len(shown) <= most else f"{shown[:most]}…"


def preview(values: Sequence[Any], most: int = 6) -> str:
    """Return the first few values as text, with an ellipsis where some were left out."""
    shown = ", ".join(map(short, values[:most]))
    return shown if len(values) <= most else f"{shown}, … ({len(values)} in all)"
