"""Which columns are targets: one, several, or all that fit a pattern; what a reader calls them."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgnn._paths import exists
from edgnn._words import preview
from edgnn.errors import DatasetError
from edgnn.io._common import as_list
from edgnn.io._format import Format
from edgnn.io._frames import Frame
from edgnn.io._read import FORMATS, recognize
from edgnn.io._separated import has_column
from edgnn.io.datasets._registry import find
from edgnn.registry import Level

_DESCRIPTORS = "descriptors"


def column_words(target: Any) -> list[str]:
    """Return what was given as the column of targets, or as several, as a list."""
    is_list = isinstance(target, list | tuple) and all(isinstance(name, str) for name in target)
    if target is not None and not is_list and not isinstance(target, str):
        raise DatasetError(f"target={target!r}: name the column of targets, or a list of columns")
    return [str(word) for word in as_list(target)]


def choose_columns(words: Sequence[str], free: Sequence[str], option: str = "target") -> list[str]:
    """Return the columns that words name, each once.

    Parameters
    ----------
    words : sequence of str
        Each the name of a column, several names with commas between them (in quotation marks where
        a name holds a comma itself), or a pattern in which ``*`` stands for anything. A column
        that is called like that is meant first.
    free : sequence of str
        The columns that nothing else uses.
    option : str
        Whose words they are, for errors.

    Examples
    --------
    >>> choose_columns(["logP,NR-*"], ["logP", "NR-AR", "NR-ER", "SR-p53"])
    ['logP', 'NR-AR', 'NR-ER']
    """
    chosen: dict[str, None] = {}
    for word in words:
        for name in _names_in(word, free):
            chosen |= dict.fromkeys(_matching(name, free, option))
    return list(chosen)


def _names_in(word: str, free: Sequence[str]) -> list[str]:
    if "," not in word or has_column(free, word):
        return [word]
    (names,) = csv.reader([word], skipinitialspace=True)
    return [name.strip() for name in names if name.strip()]


def _matching(name: str, free: Sequence[str], option: str) -> list[str]:
    """Return the columns that fit a pattern; a name as it is."""
    if "*" not in name or has_column(free, name):
        return [name]
    pattern = re.compile(re.escape(name).replace(r"\*", ".*"), re.DOTALL)
    matching = [column for column in free if pattern.fullmatch(column)]
    if not matching:
        raise DatasetError(
            f"no column fits {option}={name!r} (--{option} in a command); the columns that nothing "
            f"else uses are {preview(free, 20) or 'none'}"
        )
    return matching


def is_list_or_pattern(words: Sequence[str]) -> bool:
    """Return whether one of the words may name several columns."""
    return any("," in word or "*" in word for word in words)


def format_of_source(source: Any, options: Mapping[str, Any]) -> Format:
    """Return the format of a file, folder or data frame, as the options say or by its content."""
    return FORMATS.find(str(options.get("format") or recognize(source, options)))


def takes_target(source: Any, options: Mapping[str, Any]) -> bool:
    """Return whether ``target=`` is an option of the reader that is not about targets."""
    known = format_of_source(source, options)
    return "target" in known.read_options and "target" not in known.target_options.values()


def target_options(
    source: Any, columns: Sequence[str], level: Level | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the option of a file's reader that takes its columns of targets.

    Parameters
    ----------
    source : path or data frame
        The file or folder.
    columns : sequence of str
        The columns, as :func:`choose_columns` takes them.
    level : {"graph", "node"}, optional
        What the targets belong to; default: as the file has them.
    options : mapping
        Those of the reader that were given.
    """
    if not isinstance(source, Frame):
        _check_file(source)
    known = format_of_source(source, options)
    level = _level(source, known, level, options)
    option = known.target_options[level]
    if known.columns is not None and is_list_or_pattern(columns):
        columns = choose_columns(columns, _free_columns(source, known, level, option, options))
    if len(columns) > 1 and not known.takes_several(option):
        raise DatasetError(
            f"{level}s have one target here, but {len(columns)} columns were named: "
            f"{', '.join(columns)}"
        )
    return {option: columns[0] if len(columns) == 1 else list(columns)}


def expanded(source: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a reader in which its own option of targets names each column."""
    known = format_of_source(source, options)
    changed = dict(options)
    for level, option in known.target_options.items():
        given = options.get(option)
        if isinstance(given, str | list | tuple) and is_list_or_pattern(as_list(given)):
            others = {name: value for name, value in options.items() if name != option}
            changed |= target_options(source, column_words(given), level, others)
    return changed


def with_descriptors(
    source: Any, options: Mapping[str, Any], targets: Sequence[str] = ()
) -> dict[str, Any]:
    """Return options of a reader of molecules in which ``descriptors`` names each column.

    Parameters
    ----------
    source : path or data frame
        The file.
    options : mapping
        Those of the reader.
    targets : sequence of str
        Words for columns of targets that come on top; a pattern of descriptors leaves them out.
    """
    words = column_words(options.get(_DESCRIPTORS))
    if not is_list_or_pattern(words):
        return dict(options)
    known = format_of_source(source, options)
    if known.columns is None or _DESCRIPTORS not in known.read_options:
        return dict(options)
    (option,) = known.target_options.values()
    named = [*targets, *column_words(options.get(option))]
    given = _without_format(options) | {_DESCRIPTORS: None, option: None}
    uses = known.columns(_path(source), known.check_read_options(given))
    free = [name for use in uses for name in use.unused]
    # a pattern of targets takes what descriptors leave
    listed = [name for word in named for name in _names_in(word, free) if "*" not in name]
    taken = {name.casefold() for name in listed}
    free = [name for name in free if name.casefold() not in taken]
    return dict(options) | {_DESCRIPTORS: choose_columns(words, free, _DESCRIPTORS)}


def target_names(source: Any, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of targets that options of a reader name."""
    known = format_of_source(source, options)
    typed = known.check_read_options(_without_format(options))
    given = [typed.get(option) for option in known.target_options.values()]
    return tuple(name for names in given for name in column_words(names))


def _without_format(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "format"}


def _check_file(source: Any) -> None:
    if find(str(source)) is not None:
        raise DatasetError(f"{source} is a named data set with its own targets; leave target out")
    if not exists(source):
        raise DatasetError(
            f"there is no file {source}; if you mean a TU set of that name, leave target out"
        )


def _level(source: Any, known: Format, level: Level | None, options: Mapping[str, Any]) -> Level:
    """Return what targets of a file belong to."""
    offered = known.target_options
    if not offered:
        raise DatasetError(
            f"{source} has the format {known.name!r}, which has no target columns; leave target "
            "out where it holds its targets itself, or name a table of targets with target_file= "
            "(--target-file in a command)"
        )
    first: Level = next(iter(offered))
    if level is None:
        level = first if known.target_level is None else known.target_level(_path(source), options)
    if level not in offered:
        raise DatasetError(
            f"{source} has the format {known.name!r}, in which {first}s have targets; "
            f"use level={first!r} (--task {first} in a command)"
        )
    return level


def _path(source: Any) -> Any:
    return source if isinstance(source, Frame) else Path(source)


def _free_columns(
    source: Any, known: Format, level: Level, option: str, options: Mapping[str, Any]
) -> list[str]:
    """Return the columns of a file, of its table of nodes or graphs, that nothing else uses."""
    assert known.columns is not None
    typed = known.check_read_options(_without_format(options))
    uses = known.columns(_path(source), typed | {option: None})
    return [name for use in uses if use.of == level for name in use.unused]
