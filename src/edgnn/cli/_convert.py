"""``edgnn convert``: data in one format to another, with the targets where that can hold them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn.cli._datasets import DataDir, Json, Options, parse_options
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._source import Source, SourceArgument, TargetFile, TargetOption, TaskOption, check_exists

if TYPE_CHECKING:
    from edgnn.datasets import Dataset


def convert(
    source: SourceArgument,
    out: Annotated[Path, typer.Argument(help="Where to: big.graphs (to be mapped), x.graphml, x.json, x.nt.gz, or a folder.")],
    to: Annotated[str | None, typer.Option("--format", help="Of OUT, where its name does not tell: tables, tu, …")] = None,
    task: TaskOption = None,
    target: TargetOption = None,
    target_file: TargetFile = None,
    memory: MemoryOption = None,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Read data in any format and write it in another, such as a folder of arrays that may be larger than memory."""
    from edgnn.io import write
    from edgnn.io._read import format_to_write

    options = parse_options(option)
    check_exists(source, options)
    kind = format_to_write(out, to)
    told = {
        "task": task,
        "target": target,
        "target_file": None if target_file is None else str(target_file),
        "options": options,
    }
    with ceiling(memory, source):
        data = Source.of(source, told, data_dir).read()
        write(data.graphs, out, format=kind, **_targets(data, kind))
    typer.echo(json.dumps({"written": str(out), "format": kind}, ensure_ascii=False) if as_json else f"{out}: {data.graphs!r}")


def _targets(data: Dataset, kind: str) -> dict[str, Any]:
    """Return the targets as the format takes them: classes by name, but by number where only numbers can be."""
    import numpy as np

    if data.targets is None:
        return {}
    if kind not in ("arrays", "tables", "tu") or (data.level == "node" and kind != "arrays"):
        warnings.warn(f"the format {kind!r} holds no targets of {data.level}s, so they are left out", stacklevel=2)
        return {}
    names = np.array(data.class_names, object)
    values = names[data.targets] if data.class_names and kind != "tu" else data.targets
    return {"targets": values} if data.nodes is None else {"targets": values, "nodes": data.nodes}
