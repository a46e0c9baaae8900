"""Format: what edgnn knows about a file format, ours or one of another package."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from edgnn._files import Path_, open_binary
from edgnn._values import Word, parse_value, parse_values, split_words
from edgnn._words import short, suggestion
from edgnn.errors import GraphError
from edgnn.graphs import Graphs
from edgnn.io._frames import Frame, as_source
from edgnn.io._labeled import Labeled
from edgnn.registry import Level

_START = 4096
_TYPE_NAMES: dict[Any, str] = {
    str: "text",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    NoneType: "None",
    os.PathLike: "a path",
    Sequence: "a list of texts",
    Iterable: "a list of texts",
    Graphs: "Graphs",
    Callable: "a function",
}


@dataclass(frozen=True)
class Candidate:
    """A file or folder whose format is to be recognized.

    Parameters
    ----------
    path : Path or Frame
        The file or folder, or a data frame.
    options : collection of str
        Names of the reader's options that were given.
    """

    path: Path | Frame
    options: Collection[str] = ()

    @property
    def suffix(self) -> str:
        """The ending of the name in lower case, without ``.gz``."""
        return ".csv" if isinstance(self.path, Frame) else suffix_of(self.path)

    @cached_property
    def entries(self) -> frozenset[str]:
        """Names of what a folder holds; empty for a file."""
        if isinstance(self.path, Frame) or not self.path.is_dir():
            return frozenset()
        return frozenset(entry.name for entry in self.path.iterdir())

    @cached_property
    def start(self) -> bytes:
        """The first bytes of a file, unpacked where it is gzip; empty for a folder."""
        if self.path.is_dir():
            return b""
        with open_binary(self.path) as stream:
            return stream.read(_START)

    def whole(self, lines: list[str]) -> list[str]:
        """Return the last lines of the start without one that may be cut off."""
        return lines[:-1] if len(self.start) == _START else lines

    @property
    def text(self) -> bytes:
        """The first bytes without a byte order mark and leading blanks."""
        return self.start.lstrip(b"\xef\xbb\xbf \t\r\n")


def _recognizes_nothing(candidate: Candidate) -> bool:
    return False


@dataclass(frozen=True)
class Format:
    """A format of graphs: how it is recognized, read and written.

    Parameters
    ----------
    name : str
        What ``format=`` calls it.
    summary : str
        One line about it.
    read : callable
        ``read(path, **options)`` returns :class:`Labeled`. Its keyword-only parameters are the
        options of the format; their annotations say which types they take.
    write : callable, optional
        ``write(graphs, path, **options)``.
    suffixes : tuple of str
        Endings of names of files or folders in this format, such as ``".graphml"``.
    write_suffixes : tuple of str, optional
        Endings that make :func:`edgnn.io.write` choose this format; default: ``suffixes``.
    recognizes : callable, optional
        Whether a :class:`Candidate` has this format: asked where its suffix belongs to no format,
        or to several, and of folders.
    target_options : mapping
        The reader's option that names the column of targets, by what they belong to: ``{"graph":
        "target"}``.
    target_level : callable, optional
        Where both graphs and nodes can have targets: ``target_level(path, options)`` returns which
        of them have.
    path_options : tuple of str
        Options of the reader that name other files.
    carried_options : tuple of str
        Options of the reader that a trained model carries over to new files of this format, such as
        what their columns are called. The model may come from a stranger, so none of them may name
        a file, raise a limit or choose targets; what is not listed must be given again.
    columns : callable, optional
        Of formats that are tables: ``columns(path, options)`` returns a list of
        :class:`ColumnUse`.
    """

    name: str
    summary: str
    read: Callable[..., Labeled]
    write: Callable[..., None] | None = None
    suffixes: tuple[str, ...] = ()
    write_suffixes: tuple[str, ...] | None = None
    recognizes: Callable[[Candidate], bool] = _recognizes_nothing
    target_options: Mapping[Level, str] = field(default_factory=dict)
    target_level: Callable[[Path, Mapping[str, Any]], Level] | None = None
    path_options: tuple[str, ...] = ()
    carried_options: tuple[str, ...] = ()
    columns: Callable[[Path, Mapping[str, Any]], list[Any]] | None = None

    @property
    def read_options(self) -> tuple[str, ...]:
        """Names of the options of the reader."""
        return tuple(_option_types(self.read))

    @property
    def write_options(self) -> tuple[str, ...]:
        """Names of the options of the writer."""
        return () if self.write is None else tuple(_option_types(self.write))

    @property
    def written_suffixes(self) -> Collection[str]:
        """Endings of names that :func:`edgnn.io.write` gives this format."""
        if self.write is None:
            return ()
        return self.suffixes if self.write_suffixes is None else self.write_suffixes

    def takes_several(self, option: str) -> bool:
        """Return whether an option of the reader takes a list of texts."""
        return Sequence in _option_types(self.read)[option]

    def takes_none(self, option: str) -> bool:
        """Return whether an option of the reader takes ``None``."""
        return NoneType in _option_types(self.read)[option]

    def check_read_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options for the reader, after a check of their names and types.

        Whole numbers become texts where texts are taken: a column may be called ``3``.
        """
        return self._checked(self.read, options)

    def check_write_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options for the writer, after a check of their names and types."""
        assert self.write is not None
        return self._checked(self.write, options)

    def _checked(self, function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
        types = _option_types(function)
        takes_any = _takes_any_option(function)
        fitted = {}
        for name, value in options.items():
            if name not in types and not takes_any:
                has = ", ".join(types) or "none"
                raise GraphError(
                    f"the format {self.name!r} has no option {short(name)}; "
                    f"it has {has}{suggestion(name, types)}"
                )
            fitted[name] = self._fitted(name, value, types.get(name, (Any,)))
        return fitted

    def _fitted(self, name: str, value: Any, types: Sequence[Any]) -> Any:
        if isinstance(value, Word):
            value = _meaning(value, types)
        if os.PathLike in types:
            value = as_source(value)
        fitted = _as_text(value) if str in types else value
        if any(_is_of_type(fitted, kind) for kind in types):
            return fitted
        *others, last = dict.fromkeys(_TYPE_NAMES[kind] for kind in types if kind in _TYPE_NAMES)
        takes = f"{', '.join(others)} or {last}" if others else last
        raise GraphError(
            f"{name}={short(value)}: this option of the format {self.name!r} takes {takes}"
        )


def suffix_of(path: Path_) -> str:
    """Return the ending of a name in lower case, without ``.gz``."""
    return Path(Path(path).name.lower().removesuffix(".gz")).suffix


def _option_types(function: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """Return the options of a reader or writer with the types that each takes."""
    plain = function.func if isinstance(function, partial) else function
    hints = _hints(plain)
    options: dict[str, tuple[Any, ...]] = {}
    for name, parameter in signature(plain).parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY and name != "format":
            options[name] = _types(hints.get(name, Any))
        elif parameter.kind is Parameter.VAR_KEYWORD:
            for shared, hint in _unpacked(hints.get(name)).items():
                options[shared] = _types(hint)
    return options


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function; none where they name what only type checkers import."""
    try:
        return get_type_hints(function)
    except (NameError, TypeError):
        return {}


def _takes_any_option(function: Callable[..., Any]) -> bool:
    plain = function.func if isinstance(function, partial) else function
    hints = _hints(plain)
    return any(
        parameter.kind is Parameter.VAR_KEYWORD and not _unpacked(hints.get(name))
        for name, parameter in signature(plain).parameters.items()
    )


def _unpacked(hint: Any) -> dict[str, Any]:
    """Return the fields of ``Unpack[SomeTypedDict]``."""
    arguments = get_args(hint)
    return get_type_hints(arguments[0]) if arguments else {}


def _types(hint: Any) -> tuple[Any, ...]:
    """Return the types of an annotation: of ``str | Sequence[str]``, ``str`` and ``Sequence``."""
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(
        member if get_origin(member) is Literal else get_origin(member) or member
        for member in members
    )


def _meaning(word: Word, types: Sequence[Any]) -> Any:
    """Return what a word of a command line means for an option that takes these types."""
    text = word.strip()
    for literal in _literals(types):
        if str(literal) == text:
            return literal
    value = parse_value(text)
    if value is None and NoneType in types:
        return None
    if Sequence in types or Iterable in types:
        return _listed(text, or_text=str in types)
    for kind in (bool, int, float):
        if kind in types and _is_of_type(value, kind):
            return value
    return str(word) if str in types else parse_values(word)


def _literals(types: Sequence[Any]) -> list[Any]:
    """Return the values of the literal types among some types."""
    values: list[Any] = []
    for kind in types:
        if get_origin(kind) is Literal:
            values += get_args(kind)
    return values


def _listed(text: str, or_text: bool) -> list[str] | str:
    """Return the words of a list; a single one as text where that is taken too."""
    if text in ("()", "[]"):
        return []
    words = split_words(text)
    if words is None:
        return text if or_text else [text]
    return words


def _as_text(value: Any) -> Any:
    """Return whole numbers as texts, also those of a list."""
    if isinstance(value, list | tuple):
        return [_as_text(one) for one in value]
    return str(value) if _is_whole(value) else value


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_of_type(value: Any, kind: Any) -> bool:
    if kind not in _TYPE_NAMES:
        return True  # an annotation that is not one of a few plain types is left to the reader
    if kind is int:
        return _is_whole(value)
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if kind is not Sequence:
        return isinstance(value, kind)
    # an iterator is refused: looking at its values would use them up
    is_list = isinstance(value, Iterable) and not isinstance(value, str | Iterator)
    return is_list and all(isinstance(one, str) for one in value)
