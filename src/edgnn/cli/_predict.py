"""``edgnn predict``: what a trained model says about new graphs or nodes, as a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import check_run, exists
from edgnn.cli._complete import words
from edgnn.cli._datasets import DataDir, Json, Options, parse_options
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._source import SourceArgument, check_here, check_place
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.graphs import Graphs, Nodes
    from edgnn.io.datasets import Dataset


def predict(
    run: Annotated[Path, typer.Argument(help="A run folder of edgnn train.")],
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
    nodes: Annotated[
        str | None,
        typer.Option(
            "--nodes",
            metavar="FILE|all",
            help="Which nodes: a file that names them, one per line, or all; default: all, but where SOURCE itself says which have "
            "targets (AIFB, -o node_target=COLUMN), those.",
        ),
    ] = None,
    unknown: Annotated[
        str | None,
        typer.Option(
            "--unknown",
            autocompletion=words("unknown"),
            help="Labels never seen: zero (count for nothing, warn) or error.",
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option("--device", autocompletion=words("device"), help="cpu, cuda, cuda:1 or auto."),
    ] = "cpu",
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
    check_place(out, "--out")
    check_here(source, data_dir)
    check_nodes(nodes)
    from edgnn.io.datasets import stored_texts
    from edgnn.models import (
        check_known,
        device_of,
        identities,
        load_estimator,
        memory_errors,
        prediction_columns,
    )
    from edgnn.training import RunFolder

    with ceiling(memory, source):
        write = _writer(out)
        folder = RunFolder.open(run)
        estimator = load_estimator(
            run, device=device, **({} if unknown is None else {"unknown": unknown})
        )
        estimator._checked_parameters()
        device_of(device)
        config = folder.config
        data = load_new(source, config, parse_options(option), data_dir)
        items = items_asked(data, estimator._level, nodes)
        check_known(estimator, items)
        with memory_errors():
            found = estimator.predictions(items)
        if uncertainty and not found.uncertainty:
            raise EdgnnError(
                f"the run {run} is a single model, which has no spread: train with --members 5 to have an ensemble"
            )
        columns = identities(items) | prediction_columns(
            estimator,
            found,
            class_names=stored_texts(config, "class_names"),
            target_names=stored_texts(config, "target_names"),
            probabilities=probabilities,
            uncertainty=len(estimator.best_epoch_) > 1 if uncertainty is None else uncertainty,
        )
        if as_json:
            rows = [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ]
            typer.echo(
                json.dumps(
                    {"run": str(run), "source": source, "predictions": rows},
                    indent=2,
                    ensure_ascii=False,
                    default=str,
                )
            )
        if write is not None:
            write(columns)
            if not as_json:
                typer.echo(
                    f"{len(items):,} prediction{'s are' if len(items) != 1 else ' is'} in {out}"
                )
        elif not as_json:
            _print(columns)


def load_new(
    source: str, config: dict[str, Any], told: dict[str, Any], data_dir: Path | None
) -> Dataset:
    """Load what to predict for, with the reader's options of the training where they fit."""
    from edgnn.io.datasets import find, load_dataset, reading_options

    check_here(source, data_dir)
    if find(source) is not None:
        return load_dataset(source, data_dir=data_dir, **told)
    if not exists(source):
        return load_dataset(source, data_dir=data_dir, download=False, **told)
    return load_dataset(source, data_dir=data_dir, **(reading_options(config, source, told) | told))


def items_asked(data: Dataset, level: str, nodes: str | None) -> Graphs | Nodes:
    """Return the graphs, or the nodes that are asked for."""
    if level == "graph":
        if nodes is not None:
            raise EdgnnError("--nodes is for models of nodes; this one is of graphs")
        return data.graphs
    if nodes is None:
        return data.graphs.nodes if data.nodes is None else data.nodes
    if nodes == "all":
        return data.graphs.nodes
    check_nodes(nodes)
    from edgnn.io.datasets import named_nodes

    return named_nodes(data.graphs, nodes)


def check_nodes(nodes: str | None) -> None:
    """Raise where the file that names nodes is not there."""
    if nodes is not None and nodes != "all" and not exists(nodes):
        raise EdgnnError(
            f"--nodes takes a file that names nodes, one per line, or all; there is no file {nodes!r}"
        )


def _writer(out: Path | None) -> Any:
    """Return what writes a table into the file, all of it or nothing."""
    if out is None:
        return None
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise EdgnnError(f"--out {out}: name it .csv or .parquet")
    if out.suffix.lower() == ".parquet":
        from edgnn._optional import optional

        optional("pyarrow", "writing Parquet")
        return lambda columns: _write_parquet(out, columns)
    return lambda columns: _write_csv(out, columns)


def _write_csv(out: Path, columns: dict[str, list[Any]]) -> None:
    from edgnn._files import atomic_file
    from edgnn._json import to_csv

    with atomic_file(out) as stream:
        stream.write(to_csv(columns))


def _write_parquet(out: Path, columns: dict[str, list[Any]]) -> None:
    from edgnn._files import atomic_file
    from edgnn._optional import optional

    arrow, parquet = (
        optional("pyarrow", "writing Parquet"),
        optional("pyarrow.parquet", "writing Parquet"),
    )
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = arrow.array(values)
        except (
            arrow.ArrowException,
            OverflowError,
            TypeError,
            ValueError,
        ):  # names of several types
            arrays[name] = arrow.array([str(value) for value in values])
    with atomic_file(out) as stream:
        parquet.write_table(arrow.table(arrays), stream)


def _print(columns: dict[str, list[Any]]) -> None:
    from edgnn._json import to_csv

    sys.stdout.write(to_csv(columns).decode())
