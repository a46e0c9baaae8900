"""``edgnn report``: a page about a study, a run or an evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from edgnn.cli._datasets import Json
from edgnn.cli._source import check_place


def report(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="The folder of a study (edgnn reproduce) or of a run (edgnn train), or the JSON file of an evaluation.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The page; default: report.html in the folder, or beside the file."),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Write a page (HTML) that needs nothing but itself, and print its path."""
    from edgnn.report import write_report

    check_place(out, "--out")
    path = write_report(source, out)
    typer.echo(json.dumps({"report": str(path)}, ensure_ascii=False) if as_json else str(path))
    if show:
        typer.launch(path.resolve().as_uri())
