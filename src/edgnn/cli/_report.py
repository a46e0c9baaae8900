"""``edgnn report``: a page about a study, a run or an evaluation; of several evaluations, which differences are real."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn.cli._datasets import Json
from edgnn.cli._show import _BASELINE, _cells, _console, _number, _table
from edgnn.cli._source import check_place

if TYPE_CHECKING:
    from edgnn.report import Compared, Pair


def report(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="The folder of a study (edgnn reproduce) or of a run (edgnn train), or the JSON file of an evaluation (edgnn "
            "evaluate --out); of several such files, the models are compared with the first.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="The page; default: report.html in the folder, or beside the file; of several files, comparison.html.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Write a page (HTML) that needs nothing but itself, and print its path; say which of several evaluations differ."""
    from edgnn.report import write_report

    check_place(out, "--out")
    path, told = (
        (write_report(sources[0], out), {})
        if len(sources) == 1
        else _compare(sources, out, as_json)
    )
    typer.echo(
        json.dumps({"report": str(path)} | told, indent=2 if told else None, ensure_ascii=False)
        if as_json
        else str(path)
    )
    if show:
        typer.launch(path.resolve().as_uri())


def _compare(sources: list[Path], out: Path | None, as_json: bool) -> tuple[Path, dict[str, Any]]:
    from edgnn.report import compare_files, comparison_page

    found = compare_files(sources)
    path = comparison_page(found, out)
    if not as_json:
        _print(found)
    return path, found.to_dict()


def _print(found: Compared) -> None:
    """Print every model's mean, then the differences to the first."""
    from rich.markup import escape

    from edgnn.report import how_judged, shape_of

    console, first = _console(), found.entries[0].evaluation
    console.print(f"[bold]{escape(found.data)}[/]  {shape_of(first)}")
    table = _table(escape(first.title(found.metric.name)), "mean ± spread", "95 % interval")
    for entry in found.entries:
        table.add_row(escape(entry.row.title), *_cells(entry.evaluation[found.metric.name])[:2])
    if all(entry.row.model != "majority" for entry in found.entries):
        table.add_row(_BASELINE[first.task], _number(first.majority, found.metric), "")
    console.print(table)
    console.print()
    name = escape(found.entries[0].row.title)
    table = _table(
        f"minus {name}",
        "points" if found.metric.percent else "difference",
        "95 % interval",
        "p",
        "",
    )
    table.columns[-1].justify = "left"
    for pair in found.to_first:
        table.add_row(*map(escape, _difference(pair)))
    console.print(table)
    console.print(
        how_judged(found.to_first)
        + " Lower is better." * (not found.metric.higher_is_better)
        + "\n"
    )


def _difference(pair: Pair) -> list[str]:
    from edgnn.report import p_text, told_gap, told_limits

    assert pair.comparison is not None
    p = (
        "–"
        if pair.corrected != pair.corrected
        else p_text(pair.corrected).removeprefix("p ").removeprefix("= ")
    )
    return [
        pair.row.title,
        told_gap(pair.comparison),
        told_limits(pair.comparison),
        p,
        pair.verdict,
    ]
