"""The files of a study: signed, written all or nothing, under one lock."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import edgnn
from edgnn._files import atomic_file, exclusive_lock, os_errors_as, read_file
from edgnn._json import from_json, to_json
from edgnn._words import one_line, short
from edgnn.errors import FormatError, StudyError

STUDY, LOCK = "study.json", ".edgnn.lock"

_CONTENT = {LOCK, "cells", "tables", "predictions", "report.html"}
_UNFINISHED = re.compile(r"\.[A-Za-z0-9_][A-Za-z0-9_.-]*\.(json|csv|md|html)\.[a-z0-9_]{8}")
_SIGNED = re.compile(rb'\{"sha256": "([0-9a-f]{64})",\n')
_WHEN_FULL = "what is done is safe: free some space and repeat the command"


def make_study_folder(place: Path) -> bool:
    """Make the folder where it is missing; return whether it still has to become a study."""
    with _disk_errors("create", place):
        if not place.exists():
            if not place.parent.is_dir():
                raise StudyError(
                    f"cannot create {place}: there is no folder {place.parent}; "
                    "make it first, or choose another place"
                )
            place.mkdir()
        if not place.is_dir():
            raise StudyError(f"{place} is a file, not a folder; choose another place")
        if (place / STUDY).exists():
            return False
        there = sorted(
            entry.name for entry in place.iterdir() if not _UNFINISHED.fullmatch(entry.name)
        )
    own = _CONTENT if "cells" in there else {LOCK}
    strange = [name for name in there if name not in own]
    if strange:
        raise StudyError(
            f"{place} is not empty and no study of edgnn (it holds {strange[0]}); "
            "choose another folder"
        )
    return True


def read_study(place: Path, newest: int) -> dict[str, Any]:
    """Return what ``study.json`` says."""
    path = place / STUDY
    if not path.is_file():
        raise StudyError(
            f"{place} is not the folder of a study: it has no {STUDY}; "
            f"`edgnn reproduce --out {place}` makes one"
        )
    try:
        document = from_json(_read(path))
    except ValueError as error:
        raise StudyError(
            f"{path} is damaged ({error}); "
            "remove that file, and the cells beside it stay as they are"
        ) from None
    if not _is_study(document):
        raise StudyError(
            f"{path} has no valid fields 'format' and 'calls', so this is no study of edgnn"
        )
    if document["format"] > newest:
        raise StudyError(
            f"{place}: this study was written by edgnn {one_line(document.get('edgnn'), 40)} "
            f"(format {short(document['format'], 20)}); this edgnn ({edgnn.__version__}) "
            f"reads up to format {newest}: upgrade edgnn"
        )
    study: dict[str, Any] = document
    return study


def _is_study(document: Any) -> bool:
    if not isinstance(document, dict) or type(document.get("format")) is not int:
        return False
    calls = document.get("calls")
    return isinstance(calls, list) and all(isinstance(call, dict) for call in calls)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file all or nothing, in a folder that is made where it is missing."""
    with _disk_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as stream:
            stream.write(data)


def write_signed(path: Path, document: dict[str, Any]) -> None:
    """Write a JSON document whose first field is a hash over all that follows."""
    body = to_json(document)[1:]
    write_bytes(path, b'{"sha256": "%s",\n' % hashlib.sha256(body).hexdigest().encode() + body)


def read_signed(path: Path) -> dict[str, Any]:
    """Return a document that :func:`write_signed` wrote, after checking its hash."""
    try:
        data = _read(path)
    except StudyError as error:
        raise FormatError(path, str(error)) from None
    signed = _SIGNED.match(data)
    if signed is None or hashlib.sha256(data[signed.end() :]).hexdigest().encode() != signed[1]:
        raise FormatError(
            path,
            "it is damaged: its content does not agree with the hash in its first line; remove it",
        )
    try:
        document: dict[str, Any] = from_json(data)
    except ValueError as error:
        raise FormatError(path, f"it is damaged ({error}); remove it") from None
    return document


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Hold the lock of a study, and remove what a killed command left unfinished."""
    in_use = StudyError(
        f"another command is working in {place}; "
        "wait until it has ended, or choose another folder (--out)"
    )
    with ExitStack() as stack:
        with _disk_errors("use", place / LOCK):
            stack.enter_context(exclusive_lock(place / LOCK, in_use))
        with _disk_errors("tidy up", place):
            for entry in list(place.rglob(".*")):
                if _UNFINISHED.fullmatch(entry.name):
                    entry.unlink(missing_ok=True)
        yield


def _disk_errors(action: str, path: Path) -> AbstractContextManager[None]:
    return os_errors_as(StudyError, action, path, when_full=_WHEN_FULL)


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror or error}") from error
