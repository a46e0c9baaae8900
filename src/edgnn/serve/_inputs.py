"""What requests spell out, name or upload, as graphs. Nothing uploaded stays on the disk."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from edgnn._files import line_chunks, open_binary
from edgnn.errors import (
    DeadlineError,
    EdgnnError,
    FormatError,
    GraphError,
    UnknownLabelError,
)
from edgnn.graphs import Graphs, Nodes
from edgnn.io import Deadline, read, recognize, refuse_spreadsheet
from edgnn.io.datasets import node_numbers, reading_options
from edgnn.models import check_known
from edgnn.serve._limits import Limits, TooLarge
from edgnn.serve._molecules import Skipped, read_molecule_file
from edgnn.serve._source import with_label_names

if TYPE_CHECKING:
    from edgnn.serve._model import Served
    from edgnn.serve._requests import GraphIn

Upload = tuple[str, BinaryIO]
_MOST_NODES = 2**31
_LONGEST_NAME = 200
_RECORD_ENDS = {"smiles": b"\n", "sdf": b"$$$$"}
#: By kind of error, what people who upload files can do about it.
_ADVICE = {
    "format": "; name the file by its format: .csv, .smi, .sdf, .graphml, .json, .nt, .ttl or "
    ".zip (a TU set)",
    "size": "; unpack it, or send it in parts",
    "columns": ": rename those of edges, or that of molecules",
    "column": "; call the column so, or where a file of SMILES has no header, let its name end in "
    ".smi",
    "tu": "; of other data, choose the files themselves",
    "labels": "; write labels as the training data has them",
}
_FOLDERS: set[str] = set()

# Graphs that a request spells out


def read_graphs(specs: Sequence[GraphIn], limits: Limits) -> Graphs:
    """Return graphs that a request spells out."""
    limits.check_items(len(specs), "graphs")
    nodes = 0
    edges = sum(len(spec.edges) for spec in specs)
    has_names = any(spec.name is not None for spec in specs)
    graphs = []
    for number, spec in enumerate(specs):
        name = spec.name or str(number)
        try:
            nodes += _num_nodes(spec)
            limits.check_sizes(nodes, edges)
            graphs.append(_graph(spec, name if has_names else None))
        except GraphError as error:
            raise GraphError(f"graph {number}: {error}") from None
    return Graphs.concat(graphs)


def _num_nodes(spec: GraphIn) -> int:
    """Return how many nodes a graph has; ends of edges alone may call for any number."""
    largest = -1
    for number, edge in enumerate(spec.edges):
        for end in edge[:2]:
            if type(end) is not int or not 0 <= end < _MOST_NODES:
                raise GraphError(
                    f"edge {number} is {edge!r:.100}: write [source, target] or "
                    "[source, target, label], nodes as numbers"
                )
        largest = max(largest, *edge[:2])
        if len(edge) != len(spec.edges[0]):
            has = "a" if len(edge) > 2 else "no"
            raise GraphError(
                f"edge {number} has {has} label, unlike edge 0; label all edges or none"
            )
    for rows in (spec.node_labels, spec.node_features, spec.node_names):
        if rows:
            return len(rows)
    return largest + 1 if spec.num_nodes is None else spec.num_nodes


def _graph(spec: GraphIn, name: str | None) -> Graphs:
    ends: Any = [edge[:2] for edge in spec.edges]
    edge_labels = None
    if spec.edges and len(spec.edges[0]) > 2:
        edge_labels = [_label(edge[2]) for edge in spec.edges]
    node_labels = None
    if spec.node_labels is not None:
        node_labels = [_label(value) for value in spec.node_labels]
    return Graphs.from_edges(
        ends,
        num_nodes=spec.num_nodes,
        node_labels=node_labels,
        edge_labels=edge_labels,
        node_features=spec.node_features or None,
        edge_features=spec.edge_features or None,
        node_names=spec.node_names,
        graph_names=None if name is None else [name],
    )


def _label(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# Items by name and by number


def positions_of(served: Served, names: Sequence[str], limits: Limits, level: str) -> list[int]:
    """Return the positions of items of the loaded data."""
    served.check_level(level, "nodes" if level == "node" else "examples")
    limits.check_items(len(names), f"{level}s")
    return served.loaded().positions(names)


def nodes_of(graphs: Graphs, names: Sequence[str] | None, limits: Limits) -> Nodes:
    """Return the nodes of a request's graph that are asked for; all by default."""
    if not names:
        limits.check_items(graphs.num_nodes, "nodes")
        return graphs.nodes
    limits.check_items(len(names), "nodes")
    if len(graphs) != 1:
        raise GraphError(
            f"nodes are named in one graph, but there are {len(graphs):,}; "
            "leave `nodes` out to predict all nodes"
        )
    numbers = node_numbers(graphs)
    for entry, name in enumerate(names):
        if name not in numbers:
            raise GraphError(f"entry {entry} of nodes, {name[:200]!r}, is no node of the graph")
    return graphs.nodes[[numbers[name] for name in names]]


def one_of(items: Graphs | Nodes, number: int) -> Graphs | Nodes:
    """Return one item of several."""
    if number >= len(items):
        what = "nodes" if isinstance(items, Nodes) else "graphs"
        raise GraphError(
            f"item {number} was asked for, but there are {len(items):,} {what}, counted from 0"
        )
    return items[number : number + 1]


# Uploaded files


def read_uploads(
    served: Served,
    uploads: Sequence[Upload],
    limits: Limits,
    deadline: Deadline,
    *,
    skip: bool = False,
) -> tuple[Graphs, list[Skipped]]:
    """Return the graphs of uploaded files, in any format that :func:`edgnn.read` reads.

    Parameters
    ----------
    served : Served
        The model, which knows how the files of its training were read.
    uploads : sequence of (name, stream)
        The files; several are one folder.
    limits : Limits
        How much there may be.
    deadline : Deadline
        Looked at between the steps.
    skip : bool
        Whether to skip molecules that cannot be read, which are then returned beside the graphs.
    """
    if len(uploads) > limits.files:
        raise TooLarge(
            f"{len(uploads)} files are more than the {limits.files} of one request; "
            "send those that belong together, such as tables of edges and nodes, "
            "or a TU set as one zip archive"
        )
    with _on_disk(uploads) as folder, _errors_for_uploaders(folder):
        graphs, skipped = _read_folder(served, folder, limits, deadline, skip=skip)
    if not len(graphs) or not graphs.num_nodes:
        raise GraphError(f"{uploads[0][0]} holds no graphs; choose a file with at least one node")
    limits.check_sizes(graphs.num_nodes, graphs.num_edges)
    return graphs, skipped


def _read_folder(
    served: Served, folder: Path, limits: Limits, deadline: Deadline, *, skip: bool
) -> tuple[Graphs, list[Skipped]]:
    files = list(folder.iterdir())
    for file in files:
        refuse_spreadsheet(file)
    path = files[0] if len(files) == 1 else folder
    options: Mapping[str, Any] = reading_options(served.config, path)
    kind = str(options.get("format") or recognize(path, options))
    deadline.check()
    if kind == "arrays":
        raise FormatError(
            path,
            "folders of arrays are not taken from a browser; write the graphs in another format",
        )
    if kind in _RECORD_ENDS:
        _check_records(path, kind, limits)
        return read_molecule_file(path, kind, options, limits, deadline, skip=skip)
    graphs = read(path, **{**options, "max_bytes": limits.unpacked})
    if kind == "tu":
        graphs = with_label_names(served.config, graphs, [file.name for file in files])
    return graphs, []


def check_learned(served: Served, items: Graphs | Nodes) -> None:
    """Raise where a file has no label that the model has learned."""
    try:
        check_known(served.model, items)
    except UnknownLabelError as error:
        raise GraphError(_advised(error)) from None


def _check_records(path: Path, kind: str, limits: Limits) -> None:
    """Raise before molecules are read one by one where there are too many."""
    count = 0
    with open_binary(path, limits.unpacked) as stream:
        for _, piece in line_chunks(stream, path):
            count += piece.count(_RECORD_ENDS[kind])
    if count > limits.items + 2:  # a header, an empty line at the end
        raise TooLarge(
            f"{path.name} has {count:,} lines or records; one request may have {limits.items:,}: "
            "send it in parts"
        )


def remove_uploads() -> None:
    """Remove what requests under way have uploaded: an ending program waits for no thread."""
    while _FOLDERS:
        shutil.rmtree(_FOLDERS.pop(), ignore_errors=True)


@contextmanager
def _on_disk(uploads: Iterable[Upload]) -> Iterator[Path]:
    folder = tempfile.mkdtemp(prefix="edgnn-serve-")
    _FOLDERS.add(folder)
    try:
        for name, stream in uploads:
            path = Path(folder, _file_name(name))
            if path.exists():
                raise GraphError(f"two files are called {path.name!r}; rename one")
            with path.open("wb") as file:
                shutil.copyfileobj(stream, file)
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _FOLDERS.discard(folder)  # not before: at the end of the program nobody else removes it


def _file_name(name: str) -> str:
    """Return the last part of a file's name, which cannot lead out of the folder."""
    last = name.replace("\\", "/").rpartition("/")[2]
    too_long = len(last.encode(errors="replace")) > _LONGEST_NAME
    if last in ("", ".", "..") or too_long or not last.isprintable():
        raise GraphError(
            f"a file is called {name[:100]!r}, which is no name of a file; "
            "rename it, as in graphs.csv"
        )
    return last


@contextmanager
def _errors_for_uploaders(folder: Path) -> Iterator[None]:
    """Let errors name files as people do, not where they lay."""
    try:
        yield
    except (TooLarge, DeadlineError):
        raise
    except EdgnnError as error:
        message = _advised(error).replace(f"{folder}/", "").replace(str(folder), "the upload")
        raise GraphError(message) from None
    except OSError as error:
        raise GraphError(f"the upload cannot be read: {error.strerror or error}") from None


def _advised(error: EdgnnError) -> str:
    """Return an error with advice for those who upload files instead of that for callers."""
    if error.kind not in _ADVICE:
        return str(error)
    return str(error).removesuffix(error.advice) + _ADVICE[error.kind]
