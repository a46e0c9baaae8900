"""Errors carry what happened as fields, and keep it where they cross processes."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from edgnn import errors


def _error(name: str) -> errors.EdgnnError:
    if name == "FormatError":
        return errors.FormatError(Path("a.csv"), "needs a header", 3, kind="header")
    kind: type[errors.EdgnnError] = getattr(errors, name)
    if issubclass(kind, errors.FileError):
        return kind(Path("a.csv"), "needs a header")
    return kind("needs a header", kind="header", path=Path("a.csv"), line=3)


@pytest.mark.parametrize("name", errors.__all__)
def test_a_pickled_error_keeps_message_and_fields(name: str) -> None:
    error = _error(name)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert error.path == "a.csv"
    assert (copy.kind, copy.path, copy.line) == (error.kind, error.path, error.line)


@pytest.mark.parametrize("name", errors.__all__)
def test_dask_workers_can_send_an_error(name: str) -> None:
    support = pytest.importorskip("tblib.pickling_support")
    error = _error(name)
    restore, arguments, *fields = support.pickle_exception(error)
    copy = restore(*arguments)
    for field in fields:
        copy.__setstate__(field)
    assert (type(copy), str(copy), copy.path) == (type(error), str(error), error.path)


@pytest.mark.parametrize(
    "name", sorted(set(errors.__all__) - {"FormatError", "FileError", "MissingFileError"})
)
def test_fields_are_optional(name: str) -> None:
    error = getattr(errors, name)("needs a header")
    assert str(error) == "needs a header"
    assert (error.kind, error.path, error.line) == (None, None, None)


def test_an_error_of_a_format_names_file_line_and_rule() -> None:
    assert str(_error("FormatError")) == "a.csv, line 3: needs a header"
