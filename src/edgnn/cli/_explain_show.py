"""What ``edgnn explain`` prints: the prediction, its strongest reasons with bars, fidelity, a counter-example."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgnn._words import one_line
from edgnn.cli._show import _console, _table

if TYPE_CHECKING:
    from edgnn.report import Explained

_REASONS, _FEW, _BAR, _LONGEST = 8, 5, 12, 90


def print_explanations(
    found: list[Explained], page: Path, items: int, first: bool, level: str
) -> None:
    """Print a few explanations as a whole, of many only the predictions, and where the page is."""
    from rich.markup import escape

    console = _console()
    for place, item in enumerate(found[:_FEW]):
        _print(console, item, explained=place == 0)
    for item in found[_FEW:]:
        console.print(_said(item))
    if first and items > 1:
        console.print(
            f"The first of {items:,} {level}s; others with [bold]--item NAME[/], [bold]--item 3-7[/] or [bold]--item all[/]."
        )
    console.print(f"With pictures: {escape(str(page))}")


def _print(console: Any, item: Explained, *, explained: bool) -> None:
    from edgnn.report import counter_text, fidelity_text
    from edgnn.report.draw import signed

    console.print(f"{_said(item)}\n")
    reasons = item.explanation.reasons(_REASONS)
    if reasons:
        largest = max(abs(reason.contribution) for reason in reasons)
        table = _table(
            item.without,
            f"{item.measure} falls by"
            if item.explanation.probability is None
            else "log-odds fall by",
            "",
        )
        for reason in reasons:
            color = "red" if reason.contribution > 0 else "blue"
            bar = "█" * round(_BAR * abs(reason.contribution) / largest) if largest else ""
            table.add_row(
                _safe(item.reason_text(reason), _LONGEST),
                signed(reason.contribution),
                f"[{color}]{bar}[/]",
            )
        table.columns[2].justify = "left"
        console.print(table)
        if explained:
            console.print(_safe(item.unit))
        console.print()
    for text in (fidelity_text(item), counter_text(item), item.others if explained else ""):
        if text:
            console.print(_safe(text))
    console.print()


def _said(item: Explained) -> str:
    """Return what the item is called, what it is, and the prediction."""
    what = f" {_safe(item.smiles)}" if item.smiles else ""
    return f"[bold]{_safe(item.title)}[/]{what}: {_safe(item.said)}"


def _safe(text: str, most: int = 2000) -> str:
    """Return text of the users' names on one line, with nothing that a terminal or rich would obey."""
    from rich.markup import escape

    return escape(one_line(text, most))
