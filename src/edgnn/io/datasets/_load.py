"""load_dataset: a name or a path becomes a Dataset."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from edgnn._files import open_binary
from edgnn._paths import exists
from edgnn.errors import DatasetError, FetchError, FormatError
from edgnn.graphs import Nodes
from edgnn.io._common import as_list
from edgnn.io._labeled import Labeled
from edgnn.io._rdf import read_rdf
from edgnn.io._read import FORMATS, read_labeled, recognize
from edgnn.io._separated import column_of, read_rows, refuse_spreadsheet
from edgnn.io._tu import read_tu
from edgnn.io.datasets._cache import ensure, recorded, verify
from edgnn.io.datasets._dataset import Dataset
from edgnn.io.datasets._registry import (
    Entry,
    Location,
    find,
    find_or_tu,
    locate,
    similar_name,
    smiles_hint,
)
from edgnn.io.datasets._target_file import targets_of_file
from edgnn.io.datasets._targets import encode_targets
from edgnn.registry import Level

_TASKS = Literal["classes", "values"]


def load_dataset(
    source: str | os.PathLike[str],
    /,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
    progress: bool | None = None,
    task: _TASKS | None = None,
    target_file: str | os.PathLike[str] | None = None,
    target_column: str | Sequence[str] | None = None,
    level: Level | None = None,
    **options: Any,
) -> Dataset:
    """Load a data set by name, or any file that edgnn reads.

    Named sets are MUTAG, PTC_FM, PTC_FR, PTC_MM, PTC_MR (graphs), AIFB and MUTAG-RDF (nodes), and
    every other set of the TU collection. They are looked for in ``data_dir``, ``$EDGNN_DATA``, the
    cache (``$EDGNN_CACHE``), installed packages, and only then on the network; the files of the
    seven sets are checked against the published hashes.

    Parameters
    ----------
    source : str or path
        A set's name (case, ``-`` and ``_`` do not matter), or a path in any format of
        :func:`edgnn.read`.
    data_dir : path, optional
        A folder laid out as ``TUDataset/NAME/NAME_A.txt`` and ``rdf/NAME/…``.
    download : bool
        Whether the network may be used.
    progress : bool, optional
        Show a progress bar while downloading; default: on a terminal.
    task : {"classes", "values"}, optional
        What numbers in a column of targets are. By default whole numbers and texts are classes;
        numbers with a point (``1.0``) are where they are all whole, at most 20 different ones, and
        each comes twice on average; other numbers are values. With ``"classes"``, items without a
        target are left out.
    target_file : path, optional
        A table (CSV or TSV, plain or gzip) of names and targets, for files that hold none, such as
        RDF.
    target_column : str or sequence of str, optional
        The column of targets, or several: of ``target_file`` (default: the only one beside the
        names; ``target=`` says the same where the reader has no option of that name), or without
        one, of the file itself, whatever its reader calls that option.
    level : {"graph", "node"}, optional
        What targets belong to; default: as the file has them. The rows of ``target_file`` name
        nodes of a single graph, else graphs.
    **options
        For a path: options of its reader, such as ``target=`` or ``node_target=``.

    Examples
    --------
    >>> import edgnn
    >>> edgnn.load_dataset("mutag")
    Dataset('MUTAG', 2 classes, Graphs(188 graphs, 3,371 nodes, 7,442 edges, 7 node labels, 4 edge
    labels))
    """
    if level not in (None, "graph", "node"):
        raise DatasetError(f"level={level!r}: targets belong to a 'graph' or a 'node'")
    name = os.fspath(source)
    is_path = find(name) is None and exists(name)
    if target_file is not None:
        column = options.pop("target", None) if target_column is None else target_column
        columns = _column_names(column)
        data = load_dataset(
            name, data_dir=data_dir, download=download, progress=progress, **options
        )
        labeled = targets_of_file(data.graphs, target_file, columns, level=level)
        return _with_targets(data, labeled, task)
    columns = _column_names(target_column)
    if columns:
        options |= target_options(name, columns, level, options)
    if is_path:
        data = _from_path(Path(name), options, task)
    else:
        data = _named(name, data_dir, download, progress, options, task)
    if level is not None and data.targets is not None and data.level != level:
        raise DatasetError(
            f"level={level!r} (--task {level} in a command): "
            f"the targets of {name} belong to {data.level}s"
        )
    return data


def _column_names(target: Any) -> list[str]:
    is_list = isinstance(target, list | tuple) and all(isinstance(name, str) for name in target)
    if target is not None and not is_list and not isinstance(target, str):
        raise DatasetError(f"target={target!r}: name the column of targets, or a list of columns")
    return as_list(target)


def target_options(
    name: str, columns: Sequence[str], level: Level | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the option of a file's reader that takes its columns of targets.

    Parameters
    ----------
    name : str
        The file or folder.
    columns : sequence of str
        The columns.
    level : {"graph", "node"}, optional
        What the targets belong to; default: as the file has them.
    options : mapping
        Those of the reader that were given.
    """
    if find(name) is not None:
        raise DatasetError(f"{name} is a named data set with its own targets; leave target out")
    if not exists(name):
        raise DatasetError(
            f"there is no file {name}; if you mean a TU set of that name, leave target out"
        )
    known = FORMATS.find(str(options.get("format") or recognize(name, options)))
    offered = known.target_options
    if not offered:
        raise DatasetError(
            f"{name} has the format {known.name!r}, which has no target columns; leave target out "
            "where it holds its targets itself, or name a table of targets with target_file= "
            "(--target-file in a command)"
        )
    default: Level = next(iter(offered))
    if known.target_level is not None:
        default = known.target_level(Path(name), options)
    level = level or default
    if level not in offered:
        other = next(iter(offered))
        raise DatasetError(
            f"{name} has the format {known.name!r}, in which {other}s have targets; "
            f"use level={other!r} (--task {other} in a command)"
        )
    option = offered[level]
    if len(columns) > 1 and not known.takes_several(option):
        raise DatasetError(
            f"{level}s have one target here, but {len(columns)} columns were named: "
            f"{', '.join(columns)}"
        )
    return {option: columns[0] if len(columns) == 1 else list(columns)}


def _from_path(path: Path, options: dict[str, Any], task: str | None) -> Dataset:
    refuse_spreadsheet(path)
    labeled = read_labeled(path, **options)
    if not len(labeled.graphs):
        raise FormatError(
            path,
            "there are no graphs in it; a table needs rows below the line that names its columns",
        )
    data = Dataset(name=str(path), graphs=labeled.graphs, source=str(path))
    return _with_targets(data, labeled, task)


def _with_targets(
    data: Dataset,
    labeled: Labeled,
    task: str | None,
    class_names: Mapping[str, str] | None = None,
) -> Dataset:
    """Return a data set with the targets of a file: classes by number, or values."""
    if labeled.targets is None:
        return replace(data, graphs=labeled.graphs, nodes=labeled.nodes)
    targets, names, kept = encode_targets(
        labeled.targets, task=task, class_names=class_names, name=data.name, level=labeled.level
    )
    graphs, nodes = labeled.graphs, labeled.nodes
    if len(kept) < len(labeled.targets):
        if nodes is None:
            graphs = graphs[kept]
        else:
            nodes = nodes[kept]
    return replace(data, graphs=graphs, nodes=nodes, targets=targets, class_names=names)


def _named(
    name: str,
    data_dir: str | os.PathLike[str] | None,
    download: bool,
    progress: bool | None,
    options: Mapping[str, Any],
    task: str | None,
) -> Dataset:
    if options:
        given = ", ".join(sorted(options))
        if find(name) is None:
            raise DatasetError(
                f"there is no file {name!r}; if you mean a TU set of that name, "
                f"it takes no options ({given})"
            )
        raise DatasetError(f"{name!r} is a named data set, which takes no reader options ({given})")
    entry = find_or_tu(name)
    location = locate(entry, data_dir)
    if location.path is None and find(name) is None:
        similar = similar_name(name)
        if similar is not None:
            raise DatasetError(f"there is no data set {name!r}; did you mean {similar}?")
    folder = _folder(entry, location, download, progress)
    source = f"{location.place}: {folder}"
    if entry.kind == "tu":
        return _load_tu(entry, folder, source, task)
    return _load_rdf(entry, folder, source, task)


def _folder(entry: Entry, location: Location, download: bool, progress: bool | None) -> Path:
    """Return the folder of a named set, fetched where it is not on this machine."""
    path = location.path
    if path is not None and location.place != "cache":
        if entry.sha256:
            verify(path, entry.sha256)
        return path
    if not download:
        if path is None:
            raise DatasetError(
                f"{entry.name} is not on this machine and download=False; "
                f"put its files under $EDGNN_DATA/{entry.folder}"
            )
        verify(path, entry.sha256 or recorded(path) or {})
        return path
    try:
        return ensure(
            entry.folder,
            entry.parts,
            checksums=entry.sha256 or None,
            progress=progress,
            on_first=_print,
        )
    except FetchError as error:
        if find(entry.name) is None:
            raise FetchError(
                f"nothing called {entry.name!r} was found: it is no file, no registered data set, "
                f"and as one of the TU collection {error}{smiles_hint(entry.name)}"
            ) from error
        if entry.name != "MUTAG":
            raise
        raise FetchError(f"{error}; MUTAG also comes with: pip install 'edgnn[kernels]'") from error


def _print(message: str) -> None:
    print(message, file=sys.stderr)  # noqa: T201 - nobody vouches for these files: say so


def _load_tu(entry: Entry, folder: Path, source: str, task: str | None) -> Dataset:
    labeled = read_tu(folder, name=entry.name)
    graphs = labeled.graphs.renamed(
        node_labels=dict(enumerate(entry.node_labels)),
        edge_labels=dict(enumerate(entry.edge_labels)),
    )
    data = Dataset(name=entry.name, graphs=graphs, source=source, **_about(entry))
    return _with_targets(data, Labeled(graphs, labeled.targets), task, entry.classes)


def _load_rdf(entry: Entry, folder: Path, source: str, task: str | None) -> Dataset:
    graph_file = next(file for file in entry.sha256 if file.endswith(".nt.gz"))
    graphs = read_rdf(folder / graph_file).graphs
    train = _entities(folder / "trainingSet.tsv", entry)
    test = _entities(folder / "testSet.tsv", entry)
    positions = np.arange(len(train) + len(test))
    split = {"train": positions[: len(train)], "test": positions[len(train) :]}
    nodes = Nodes.named(graphs, [entity for entity, _ in train + test])
    values = np.array([value for _, value in train + test])
    data = Dataset(name=entry.name, graphs=graphs, source=source, **_about(entry))
    data = _with_targets(data, Labeled(graphs, values, nodes), task, entry.classes)
    return replace(data, split=split)


def _entities(path: Path, entry: Entry) -> list[tuple[str, str]]:
    """Read (entity, target) pairs of the published training or test set."""
    with open_binary(path) as stream:
        header, rows = read_rows(stream, path, "\t")
        columns = [column_of(header, name, path) for name in (entry.entity, entry.target)]
        pairs = []
        for line, row in rows:
            entity, target = (row[column] for column in columns)
            if not entity or not target:
                rule = f"the line lacks a value for {entry.entity!r} or {entry.target!r}"
                raise FormatError(path, rule, line)
            pairs.append((entity, target))
    return pairs


def _about(entry: Entry) -> dict[str, Any]:
    return {
        "sha256": entry.sha256,
        "description": entry.description,
        "citation": entry.citation,
        "license": entry.license,
        "paper": entry.paper,
        "paper_note": entry.paper_note,
    }
