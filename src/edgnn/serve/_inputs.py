"""Requests as graphs: SMILES, graphs in JSON, uploaded files. Nothing that was uploaded stays on the disk."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from edgnn.datasets._origin import molecule_options, reading_options
from edgnn.datasets._target_file import node_numbers
from edgnn.errors import EdgnnError, FormatError, GraphError
from edgnn.graphs import Graphs, Nodes
from edgnn.io import from_smiles, read, recognize
from edgnn.io._files import line_chunks, open_binary
from edgnn.io._molecule_files import records, table
from edgnn.serve._limits import LONGEST_SMILES, Limits, TooLarge
from edgnn.serve._source import with_label_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgnn.serve._limits import Deadline
    from edgnn.serve._model import Served
    from edgnn.serve._schemas import GraphIn

Upload = tuple[str, BinaryIO]
Skipped = list[dict[str, Any]]
_FOLDERS: set[str] = set()
_LONGEST_NAME = 200
_MOST_NODES = 2**31
_LETTERS_AT_ONCE = 10_000
_ROW_ENDS = {"smiles": b"\n", "sdf": b"$$$$"}
_LONGEST = {"smiles": LONGEST_SMILES, "sdf": 40 * LONGEST_SMILES}  # RDKit takes the square of a ring, and lets no thread run
#: What readers advise to those who call them, and what those who upload files can do instead.
_HINTS = {
    r"; to leave such molecules out, pass bad=.*$": "; correct the line, or take it out",
    r"; pass format= one of .*$": "; name the file by its format: .csv, .smi, .sdf, .graphml, .json, .nt, .ttl or .zip (a TU set)",
    r"; if you trust it, raise the limit with max_bytes=": "; unpack it, or send it in parts",
}


def of_smiles(
    served: Served, texts: Sequence[str], limits: Limits, deadline: Deadline, *, skip: bool
) -> tuple[Graphs, Skipped]:
    """Return molecules as graphs, and those left out."""
    served.check_level("graph", "smiles")
    limits.check_items(len(texts), "molecules")
    options = molecule_options(served.config)
    parts: list[Graphs] = []
    skipped: Skipped = []
    nodes = edges = 0
    for first, piece in _pieces(texts):
        deadline.check()
        try:
            found: Graphs | None = from_smiles(piece, **options)
        except GraphError as error:
            if not skip:
                raise GraphError(_counted_from(first, str(error))) from None
            found, left_out = _readable(piece, options, deadline)
            skipped += [entry | {"index": entry["index"] + first} for entry in left_out]
        if found is not None:
            parts.append(found)
            nodes, edges = nodes + found.num_nodes, edges + found.num_edges
            limits.check_sizes(nodes, edges)
    if not parts:
        worst = skipped[0]
        raise GraphError(f"none of the {len(texts):,} SMILES can be read; the first, {worst['input'][:60]!r}: {worst['error']}")
    return parts[0] if len(parts) == 1 else Graphs.concat(parts), skipped


def _pieces(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield molecules that take well below a second to read, and the place of the first of them."""
    first, piece, letters = 0, list[str](), 0
    for place, text in enumerate(texts):
        if piece and letters + len(text) > _LETTERS_AT_ONCE:
            yield first, piece
            first, piece, letters = place, [], 0
        piece.append(text)
        letters += len(text)
    yield first, piece


def _counted_from(first: int, error: str) -> str:
    """Return an error with the place of the molecule among all."""
    return re.sub(r"^SMILES (\d+)", lambda told: f"SMILES {int(told[1]) + first}", error)


def _readable(texts: Sequence[str], options: dict[str, Any], deadline: Deadline) -> tuple[Graphs | None, Skipped]:
    good: list[str] = []
    skipped: Skipped = []
    for place, text in enumerate(texts):
        deadline.check()
        try:
            from_smiles([text], **options)
            good.append(text)
        except GraphError as error:
            reason = str(error).partition("): ")[2] or str(error)
            skipped.append({"index": place, "input": text, "error": reason})
    return (from_smiles(good, **options) if good else None), skipped


def of_json(parts: Sequence[GraphIn], limits: Limits) -> Graphs:
    """Return graphs that a request spells out."""
    limits.check_items(len(parts), "graphs")
    nodes, edges, made = 0, sum(len(part.edges) for part in parts), []
    for place, part in enumerate(parts):
        try:
            nodes += _num_nodes(part)
            limits.check_sizes(nodes, edges)
            made.append(_graph(part))
        except GraphError as error:
            raise GraphError(f"graph {place}: {error}") from None
    named = [part.name for part in parts]
    graphs = Graphs.concat(made)
    limits.check_graphs(graphs)
    if all(name is None for name in named):
        return graphs
    return graphs._with(graph_names=_objects([str(place) if name is None else name for place, name in enumerate(named)]))


def _num_nodes(part: GraphIn) -> int:
    """Return how many nodes a graph has, after a look at its edges: their ends alone may call for any number."""
    for place, edge in enumerate(part.edges):
        for end in edge[:2]:
            if type(end) is not int or not 0 <= end < _MOST_NODES:
                raise GraphError(
                    f"edge {place} is {edge!r:.100}: write [source, target] or [source, target, label], nodes as numbers"
                )
        if len(edge) != len(part.edges[0]):
            raise GraphError(f"edge {place} has {'a' if len(edge) > 2 else 'no'} label, unlike edge 0; label all edges or none")
    given = next((len(rows) for rows in (part.node_labels, part.node_features, part.node_names) if rows), part.num_nodes)
    return 1 + max((end for edge in part.edges for end in edge[:2]), default=-1) if given is None else given


def _graph(part: GraphIn) -> Graphs:
    labeled = bool(part.edges) and len(part.edges[0]) > 2
    ends: Any = [edge[:2] for edge in part.edges]
    return Graphs.from_edges(
        ends,
        num_nodes=part.num_nodes,
        node_labels=None if part.node_labels is None else [_label(value) for value in part.node_labels],
        edge_labels=[_label(edge[2]) for edge in part.edges] if labeled else None,
        node_features=part.node_features or None,
        edge_features=part.edge_features or None,
        node_names=part.node_names,
    )


def _label(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _objects(values: list[Any]) -> Any:
    import numpy as np

    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def of_names(served: Served, names: Sequence[str], limits: Limits, level: str) -> Sequence[int]:
    """Return the places of items of the loaded data."""
    served.check_level(level, "nodes" if level == "node" else "examples")
    limits.check_items(len(names), f"{level}s")
    return served.catalog_or_fail().positions(names)


def nodes_of(graphs: Graphs, names: Sequence[str] | None, limits: Limits) -> Nodes:
    """Return the nodes of a request's graph that are asked for; all by default."""
    if not names:
        limits.check_items(graphs.num_nodes, "nodes")
        return graphs.nodes
    limits.check_items(len(names), "nodes")
    if len(graphs) != 1:
        raise GraphError(f"nodes are named in one graph, but there are {len(graphs):,}; leave `nodes` out to predict all nodes")
    numbers = node_numbers(graphs)
    for entry, name in enumerate(names):
        if name not in numbers:
            raise GraphError(f"entry {entry} of nodes, {name[:200]!r}, is no node of the graph")
    return graphs.nodes[[numbers[name] for name in names]]


def of_files(served: Served, uploads: Sequence[Upload], limits: Limits, deadline: Deadline) -> Graphs:
    """Return the graphs of uploaded files, in any format that :func:`edgnn.read` reads; several files are one folder."""
    if len(uploads) > limits.files:
        raise TooLarge(f"{len(uploads)} files are more than the {limits.files} of one request; put them into one zip archive")
    with _on_disk(uploads) as place, _named_as_uploaded(place):
        path = next(iter(place.iterdir())) if len(uploads) == 1 else place
        options = reading_options(served.config, path)
        kind = str(options.get("format") or recognize(path, options))
        if kind in _ROW_ENDS:
            _check_rows(path, kind, limits)
            _check_molecules(path, kind, options, limits)
        deadline.check()
        if kind == "arrays":
            raise FormatError(path, "folders of arrays are not taken from a browser; write the graphs in another format")
        graphs = read(path, **(options | {"max_bytes": limits.unpacked}))
        if kind == "tu":
            graphs = with_label_names(served.config, graphs, [name for name, _ in uploads])
    if not len(graphs) or not graphs.num_nodes:
        raise GraphError(f"{uploads[0][0]} holds no graphs; choose a file with at least one node")
    limits.check_graphs(graphs)
    return graphs


def _check_rows(path: Path, kind: str, limits: Limits) -> None:
    """Raise before molecules are read one by one where there are too many."""
    count = 0
    with open_binary(path, limits.unpacked) as stream:
        for _, piece in line_chunks(stream, path):
            count += piece.count(_ROW_ENDS[kind])
    if count > limits.items + 2:  # a header, an empty line at the end
        raise TooLarge(f"{path.name} has {count:,} lines or records; one request may have {limits.items:,}: send it in parts")


def _check_molecules(path: Path, kind: str, options: Mapping[str, Any], limits: Limits) -> None:
    """Raise before molecules are read where one of them is so long that all others would wait for it."""
    with open_binary(path, limits.unpacked) as stream:
        texts = records(stream, path) if kind == "sdf" else _cells(stream, path, options)
        for line, text in texts:
            if len(text) > _LONGEST[kind]:
                raise TooLarge(
                    f"{path.name}, line {line}: the molecule has {len(text):,} characters; "
                    f"{_LONGEST[kind]:,} are allowed: leave it out"
                )


def _cells(stream: BinaryIO, path: Path, options: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the SMILES of a table with their lines."""
    name = str(options.get("smiles", "smiles"))
    header, rows = table(stream, path, name, options.get("delimiter"))
    places = [place for place, cell in enumerate(header) if cell.strip().casefold() == name.strip().casefold()]
    return ((line, row[place]) for line, row in rows for place in places if place < len(row))


def remove_uploads() -> None:
    """Remove what requests under way have uploaded: a program that ends does not wait for their threads."""
    while _FOLDERS:
        shutil.rmtree(_FOLDERS.pop(), ignore_errors=True)


@contextmanager
def _noted(folder: str) -> Iterator[None]:
    _FOLDERS.add(folder)
    try:
        yield
    finally:
        _FOLDERS.discard(folder)


@contextmanager
def _on_disk(uploads: Iterable[Upload]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="edgnn-serve-") as folder, _noted(folder):
        place = Path(folder)
        for name, stream in uploads:
            path = place / _safe(name)
            if path.exists():
                raise GraphError(f"two files are called {path.name!r}; rename one")
            with path.open("wb") as file:
                shutil.copyfileobj(stream, file)
        yield place


def _safe(name: str) -> str:
    """Return the last part of a file's name, which cannot lead out of the folder."""
    last = name.replace("\\", "/").rpartition("/")[2]
    if last in ("", ".", "..") or len(last.encode(errors="replace")) > _LONGEST_NAME or not last.isprintable():
        raise GraphError(f"a file is called {name[:100]!r}, which is no name of a file; rename it, as in graphs.csv")
    return last


@contextmanager
def _named_as_uploaded(place: Path) -> Iterator[None]:
    """Have errors name files as people do, not where they lay."""
    try:
        yield
    except TooLarge:
        raise
    except EdgnnError as error:
        text = str(error).replace(f"{place}/", "").replace(str(place), "the upload")
        for hint, instead in _HINTS.items():
            text = re.sub(hint, instead, text, flags=re.S)
        raise GraphError(text) from None
    except OSError as error:
        raise GraphError(f"the upload cannot be read: {error.strerror or error}") from None


def one_of(graphs: Graphs | Nodes, item: int) -> Graphs | Nodes:
    """Return one item of several."""
    if item >= len(graphs):
        what = "nodes" if isinstance(graphs, Nodes) else "graphs"
        raise GraphError(f"item {item} was asked for, but there are {len(graphs):,} {what}, counted from 0")
    return graphs[item : item + 1]
