"""Uploaded files as graphs. Nothing that was uploaded stays on the disk."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from edgnn._files import line_chunks, open_binary
from edgnn.errors import EdgnnError, FormatError, GraphError, UnknownLabelError
from edgnn.graphs import Graphs, Nodes
from edgnn.io import read, recognize, refuse_spreadsheet
from edgnn.io.datasets import reading_options
from edgnn.models import check_known
from edgnn.serve._limits import Busy, Deadline, Limits, TooLarge
from edgnn.serve._molecules import LeftOut, of_molecule_file
from edgnn.serve._source import with_label_names

if TYPE_CHECKING:
    from edgnn.serve._model import Served

Upload = tuple[str, BinaryIO]
_FOLDERS: set[str] = set()
_LONGEST_NAME = 200
_ROW_ENDS = {"smiles": b"\n", "sdf": b"$$$$"}
#: What readers advise to those who call them, and what those who upload files can do instead.
_HINTS = {
    r"; pass format= one of .*$": "; name the file by its format: .csv, .smi, .sdf, .graphml, .json, .nt, .ttl or .zip (a TU set)",
    r"; if you trust it, raise the limit with max_bytes=": "; unpack it, or send it in parts",
    r": choose those of edges with source= .*$": ": rename those of edges, or that of molecules",
    r"so this is no TU data set$": "so this is no TU data set; of other data, choose the files themselves",
    r"; read the data as that of the training was read .*$": "; write labels as the training data has them",
}


def of_files(
    served: Served,
    uploads: Sequence[Upload],
    limits: Limits,
    deadline: Deadline,
    *,
    skip: bool = False,
) -> tuple[Graphs, list[LeftOut]]:
    """Return the graphs of uploaded files, in any format that :func:`edgnn.read` reads; several files are one folder.

    Parameters
    ----------
    served : Served
        The model, which knows how the files of its training were read.
    uploads : sequence of (name, stream)
        The files.
    limits : Limits
        How much there may be.
    deadline : Deadline
        Looked at between the steps.
    skip : bool
        Whether to leave out molecules that cannot be read, which are then named beside the graphs.
    """
    if len(uploads) > limits.files:
        raise TooLarge(
            f"{len(uploads)} files are more than the {limits.files} of one request; send those that belong together, "
            "such as tables of edges and nodes, or a TU set as one zip archive"
        )
    with _on_disk(uploads) as place, _named_as_uploaded(place):
        paths = list(place.iterdir())
        for file in paths:
            refuse_spreadsheet(file)
        path = paths[0] if len(uploads) == 1 else place
        options = reading_options(served.config, path)
        kind = str(options.get("format") or recognize(path, options))
        deadline.check()
        if kind in _ROW_ENDS:
            _check_rows(path, kind, limits)
            graphs, skipped = of_molecule_file(path, kind, options, limits, deadline, skip=skip)
        else:
            graphs, skipped = _read(path, kind, options, limits), []
        if kind == "tu":
            graphs = with_label_names(served.config, graphs, [name for name, _ in uploads])
    if not len(graphs) or not graphs.num_nodes:
        raise GraphError(f"{uploads[0][0]} holds no graphs; choose a file with at least one node")
    limits.check_graphs(graphs)
    return graphs, skipped


def check_learned(served: Served, items: Graphs | Nodes) -> None:
    """Raise where a file has no label that the model has learned: it was read in another way, or is of something else."""
    try:
        check_known(served.estimator, items)
    except UnknownLabelError as error:
        raise GraphError(_advice(str(error))) from None


def _read(path: Path, kind: str, options: Mapping[str, Any], limits: Limits) -> Graphs:
    if kind == "arrays":
        raise FormatError(
            path,
            "folders of arrays are not taken from a browser; write the graphs in another format",
        )
    return read(path, **{**options, "max_bytes": limits.unpacked})


def _check_rows(path: Path, kind: str, limits: Limits) -> None:
    """Raise before molecules are read one by one where there are too many."""
    count = 0
    with open_binary(path, limits.unpacked) as stream:
        for _, piece in line_chunks(stream, path):
            count += piece.count(_ROW_ENDS[kind])
    if count > limits.items + 2:  # a header, an empty line at the end
        raise TooLarge(
            f"{path.name} has {count:,} lines or records; one request may have {limits.items:,}: send it in parts"
        )


def remove_uploads() -> None:
    """Remove what requests under way have uploaded: a program that ends does not wait for their threads."""
    while _FOLDERS:
        shutil.rmtree(_FOLDERS.pop(), ignore_errors=True)


@contextmanager
def _on_disk(uploads: Iterable[Upload]) -> Iterator[Path]:
    folder = tempfile.mkdtemp(prefix="edgnn-serve-")
    _FOLDERS.add(folder)
    try:
        for name, stream in uploads:
            path = Path(folder, _safe(name))
            if path.exists():
                raise GraphError(f"two files are called {path.name!r}; rename one")
            with path.open("wb") as file:
                shutil.copyfileobj(stream, file)
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _FOLDERS.discard(
            folder
        )  # not before: at the end of the program nobody else would remove it


def _safe(name: str) -> str:
    """Return the last part of a file's name, which cannot lead out of the folder."""
    last = name.replace("\\", "/").rpartition("/")[2]
    if (
        last in ("", ".", "..")
        or len(last.encode(errors="replace")) > _LONGEST_NAME
        or not last.isprintable()
    ):
        raise GraphError(
            f"a file is called {name[:100]!r}, which is no name of a file; rename it, as in graphs.csv"
        )
    return last


@contextmanager
def _named_as_uploaded(place: Path) -> Iterator[None]:
    """Have errors name files as people do, not where they lay."""
    try:
        yield
    except (TooLarge, Busy):
        raise
    except EdgnnError as error:
        raise GraphError(
            _advice(str(error).replace(f"{place}/", "").replace(str(place), "the upload"))
        ) from None
    except OSError as error:
        raise GraphError(f"the upload cannot be read: {error.strerror or error}") from None


def _advice(text: str) -> str:
    """Return an error with the way out of those who upload files."""
    for hint, instead in _HINTS.items():
        text = re.sub(hint, instead, text, flags=re.S)
    return text
