"""``edgnn report``: a page about a study, a run or an evaluation, or comparing evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgnn._paths import check_file_to_write
from edgnn.cli._options import Json, Open, console, open_page, print_json
from edgnn.cli._show import BASELINE, result_table, score, summary_cells

if TYPE_CHECKING:
    from edgnn.report import Compared, Pair


def report(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="The folder of a study (edgnn reproduce) or of a run (edgnn train), or the JSON "
            "file of an evaluation (edgnn evaluate --out); of several such files, the models are "
            "compared with the first.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="The page; default: report.html in the folder, or beside the file; of several "
            "files, comparison.html.",
        ),
    ] = None,
    show: Open = False,
    as_json: Json = False,
) -> None:
    """Write a self-contained page (HTML) and print its path.

    Of several evaluations, it says which models differ.
    """
    check_file_to_write(out, "--out")
    from edgnn.report import compare_files, comparison_page, write_report

    if len(sources) == 1:
        page = write_report(sources[0], out)
        if as_json:
            print_json({"report": str(page)}, indent=None)
    else:
        compared = compare_files(sources)
        page = comparison_page(compared, out)
        if as_json:
            print_json({"report": str(page)} | compared.to_dict())
        else:
            _print(compared)
    if not as_json:
        typer.echo(str(page))
    if show:
        open_page(page)


def _print(compared: Compared) -> None:
    """Print every model's mean, then the differences to the first."""
    from rich.markup import escape

    from edgnn.report import comparison_note, shape_of

    metric, first = compared.metric, compared.entries[0]
    evaluation = first.evaluation
    screen = console(wide=True)
    screen.print(f"[bold]{escape(compared.data)}[/]  {shape_of(evaluation)}")
    title = escape(evaluation.title(metric.name))
    table = result_table(title, "mean ± spread", "95 % interval")
    for entry in compared.entries:
        mean, interval, *_ = summary_cells(entry.evaluation[metric.name])
        table.add_row(escape(entry.row.title), mean, interval)
    if all(entry.row.model != "majority" for entry in compared.entries):
        table.add_row(BASELINE[evaluation.task], score(evaluation.majority, metric), "")
    screen.print(table)
    screen.print()
    unit = "points" if metric.percent else "difference"
    table = result_table(f"minus {escape(first.row.title)}", unit, "95 % interval", "p", "")
    table.columns[-1].justify = "left"
    for pair in compared.to_first:
        table.add_row(*map(escape, _difference(pair)))
    screen.print(table)
    lower = "" if metric.higher_is_better else " Lower is better."
    screen.print(f"{comparison_note(compared.to_first)}{lower}\n")


def _difference(pair: Pair) -> list[str]:
    """Return the cells of one difference."""
    from edgnn.report import p_text

    p_value = "–"
    if pair.corrected == pair.corrected:  # not NaN
        p_value = p_text(pair.corrected).removeprefix("p ").removeprefix("= ")
    return [pair.row.title, pair.gap_text, pair.limits_text, p_value, pair.verdict]
