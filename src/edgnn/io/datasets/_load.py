"""load_dataset: a name or a path becomes a Dataset."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from edgnn._files import open_binary
from edgnn._paths import exists
from edgnn.errors import DatasetError, FetchError, FormatError
from edgnn.graphs import Nodes
from edgnn.io import read_labeled, read_rdf, read_tu
from edgnn.io._molecule_files import refuse_spreadsheet
from edgnn.io.datasets._cache import ensure, recorded
from edgnn.io.datasets._checksums import verify
from edgnn.io.datasets._dataset import Dataset, encode_classes
from edgnn.io.datasets._locate import Location, locate
from edgnn.io.datasets._registry import Entry, find, find_or_tu, smiles_hint, suggestion
from edgnn.io.datasets._target_file import with_target_file


def load_dataset(
    name: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
    progress: bool | None = None,
    target_file: str | os.PathLike[str] | None = None,
    target_column: str | Sequence[str] | None = None,
    level: Literal["graph", "node"] | None = None,
    **options: Any,
) -> Dataset:
    """Load a data set by name, or any file that edgnn reads.

    Named sets are MUTAG, PTC_FM, PTC_FR, PTC_MM, PTC_MR (graphs), AIFB and MUTAG-RDF (nodes), and
    every other set of the TU collection. They are looked for in ``data_dir``, ``$EDGNN_DATA``, the
    cache (``$EDGNN_CACHE``), installed packages, and only then on the network; the files of the
    seven sets are checked against the published hashes.

    Parameters
    ----------
    name : str or path
        A set's name (case, ``-`` and ``_`` do not matter), or a path in any format of
        :func:`edgnn.read`.
    data_dir : path, optional
        A folder laid out as ``TUDataset/NAME/NAME_A.txt`` and ``rdf/NAME/…``.
    download : bool
        Whether the network may be used.
    progress : bool, optional
        Show a progress bar while downloading; default: on a terminal.
    target_file : path, optional
        A table (CSV or TSV, plain or gzip) of names and targets, for files that hold none, such as
        RDF.
    target_column : str or sequence of str, optional
        The column of targets in ``target_file``, or several; default: the only one beside the
        names. Without it ``target=`` says the same, but for tables of edges whose reader is to get
        its own ``target=``.
    level : {"graph", "node"}, optional
        What the rows of ``target_file`` name; default: nodes of a single graph, else graphs.
    **options
        For a path: options of its reader, such as ``target=`` or ``node_target=``.

    Examples
    --------
    >>> import edgnn
    >>> edgnn.load_dataset("mutag")
    Dataset('MUTAG', 2 classes, Graphs(188 graphs, 3,371 nodes, 7,442 edges, 7 node labels, 4 edge
    labels))
    """
    if target_file is not None:
        columns = _columns(options.pop("target", None) if target_column is None else target_column)
        if level not in (None, "graph", "node"):
            raise DatasetError(
                f"level={level!r}: the rows of a table of targets name a 'graph' or a 'node'"
            )
        data = load_dataset(
            name, data_dir=data_dir, download=download, progress=progress, **options
        )
        return with_target_file(data, target_file, columns, level=level)
    for word, value in (("level", level), ("target_column", target_column)):
        if value is not None:
            raise DatasetError(
                f"{word}={value!r} speaks of a table of targets; name the table with target_file="
            )
    text = os.fspath(name)
    if find(text) is None and exists(text):
        return _from_path(Path(text), options)
    if options:
        given = ", ".join(sorted(options))
        if find(text) is None:
            raise DatasetError(
                f"there is no file {text!r}; if you mean a TU set of that name, it takes no options ({given})"
            )
        raise DatasetError(f"{text!r} is a named data set, which takes no reader options ({given})")
    entry = find_or_tu(text)
    location = locate(entry, data_dir)
    if location.path is None and find(text) is None and (similar := suggestion(text)) is not None:
        raise DatasetError(f"there is no data set {text!r}; did you mean {similar}?")
    folder = _folder(entry, location, download, progress)
    source = f"{location.place}: {folder}"
    return (
        _load_tu(entry, folder, source) if entry.kind == "tu" else _load_rdf(entry, folder, source)
    )


def _columns(target: Any) -> list[str]:
    named = [target] if isinstance(target, str) else [] if target is None else target
    if not isinstance(named, list | tuple) or not all(isinstance(name, str) for name in named):
        raise DatasetError(
            f"target={target!r}: name the column of targets in target_file, or a list of columns"
        )
    return list(named)


def _from_path(path: Path, options: dict[str, Any]) -> Dataset:
    refuse_spreadsheet(path)
    labeled = read_labeled(path, **options)
    if not len(labeled.graphs):
        raise FormatError(
            path,
            "there are no graphs in it; a table needs rows below the line that names its columns",
        )
    targets, class_names = (
        (None, ()) if labeled.targets is None else encode_classes(labeled.targets)
    )
    return Dataset(
        name=str(path),
        graphs=labeled.graphs,
        targets=targets,
        class_names=class_names,
        nodes=labeled.nodes,
        source=str(path),
    )


def _folder(entry: Entry, location: Location, download: bool, progress: bool | None) -> Path:
    if location.path is not None and location.place != "cache":
        if entry.sha256:
            verify(location.path, entry.sha256)
        return location.path
    if not download:
        if location.path is None:
            raise DatasetError(
                f"{entry.name} is not on this machine and download=False; put its files under $EDGNN_DATA/{entry.folder}"
            )
        verify(location.path, entry.sha256 or recorded(location.path) or {})
        return location.path
    try:
        return ensure(
            entry.folder,
            entry.parts,
            checksums=entry.sha256 or None,
            progress=progress,
            on_first=_say,
        )
    except FetchError as error:
        if find(entry.name) is None:
            raise FetchError(
                f"nothing called {entry.name!r} was found: it is no file, no registered data set, and as one of the TU collection "
                f"{error}{smiles_hint(entry.name)}"
            ) from error
        if entry.name != "MUTAG":
            raise
        raise FetchError(f"{error}; MUTAG also comes with: pip install 'edgnn[kernels]'") from error


def _say(message: str) -> None:
    print(message, file=sys.stderr)  # noqa: T201 - the user must learn that nobody vouches for these files


def _load_tu(entry: Entry, folder: Path, source: str) -> Dataset:
    labeled = read_tu(folder, name=entry.name)
    graphs = labeled.graphs.renamed(
        node_labels=dict(enumerate(entry.node_labels)),
        edge_labels=dict(enumerate(entry.edge_labels)),
    )
    targets, class_names = (
        (None, ()) if labeled.targets is None else encode_classes(labeled.targets, entry.classes)
    )
    return Dataset(
        name=entry.name,
        graphs=graphs,
        targets=targets,
        class_names=class_names,
        source=source,
        **_about(entry),
    )


def _load_rdf(entry: Entry, folder: Path, source: str) -> Dataset:
    graph_file = next(file for file in entry.sha256 if file.endswith(".nt.gz"))
    graphs = read_rdf(folder / graph_file).graphs
    train = _entities(folder / "trainingSet.tsv", entry)
    test = _entities(folder / "testSet.tsv", entry)
    targets, class_names = encode_classes(
        np.array([value for _, value in train + test]), entry.classes
    )
    positions = np.arange(len(targets))
    return Dataset(
        name=entry.name,
        graphs=graphs,
        targets=targets,
        class_names=class_names,
        nodes=Nodes.named(graphs, [entity for entity, _ in train + test]),
        split={"train": positions[: len(train)], "test": positions[len(train) :]},
        source=source,
        **_about(entry),
    )


def _entities(path: Path, entry: Entry) -> list[tuple[str, str]]:
    """Read (entity, target) pairs of one part of the published split."""
    with open_binary(path) as stream:
        rows = list(csv.DictReader(stream.read().decode("utf-8").splitlines(), delimiter="\t"))
    for line, row in enumerate(rows, 2):
        if not row.get(entry.entity) or not row.get(entry.target):
            raise FormatError(
                path, f"the line lacks a value for {entry.entity!r} or {entry.target!r}", line
            )
    return [(row[entry.entity], row[entry.target]) for row in rows]


def _about(entry: Entry) -> dict[str, Any]:
    return {
        "sha256": entry.sha256,
        "description": entry.description,
        "citation": entry.citation,
        "paper": entry.paper,
        "paper_note": entry.paper_note,
    }
