"""``edgnn bench``: our speed beside the peers', measured here and now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from edgnn.cli._datasets import DataDir, Json
from edgnn.errors import EdgnnError


def bench(
    questions: Annotated[
        list[str] | None, typer.Argument(help="Which to answer: io, wl, layer, fleet, rivals; default: all.")
    ] = None,
    data_dir: DataDir = None,
    as_json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder to keep the results in: JSON and drawing per question, and a line of history.jsonl."
        ),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1 or auto.")] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="Tiny sizes: shows that it runs, not how fast.")] = False,
    history: Annotated[
        Path | None, typer.Option("--history", help="Measure nothing: show how the figures kept in this folder moved.")
    ] = None,
) -> None:
    """Measure speed and memory against the peers, in one run each."""
    from edgnn.bench import QUESTIONS
    from edgnn.cli._bench_table import print_trends, rows_printer
    from edgnn.estimators._fleet import device_of

    wanted = questions or list(QUESTIONS)
    for question in wanted:
        if question not in QUESTIONS:
            raise EdgnnError(f"there is no benchmark {question!r}; choose from {', '.join(QUESTIONS)}")
    if history is not None:
        print_trends(history, questions, as_json)
        return
    device = str(device_of(device))
    results = {}
    for question in wanted:
        rows = []
        printer = None if as_json else rows_printer(question, device, quick)
        for row in QUESTIONS[question](data_dir=data_dir, quick=quick, device=device):
            rows.append(row)
            if printer is not None:
                printer(row)
        results[question] = _kept(question, rows, device, quick, out)
    if as_json:
        typer.echo(json.dumps(results, indent=2, ensure_ascii=False))


def _kept(question: str, rows: list[Any], device: str, quick: bool, out: Path | None) -> dict[str, Any]:
    """Return the results of a question, after writing them down where asked."""
    from edgnn.bench import PLOTS, append_history, document, save
    from edgnn.io._files import atomic_file

    results = document(question, rows, device, quick)
    if out is not None:
        name = question if device == "cpu" else f"{question}-{device.replace(':', '-')}"
        save(out / f"{name}.json", results)
        append_history(out, results)
        if question in PLOTS:
            with atomic_file(out / f"{name}.svg") as stream:
                stream.write(PLOTS[question](rows).encode())
    return results
