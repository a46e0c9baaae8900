"""What a run folder says of the data it was trained on: how its files were read, and so how new ones are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn.errors import RunError
from edgnn.io import recognize
from edgnn.io._molecule_files import has_column
from edgnn.io._molecules import MoleculeOptions
from edgnn.io.datasets._registry import find

#: Options of readers that say what to learn, by format: "target" is a column of values, but of
#: tables that of the edges' ends.
_OF_TARGETS = {
    **dict.fromkeys(("smiles", "sdf", "tu"), ("target",)),
    "tables": ("graph_target", "node_target"),
    **dict.fromkeys(("graphml", "node-link"), ("node_target",)),
}
_OF_PLACES = ("nodes", "graphs")
_MOLECULES = ("smiles", "sdf")


def is_origin(stored: Any) -> bool:
    """Return whether a run says in the usual way what it was trained on."""
    known = (
        isinstance(stored, dict)
        and isinstance(stored.get("name"), str)
        and isinstance(stored.get("options"), dict)
    )
    return known and "\0" not in stored["name"] and isinstance(stored.get("format"), str | None)


def origin_of(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a run was trained on; ``None`` where it does not say, or says nonsense."""
    stored: Any = config.get("source")
    return stored if is_origin(stored) else None


def loadable_origin(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a run was trained on where all is said that loading it again takes; ``None`` otherwise."""
    origin = origin_of(config)
    if origin is None or not all(
        isinstance(origin.get(name), str | None) for name in ("task", "target_file", "data_dir")
    ):
        return None
    target, regression = origin.get("target", []), origin.get("regression")
    listed = isinstance(target, list) and all(isinstance(column, str) for column in target)
    return origin if listed and isinstance(regression, bool | None) else None


def stored_texts(config: Mapping[str, Any], field: str) -> list[str]:
    """Return a list of names that a run has stored."""
    stored = config.get(field, [])
    if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
        raise RunError(
            f"{field} in the config.json of the run is no list of texts; the file is damaged"
        )
    return stored


def reading_options(
    config: Mapping[str, Any], source: Path_, told: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the reader's options of the training that hold for a new file.

    Parameters
    ----------
    config : mapping
        Of the run.
    source : path
        The new file or folder.
    told : mapping, optional
        Options that were given for it, which may say its format.

    Returns
    -------
    dict
        All options of how to read, where it has the format of the training; of other molecules,
        what their labels are.
    """
    origin, told = origin_of(config), told or {}
    if origin is None:
        return {}
    before, options = Path(origin["name"]), origin["options"]
    kind = origin.get("format") or (
        _format_of(before, options) if before.is_file() or before.is_dir() else None
    )
    forced = (
        "format" in options
        and "format" not in told
        and before.suffix.lower() == Path(source).suffix.lower()
    )
    molecular = molecule_options(config)
    if kind is None and not molecular:
        return {}
    hints = {name: value for name, value in options.items() if name != "format"} | dict(told)
    new = kind if forced else _format_of(source, hints)
    if kind is None or new != kind:
        return molecular if new in _MOLECULES else {}
    left = _OF_TARGETS.get(kind, ())
    if before.resolve() != Path(source).resolve():
        left = (*left, *_OF_PLACES)
    return _tolerant(
        {name: value for name, value in options.items() if name not in left}, source, told
    )


def _tolerant(options: dict[str, Any], source: Path_, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of the training such that a new file may lack what it need not have."""
    if "drop_predicates" in options and "drop_predicates" not in told:
        options.setdefault("missing_predicates", "ignore")
    if (
        "id" in options
        and "id" not in told
        and not has_column(source, options["id"], options.get("delimiter"))
    ):
        del options["id"]
    return options


def molecule_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return how molecules must be read to look as those of the training."""
    origin = origin_of(config)
    if origin is None:
        return {}
    if origin.get("format") in _MOLECULES:
        return {
            name: value
            for name, value in origin["options"].items()
            if name in MoleculeOptions.__annotations__
        }
    entry = find(origin["name"])
    return {"aromaticity": "cdk"} if entry is not None and entry.name.startswith("PTC") else {}


def _format_of(source: Path_, options: Mapping[str, Any]) -> str:
    return str(options.get("format") or recognize(source, options))
