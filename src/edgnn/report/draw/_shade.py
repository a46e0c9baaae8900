"""Contributions as shades: red for what speaks for a prediction, blue for what speaks against."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from edgnn.errors import GraphError

_Array = np.ndarray[Any, Any]
#: A pair of hues that color-blind readers tell apart; on paper without colors the dashes of the
#: second do.
FOR, AGAINST = "#d0381d", "#1d70c9"
DASHES = "3 2.5"
INK, GROUND = "#1c2025", "#fff"
_STRONGEST = 0.8
_LEAST = 0.03
_STEPS = 20
_LARGEST = 1e200
#: Of a title: what a character takes in the widest of usual fonts, the height of a line, and how
#: many lines there may be.
_CHARACTER, _LINE, _MOST_LINES = 9.2, 17, 3


@dataclass(frozen=True)
class Shade:
    """A scale from strongly against over zero to strongly for.

    Parameters
    ----------
    largest : float
        The greatest contribution of either sign, which has the full color; 0 where nothing is known
        to matter.
    """

    largest: float

    @classmethod
    def over(cls, *scores: _Array) -> Shade:
        """Return the scale that all finite values fit on."""
        values = np.concatenate([np.abs(np.asarray(part, dtype=float)) for part in scores])
        values = values[values <= _LARGEST]
        return cls(float(values.max()) if len(values) else 0.0)

    def strength(self, value: float) -> float:
        """Return how strong a contribution is beside the strongest, from 0 to 1; NaN is 0."""
        if not self.largest or math.isnan(value):
            return 0.0
        return min(abs(value) / self.largest, 1.0)

    def opacity(self, value: float) -> float:
        """Return how much of its color a contribution shows."""
        strength = self.strength(value)
        return _STRONGEST * strength if strength >= _LEAST else 0.0

    def halo(self, value: float) -> str:
        """Return the paint of an area behind what is shaded: fill and outline."""
        opacity, color = self.opacity(value), FOR if value > 0 else AGAINST
        if not opacity:
            return 'fill="none"'
        dashes = "" if value > 0 else f' stroke-dasharray="{DASHES}"'
        outline = f'stroke="{color}" stroke-opacity="{min(1.0, 0.15 + opacity):.2f}"{dashes}'
        return f'fill="{color}" fill-opacity="{opacity:.2f}" {outline}'

    def legend(self, x: float, y: float, width: float) -> list[str]:
        """Return the scale itself, with its ends in numbers; it is 34 high."""
        step, parts = width / _STEPS, []
        size = f'y="{y:.1f}" height="9"'
        for number in range(_STEPS):
            value = self.largest * (2 * number + 1 - _STEPS) / (_STEPS - 1)
            color = FOR if value > 0 else AGAINST
            paint = f'fill="{color}" fill-opacity="{self.opacity(value):.2f}"'
            left = f'x="{x + number * step:.1f}" width="{step + 0.3:.1f}"'
            parts.append(f"<rect {left} {size} {paint}/>")
        frame = 'fill="none" stroke="currentColor" stroke-opacity=".35"'
        parts.append(f'<rect x="{x:.1f}" width="{width:.1f}" {size} {frame}/>')
        for place, anchor, text in (
            (x, "start", f"{signed(-self.largest)} against"),
            (x + width / 2, "middle", "0"),
            (x + width, "end", f"for {signed(self.largest)}"),
        ):
            where = f'x="{place:.1f}" y="{y + 24:.1f}" text-anchor="{anchor}"'
            parts.append(f'<text {where} font-size="11" fill-opacity=".8">{text}</text>')
        return parts


def stronger(*scores: float) -> float:
    """Return the contribution of the greatest size; NaN where none is known."""
    known = [score for score in scores if not math.isnan(score)]
    return max(known, key=abs, default=math.nan)


def strongest(scores: _Array, most: int = 8) -> list[int]:
    """Return the places of the largest contributions by size, without those that are 0 or NaN."""
    sizes = np.abs(np.nan_to_num(scores))
    order = np.argsort(-sizes, kind="stable")[:most].tolist()
    return [place for place in order if sizes[place]]


def scores_of(scores: Any, size: int, what: str) -> _Array:
    """Return one finite or unknown (NaN) number per node or edge; without scores, all are NaN."""
    if scores is None:
        return np.full(size, math.nan)
    values = np.asarray(scores, dtype=float)
    if values.shape != (size,):
        raise GraphError(
            f"{what}_score has the shape {values.shape}, but the graph has {size} {what}s: "
            "give one number each"
        )
    return np.where(np.isfinite(values), values, math.nan)


def signed(value: float) -> str:
    """Return a contribution with its sign and three digits, and all before the decimal point."""
    if math.isnan(value):
        return "not known"
    if not value:
        return "0"
    text = f"{value:+.3g}"
    if 1e-4 <= abs(value) < 1e7:
        decimals = max(0, 2 - math.floor(math.log10(abs(value))))
        text = f"{value:+,.{decimals}f}"
    return text.replace("-", "−")


def document(parts: Sequence[str], width: float, height: float, title: str, about: str) -> str:
    """Return the whole picture, in the colors of its page (``--ink``, ``--ground``) if it has some.

    It holds no script, no link and no id, so that any number of such pictures can stand in one
    page.
    """
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    font = 'font-family="system-ui,sans-serif" font-size="12" fill="currentColor"'
    ink = f'color="{INK}" style="color:var(--ink,{INK})"'
    name = f'role="img" aria-label="{clean(title)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} {ink} {name}>'
    words = f"<title>{clean(title)}</title>\n<desc>{clean(about)}</desc>"
    paint = f'fill="{GROUND}" style="fill:var(--ground,{GROUND})"'
    ground = f'<rect width="100%" height="100%" {paint}/>'
    return "\n".join([head, words, ground, *parts, "</svg>\n"])


def headed(parts: Sequence[str], title: str | None, width: float) -> tuple[list[str], float]:
    """Put a title above a picture, in up to three lines, and return how much height that adds.

    Of a longer title, the whole shows under the pointer.
    """
    if title is None:
        return list(parts), 0
    most = max(8, int((width - 16) / _CHARACTER))
    lines = wrap(title, most, max_lines=_MOST_LINES, placeholder="…")
    font, whole = 'font-size="13" font-weight="600" class="title"', f"<title>{clean(title)}</title>"
    texts = [
        f'<text x="8" y="{19 + _LINE * row}" {font}>{clean(line)}{whole}</text>'
        for row, line in enumerate(lines)
    ]
    height = 5 + _LINE * max(1, len(lines))
    return [*texts, f'<g transform="translate(0,{height})">', *parts, "</g>"], height


_FORBIDDEN = re.compile("[^\t\n\r -~\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """Return text that may stand in XML: escaped, without the characters that no XML may hold."""
    return escape(_FORBIDDEN.sub("\ufffd", text))
