"""Data to learn from: a named set or a file, with the targets that were asked for."""

from __future__ import annotations

import errno
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgnn._paths import exists
from edgnn._values import parse_value
from edgnn._words import closest, short
from edgnn.cli._complete import names
from edgnn.errors import DatasetError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset

_PATHS = ("nodes", "graphs")
_OTHER_FILES = ("target_file", "splits_file", "test_file", "validation_file")
#: Endings of files that edgnn reads; no name of a data set and no SMILES ends so.
_FILE = re.compile(
    r"\.(csv|tsv|txt|parquet|pq|xlsx?|zip|graphs|graphml|json|xml"
    r"|nt|ttl|nq|trig|n3|rdf|owl|sdf|sd|mol|smi|smiles)(\.gz)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Source:
    """Where the data comes from, as plain values that a run folder keeps."""

    name: str
    task: str | None = None
    target: tuple[str, ...] = ()
    target_file: str | None = None
    regression: bool | None = None
    options: Mapping[str, Any] | None = None
    data_dir: str | None = None
    split_column: str | None = None
    splits_file: str | None = None
    test_file: str | None = None
    validation_file: str | None = None
    skip_unknown: bool = False

    def stored(self) -> dict[str, Any]:
        """Return what finds the same data again, from any folder."""
        return {
            "name": _absolute(self.name) if not _is_named(self.name) else self.name,
            "task": self.task,
            "target": list(self.target),
            "regression": self.regression,
            "split_column": self.split_column,
            **{name: _absolute(getattr(self, name)) for name in _OTHER_FILES},
            "skip_unknown": self.skip_unknown,
            "options": self._absolute_options(),
            "data_dir": None if self.data_dir is None else _absolute(self.data_dir),
            "format": None if _is_named(self.name) else format_of(self.name, self.options or {}),
        }

    def _absolute_options(self) -> dict[str, Any]:
        """Return the reader's options, with paths that hold in any folder."""
        from edgnn.io import FORMATS

        if _is_named(self.name):
            return dict(self.options or {})
        known = FORMATS[format_of(self.name, self.options or {})]
        options = self._typed_options()
        for name in known.path_options:
            if name in options:
                options[name] = _absolute(options[name])
        return options

    def _typed_options(self) -> dict[str, Any]:
        """Return the options of the reader of a file as it takes them, ``format`` among them."""
        from edgnn.io import FORMATS
        from edgnn.io.datasets import with_descriptors

        beside = self.target if self.target_file is None else ()
        options = with_descriptors(self.name, self.options or {}, beside)
        known = FORMATS[format_of(self.name, options)]
        chosen = {"format": str(options.pop("format"))} if "format" in options else {}
        return chosen | known.check_read_options(options)

    @classmethod
    def of(cls, name: str, chosen: Mapping[str, Any], data_dir: Path | str | None = None) -> Source:
        """Return the source that options tell of, or that :meth:`stored` described."""
        names = ("task", "regression", "options", "split_column", *_OTHER_FILES)
        fields = {key: chosen.get(key) for key in names}
        if descriptors := chosen.get("descriptors"):
            fields["options"] = {**(fields["options"] or {}), "descriptors": descriptors}
        target = chosen.get("target") or ()
        where = None if data_dir is None else str(data_dir)
        return cls(
            name,
            target=(target,) if isinstance(target, str) else tuple(target),
            data_dir=where,
            skip_unknown=bool(chosen.get("skip_unknown")),
            **fields,
        )

    @property
    def own_split(self) -> str:
        """What says which items are for what, in words; empty where nothing of one's own does."""
        ways = {
            f"the column {self.split_column!r}": self.split_column,
            f"the file {self.splits_file}": self.splits_file,
            "a file of its own": self.test_file or self.validation_file,
        }
        chosen = [text for text, given in ways.items() if given]
        if len(chosen) > 1:
            raise DatasetError(
                f"{' and '.join(chosen)} both say which items are for training and testing: "
                "choose one"
            )
        return "".join(chosen)

    def load(self) -> Dataset:
        """Return the data with its targets, and those of further files joined to it."""
        from edgnn.io.datasets import doubts

        check_exists(self.name, self.options or {})
        data = self.read()
        if data.targets is None:
            raise DatasetError(
                f"{self.name} has no targets: name its column with --target, "
                "or a table with --target-file"
            )
        if self.task is not None and data.level != self.task:
            raise DatasetError(
                f"--task {self.task}: the targets of {self.name} belong to {data.level}s"
            )
        for doubt in doubts(data):
            warnings.warn(doubt, stacklevel=2)
        return self._joined(data)

    def _joined(self, data: Dataset) -> Dataset:
        from edgnn.evaluation import join_sets

        regression = {"classes": False, "values": True}.get(str(data.task))
        options = self.options
        if not _is_named(self.name):
            options = self._typed_options()  # so that a pattern means the same columns everywhere
        alike = replace(self, regression=regression, split_column=None, options=options)
        others = {
            part: replace(alike, name=name).read()
            for part, name in (("test", self.test_file), ("validation", self.validation_file))
            if self.own_split and name is not None
        }
        return join_sets(data, **others) if others else data

    def read(self) -> Dataset:
        """Return the data with its targets, where it has some."""
        from edgnn.io.datasets import load_dataset

        targets: dict[str, Any] = {
            "task": {None: None, True: "values", False: "classes"}[self.regression],
            "target_file": self.target_file,
            "target_column": self.target or None,
            "level": self.task,
            "split_column": self.split_column,
            "unknown_names": "skip" if self.skip_unknown else "error",
        }
        return load_dataset(self.name, data_dir=self.data_dir, **targets, **(self.options or {}))

    def columns(self) -> list[str]:
        """Return a line about which columns of a table are read; nothing for other data."""
        if _is_named(self.name):
            return []
        from edgnn.cli._columns import columns_line
        from edgnn.io import FORMATS
        from edgnn.io.datasets import target_options

        options = self._typed_options()
        level: Any = self.task
        known = FORMATS[format_of(self.name, options)]
        if known.columns is None:
            return []
        in_table: tuple[str, ...] = ()
        if self.target_file is not None:
            in_table = self.target  # columns of the other file
        elif self.target:
            options |= target_options(self.name, self.target, level, options)
        if self.split_column is not None:
            in_table = (*in_table, self.split_column)
        return columns_line(known.columns(Path(self.name), options), in_table)


def _is_named(name: str) -> bool:
    from edgnn.io.datasets import find

    return find(name) is not None or not exists(name)


def format_of(name: str, options: Mapping[str, Any]) -> str:
    """Return the format of an existing file, as the reader's options say or as it is recognized."""
    from edgnn.io import recognize

    return str(options.get("format") or recognize(name, options))


def check_files(name: str, chosen: Mapping[str, Any]) -> None:
    """Raise where a file that a command's options name is not there.

    torch is imported only to look for a data set's name.
    """
    options = chosen.get("options") or {}
    check_exists(name, options)
    named = (
        *(parse_value(options.get(key)) for key in _PATHS),
        *(chosen.get(key) for key in _OTHER_FILES),
    )
    for path in named:
        if isinstance(path, str | Path) and not exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def check_exists(name: str, options: Mapping[str, Any]) -> None:
    """Raise where there is no such file, and the name or the reader's options mean one."""
    if exists(name):
        return
    if _FILE.search(name):
        raise DatasetError(
            f"{name!r} is neither a data set's name nor an existing file; "
            "`edgnn datasets` lists the names"
        )
    from edgnn.io.datasets import find, find_or_tu

    if find(name) is not None:
        return
    find_or_tu(name)
    if options:
        raise DatasetError(
            f"there is no file {name}; if you mean a TU set of that name, "
            f"it takes no -o {next(iter(options))}"
        )


def check_here(name: str, data_dir: Path | str | None = None) -> None:
    """Raise where a word is no file, no named set and no TU set on this machine.

    Nothing is asked of the network: the word may be a molecule, which must not leave the machine.
    """
    if exists(name):
        return
    if not _FILE.search(name):
        from edgnn.io.datasets import find, find_or_tu, is_name, locate

        if find(name) is not None or (
            is_name(name) and locate(find_or_tu(name), data_dir).path is not None
        ):
            return
    if (similar := closest(name, names("dataset"), cutoff=0.8)) is not None:
        raise DatasetError(f"there is no file or data set {short(name)}; did you mean {similar}?")
    like_file = re.search(r"\.[A-Za-z]{2,8}(\.gz)?$", name) is not None
    hint = "" if like_file else "; for molecules, write a file with a column smiles"
    raise DatasetError(f"there is no file or data set {short(name)}{hint}")


def _absolute(path: Any) -> Any:
    return str(Path(path).resolve()) if isinstance(path, str) and exists(path) else path
