"""What a run folder says about the data it was trained on, and so how new files are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn.errors import RunError
from edgnn.io._molecules import MoleculeOptions
from edgnn.io._read import FORMATS, recognize
from edgnn.io._separated import has_column, read_header
from edgnn.io.datasets._registry import find


def origin_of(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a run was trained on; ``None`` where it does not say, or says nonsense."""
    stored: Any = config.get("source")
    if not isinstance(stored, dict) or not isinstance(stored.get("options"), dict):
        return None
    name = stored.get("name")
    if not isinstance(name, str) or "\0" in name:
        return None
    return stored if isinstance(stored.get("format"), str | None) else None


def loadable_origin(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a run was trained on where that is enough to load it again; else ``None``."""
    origin = origin_of(config)
    if origin is None:
        return None
    texts = (origin.get(name) for name in ("task", "target_file", "data_dir"))
    target = origin.get("target", [])
    is_loadable = (
        all(isinstance(text, str | None) for text in texts)
        and isinstance(target, list)
        and all(isinstance(column, str) for column in target)
        and isinstance(origin.get("regression"), bool | None)
    )
    return origin if is_loadable else None


def stored_texts(config: Mapping[str, Any], field: str) -> list[str]:
    """Return a list of names that a run has stored."""
    stored = config.get(field, [])
    if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
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
    known = FORMATS.get(new)
    ignored = set() if known is None else set(known.target_options.values())
    if known is not None and Path(origin["name"]).resolve() != Path(source).resolve():
        ignored |= set(known.path_options)
    options = {name: value for name, value in origin["options"].items() if name not in ignored}
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
    options = origin["options"]
    has_suffix = Path(origin["name"]).suffix.lower() == Path(source).suffix.lower()
    if trained is not None and "format" in options and "format" not in given and has_suffix:
        return trained
    hints = {name: value for name, value in options.items() if name != "format"} | dict(given)
    return _format_of(source, hints)


def _tolerant(options: dict[str, Any], source: Path_, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of the training such that a new file may lack what it need not have."""
    if "drop_predicates" in options and "drop_predicates" not in given:
        options.setdefault("missing_predicates", "ignore")
    if "id" in options and "id" not in given:
        header = read_header(source, options.get("delimiter"))
        if not has_column(header, str(options["id"])):
            del options["id"]
    return options


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
    known = None if name is None else FORMATS.get(name)
    return known is not None and set(MoleculeOptions.__annotations__) <= set(known.read_options)


def _format_of(source: Path_, options: Mapping[str, Any]) -> str:
    return str(options.get("format") or recognize(source, options))
