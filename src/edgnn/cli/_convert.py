"""``edgnn convert``: data in one format to another, with the targets where that can hold them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import check_file_to_write, check_run, holds_export
from edgnn._words import counted
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._options import (
    DataDir,
    Json,
    Options,
    SkipUnknown,
    SourceArgument,
    TargetFile,
    TargetOption,
    TaskOption,
    print_json,
    reader_options,
)
from edgnn.cli._source import Source, check_files
from edgnn.cli._trained import load_new, open_trained, select_items
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
    skip_unknown: SkipUnknown = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--for",
            metavar="RUN",
            help="Write the JSON that predict.py reads beside the model exported from this run "
            "folder.",
        ),
    ] = None,
    memory: MemoryOption = None,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Read data in any format and write it in another.

    A folder of arrays (big.graphs) may be larger than memory.
    """
    options = reader_options(option)
    chosen = {
        "task": task,
        "target": target,
        "target_file": target_file,
        "skip_unknown": skip_unknown,
        "options": options,
    }
    check_files(source, chosen)
    with ceiling(memory, source):
        if run is None:
            written, line = _convert(Source.of(source, chosen, data_dir), out, to)
        elif to or task or target or target_file:
            raise EdgnnError(
                "--for writes what there is to predict, as JSON: "
                "leave --format, --task, --target, --target-file out"
            )
        else:
            written, line = _convert_for(run, source, out, options, data_dir)
    if as_json:
        print_json(written, indent=None)
    else:
        typer.echo(line)


def _convert(source: Source, out: Path, to: str | None) -> tuple[dict[str, str], str]:
    """Write the data; return what was written, for JSON and as a line."""
    from edgnn.io import format_to_write, write

    kind = format_to_write(out, to)
    data = source.read()
    if kind == "node-link" and len(data.graphs) > 1:
        raise EdgnnError(
            f"node-link JSON holds a single graph, not {len(data.graphs):,}: write a folder of "
            "arrays (x.graphs) or of tables (--format tables), or for predict.py of an exported "
            "model, add --for RUN"
        )
    write(data.graphs, out, format=kind, **_targets(data, kind))
    return {"written": str(out), "format": kind}, f"{out}: {data.graphs!r}"


def _convert_for(
    run: Path, source: str, out: Path, options: dict[str, Any], data_dir: Path | None
) -> tuple[dict[str, str], str]:
    """Write data as the script of an exported model reads it."""
    if holds_export(run):
        raise EdgnnError(
            f"--for {run} is an exported model, which does not say how data is read: "
            "name the run that it is from"
        )
    check_run(run)
    check_file_to_write(out, "OUT")
    from edgnn.models import write_inputs

    trained = open_trained(run, "cpu")
    data = load_new(source, trained.config, options, data_dir)
    items = select_items(data, trained.level, None)
    write_inputs(trained.model, items, out)
    count = counted(len(items), trained.level)
    document = {"written": str(out), "format": "predict.py", "run": str(run)}
    return document, f"{out}: {count} for predict.py of the model from {run}"


def _targets(data: Dataset, kind: str) -> dict[str, Any]:
    """Return the targets as the format takes them: classes by name, in TU folders by number."""
    import numpy as np

    from edgnn.io import FORMATS

    if data.targets is None:
        return {}
    takes = FORMATS[kind].write_options
    if "targets" not in takes or (data.level == "node" and "nodes" not in takes):
        warnings.warn(
            f"the format {kind!r} holds no targets of {data.level}s, so they are left out",
            stacklevel=2,
        )
        return {}
    targets = data.targets
    if data.class_names and kind != "tu":
        targets = np.array(data.class_names, object)[targets]
    return {"targets": targets} | ({} if data.nodes is None else {"nodes": data.nodes})
