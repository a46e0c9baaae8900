"""``edgnn features``: counts of colors as a table, for learners outside of edgnn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import check_file_to_write
from edgnn._words import counted
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._options import (
    DataDir,
    Descriptors,
    Json,
    Options,
    SourceArgument,
    TargetFile,
    TargetOption,
    print_json,
    reader_options,
)
from edgnn.cli._source import Source, check_files
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset


def features(
    source: SourceArgument,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="A .csv or .parquet file to write.")
    ],
    rounds: Annotated[int, typer.Option("--rounds", min=0, help="Rounds of refinement.")] = 2,
    columns: Annotated[
        int | None,
        typer.Option(
            "--columns",
            min=1,
            metavar="N",
            help="Most columns of counts: those that tell most graphs apart; default: all that two "
            "graphs have.",
        ),
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Count pairs of atoms at a distance as well.")
    ] = False,
    target: TargetOption = None,
    target_file: TargetFile = None,
    descriptors: Descriptors = None,
    memory: MemoryOption = None,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Write counts of what graphs are made of as a table, one row per graph.

    The names of the columns say in words what is counted. For new graphs in the same columns, use
    edgnn.models.CountTable in Python. --descriptors rdkit adds RDKit's descriptors of molecules.
    """
    check_file_to_write(out, "--out")
    chosen: dict[str, Any] = {
        "target": target,
        "target_file": target_file,
        "options": reader_options(option),
    }
    numbers: Any = "auto"
    if descriptors == ["rdkit"]:
        numbers = "rdkit"
    elif descriptors:
        chosen["descriptors"] = descriptors
    check_files(source, chosen)
    from edgnn.models import CountTable, check_table_file, write_columns

    check_table_file(out, "--out")
    with ceiling(memory, source):
        data = Source.of(source, chosen, data_dir).read()
        counts = CountTable(
            rounds, most_columns=columns, pairs=pairs, numbers=numbers, sparse_output=False
        )
        table = counts.fit_transform(data.graphs)
        names = counts.get_feature_names_out()
        write_columns(_facts(data) | dict(zip(names, table.T, strict=True)), out)
    if as_json:
        print_json({"written": str(out), "rows": len(table), "columns": len(names)})
    else:
        rows, width = counted(len(table), "graph"), counted(len(names), "column")
        typer.echo(f"{out}: {rows}, {width} of counts and numbers")


def _facts(data: Dataset) -> dict[str, Any]:
    """Return the columns before the counts: what the graphs are called, and their targets."""
    import numpy as np

    from edgnn.models import identities

    if data.targets is not None and data.level == "node":
        raise EdgnnError(f"{data.name} has targets of nodes; a table of counts is about graphs")
    columns: dict[str, Any] = dict(identities(data.graphs))
    if data.targets is None:
        return columns
    targets = np.asarray(data.targets)
    if data.class_names and targets.ndim == 1:
        return columns | {"target": [data.class_names[number] for number in targets]}
    if targets.ndim == 1:
        return columns | {"target": targets}
    names = data.target_names or range(targets.shape[1])
    return columns | {
        f"target {name}": column for name, column in zip(names, targets.T, strict=True)
    }
