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
        Path | None, typer.Option("--out", help="Folder to keep the results in, one JSON file per question.")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help="Tiny sizes: shows that it runs, not how fast.")] = False,
) -> None:
    """Measure speed and memory against the peers, in one run each."""
    from edgnn.bench import PLOTS, QUESTIONS, document, save
    from edgnn.io._files import atomic_file

    wanted = questions or list(QUESTIONS)
    for question in wanted:
        if question not in QUESTIONS:
            raise EdgnnError(f"there is no benchmark {question!r}; choose from {', '.join(QUESTIONS)}")
    results = {}
    for question in wanted:
        rows = []
        for row in QUESTIONS[question](data_dir=data_dir, quick=quick, device=device):
            rows.append(row)
            if not as_json:
                typer.echo(_line(row))
        results[question] = document(question, rows)
        if out is not None:
            name = question if device == "cpu" else f"{question}-{device}"
            save(out / f"{name}.json", question, rows)
            if question in PLOTS:
                with atomic_file(out / f"{name}.svg") as stream:
                    stream.write(PLOTS[question](rows).encode())
    if as_json:
        typer.echo(json.dumps(results, indent=2, ensure_ascii=False))


def _line(row: Any) -> str:
    from edgnn.bench import Skipped

    if isinstance(row, Skipped):
        return f"{row.what}: skipped, {row.reason}"
    parts = [f"{row.what}: {row.ours_s:.3f} {row.unit}"]
    if row.peer_s is not None:
        verdict = "" if row.met is None else f" (goal {row.goal}: {'met' if row.met else 'MISSED'})"
        parts.append(f"{row.peer} {row.peer_s:.3f} {row.unit}, ratio {row.ratio:.3g}{verdict}")
    parts += [f"{key.replace('_', ' ')} {value:,}" for key, value in row.extra.items() if isinstance(value, int | float)]
    return "; ".join(parts)
