"""What a run folder says about the data it was trained on, and so how new files are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn.errors import RunError
from edgnn.io._format import suffix_of
from edgnn.io._molecule_files import HEADERLESS
from edgnn.io._molecules import MoleculeOptions
from edgnn.io._read import FORMATS, recognize
from edgnn.io._separated import has_column, read_header
from edgnn.io.datasets._registry import find

_FIELDS = {"name": str, "options": dict, "format": str | None}
_FIELDS_TO_LOAD = {
    "task": str | None,
    "target_file": str | None,
    "data_dir": str | None,
    "regression": bool | None,
    "split_column": str | None,
    "splits_file": str | None,
    "test_file": str | None,
    "validation_file": str | None,
}


def origin_of(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a run was trained on; ``None`` where it does not say, or says nonsense."""
    stored: Any = config.get("source")
    if not isinstance(stored, dict) or not _has_types(stored, _FIELDS):
        return None
    return None if "\0" in stored["name"] else stored


def loadable_origin(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a run was trained on where that is enough to load it again; else ``None``."""
    origin = origin_of(config)
    if origin is None or not _has_types(origin, _FIELDS_TO_LOAD):
        return None
    return origin if _are_texts(origin.get("target", [])) else None


def _has_types(stored: Mapping[str, Any], types: Mapping[str, Any]) -> bool:
    return all(isinstance(stored.get(name), kind) for name, kind in types.items())


def _are_texts(stored: Any) -> bool:
    return isinstance(stored, list) and all(isinstance(text, str) for text in stored)


def stored_texts(config: Mapping[str, Any], field: str) -> list[str]:
    """Return a list of names that a run has stored."""
    stored: list[str] = config.get(field, [])
    if not _are_texts(stored):
        raise RunError(
            f"{field} in the config.json of the run is not a list of texts; the file is damaged"
        )
    return stored


def reading_options(
    config: Mapping[str, Any], source: Path_, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the reader's options of the training that hold for a new file.

    Parameters
    ----------
    config : mapping
        Of the run.
    source : path
        The new file or folder.
    given : mapping, optional
        Options that were given for it, which may say its format.

    Returns
    -------
    dict
        All options of how to read, where it has the format of the training; of other molecules,
        what their labels are.
    """
    origin, given = origin_of(config), given or {}
    if origin is None:
        return {}
    molecular = molecule_options(config)
    trained = _format_of_training(origin)
    if trained is None and not molecular:
        return {}
    new = _format_of_new(origin, source, given, trained)
    if new != trained:
        return molecular if _is_molecular(new) else {}
    options = dict(origin["options"])
    if new in FORMATS:
        ignored = [*FORMATS[new].target_options.values()]
        if Path(origin["name"]).resolve() != Path(source).resolve():
            ignored += FORMATS[new].path_options
        for name in ignored:
            options.pop(name, None)
    return _tolerant(options, source, given)


def _format_of_training(origin: Mapping[str, Any]) -> str | None:
    """Return the format of the data of the training; ``None`` where it is not known any more."""
    if origin.get("format"):
        return str(origin["format"])
    path = Path(origin["name"])
    return _format_of(path, origin["options"]) if path.is_file() or path.is_dir() else None


def _format_of_new(
    origin: Mapping[str, Any], source: Path_, given: Mapping[str, Any], trained: str | None
) -> str:
    """Return the format of a new file; one that the training was told holds for the same suffix."""
    options = dict(origin["options"])
    was_told = options.pop("format", None) is not None and "format" not in given
    has_suffix = Path(origin["name"]).suffix.lower() == Path(source).suffix.lower()
    if trained is not None and was_told and has_suffix:
        return trained
    return _format_of(source, options | dict(given))


def _tolerant(options: dict[str, Any], source: Path_, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of the training such that a new file may lack what it need not have."""
    if "drop_predicates" in options and "drop_predicates" not in given:
        options.setdefault("missing_predicates", "ignore")
    for name in ("id", "smiles"):
        if name in options and name not in given and not _has_column(source, options, name):
            del options[name]
    return options


def _has_column(source: Path_, options: Mapping[str, Any], name: str) -> bool:
    """Return whether a table has the column that an option names."""
    if name == "smiles" and suffix_of(source) in HEADERLESS:
        return True
    header = read_header(source, options.get("delimiter"))
    return has_column(header, str(options[name]))


def molecule_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return how molecules must be read to look as those of the training."""
    origin = origin_of(config)
    if origin is None:
        return {}
    if _is_molecular(origin.get("format")):
        shared = MoleculeOptions.__annotations__
        return {name: value for name, value in origin["options"].items() if name in shared}
    entry = find(origin["name"])
    is_ptc = entry is not None and entry.name.startswith("PTC")
    return {"aromaticity": "cdk"} if is_ptc else {}


def _is_molecular(name: str | None) -> bool:
    """Return whether a format takes the options of molecules."""
    if name is None or name not in FORMATS:
        return False
    return MoleculeOptions.__annotations__.keys() <= set(FORMATS[name].read_options)


def _format_of(source: Path_, options: Mapping[str, Any]) -> str:
    return str(options.get("format") or recognize(source, options))
