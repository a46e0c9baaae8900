"""``edgnn predict``: predictions of a trained model for new graphs or nodes, as a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import check_file_to_write, check_run
from edgnn._words import counted
from edgnn.cli._complete import words
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._options import (
    DataDir,
    Device,
    Json,
    Nodes,
    Options,
    RunArgument,
    SkipUnknown,
    SourceArgument,
    reader_options,
)
from edgnn.cli._source import check_here
from edgnn.cli._trained import Trained, check_nodes, load_new, open_trained, select_items
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn import graphs

Columns = dict[str, list[Any]]


def predict(
    run: RunArgument,
    source: SourceArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="A .csv or .parquet file to write; without it, CSV is printed."),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option(help="A column with the probability of each class.")
    ] = True,
    uncertainty: Annotated[
        bool | None,
        typer.Option(help="Columns that say how sure the model is; default: for ensembles."),
    ] = None,
    nodes: Nodes = None,
    skip_unknown: SkipUnknown = None,
    unknown: Annotated[
        str | None,
        typer.Option(
            "--unknown",
            autocompletion=words("unknown"),
            help="Labels never seen: zero (count for nothing, warn) or error.",
        ),
    ] = None,
    device: Device = "cpu",
    memory: MemoryOption = None,
    option: Options = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Predict with a trained model.

    Options of the reader (-o) that the model was trained with hold for new files of the same
    format.
    """
    check_run(run)
    check_file_to_write(out, "--out")
    check_here(source, data_dir)
    check_nodes(nodes)
    with ceiling(memory, source):
        write = None if out is None else _writer(out)
        trained = open_trained(run, device, unknown=unknown)
        data = load_new(source, trained.config, reader_options(option), data_dir)
        items = select_items(data, trained.level, nodes, skip_unknown=skip_unknown)
        columns = _columns(run, trained, items, probabilities, uncertainty)
        if as_json:
            _print_json(run, source, columns)
        if write is not None:
            write(columns)
            if not as_json:
                verb = "is" if len(items) == 1 else "are"
                typer.echo(f"{counted(len(items), 'prediction')} {verb} in {out}")
        elif not as_json:
            _print_csv(columns)


def _columns(
    run: Path,
    trained: Trained,
    items: graphs.Graphs | graphs.Nodes,
    probabilities: bool,
    uncertainty: bool | None,
) -> Columns:
    """Return the table of predictions, column by column."""
    from edgnn.models import check_known, memory_errors, prediction_table

    model = trained.model
    check_known(model, items)
    with memory_errors():
        predictions = model.predictions(items)
    if uncertainty and not predictions.uncertainty:
        advice = "train with --members 5 to have an ensemble"
        if not model.trains_by_epochs:
            advice = "an ensemble is one of networks (edgnn train --members 5)"
        raise EdgnnError(f"the run {run} is a single model, which has no spread: {advice}")
    return prediction_table(
        model,
        items,
        predictions,
        class_names=trained.class_names,
        target_names=trained.target_names,
        probabilities=probabilities,
        uncertainty=model.num_members > 1 if uncertainty is None else uncertainty,
    )


def _print_json(run: Path, source: str, columns: Columns) -> None:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    document = {"run": str(run), "source": source, "predictions": rows}
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def _print_csv(columns: Columns) -> None:
    from edgnn._json import to_csv

    sys.stdout.write(to_csv(columns).decode())


def _writer(out: Path) -> Callable[[Columns], None]:
    """Return what writes a table into the file, all of it or nothing."""
    kind = out.suffix.lower()
    if kind == ".csv":
        return lambda columns: _write_csv(out, columns)
    if kind != ".parquet":
        raise EdgnnError(f"--out {out}: name it .csv or .parquet")
    from edgnn._optional import optional

    optional("pyarrow", "writing Parquet")  # now, not after the work
    return lambda columns: _write_parquet(out, columns)


def _write_csv(out: Path, columns: Columns) -> None:
    from edgnn._files import atomic_file
    from edgnn._json import to_csv

    with atomic_file(out) as stream:
        stream.write(to_csv(columns))


def _write_parquet(out: Path, columns: Columns) -> None:
    from edgnn._files import atomic_file
    from edgnn._optional import optional

    arrow = optional("pyarrow", "writing Parquet")
    parquet = optional("pyarrow.parquet", "writing Parquet")
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = arrow.array(values)
        except (arrow.ArrowException, OverflowError, TypeError, ValueError):
            # names of several types, which Parquet does not have
            arrays[name] = arrow.array([str(value) for value in values])
    with atomic_file(out) as stream:
        parquet.write_table(arrow.table(arrays), stream)
