"""``edgnn convert``: data in one format to another, with the targets where that can hold them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import LABELS, PROGRAM, check_run
from edgnn.cli._datasets import DataDir, Json, Options, parse_options
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._source import (
    Source,
    SourceArgument,
    TargetFile,
    TargetOption,
    TaskOption,
    check_place,
    check_told,
)
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset


def convert(
    source: SourceArgument,
    out: Annotated[
        Path,
        typer.Argument(
            help="Where to: big.graphs (to be mapped), x.graphml, x.json, x.nt.gz, or a folder."
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option("--format", help="Of OUT, where its name does not tell: tables, tu, …"),
    ] = None,
    task: TaskOption = None,
    target: TargetOption = None,
    target_file: TargetFile = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--for",
            metavar="RUN",
            help="Write the JSON that predict.py reads beside the model exported from this run folder.",
        ),
    ] = None,
    memory: MemoryOption = None,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Read data in any format and write it in another, such as a folder of arrays that may be larger than memory."""
    options = parse_options(option)
    check_told(source, {"options": options, "target_file": target_file})
    if run is not None:
        if to or task or target or target_file:
            raise EdgnnError(
                "--for writes what there is to predict, as JSON: leave --format, --task, --target, --target-file out"
            )
        with ceiling(memory, source):
            _write_for(run, source, out, options, data_dir, as_json)
        return
    from edgnn.io import format_to_write, write

    kind = format_to_write(out, to)
    told = {
        "task": task,
        "target": target,
        "target_file": None if target_file is None else str(target_file),
        "options": options,
    }
    with ceiling(memory, source):
        data = Source.of(source, told, data_dir).read()
        if kind == "node-link" and len(data.graphs) > 1:
            raise EdgnnError(
                f"node-link JSON holds a single graph, not {len(data.graphs):,}: write a folder of arrays (x.graphs) or of tables "
                "(--format tables), or for predict.py of an exported model, add --for RUN"
            )
        write(data.graphs, out, format=kind, **_targets(data, kind))
    typer.echo(
        json.dumps({"written": str(out), "format": kind}, ensure_ascii=False)
        if as_json
        else f"{out}: {data.graphs!r}"
    )


def _write_for(
    run: Path, source: str, out: Path, options: dict[str, Any], data_dir: Path | None, as_json: bool
) -> None:
    """Write data as the script of an exported model reads it."""
    _check_for(run)
    check_place(out, "OUT")
    from edgnn.cli._predict import items_asked, load_new
    from edgnn.models import load_estimator, write_inputs
    from edgnn.training import RunFolder

    estimator = load_estimator(run)
    items = items_asked(
        load_new(source, RunFolder.open(run).config, options, data_dir), estimator._level, None
    )
    write_inputs(estimator, items, out)
    count = f"{len(items):,} {estimator._level}{'s' * (len(items) != 1)}"
    told = {"written": str(out), "format": "predict.py", "run": str(run)}
    typer.echo(
        json.dumps(told, ensure_ascii=False)
        if as_json
        else f"{out}: {count} for predict.py of the model from {run}"
    )


def _check_for(run: Path) -> None:
    if (run / LABELS).exists() and (run / PROGRAM).exists():
        raise EdgnnError(
            f"--for {run} is an exported model, which does not say how data is read: name the run that it is from"
        )
    check_run(run)


def _targets(data: Dataset, kind: str) -> dict[str, Any]:
    """Return the targets as the format takes them: classes by name, but by number where only numbers can be."""
    import numpy as np

    if data.targets is None:
        return {}
    if kind not in ("arrays", "tables", "tu") or (data.level == "node" and kind != "arrays"):
        warnings.warn(
            f"the format {kind!r} holds no targets of {data.level}s, so they are left out",
            stacklevel=2,
        )
        return {}
    names = np.array(data.class_names, object)
    values = names[data.targets] if data.class_names and kind != "tu" else data.targets
    return {"targets": values} if data.nodes is None else {"targets": values, "nodes": data.nodes}
