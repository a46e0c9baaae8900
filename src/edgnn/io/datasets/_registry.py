"""The registry: what is known about each named data set before it is loaded."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from edgnn._words import closest
from edgnn.errors import DatasetError, MissingDependencyError
from edgnn.io.datasets._cache import Part


@dataclass(frozen=True)
class Entry:
    """One named data set.

    Parameters
    ----------
    name : str
        As people write it.
    kind : {"tu", "rdf"}
        A collection of graphs with graph targets, or one RDF graph with node targets.
    folder : str
        Where it lies below a data folder or the cache.
    parts : tuple of Part
        What to download.
    sha256 : mapping
        Hashes of its files; empty for sets that are recorded on first download.
    node_labels, edge_labels : tuple of str
        Names of the integer labels 0, 1, …; empty where the files' own values are used.
    classes : mapping
        Names of the target values in the files.
    paper : mapping
        What the paper's statistics table says.
    """

    name: str
    kind: Literal["tu", "rdf"]
    folder: str
    parts: tuple[Part, ...]
    description: str = ""
    citation: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)
    node_labels: tuple[str, ...] = ()
    edge_labels: tuple[str, ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
    entity: str = ""
    target: str = ""
    paper: Mapping[str, Any] = field(default_factory=dict)
    paper_note: str = ""


def names() -> tuple[str, ...]:
    """Return the names of the registered data sets."""
    return tuple(_entries())


def find(name: str) -> Entry | None:
    """Return the registered set of that name; case, ``-`` and ``_`` do not matter."""
    return {_key(entry.name): entry for entry in _entries().values()}.get(_key(name))


def suggestion(name: str) -> str | None:
    """Return the registered name that a mistyped one is close to."""
    return closest(name, _entries(), cutoff=0.8)  # strict, as any name could be that of a TU set


def is_name(name: str) -> bool:
    """Return whether a word could be the name of a TU set: those have letters and digits, with ``-`` and ``_`` in between."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,62}[A-Za-z0-9]", name) is not None


def find_or_tu(name: str) -> Entry:
    """Return the registered set of that name, or else the TU set that would have it."""
    entry = find(name)
    if entry is not None:
        return entry
    if not is_name(name):
        raise DatasetError(
            f"{name!r} is neither a data set's name nor an existing file; `edgnn datasets` lists the names{smiles_hint(name)}"
        )
    return Entry(
        name=name,
        kind="tu",
        folder=f"TUDataset/{name}",
        parts=(_tu_part(name),),
        description="a set of the TU Dortmund collection",
        citation="Morris, Kriege, Bause, Kersting, Mutzel, Neumann: TUDataset: a collection of benchmark datasets for "
        "learning with graphs. ICML GRL+ workshop 2020.",
    )


def smiles_hint(name: str) -> str:
    """Return where molecules belong, for a word that is a SMILES of more than two atoms; nothing for others, or without RDKit."""
    from edgnn.io._rdkit import read_smiles

    try:
        mol, _ = read_smiles(name)
    except MissingDependencyError:
        return ""
    if mol is None or mol.GetNumAtoms() <= 2:
        return ""
    return f"; if {name!r} is a SMILES, put it into a file, in a column smiles with a column of targets beside it"


def _key(name: str) -> str:
    return name.casefold().replace("-", "_")


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(
        files("edgnn.io.datasets").joinpath("registry.toml").read_text(encoding="utf-8")
    )


@cache
def _entries() -> dict[str, Entry]:
    return {name: _entry(name, dict(fields)) for name, fields in _document()["sets"].items()}


def _entry(name: str, fields: dict[str, Any]) -> Entry:
    for labels in ("node_labels", "edge_labels"):
        fields[labels] = tuple(fields.get(labels, ()))
    if fields["kind"] == "tu":
        return Entry(name=name, folder=f"TUDataset/{name}", parts=(_tu_part(name),), **fields)
    folder = fields.pop("folder")
    parts = tuple(_rdf_part(folder, file) for file in fields["sha256"])
    return Entry(name=name, folder=f"rdf/{folder}", parts=parts, **fields)


def _tu_part(name: str) -> Part:
    urls = tuple(url.format(name=name) for url in _document()["mirrors"]["tu"])
    return Part(urls=urls, file=f"{name}.zip", archive=True, keep=f"{name}_")


def _rdf_part(folder: str, file: str) -> Part:
    mirrors = _document()["mirrors"]["rdf_graph" if file.endswith(".nt.gz") else "rdf_split"]
    return Part(urls=tuple(url.format(folder=folder, file=file) for url in mirrors), file=file)
