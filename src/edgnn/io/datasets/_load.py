"""load_dataset: a name or a path becomes a Dataset."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from edgnn._files import open_binary
from edgnn._paths import exists
from edgnn.errors import DatasetError, FetchError, FormatError
from edgnn.graphs import Nodes
from edgnn.io._common import Array, object_array
from edgnn.io._frames import Frame, as_source
from edgnn.io._labeled import Labeled
from edgnn.io._rdf import read_rdf
from edgnn.io._read import read_labeled
from edgnn.io._separated import column_of, read_rows, refuse_spreadsheet
from edgnn.io._tu import read_tu
from edgnn.io.datasets._cache import ensure, recorded, verify
from edgnn.io.datasets._dataset import Dataset, positions_by_word
from edgnn.io.datasets._molecule_sets import PARTS, read_molecule_set
from edgnn.io.datasets._registry import (
    Entry,
    Location,
    find,
    find_or_tu,
    locate,
    similar_name,
    smiles_hint,
)
from edgnn.io.datasets._target_columns import (
    column_words,
    expanded,
    format_of_source,
    takes_target,
    target_names,
    target_options,
    with_descriptors,
)
from edgnn.io.datasets._target_file import OnUnknownName, targets_of_file
from edgnn.io.datasets._targets import encode_targets, missing_targets
from edgnn.registry import Level

_TASKS = Literal["classes", "values"]


def load_dataset(
    source: Any,
    /,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
    progress: bool | None = None,
    task: _TASKS | None = None,
    target_file: Any = None,
    target_column: str | Sequence[str] | None = None,
    split_column: str | None = None,
    level: Level | None = None,
    unknown_names: OnUnknownName = "error",
    **options: Any,
) -> Dataset:
    """Load a data set by name, or any file that edgnn reads.

    Named sets are MUTAG, PTC_FM, PTC_FR, PTC_MM, PTC_MR (graphs), AIFB and MUTAG-RDF (nodes),
    molecules (``MoleculeACE/CHEMBL204_Ki``, ``ogbg-molhiv``, ESOL and others that ``edgnn
    datasets`` lists), and every other set of the TU collection. They are looked for in
    ``data_dir``, ``$EDGNN_DATA``, the cache (``$EDGNN_CACHE``), installed packages, and only then
    on the network; the files of all but the other TU sets are checked against recorded hashes.

    Parameters
    ----------
    source : str, path or data frame
        A set's name (case, ``-`` and ``_`` do not matter), a path in any format of
        :func:`edgnn.read`, or a table of pandas, polars or pyarrow.
    data_dir : path, optional
        A folder laid out as ``TUDataset/NAME/NAME_A.txt``, ``rdf/NAME/…``,
        ``moleculeace/NAME.csv``, ``molhiv/mol.csv.zip`` and ``moleculenet/NAME.csv``.
    download : bool
        Whether the network may be used.
    progress : bool, optional
        Show a progress bar while downloading; default: on a terminal.
    task : {"classes", "values"}, optional
        What numbers in a column of targets are. By default whole numbers and texts are classes;
        numbers with a point (``1.0``) are where they are all whole, at most 20 different ones, and
        each comes twice on average; other numbers are values. With ``"classes"``, items without a
        target are left out.
    target_file : path or data frame, optional
        A table (CSV or TSV, plain or gzip) of names and targets, for files that hold none, such as
        RDF.
    target_column : str or sequence of str, optional
        The columns of targets: of ``target_file`` (default: the only one beside the names), or
        without one, of the file itself, whatever its reader calls that option. Each is a name,
        several names with commas between them, or a pattern among the columns that nothing else
        uses: ``"NR-*"``, ``"*"`` for all. ``target=`` says the same, but of tables of edges, where
        it is the column of an edge's end.
    split_column : str, optional
        A column beside the targets that says which part each item is in (train, validation, test,
        or the number of a fold). It becomes :attr:`Dataset.split`; the file is read twice.
    level : {"graph", "node"}, optional
        What targets belong to; default: as the file has them. The rows of ``target_file`` name
        nodes of a single graph, else graphs.
    unknown_names : {"error", "skip"}
        What to do with rows of ``target_file`` that name nothing in the data: raise, or skip them
        with one warning that counts them.
    **options
        For a path: options of its reader, such as ``target=`` or ``node_target=``. Columns of
        ``descriptors=`` can be named as those of ``target_column`` are.

    Examples
    --------
    >>> import edgnn
    >>> edgnn.load_dataset("mutag")
    Dataset('MUTAG', 2 classes, Graphs(188 graphs, 3,371 nodes, 7,442 edges, 7 node labels, 4 edge
    labels))
    """
    if level not in (None, "graph", "node"):
        raise DatasetError(f"level={level!r}: targets belong to a 'graph' or a 'node'")
    source = as_source(source)
    name = os.fspath(source)
    is_path = _is_path(source)
    if is_path:
        beside = target_column if target_file is None else None
        options = with_descriptors(source, options, column_words(beside))
    if target_file is not None:
        if target_column is None and not (is_path and takes_target(source, options)):
            target_column = options.pop("target", None)
        if is_path:
            data = load_items(source, **options)
        else:
            data = _named(name, data_dir, download, progress, options, None)
        read_columns = partial(
            targets_of_file,
            data.graphs,
            as_source(target_file),
            level=level,
            unknown=unknown_names,
        )
        labeled = read_columns(column_words(target_column))
        parts = None if split_column is None else read_columns([split_column]).targets
        return _with_targets(data, labeled, task, parts=parts)
    words = column_words(target_column)
    if words:
        options |= target_options(source, words, level, options)
    if is_path:
        data = _from_source(source, options, task, split_column)
    elif split_column is not None:
        raise DatasetError(
            f"{name} is no file, so it has no column {split_column!r} that splits it; leave "
            "split_column out"
        )
    else:
        data = _named(name, data_dir, download, progress, options, task)
    _check_level(data, level, name)
    return data


def _is_path(source: Any) -> bool:
    """Return whether a source is a data frame, or a path and no name of a set."""
    return isinstance(source, Frame) or (find(os.fspath(source)) is None and exists(source))


def _check_level(data: Dataset, level: Level | None, name: str) -> None:
    """Raise where targets belong to something else than what was asked for."""
    if level is not None and data.targets is not None and data.level != level:
        raise DatasetError(
            f"level={level!r} (--task {level} in a command): "
            f"the targets of {name} belong to {data.level}s"
        )


def _from_source(
    source: Any, options: dict[str, Any], task: str | None, split_column: str | None
) -> Dataset:
    """Return what a file or data frame holds, with its targets."""
    options = expanded(source, options)
    data, labeled = _read(source, options)
    labeled = replace(labeled, target_names=target_names(source, options))
    parts = None
    if split_column is not None:
        parts = _column_beside(labeled, source, split_column, options)
    return _with_targets(data, labeled, task, parts=parts)


def _column_beside(labeled: Labeled, source: Any, column: str, options: Mapping[str, Any]) -> Array:
    """Return the values of a column that stands beside the targets, one per labeled item."""
    if labeled.targets is None:
        raise DatasetError(f"{source} has no targets, so there is nothing to split by {column!r}")
    option = target_options(source, [column], labeled.level, options)
    with warnings.catch_warnings():  # the first reading has said all
        warnings.simplefilter("ignore")
        again = read_labeled(source, **(dict(options) | option))
    values = np.asarray(again.targets)
    if labeled.nodes is None or again.nodes is None:
        return values
    value_of = dict(zip(again.nodes.index.tolist(), values.tolist(), strict=True))
    return object_array([value_of.get(node, "") for node in labeled.nodes.index.tolist()])


def load_items(path: Any, **options: Any) -> Dataset:
    """Load a file as :func:`load_dataset` does, but no targets: all graphs, to predict for.

    Parameters
    ----------
    path : path
        The file or folder.
    **options
        Those of its reader. A column of targets says which nodes are meant; without one, the
        reader's default is not looked at.
    """
    options = with_descriptors(path, options)
    known = format_of_source(path, options)
    unread = {name: None for name in known.target_options.values() if known.takes_none(name)}
    return _read(path, unread | options)[0]


def _read(source: Any, options: dict[str, Any]) -> tuple[Dataset, Labeled]:
    source = as_source(source)
    path = source if isinstance(source, Frame) else Path(source)
    refuse_spreadsheet(path)
    labeled = read_labeled(path, **options)
    if not len(labeled.graphs):
        raise FormatError(
            path,
            "there are no graphs in it; a table needs rows below the line that names its columns",
        )
    data = Dataset(name=str(path), graphs=labeled.graphs, nodes=labeled.nodes, source=str(path))
    return data, labeled


def _with_targets(
    data: Dataset,
    labeled: Labeled,
    task: str | None,
    class_names: Mapping[str, str] | None = None,
    parts: Array | None = None,
    subsets: Mapping[str, Array] | None = None,
) -> Dataset:
    """Return a data set with the targets of a file: classes by number, or values.

    ``parts`` are the words that say which part of the split each item is in, ``subsets`` say by
    name whether it belongs to one.
    """
    if labeled.targets is None or missing_targets(labeled.targets).all():
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
    return replace(
        data,
        graphs=graphs,
        nodes=nodes,
        targets=targets,
        class_names=names,
        target_names=labeled.target_names,
        split=None if parts is None else positions_by_word(parts[kept]),
        subsets={name: np.flatnonzero(has[kept]) for name, has in (subsets or {}).items()},
    )


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
    if entry.kind == "molecules":
        return _load_molecules(entry, folder, source, task)
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
            entry.cache_folder,
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


def _load_molecules(entry: Entry, folder: Path, source: str, task: str | None) -> Dataset:
    table = read_molecule_set(folder, entry)
    data = Dataset(name=entry.name, graphs=table.graphs, source=source, **_about(entry))
    labeled = Labeled(table.graphs, table.targets, target_names=table.target_names)
    data = _with_targets(
        data, labeled, task or entry.task or None, entry.classes, table.parts, table.subsets
    )
    if data.split is None:
        return data
    order = [part for part in PARTS if part in data.split]
    return replace(data, split={part: data.split[part] for part in order})


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
