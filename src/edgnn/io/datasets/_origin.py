"""What a run folder says about the data it was trained on, and so how new files are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn._words import short
from edgnn.errors import GraphError, RunError
from edgnn.io._format import Format, suffix_of
from edgnn.io._molecule_files import HEADERLESS
from edgnn.io._molecules import MoleculeOptions
from edgnn.io._read import FORMATS, recognize
from edgnn.io._separated import has_column, read_header
from edgnn.io.datasets._registry import find

_LONGEST_TEXT = 500
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
    return None if "\0" in stored["name"] else {"format": None, **stored}


def loadable_origin(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a run was trained on where that is enough to load it again; else ``None``.

    Of the reader's options, those are left out that raise a limit: the folder may be a stranger's.
    """
    origin = origin_of(config)
    if origin is None or not _has_types(origin, _FIELDS_TO_LOAD):
        return None
    if not _are_texts(origin.get("target", [])):
        return None
    options = {}
    known = FORMATS.get(origin["format"])
    if known is not None:
        names = {*known.carried_options, *known.path_options, *known.target_options.values()}
        options = _stored_options(origin, known, names)
    return origin | {"options": options | _chosen_format(origin)}


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
        Options of how to read that the format lists as carried over, where the file has the format
        of the training; of other molecules, what their labels are. The run may be a stranger's: no
        option names a file or raises a limit.
    """
    origin, given = origin_of(config), given or {}
    if origin is None:
        return {}
    molecular = molecule_options(config)
    trained = origin["format"]
    if trained is None and not molecular:
        return {}
    new = _format_of_new(origin, source, given, trained)
    if new != trained and not _is_molecular(new):
        return {}
    if new != trained:
        carried = _carried_options(origin)
        beside = {name: carried[name] for name in ("descriptors",) if name in carried}
        return molecular | (beside if _is_molecular(trained) else {})
    return _tolerant(_carried_options(origin) | _chosen_format(origin), source, given)


def _carried_options(origin: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored options that hold for new files: those that the format lists."""
    known = FORMATS.get(origin["format"])
    return {} if known is None else _stored_options(origin, known, known.carried_options)


def _stored_options(
    origin: Mapping[str, Any], known: Format, names: Collection[str]
) -> dict[str, Any]:
    """Return stored options of these names, after a check of their values."""
    options = {name: value for name, value in origin["options"].items() if name in names}
    for name, value in options.items():
        if not _is_plain(value):
            raise RunError(
                f"source.options.{name} in the config.json of the run is {short(value)}, "
                "no option of a reader; the file is damaged"
            )
    try:
        return known.check_read_options(options)
    except GraphError as error:
        raise RunError(f"source.options in the config.json of the run: {error}") from None


def _is_plain(value: Any) -> bool:
    """Return whether a value is none, a truth value, a number, or texts that errors can quote."""
    texts = [value] if isinstance(value, str) else value
    if _are_texts(texts):
        return all(len(text) <= _LONGEST_TEXT for text in texts)
    return value is None or isinstance(value, bool | int)


def _chosen_format(origin: Mapping[str, Any]) -> dict[str, str]:
    """Return the format as an option, where it was given at training."""
    has = "format" in origin["options"] and origin["format"] in FORMATS
    return {"format": origin["format"]} if has else {}


def _format_of_new(
    origin: Mapping[str, Any], source: Path_, given: Mapping[str, Any], trained: str | None
) -> str:
    """Return the format of a new file; one that was given at training holds for the same suffix."""
    was_chosen = "format" in origin["options"] and "format" not in given
    has_suffix = Path(origin["name"]).suffix.lower() == Path(source).suffix.lower()
    if trained is not None and was_chosen and has_suffix:
        return trained
    return _format_of(source, _carried_options(origin) | dict(given))


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
        carried = _carried_options(origin)
        return {name: value for name, value in carried.items() if name in shared}
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
