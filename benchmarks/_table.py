"""Rows as they come: columns on a terminal, one line each in a pipe; and how figures moved."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from benchmarks import Row, Skipped
    from benchmarks._stored import Trend


#: Columns and their widths; those without one share what is left of the line.
_COLUMNS = {
    "what": 0,
    "ours": 9,
    "peer": 0,
    "peer's": 9,
    "ratio": 7,
    "goal": 18,
    "of copy": 7,
    "memory": 10,
}
_NARROW = ("what", "ours", "peer's", "ratio", "goal")
_WIDE, _GAP = 112, 2
_VERDICTS = {True: "met", False: "MISSED", None: "not judged"}
_SIGNS = {True: "[green]✓[/]", False: "[red]✗[/]", None: "?"}


def rows_printer(
    question: str, device: str, quick: bool = False
) -> Callable[[Row | Skipped], None]:
    """Return what prints a row of a question as soon as it is there."""
    console = Console(highlight=False)
    if not console.is_terminal:
        return lambda row: typer.echo(line_of(row))
    widths = _widths(console.width)
    console.print(
        f"\n[bold]{question}[/] on {device}"
        + (", tiny sizes: the figures mean nothing" if quick else "")
    )
    console.print(_table(widths, header=True))

    axis = ""

    def show(row: Row | Skipped) -> None:
        nonlocal axis
        before, axis = axis, next(iter(getattr(row, "points", {})), axis)
        if axis != before:
            console.print(f"[dim]cost against {axis}[/]")
        table = _table(widths)
        table.add_row(*_cells(row, widths))
        console.print(table)

    return show


def line_of(row: Row | Skipped) -> str:
    """Return a row as one line of text."""
    from benchmarks import Skipped

    if isinstance(row, Skipped):
        return f"{row.what}: {'FAILED' if row.failed else 'skipped'}, {row.reason}"
    name = "" if row.ours == "edgnn" else f"{row.ours}, "
    parts = [f"{name}{row.what}: {amount(row.ours_s, row.unit)}"]
    if row.peer_s is not None:
        parts.append(f"{row.peer} {amount(row.peer_s, row.unit)}, ratio {row.ratio:.3g}")
    if row.traffic is not None:
        parts.append(
            f"{amount(row.traffic.bytes_per_s / 1e9, 'GB/s')}, {percent(row.traffic.share)} of copying"
        )
    if row.memory is not None:
        parts.append(
            f"memory {size(row.memory.ours)}"
            + ("" if row.memory.peer is None else f" against {size(row.memory.peer)}")
        )
    parts += [f"goal {text}: {_VERDICTS[verdict]}" for text, verdict in row.verdicts]
    return "; ".join([*parts, *extras(row.extra)])


def print_trends(folder: Path, questions: list[str] | None, as_json: bool) -> None:
    """Print how the figures of a folder moved from run to run."""
    from benchmarks import read_history

    trends = read_history(folder, questions)
    if as_json:
        typer.echo(
            json.dumps(
                [asdict(trend) | {"change": trend.change} for trend in trends],
                indent=2,
                ensure_ascii=False,
            )
        )
        return
    console = Console(highlight=False)
    for group in dict.fromkeys((trend.question, trend.device, trend.machine) for trend in trends):
        console.print(f"\n[bold]{group[0]}[/] on {group[1]}, {group[2]}")
        console.print(
            _trend_table(
                [
                    trend
                    for trend in trends
                    if (trend.question, trend.device, trend.machine) == group
                ]
            )
        )
    if not trends:
        console.print("No runs are kept of these questions; those with --quick are left out.")


def _trend_table(trends: list[Trend]) -> Any:
    table = Table(box=None, pad_edge=False)
    table.add_column("", overflow="fold", ratio=1)
    for title in ("runs", "first", "before", "last", "change", "ratio"):
        table.add_column(title, justify="right", no_wrap=True)
    for trend in trends:
        figures = [amount(figure.ours, trend.unit) for figure in trend.figures]
        ratio = trend.figures[-1].ratio
        table.add_row(
            escape(trend.what),
            str(len(figures)),
            figures[0],
            figures[-2] if len(figures) > 1 else "",
            figures[-1],
            "" if trend.change is None else f"{100 * (trend.change - 1):+.0f} %",
            "" if ratio is None else f"{ratio:.3g}×",
        )
    return table


def _widths(width: int) -> dict[str, int]:
    """Return the widths of the columns on a line of ``width`` characters, the same for every row of a question."""
    columns = _COLUMNS if width >= _WIDE else {name: _COLUMNS[name] for name in _NARROW}
    rest = max(width - sum(columns.values()) - _GAP * (len(columns) - 1), 20)
    if "peer" not in columns:
        return columns | {"what": rest}
    return columns | {"what": rest - rest // 3, "peer": rest // 3}


def _table(widths: dict[str, int], header: bool = False) -> Any:
    table = Table(
        box=None, pad_edge=False, show_header=header, padding=(0, _GAP, 0, 0), collapse_padding=True
    )
    for title, width in widths.items():
        justify = "left" if title in ("what", "peer", "goal") else "right"
        table.add_column(title, width=width, justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table


def _cells(row: Row | Skipped, columns: dict[str, int]) -> list[str]:
    from benchmarks import Skipped

    wide = "peer" in columns
    if isinstance(row, Skipped):
        reason = (
            f"[red]FAILED: {escape(row.reason)}[/]"
            if row.failed
            else f"[dim]skipped: {escape(row.reason)}[/]"
        )
        return [escape(row.what), "", reason] if wide else [f"{escape(row.what)}\n{reason}"]
    share = "" if row.traffic is None else percent(row.traffic.share)
    figures = [
        amount(row.ours_s, row.unit),
        "" if row.peer_s is None else amount(row.peer_s, row.unit),
        "" if row.ratio is None else f"{row.ratio:.3g}×",
        "\n".join(f"{_SIGNS[verdict]} {text}" for text, verdict in row.verdicts),
    ]
    what = ("" if row.ours == "edgnn" else f"[bold]{escape(row.ours)}[/]\n") + escape(row.what)
    beside = "; ".join(extras(row.extra))
    if wide:
        what += f"\n[dim]{beside}[/]" if beside else ""
        return [what, figures[0], escape(row.peer), *figures[1:], share, "\n/ ".join(_memory(row))]
    memory = " / ".join(_memory(row))
    more = [
        row.peer and f"peer: {escape(row.peer)}",
        share and f"{share} of copying",
        memory and f"memory {memory}",
        beside,
    ]
    return ["\n".join([what, *(f"[dim]{line}[/]" for line in more if line)]), *figures]


def _memory(row: Row) -> list[str]:
    return (
        []
        if row.memory is None
        else [size(part) for part in (row.memory.ours, row.memory.peer) if part is not None]
    )


def amount(value: float, unit: str = "s") -> str:
    """Return a time, or a figure in another unit, with three digits."""
    if unit != "s":
        return f"{_number(value)} {unit}"
    for factor, word in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{_number(value * factor)} {word}"
    return f"{_number(1e9 * value)} ns"


def size(count: int) -> str:
    """Return a number of bytes with three digits."""
    value, units = float(count), ["B", "KiB", "MiB", "GiB"]
    while abs(value) >= 1000 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{_number(value)} {units[0]}"


def percent(share: float) -> str:
    """Return a share in per cent, whole."""
    return f"{100 * share:.0f} %"


def extras(extra: Mapping[str, Any]) -> list[str]:
    """Return the numbers that stand beside a figure, each with its name."""
    return [
        f"{key.replace('_', ' ')} {_number(value)}"
        for key, value in extra.items()
        if isinstance(value, int | float)
    ]


def _number(value: int | float) -> str:
    """Return a number with three digits, a larger or whole one without a fraction."""
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 999.5 else f"{value:.3g}"
