"""read and write: the format recognized from the name, or else from the content."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

from edgnn._files import Path_, status_of
from edgnn._words import preview, suggestion
from edgnn.errors import FormatError, GraphError, MissingDependencyError
from edgnn.graphs import Graphs
from edgnn.io._arrays import read_arrays, write_arrays
from edgnn.io._column_uses import of_molecules, of_sd_file, of_tables
from edgnn.io._format import Candidate, Format, suffix_of
from edgnn.io._frames import Frame, as_source
from edgnn.io._graph_writer import HEADER
from edgnn.io._graphml import read_graphml, write_graphml
from edgnn.io._labeled import Labeled
from edgnn.io._molecule_files import find_smiles_column
from edgnn.io._molecules import read_sdf, read_smiles_table
from edgnn.io._node_link import read_node_link, write_node_link
from edgnn.io._rdf import read_rdf, write_rdf
from edgnn.io._rdf_document import syntax_of
from edgnn.io._separated import delimiter_of, has_column
from edgnn.io._structure_files import HEADER as STRUCTURE_HEADER
from edgnn.io._table_files import PARQUET, TEXT, open_table
from edgnn.io._tables import read_tables, target_level, write_tables
from edgnn.io._tu import read_tu, write_tu
from edgnn.registry import Registry

_RDF_SYNTAXES = {
    "nt": "N-Triples",
    "ttl": "Turtle",
    "nq": "N-Quads",
    "trig": "TriG",
    "n3": "Notation3",
    "xml": "RDF/XML",
}


_LABELS_AND_FEATURES = ("node_label", "edge_label", "node_features", "edge_features")
_OF_RDF = ("literals", "drop_predicates", "missing_predicates", "node_labels", "base_iri")
_OF_TABLES = (
    *("source", "target", "edge_graph", "node", "node_graph", "graph", "delimiter"),
    *_LABELS_AND_FEATURES,
)
_OF_MOLECULES = (
    *("atom_label", "bond_label", "hydrogens", "kekulize", "aromaticity", "attributes", "bad"),
    "descriptors",
)


def _is_tu(candidate: Candidate) -> bool:
    is_folder = any(name.endswith("_A.txt") for name in candidate.entries)
    return is_folder or candidate.text.startswith(b"PK")


def _is_table(candidate: Candidate) -> bool:
    if any(name.split(".")[0] == "edges" for name in candidate.entries):
        return True
    return candidate.suffix in TEXT or candidate.text.startswith(b"PAR1")


def _has_smiles(candidate: Candidate) -> bool:
    """Return whether a text table holds molecules, as the options, its header or its rows say."""
    if candidate.suffix not in TEXT:
        return False
    if "smiles" in candidate.options:
        return True
    if "source" in candidate.options:
        return False
    lines = candidate.start.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    if not lines:
        return False
    mark = delimiter_of(lines[0], candidate.path)
    header, *rows = csv.reader([lines[0], *candidate.whole(lines[1:])], delimiter=mark)
    if has_column(header, "source"):
        return False
    try:
        return find_smiles_column(header, rows, candidate.path) is not None
    except MissingDependencyError:
        return False


def _is_sd_file(candidate: Candidate) -> bool:
    return b"V2000" in candidate.text or b"V3000" in candidate.text


_OURS = [
    Format(
        "tu",
        "a set of the TU collection: a folder of NAME_A.txt and its like, or a zip of it",
        read_tu,
        write_tu,
        suffixes=(".zip",),
        write_suffixes=(),
        recognizes=_is_tu,
        target_options={"graph": "target"},
    ),
    Format(
        "rdf",
        "RDF: N-Triples, Turtle, N-Quads, TriG, Notation3 or RDF/XML",
        read_rdf,
        write_rdf,
        suffixes=(".nt", ".ttl", ".nq", ".trig", ".n3", ".rdf", ".owl"),
        recognizes=lambda candidate: syntax_of(candidate.start) is not None,
        carried_options=_OF_RDF,
    ),
    Format(
        "tables",
        "tables of edges, nodes and graphs, as CSV or Parquet",
        read_tables,
        write_tables,
        suffixes=(*TEXT, *PARQUET),
        write_suffixes=(),
        recognizes=_is_table,
        target_options={"graph": "graph_target", "node": "node_target"},
        target_level=target_level,
        path_options=("nodes", "graphs"),
        carried_options=_OF_TABLES,
        columns=of_tables,
    ),
    Format(
        "graphml",
        "GraphML",
        read_graphml,
        write_graphml,
        suffixes=(".graphml",),
        recognizes=lambda candidate: b"<graphml" in candidate.text,
        carried_options=_LABELS_AND_FEATURES,
        target_options={"node": "node_target"},
    ),
    Format(
        "node-link",
        "node-link JSON of networkx and D3",
        read_node_link,
        write_node_link,
        suffixes=(".json",),
        recognizes=lambda candidate: candidate.text.startswith(b"{"),
        carried_options=("node_id", "source", "target", *_LABELS_AND_FEATURES),
        target_options={"node": "node_target"},
    ),
    Format(
        "sdf",
        "molecules in an SD file or a mol file",
        read_sdf,
        suffixes=(".sdf", ".sd", ".mol"),
        recognizes=_is_sd_file,
        carried_options=_OF_MOLECULES,
        target_options={"graph": "target"},
        columns=of_sd_file,
    ),
    Format(
        "smiles",
        "molecules in a table with a column of SMILES",
        read_smiles_table,
        suffixes=(".smi", ".smiles", *TEXT),
        recognizes=_has_smiles,
        carried_options=("smiles", "id", "delimiter", *_OF_MOLECULES),
        target_options={"graph": "target"},
        columns=of_molecules,
    ),
    Format(
        "arrays",
        "a folder of arrays, which is mapped and may be larger than memory",
        read_arrays,
        write_arrays,
        suffixes=(".graphs",),
        recognizes=lambda candidate: HEADER in candidate.entries,
    ),
    *(
        Format(
            syntax,
            f"RDF as {title}",
            partial(read_rdf, format=syntax),
            carried_options=_OF_RDF,
        )
        for syntax, title in _RDF_SYNTAXES.items()
    ),
]

#: Every format that :func:`read`, :func:`write`, ``load_dataset`` and the command line know.
FORMATS: Registry[Format] = Registry("format", "edgnn.formats", _OURS, GraphError)


def read(path: Path_, /, *, format: str | None = None, **options: Any) -> Graphs:
    """Read graphs in any supported format.

    TU folders and zips; RDF as N-Triples, Turtle, N-Quads, TriG or RDF/XML; edge tables as CSV or
    Parquet, alone or in a folder with ``edges``, ``nodes`` and ``graphs`` tables; GraphML;
    node-link JSON; SDF; tables with a SMILES column. Text formats may be compressed with gzip. Our
    own folders of arrays (``.graphs``) are mapped, not read: they may be larger than memory.
    Other packages add formats to ``edgnn.io.FORMATS``.

    Parameters
    ----------
    path : path or data frame
        A file or folder; or a table of pandas, polars or pyarrow, which is read as a file of it.
    format : str, optional
        ``"tu"``, ``"rdf"`` (or its syntax: ``"nt"``, ``"ttl"``, ``"nq"``, ``"trig"``, ``"n3"``,
        ``"xml"``), ``"tables"``, ``"graphml"``, ``"node-link"``, ``"sdf"``, ``"smiles"`` or
        ``"arrays"``; default: recognized.
    **options
        Passed to the format's own reader (``edgnn.io.read_tu``, ``read_rdf``, ``read_tables``, …).
    """
    return read_labeled(path, format=format, **options).graphs


def read_labeled(path: Path_, /, *, format: str | None = None, **options: Any) -> Labeled:
    """Read graphs with the targets that the source carries; parameters as in :func:`read`."""
    path = as_source(path)
    name = recognize(path, options) if format is None else format
    chosen = _format_named(name, [*FORMATS])
    options = chosen.check_read_options(options)
    if chosen.read is read_tables and format is None:
        _check_table_columns(path, options)
    return chosen.read(path, **options)


def write(graphs: Graphs, path: Path_, *, format: str | None = None, **options: Any) -> None:
    """Write graphs in the format of ``path``'s name; nothing half-written is left behind.

    Parameters
    ----------
    graphs : Graphs
        What to write; GraphML, node-link JSON and RDF hold a single graph.
    path : path
        ``.graphml``, ``.json`` or ``.nt`` for a file, with ``.gz`` to compress it; ``.graphs`` for
        a folder of arrays, which :func:`read` maps; another folder needs ``format="tu"`` or
        ``"tables"``.
    format : str, optional
        Overrides the name.
    **options
        Passed to the format's own writer.
    """
    chosen = FORMATS[format_to_write(path, format)]
    assert chosen.write is not None
    chosen.write(graphs, path, **chosen.check_write_options(options))


def format_to_write(path: Path_, format: str | None = None) -> str:
    """Return the name of the format that :func:`write` gives a file or folder of this name."""
    writable = [name for name in FORMATS if FORMATS[name].write is not None]
    if format is not None:
        return _format_named(format, writable).name
    suffix = suffix_of(path)
    for name in reversed(writable):
        if suffix in FORMATS[name].written_suffixes:
            return name
    choices = ", ".join(map(repr, writable))
    raise GraphError(
        f"cannot tell the format of {os.fspath(path)!r}; pass format= one of {choices}"
    )


def recognize(path: Path_, options: Collection[str] = ()) -> str:
    """Return the name of the format of a file or folder.

    The suffix decides; where it belongs to several formats or to none, the content does. Formats
    of other packages are asked first, so that they can take over a suffix.

    Parameters
    ----------
    path : path
        The file or folder.
    options : collection of str
        Names of the reader's options that were given: a text table with ``smiles`` among them holds
        molecules.
    """
    source = as_source(path)
    if not isinstance(source, Frame):
        status_of(source)
        source = Path(source)
    candidate = Candidate(source, options)
    formats = list(FORMATS.values())[::-1]
    is_folder = candidate.path.is_dir()
    if not is_folder:
        by_suffix = [one for one in formats if candidate.suffix in one.suffixes]
        if len(by_suffix) == 1:
            return by_suffix[0].name
        formats = by_suffix or formats
    for one in formats:
        if one.recognizes(candidate):
            return one.name
    if is_folder:
        raise _unknown_folder(candidate)
    choices = ", ".join(map(repr, FORMATS))
    raise FormatError(
        path,
        "the format is not recognized",
        kind="format",
        advice=f"; pass format= one of {choices}",
    )


def _unknown_folder(candidate: Candidate) -> FormatError:
    if STRUCTURE_HEADER in candidate.entries:
        rule = "the folder holds a structure, not graphs: open it with edgnn.io.open_structure"
        return FormatError(candidate.path, rule)
    return FormatError(
        candidate.path,
        "the folder holds neither a TU set (NAME_A.txt) nor tables (edges.csv, edges.parquet) "
        "nor arrays (graphs.json)",
        kind="folder",
    )


def _format_named(name: str, names: Collection[str]) -> Format:
    if name not in names:
        choices = ", ".join(map(repr, names))
        raise GraphError(f"format={name!r}: choose one of {choices}{suggestion(name, names)}")
    return FORMATS[name]


def _check_table_columns(path: Path_ | Frame, options: dict[str, Any]) -> None:
    """Raise where the header of a text table names neither edges nor molecules."""
    is_text = suffix_of(path) in TEXT and Path(path).is_file()
    if "source" in options or not (is_text or isinstance(path, Frame)):
        return
    names = open_table(path, options.get("delimiter"), options.get("max_bytes")).names
    has_target = "target" in names and "target" not in options
    if "source" in names or has_target:
        return
    raise FormatError(
        path,
        "there are neither columns 'source' and 'target' of edges nor a column 'smiles'; the "
        f"columns are {preview(names)}",
        1,
        kind="columns",
        advice=": choose those of edges with source= and target=, or that of molecules with "
        "smiles= (-o smiles=NAME in a command)",
    )
