"""``edgnn bench``: our speed beside the peers', measured here and now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from edgnn._words import suggestion
from edgnn.cli._complete import words
from edgnn.cli._datasets import DataDir, Json
from edgnn.errors import EdgnnError


def bench(
    questions: Annotated[
        list[str] | None,
        typer.Argument(
            autocompletion=words("question"),
            help="Which to answer: io, wl, layer, order, fleet, scale, rivals, serve; default: all.",
        ),
    ] = None,
    data_dir: DataDir = None,
    as_json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder to keep the results in: JSON and drawing per question, and a line of history.jsonl.",
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option("--device", autocompletion=words("device"), help="cpu, cuda, cuda:1 or auto."),
    ] = "cpu",
    quick: Annotated[
        bool, typer.Option("--quick", help="Tiny sizes: shows that it runs, not how fast.")
    ] = False,
    history: Annotated[
        Path | None,
        typer.Option(
            "--history", help="Measure nothing: show how the figures kept in this folder moved."
        ),
    ] = None,
    show: Annotated[
        Path | None,
        typer.Option(
            "--show",
            help="Measure nothing: print the results kept in this folder as Markdown tables.",
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into", help="With --show: put the tables in their places of this page instead."
        ),
    ] = None,
) -> None:
    """Measure speed and memory against the peers, in one run each."""
    from benchmarks import QUESTIONS, as_far_as_it_goes
    from benchmarks._table import print_trends, rows_printer
    from edgnn.models import device_of

    wanted = questions or list(QUESTIONS)
    for question in wanted:
        if question not in QUESTIONS:
            raise EdgnnError(
                f"there is no benchmark {question!r}; choose from {', '.join(QUESTIONS)}{suggestion(question, QUESTIONS)}"
            )
    if history is not None:
        print_trends(history, questions, as_json)
        return
    if show is not None or into is not None:
        _show(show, questions, into)
        return
    device = str(device_of(device))
    results, failed = {}, 0
    for question in wanted:
        rows = []
        printer = None if as_json else rows_printer(question, device, quick)
        answers = QUESTIONS[question](data_dir=data_dir, quick=quick, device=device)
        for row in as_far_as_it_goes(f"the rest of {question}", answers, device):
            rows.append(row)
            if printer is not None:
                printer(row)
        failed += sum(getattr(row, "failed", False) for row in rows)
        results[question] = _kept(question, rows, device, quick, out)
    if as_json:
        typer.echo(json.dumps(results, indent=2, ensure_ascii=False))
    if failed:
        typer.echo(
            f"edgnn: {failed} of these figures could not be measured because of an error", err=True
        )
        raise typer.Exit(1)


def _show(folder: Path | None, questions: list[str] | None, page: Path | None) -> None:
    """Print stored results as tables, or put them into a page."""
    from benchmarks import fill, markdown, stored
    from edgnn._files import atomic_file

    if folder is None:
        raise EdgnnError(
            "--into puts stored tables into a page: say with --show which folder they are in"
        )
    tables = {name: markdown(results) for name, results in stored(folder, questions).items()}
    if page is None:
        typer.echo("\n".join(f"### {name}\n\n{table}" for name, table in tables.items()), nl=False)
        return
    text, filled = fill(page.read_text(encoding="utf-8"), tables)
    if not filled:
        raise EdgnnError(
            f"{page} has no place for any of {', '.join(tables)}: <!-- figures: NAME --> … <!-- end of figures -->"
        )
    with atomic_file(page) as stream:
        stream.write(text.encode())
    typer.echo(f"{page}: {', '.join(filled)}")


def _kept(
    question: str, rows: list[Any], device: str, quick: bool, out: Path | None
) -> dict[str, Any]:
    """Return the results of a question, after writing them down where asked."""
    from benchmarks import PLOTS, append_history, document, save
    from edgnn._files import atomic_file

    results = document(question, rows, device, quick)
    if out is not None:
        name = question if device == "cpu" else f"{question}-{device.replace(':', '-')}"
        save(out / f"{name}.json", results)
        append_history(out, results)
        if question in PLOTS and (drawing := PLOTS[question](rows)):
            with atomic_file(out / f"{name}.svg") as stream:
                stream.write(drawing.encode())
    return results
