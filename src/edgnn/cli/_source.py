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
from edgnn._words import closest, short
from edgnn.cli._complete import names
from edgnn.errors import DatasetError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset

_PATHS = ("nodes", "graphs")
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

    def stored(self) -> dict[str, Any]:
        """Return what finds the same data again, from any folder."""
        return {
            "name": _absolute(self.name) if not _is_named(self.name) else self.name,
            "task": self.task,
            "target": list(self.target),
            "target_file": None if self.target_file is None else _absolute(self.target_file),
            "regression": self.regression,
            "options": {
                key: _absolute(value) if key in _PATHS else value
                for key, value in (self.options or {}).items()
            },
            "data_dir": None if self.data_dir is None else _absolute(self.data_dir),
            "format": None if _is_named(self.name) else format_of(self.name, self.options or {}),
        }

    @classmethod
    def of(cls, name: str, chosen: Mapping[str, Any], data_dir: Path | str | None = None) -> Source:
        """Return the source that options tell of, or that :meth:`stored` described."""
        fields = {key: chosen.get(key) for key in ("task", "target_file", "regression", "options")}
        target = chosen.get("target") or ()
        where = None if data_dir is None else str(data_dir)
        return cls(
            name,
            target=(target,) if isinstance(target, str) else tuple(target),
            data_dir=where,
            **fields,
        )

    def load(self) -> Dataset:
        """Return the data with its targets."""
        from edgnn.io.datasets import doubts

        check_exists(self.name, self.options or {})
        with warnings.catch_warnings():
            if self.regression is not None:
                warnings.filterwarnings(
                    "ignore", r"\d+ of \d+ targets are missing, so whole numbers are taken as real"
                )
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
        data = _as_asked(data, self.regression)
        for doubt in doubts(data):
            warnings.warn(doubt, stacklevel=2)
        return data

    def read(self) -> Dataset:
        """Return the data with its targets, where it has some."""
        from edgnn.io.datasets import load_dataset

        options = dict(self.options or {})
        if self.target_file is not None:
            options |= {
                "target_file": self.target_file,
                "target_column": self.target,
                "level": self.task,
            }
        elif self.target:
            options |= self._target_options()
        return load_dataset(self.name, data_dir=self.data_dir, **options)

    def columns(self) -> list[str]:
        """Return a line about which columns of a table are read; nothing for other data."""
        if _is_named(self.name):
            return []
        from edgnn.cli._columns import columns_line
        from edgnn.io import column_uses

        options = dict(self.options or {})
        kind = format_of(self.name, options)
        in_table: tuple[str, ...] = ()
        if self.target_file is not None:
            in_table = self.target  # columns of the other file
        elif self.target:
            options |= self._target_options()
        return columns_line(column_uses(self.name, kind, options), in_table)

    def _target_options(self) -> dict[str, Any]:
        """Return the reader's option for the target columns."""
        from edgnn.io.datasets import find

        if find(self.name) is not None:
            raise DatasetError(
                f"{self.name} is a named data set with targets of its own; leave --target out"
            )
        if not exists(self.name):
            raise DatasetError(
                f"there is no file {self.name}; "
                "if you mean a TU set of that name, leave --target out"
            )
        kind = format_of(self.name, self.options or {})
        one_or_more = self.target[0] if len(self.target) == 1 else list(self.target)
        if kind in ("smiles", "sdf", "tu"):
            return {"target": one_or_more}
        if kind == "tables" and self._level_of_tables() == "graph":
            return {"graph_target": one_or_more}
        if kind == "arrays":
            raise DatasetError(
                f"{self.name} holds its targets itself; leave --target out, "
                "or name a table with --target-file"
            )
        if kind not in ("tables", "graphml", "node-link"):
            raise DatasetError(
                f"{self.name} is RDF, which has no target columns; "
                "name a table of targets with --target-file"
            )
        if self.task == "graph":
            raise DatasetError(
                f"{self.name} holds one graph, whose nodes can have targets; use --task node"
            )
        if len(self.target) > 1:
            raise DatasetError(
                f"nodes have one target here, but {len(self.target)} columns were named: "
                f"{', '.join(self.target)}"
            )
        return {"node_target": self.target[0]}

    def _level_of_tables(self) -> str:
        if self.task is not None:
            return self.task
        path, has_table = Path(self.name), "graphs" in (self.options or {})
        listed = path.is_dir() and any(
            entry.name.split(".")[0].lower() == "graphs" for entry in path.iterdir()
        )
        return "graph" if has_table or listed else "node"


def _as_asked(data: Dataset, regression: bool | None) -> Dataset:
    """Take the targets as values or as classes where asked, and few whole floats as classes."""
    import numpy as np

    from edgnn.io import has_decimal_comma, write_points

    assert data.targets is not None
    if regression is None and data.task == "regression" and _are_classes(data.targets):
        regression = False
    if regression is None or data.targets.ndim > 1:
        return data
    if regression and data.class_names:
        values = np.array([_as_number(name) for name in data.class_names])
        wrong = np.flatnonzero(np.isnan(values)[data.targets])
        if len(wrong):
            value = data.class_names[data.targets[wrong[0]]]
            where = f"{data.level} {wrong[0]}, counted from 0"
            hint = write_points(value) if has_decimal_comma(value) else ""
            raise DatasetError(
                f"--regression needs numbers, but {data.name} has the target {value!r} "
                f"({where}){hint}"
            )
        return replace(data, targets=values[data.targets], class_names=())
    if not regression and data.task == "regression":
        from edgnn.io.datasets import encode_classes

        known = np.flatnonzero(~np.isnan(data.targets))
        whole = data.targets[known]
        if (whole != np.round(whole)).any():
            value = whole[whole != np.round(whole)][0]
            raise DatasetError(
                f"--classification needs whole numbers or names, "
                f"but {data.name} has the target {value:g}"
            )
        if len(known) < len(data):
            count = len(data) - len(known)
            verbs = ("has", "is") if count == 1 else ("have", "are")
            rule = (
                f"{count:,} of {len(data):,} {data.level}s {verbs[0]} no target "
                f"and {verbs[1]} left out"
            )
            warnings.warn(rule, stacklevel=2)
        numbers, names = encode_classes(whole.astype(np.int64))
        items: Any = (
            {"graphs": data.graphs[known]} if data.nodes is None else {"nodes": data.nodes[known]}
        )
        return replace(data, targets=numbers, class_names=names, **items)
    return data


def _are_classes(values: Any) -> bool:
    """Return whether floats are classes: none NaN, whole, at most 20 kinds, two of each or more."""
    import numpy as np

    whole = (
        values.ndim == 1
        and bool((values == np.round(values)).all())
        and bool((np.abs(values) < 2**53).all())
    )
    return whole and len(np.unique(values)) <= min(20, len(values) // 2)


def _as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


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
    for path in (*(options.get(key) for key in _PATHS), chosen.get("target_file")):
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
