"""read and write: the format recognized from the name, or else from the content."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

from edgnn._files import Path_, open_binary
from edgnn._words import preview, suggestion
from edgnn.errors import FormatError, GraphError
from edgnn.graphs import Graphs
from edgnn.io._arrays import read_arrays, write_arrays
from edgnn.io._graph_writer import HEADER
from edgnn.io._graphml import read_graphml, write_graphml
from edgnn.io._labeled import Labeled
from edgnn.io._molecule_files import delimiter_of
from edgnn.io._molecules import MoleculeOptions, read_sdf, read_smiles_table
from edgnn.io._node_link import read_node_link, write_node_link
from edgnn.io._option_types import fitting
from edgnn.io._rdf import read_rdf, write_rdf
from edgnn.io._rdf_document import syntax_of
from edgnn.io._structure_files import HEADER as STRUCTURE_HEADER
from edgnn.io._table_files import TextTable
from edgnn.io._tables import read_tables, write_tables
from edgnn.io._tu import read_tu, write_tu

_READERS: dict[str, Callable[..., Labeled]] = {
    "tu": read_tu,
    "rdf": read_rdf,
    "tables": read_tables,
    "graphml": read_graphml,
    "node-link": read_node_link,
    "sdf": read_sdf,
    "smiles": read_smiles_table,
    "arrays": read_arrays,
    **{
        syntax: partial(read_rdf, format=syntax)
        for syntax in ("nt", "ttl", "nq", "trig", "n3", "xml")
    },
}
_WRITERS: dict[str, Callable[..., None]] = {
    "tu": write_tu,
    "rdf": write_rdf,
    "tables": write_tables,
    "graphml": write_graphml,
    "node-link": write_node_link,
    "arrays": write_arrays,
}
_BY_SUFFIX = {
    ".zip": "tu",
    **dict.fromkeys((".nt", ".ttl", ".nq", ".trig", ".n3", ".rdf", ".owl"), "rdf"),
    **dict.fromkeys((".parquet", ".pq"), "tables"),
    ".graphml": "graphml",
    ".json": "node-link",
    **dict.fromkeys((".sdf", ".sd", ".mol"), "sdf"),
    **dict.fromkeys((".smi", ".smiles"), "smiles"),
    ".graphs": "arrays",
}
_TEXT_TABLES = (".csv", ".tsv", ".txt")
_SNIFFED = 4096


def read(path: Path_, *, format: str | None = None, **options: Any) -> Graphs:
    """Read graphs in any supported format.

    TU folders and zips; RDF as N-Triples, Turtle, N-Quads, TriG or RDF/XML; edge tables as CSV or
    Parquet, alone or in a folder with ``edges``, ``nodes`` and ``graphs`` tables; GraphML;
    node-link JSON; SDF; tables with a SMILES column. Text formats may be compressed with gzip. Our
    own folders of arrays (``.graphs``) are mapped, not read: they may be larger than memory.

    Parameters
    ----------
    path : path
        A file or folder.
    format : str, optional
        ``"tu"``, ``"rdf"`` (or its syntax: ``"nt"``, ``"ttl"``, ``"nq"``, ``"trig"``, ``"n3"``,
        ``"xml"``), ``"tables"``, ``"graphml"``, ``"node-link"``, ``"sdf"``, ``"smiles"`` or
        ``"arrays"``; default: recognized.
    **options
        Passed to the format's own reader (``edgnn.io.read_tu``, ``read_rdf``, ``read_tables``, …).
    """
    return read_labeled(path, format=format, **options).graphs


def read_labeled(path: Path_, *, format: str | None = None, **options: Any) -> Labeled:
    """Read graphs with the targets the source carries for them; see :func:`read` for formats and parameters."""
    kind = recognize(path, options) if format is None else format
    if kind not in _READERS:
        raise GraphError(
            f"format={kind!r}: choose one of {', '.join(map(repr, _READERS))}{suggestion(kind, _READERS)}"
        )
    options = _checked(kind, _READERS[kind], options)
    if kind == "tables" and format is None:
        _check_columns(Path(path), options)
    return _READERS[kind](path, **options)


def write(graphs: Graphs, path: Path_, *, format: str | None = None, **options: Any) -> None:
    """Write graphs in the format that the name of ``path`` asks for; nothing half-written is left behind.

    Parameters
    ----------
    graphs : Graphs
        What to write; GraphML, node-link JSON and RDF hold a single graph.
    path : path
        ``.graphml``, ``.json`` or ``.nt`` for a file, with ``.gz`` to compress it; ``.graphs`` for
        a folder of arrays, which
        :func:`read` maps; another folder needs ``format="tu"`` or ``"tables"``.
    format : str, optional
        Overrides the name.
    **options
        Passed to the format's own writer.
    """
    kind = format_to_write(path, format)
    _WRITERS[kind](graphs, path, **_checked(kind, _WRITERS[kind], options))


def format_to_write(path: Path_, format: str | None = None) -> str:
    """Return the name of the format that :func:`write` gives a file or folder of this name."""
    kind = _BY_SUFFIX.get(_suffix(path)) if format is None else format
    if kind not in _WRITERS or (kind in ("tu", "tables") and format is None):
        raise GraphError(
            f"cannot tell the format of {os.fspath(path)!r}; pass format= one of {', '.join(map(repr, _WRITERS))}"
            f"{suggestion(format, _WRITERS)}"
        )
    return kind


def recognize(path: Path_, options: Collection[str] = ()) -> str:
    """Return the name of the format of a file or folder.

    Parameters
    ----------
    path : path
        The file or folder.
    options : collection of str
        Names of the reader's options that were given: a text table with ``smiles`` among them holds
        molecules.
    """
    path = Path(path)
    if path.is_dir():
        return _recognize_folder(path)
    suffix = _suffix(path)
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if suffix in _TEXT_TABLES and "smiles" in options:
        return "smiles"
    with open_binary(path) as stream:
        start = stream.read(_SNIFFED)
    kind = _recognize_table(start) if suffix in _TEXT_TABLES else _recognize_content(start)
    if kind is None:
        raise FormatError(
            path,
            "the format is not recognized",
            kind="format",
            advice=f"; pass format= one of {', '.join(map(repr, _READERS))}",
        )
    return kind


def _checked(kind: str, function: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a format, after a look at their names and types."""
    parameters = signature(function).parameters
    known = [
        name
        for name, one in parameters.items()
        if one.kind is one.KEYWORD_ONLY and name != "format"
    ]
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        known += MoleculeOptions.__annotations__
    for name in options:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise GraphError(
                f"the format {kind!r} has no option {name!r}; {has}{suggestion(name, known)}"
            )
    return fitting(kind, function, options)


def _check_columns(path: Path, options: dict[str, Any]) -> None:
    """Raise where a text table holds neither edges nor molecules, as far as its first line tells."""
    if _suffix(path) not in _TEXT_TABLES or path.is_dir() or "source" in options:
        return
    names = TextTable(path, options.get("delimiter"), options.get("max_bytes")).names
    if "source" not in names and ("target" in options or "target" not in names):
        raise FormatError(
            path,
            f"there are neither columns 'source' and 'target' of edges nor a column 'smiles'; the columns are {preview(names)}",
            1,
            kind="columns",
            advice=": choose those of edges with source= and target=, or that of molecules with smiles= (-o smiles=NAME in a command)",
        )


def _suffix(path: Path_) -> str:
    name = Path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix


def _recognize_folder(path: Path) -> str:
    names = [entry.name for entry in path.iterdir()]
    if HEADER in names:
        return "arrays"
    if any(name.endswith("_A.txt") for name in names):
        return "tu"
    if any(name.split(".")[0] == "edges" for name in names):
        return "tables"
    if STRUCTURE_HEADER in names:
        raise FormatError(
            path, "the folder holds a structure, not graphs: open it with edgnn.io.open_structure"
        )
    raise FormatError(
        path,
        "the folder holds neither a TU set (NAME_A.txt) nor tables (edges.csv, edges.parquet) nor arrays (graphs.json)",
    )


def _recognize_table(start: bytes) -> str:
    header = start.partition(b"\n")[0].decode("utf-8", "replace").strip("\ufeff\r ").lower()
    columns = {cell.strip(' "') for cell in header.split(delimiter_of(header))}
    return "smiles" if "smiles" in columns and "source" not in columns else "tables"


def _recognize_content(start: bytes) -> str | None:
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    for mark, kind in ((b"PK", "tu"), (b"PAR1", "tables"), (b"{", "node-link")):
        if text.startswith(mark):
            return kind
    if b"<graphml" in text:
        return "graphml"
    if syntax_of(start) is not None:
        return "rdf"
    return "sdf" if b"V2000" in text or b"V3000" in text else None
