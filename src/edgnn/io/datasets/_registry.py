"""Named data sets: what is known about each before it is loaded, and where its files are."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from edgnn._words import closest
from edgnn.errors import DatasetError, MissingDependencyError
from edgnn.io._rdkit import read_smiles
from edgnn.io.datasets._cache import Part, cache_root
from edgnn.registry import Level, Registry

#: What an entry calls the scaffold split, which no column has.
SCAFFOLD = "scaffold"


@dataclass(frozen=True)
class Entry:
    """One named data set.

    Parameters
    ----------
    name : str
        As people write it.
    kind : {"tu", "rdf", "molecules"}
        A collection of graphs with graph targets, one RDF graph with node targets, or a table of
        SMILES.
    folder : str
        Where it lies below a data folder; several tables of molecules may lie in one.
    parts : tuple of Part
        What to download.
    license : str
        The terms that its source names, or that it names none.
    sha256 : mapping
        Hashes of its files; empty for sets that are recorded on first download.
    node_labels, edge_labels : tuple of str
        Names of the integer labels 0, 1, …; empty where the files' own values are used.
    classes : mapping
        Names of the target values in the files.
    target : str
        The column of targets; of molecules, perhaps a pattern such as ``"*"``.
    target_count : int
        How many columns of targets a table of molecules has; 0 where any number will do.
    task : {"classes", "values", ""}
        What the targets of molecules are; nothing where they say so themselves.
    split : str
        The column of a table of molecules that has the published split, or ``"scaffold"`` for the
        scaffold split of OGB; nothing where there is none.
    subsets : mapping
        By name, the column that is 1 for the molecules of a subset.
    paper : mapping
        What the paper's statistics table says.
    """

    name: str
    kind: Literal["tu", "rdf", "molecules"]
    folder: str
    parts: tuple[Part, ...]
    description: str = ""
    citation: str = ""
    license: str = "not stated by the source"
    sha256: Mapping[str, str] = field(default_factory=dict)
    node_labels: tuple[str, ...] = ()
    edge_labels: tuple[str, ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
    entity: str = ""
    target: str = ""
    target_count: int = 0
    task: Literal["classes", "values", ""] = ""
    split: str = ""
    subsets: Mapping[str, str] = field(default_factory=dict)
    paper: Mapping[str, Any] = field(default_factory=dict)
    paper_note: str = ""

    @property
    def level(self) -> Level:
        """What targets belong to."""
        return "node" if self.kind == "rdf" else "graph"

    @property
    def cache_folder(self) -> str:
        """Where it lies below the cache: sets that are fetched one by one do not share a folder."""
        if self.kind != "molecules":
            return self.folder
        return f"{self.folder}/{self.name.rpartition('/')[2]}"


def names() -> tuple[str, ...]:
    """Return the names of the registered data sets."""
    return tuple(DATASETS)


def find(name: str) -> Entry | None:
    """Return the registered set of that name; case, ``-`` and ``_`` do not matter."""
    return {_key(entry.name): entry for entry in DATASETS.values()}.get(_key(name))


def similar_name(name: str) -> str | None:
    """Return the registered name that a mistyped one is close to."""
    return closest(name, DATASETS, cutoff=0.8)  # strict, as any name could be that of a TU set


def is_name(name: str) -> bool:
    """Return whether a word could name a TU set: letters, digits, ``-`` and ``_`` in between."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,62}[A-Za-z0-9]", name) is not None


def find_or_tu(name: str) -> Entry:
    """Return the registered set of that name, or else the TU set that would have it."""
    entry = find(name)
    if entry is not None:
        return entry
    if not is_name(name):
        raise DatasetError(
            f"{name!r} is neither a data set's name nor an existing file; "
            f"`edgnn datasets` lists the names{smiles_hint(name)}"
        )
    return Entry(
        name=name,
        kind="tu",
        folder=f"TUDataset/{name}",
        parts=(_tu_part(name),),
        description="a set of the TU Dortmund collection",
        citation="Morris, Kriege, Bause, Kersting, Mutzel, Neumann: TUDataset: a collection of "
        "benchmark datasets for learning with graphs. ICML GRL+ workshop 2020.",
    )


def smiles_hint(name: str) -> str:
    """Return advice for a word that is a SMILES of more than two atoms; else nothing."""
    try:
        mol, _ = read_smiles(name)
    except MissingDependencyError:
        return ""
    if mol is None or mol.GetNumAtoms() <= 2:
        return ""
    return (
        f"; if {name!r} is a SMILES, put it into a file, "
        "in a column smiles with a column of targets beside it"
    )


def _key(name: str) -> str:
    return name.casefold().replace("-", "_")


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(
        files("edgnn.io.datasets").joinpath("registry.toml").read_text(encoding="utf-8")
    )


def _entry(name: str, fields: dict[str, Any]) -> Entry:
    for labels in ("node_labels", "edge_labels"):
        fields[labels] = tuple(fields.get(labels, ()))
    fields = _document()["families"].get(fields.pop("family", ""), {}) | fields
    if fields["kind"] == "tu":
        return Entry(name=name, folder=f"TUDataset/{name}", parts=(_tu_part(name),), **fields)
    if fields["kind"] == "molecules":
        mirrors = _document()["mirrors"][fields.pop("mirrors")]
        parts = tuple(
            Part(tuple(url.format(file=file) for url in mirrors), file) for file in fields["sha256"]
        )
        return Entry(name=name, parts=parts, **fields)
    folder = fields.pop("folder")
    parts = tuple(_rdf_part(folder, file) for file in fields["sha256"])
    return Entry(name=name, folder=f"rdf/{folder}", parts=parts, **fields)


def _tu_part(name: str) -> Part:
    urls = tuple(url.format(name=name) for url in _document()["mirrors"]["tu"])
    return Part(urls=urls, file=f"{name}.zip", archive=True, keep=f"{name}_")


def _rdf_part(folder: str, file: str) -> Part:
    mirrors = _document()["mirrors"]["rdf_graph" if file.endswith(".nt.gz") else "rdf_split"]
    return Part(urls=tuple(url.format(folder=folder, file=file) for url in mirrors), file=file)


#: The named data sets; another package adds its own here, or by entry points ``edgnn.datasets``.
DATASETS: Registry[Entry] = Registry(
    "data set",
    "edgnn.datasets",
    [_entry(name, dict(fields)) for name, fields in _document()["sets"].items()],
    DatasetError,
)


Place = Literal["data folder", "EDGNN_DATA", "cache", "installed package", "network"]


@dataclass(frozen=True)
class Location:
    """Where a data set would come from; ``path`` is ``None`` for the network."""

    place: Place
    path: Path | None


def locate(entry: Entry, data_dir: str | os.PathLike[str] | None = None) -> Location:
    """Return the first place that has the files of ``entry``, without reading or fetching them."""
    if data_dir is not None and not Path(data_dir).is_dir():
        raise DatasetError(f"the data folder {os.fspath(data_dir)!r} does not exist")
    for place, root in _roots(data_dir):
        folder = root / (entry.cache_folder if place == "cache" else entry.folder)
        if _complete(folder, entry):
            return Location(place, folder)
    carried = _in_grakel(entry)
    if carried is not None:
        return Location("installed package", carried)
    return Location("network", None)


def _roots(data_dir: str | os.PathLike[str] | None) -> list[tuple[Place, Path]]:
    roots: list[tuple[Place, Path]] = []
    if data_dir is not None:
        roots.append(("data folder", Path(data_dir)))
    if os.environ.get("EDGNN_DATA"):
        roots.append(("EDGNN_DATA", Path(os.environ["EDGNN_DATA"])))
    return [*roots, ("cache", cache_root())]


def _complete(folder: Path, entry: Entry) -> bool:
    wanted = list(entry.sha256) or [f"{entry.name}_A.txt"]
    return all((folder / file).is_file() for file in wanted)


def _in_grakel(entry: Entry) -> Path | None:
    """Return the folder of a TU set inside GraKeL, which ships MUTAG; it is not imported."""
    spec = find_spec("grakel") if entry.kind == "tu" else None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "tests" / "data" / entry.name
    return folder if _complete(folder, entry) else None
