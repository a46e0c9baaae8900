"""``edgnn predict``: predictions of a trained model for new graphs or nodes, as a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn._paths import check_file_to_write, check_run
from edgnn._words import counted
from edgnn.cli._complete import sources, words
from edgnn.cli._memory import MemoryOption, ceiling
from edgnn.cli._options import (
    DataDir,
    Device,
    Json,
    Nodes,
    Options,
    RunArgument,
    SkipUnknown,
    reader_options,
)
from edgnn.cli._source import check_here
from edgnn.cli._stdin import STANDARD_INPUT, piped
from edgnn.cli._trained import Trained, check_nodes, listed_pieces, new_pieces, open_trained
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.io import Piece
    from edgnn.models import Items, TablePiece

#: Exit code where some rows have no prediction.
_INCOMPLETE = 3


def predict(
    run: RunArgument,
    source: Annotated[
        str | None,
        typer.Argument(
            autocompletion=sources,
            help="A data set's name, a file or folder in any format edgnn reads, or - for "
            "standard input.",
        ),
    ] = None,
    smiles: Annotated[
        list[str] | None,
        typer.Option("--smiles", help="A molecule in place of a file; repeatable."),
    ] = None,
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
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            help="Of auto and its learners: columns lower and upper of values, set of classes, "
            "that hold the truth so often, such as 0.9.",
        ),
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
    format. All rows of a table stay in its order, with all columns. Rows that cannot be read have
    an error in place of a prediction, and the exit code is 3; -o bad=error ends at the first.
    """
    check_run(run)
    check_file_to_write(out, "--out")
    _check_source(source, smiles, data_dir)
    check_nodes(nodes)
    options = reader_options(option)
    with ceiling(memory, source):
        if out is not None:
            _check_out(out)
        trained = open_trained(run, device, unknown=unknown)
        if uncertainty and trained.model.num_members == 1:
            raise _no_spread(run, trained)
        with _pieces(
            source, smiles or (), trained, options, data_dir, nodes, skip_unknown
        ) as pieces:
            tables = _Counted(_tables(trained, pieces, probabilities, uncertainty, coverage))
            _write(tables, out, _document(run, source, smiles) if as_json else None)
    if out is not None and not as_json:
        done = tables.rows - tables.failed
        typer.echo(f"{counted(done, 'prediction')} {'is' if done == 1 else 'are'} in {out}")
    if tables.failed:
        raise _incomplete(tables)


def _incomplete(tables: _Counted) -> typer.Exit:
    """Print how many rows have no prediction, and return how the command ends."""
    has = "has" if tables.failed == 1 else "have"
    rows = counted(tables.rows, "row")
    typer.echo(
        f"edgnn: {tables.failed:,} of {rows} {has} no prediction; the column error says why",
        err=True,
    )
    return typer.Exit(_INCOMPLETE)


def _check_source(source: str | None, smiles: list[str] | None, data_dir: Path | None) -> None:
    if source is None and not smiles:
        raise EdgnnError(
            "name a file or data set to predict for, - for standard input, or --smiles"
        )
    if source is None:
        return
    if smiles:
        raise EdgnnError(f"give a source ({source}) or --smiles, not both")
    if source != STANDARD_INPUT:
        check_here(source, data_dir)


def _check_out(out: Path) -> None:
    from edgnn.models import check_table_file

    check_table_file(out, "--out")


def _no_spread(run: Path, trained: Trained) -> EdgnnError:
    advice = "an ensemble is one of networks (edgnn train --members 5)"
    if trained.model.trains_by_epochs:
        advice = "train with --members 5 to have an ensemble"
    return EdgnnError(f"the run {run} is a single model, which has no spread: {advice}")


@contextmanager
def _pieces(
    source: str | None,
    smiles: Iterable[str],
    trained: Trained,
    options: dict[str, Any],
    data_dir: Path | None,
    nodes: str | None,
    skip_unknown: bool | None,
) -> Iterator[Iterable[Piece] | Items]:
    if source is None:
        yield listed_pieces(list(smiles), trained, options)
        return
    with piped(source, options, molecules=trained.reads_molecules) as path:
        yield new_pieces(path, trained, options, data_dir, nodes, skip_unknown=skip_unknown)


def _tables(
    trained: Trained,
    source: Iterable[Piece] | Items,
    probabilities: bool,
    uncertainty: bool | None,
    coverage: float | None,
) -> Iterator[TablePiece]:
    from edgnn.models import memory_errors, predict_table

    with memory_errors():
        yield from predict_table(
            trained.model,
            source,
            class_names=trained.class_names,
            target_names=trained.target_names,
            probabilities=probabilities,
            uncertainty=uncertainty,
            coverage=coverage,
        )


class _Counted:
    """Tables that are counted as they pass."""

    def __init__(self, tables: Iterator[TablePiece]) -> None:
        self._tables = tables
        self.rows = 0
        self.failed = 0

    def __iter__(self) -> Iterator[TablePiece]:
        for table in self._tables:
            self.rows += len(table)
            self.failed += table.failed
            yield table


def _write(tables: Iterable[TablePiece], out: Path | None, document: dict[str, Any] | None) -> None:
    """Write and print the table as it is made."""
    from edgnn.models import csv_rows, write_table

    if document is not None:
        tables = _print_json(tables, document)
    if out is not None:
        write_table(tables, out)
    elif document is None:
        for rows in csv_rows(tables):
            sys.stdout.write(rows.decode())
    else:
        for _ in tables:
            pass


def _document(run: Path, source: str | None, smiles: list[str] | None) -> dict[str, Any]:
    """Return what the JSON says beside the predictions."""
    return {"run": str(run), "source": smiles if source is None else source}


def _print_json(tables: Iterable[TablePiece], document: dict[str, Any]) -> Iterator[TablePiece]:
    """Print the rows of passing tables as one strict JSON document."""
    from edgnn._json import plain

    opening = json.dumps(document, ensure_ascii=False)[:-1] + ', "predictions": ['
    between = "\n"
    for table in tables:
        for row in zip(*table.columns.values(), strict=True):
            values = plain(dict(zip(table.columns, row, strict=True)))
            text = json.dumps(values, ensure_ascii=False, allow_nan=False)
            sys.stdout.write(f"{opening}{between}{text}")
            opening, between = "", ",\n"
        yield table
    sys.stdout.write(f"{opening}\n]}}\n")
