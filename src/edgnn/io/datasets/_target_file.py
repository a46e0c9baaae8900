"""Tables that name nodes or graphs: with targets in other columns, or as a plain list."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from os import fspath
from typing import Any, Literal

import numpy as np
import torch

from edgnn._files import Path_, open_binary
from edgnn._words import closest, counted, preview, short, suggestion
from edgnn.errors import DatasetError, FormatError
from edgnn.graphs import Graphs, Nodes
from edgnn.io._common import Array, node_names
from edgnn.io._labeled import Labeled
from edgnn.io._separated import Row, TargetColumns, column_of, has_column, number_in, read_rows
from edgnn.io.datasets._target_columns import choose_columns
from edgnn.registry import Level

#: What a first line holds that is a header.
_HEADER_WORD = re.compile(
    "(node|name|id|iri|uri|url|entity|item|subject|resource|vertex|graph)(s|_id|_name)?"
    "|entities|vertices"
)


#: What to do with rows that name nothing in the data.
OnUnknownName = Literal["error", "skip"]


def targets_of_file(
    graphs: Graphs,
    path: Path_,
    target: Sequence[str] = (),
    *,
    level: Level | None = None,
    unknown: OnUnknownName = "error",
) -> Labeled:
    """Return graphs with the targets that a table gives to its nodes, or to the graphs.

    Parameters
    ----------
    graphs : Graphs
        Whose graphs or nodes have names, or are counted from 0.
    path : path
        A table (CSV or TSV, plain or gzip) with a header, which a table of two columns, names and
        targets, may lack. The column of names is the first in which every row names a node (a
        graph).
    target : sequence of str
        Columns of targets, or patterns of them; default: the only other one.
    level : {"graph", "node"}, optional
        What the rows name; default: nodes of a single graph, else graphs.
    unknown : {"error", "skip"}
        What to do with rows that name nothing in the data.
    """
    level = level or ("node" if len(graphs) == 1 else "graph")
    if level == "node":
        names = node_numbers(graphs)
    elif graphs.graph_names is None:
        names = _numbers_by_name(range(len(graphs)), "graph")
    else:
        names = _numbers_by_name(graphs.graph_names.tolist(), "graph")
    table = _NameTable(path, level, names, target, unknown=unknown)
    columns = table.target_columns(target)
    values = table.targets(columns)
    index = table.index
    table.check_unique(index)
    called = tuple(columns) if target else ()
    if level == "node":
        return Labeled(graphs, values, Nodes(graphs, torch.from_numpy(index)), called)
    return Labeled(graphs[index], values, target_names=called)


def named_nodes(graphs: Graphs, path: Path_, *, unknown: OnUnknownName = "error") -> Nodes:
    """Return the nodes that a file names: one per line, or in the first column of a table of names.

    The first line of a list is passed over where it is a word such as ``node``, ``name``, ``id`` or
    ``iri``, that of a table where it names no node.
    """
    names = node_numbers(graphs)
    with open_binary(path) as stream:
        lines = enumerate(stream.read().decode("utf-8-sig", "replace").splitlines(), 1)
    rows = [(number, [line]) for number, line in lines if line.strip()]
    is_list = any(_bare(row[0]) in names for _, row in rows)
    table = _NameTable(path, "node", names, rows=rows if is_list else None, unknown=unknown)
    return Nodes(graphs, torch.from_numpy(table.index))


def node_numbers(graphs: Graphs) -> dict[str, int]:
    """Return the number of each node by its name as text; by its number where nodes have none."""
    return _numbers_by_name(node_names(graphs), "node")


def _numbers_by_name(names: Collection[Any], level: Level) -> dict[str, int]:
    numbers = {str(name): number for number, name in enumerate(names)}
    if len(numbers) < len(names):
        raise DatasetError(
            f"the names of the {len(names):,} {level}s are not unique, "
            f"so {level}s cannot be found by name"
        )
    return numbers


class _NameTable:
    """A table in which one column names nodes or graphs.

    Parameters
    ----------
    path : path
        The table.
    level : {"graph", "node"}
        What its rows name.
    names : mapping
        The number of each node or graph by name.
    target : sequence of str
        The columns of targets that were asked for.
    rows : list, optional
        All rows, the first line among them; default: read from ``path``.
    unknown : {"error", "skip"}
        What to do with rows that name nothing in the data.
    """

    def __init__(
        self,
        path: Path_,
        level: Level,
        names: Mapping[str, int],
        target: Sequence[str] = (),
        rows: list[Row] | None = None,
        unknown: OnUnknownName = "error",
    ) -> None:
        if unknown not in ("error", "skip"):
            raise DatasetError(f"unknown_names={unknown!r}: choose 'error' or 'skip'")
        self._path = path
        self._level = level
        self._names = names
        if rows is None:
            with open_binary(path) as stream:
                header, below = read_rows(stream, path)
                rows = [(1, header), *below]
        (_, self.header), self.rows = rows[0], rows[1:]
        self._has_header = self._first_line_is_header(target)
        if not self._has_header:
            self.rows = rows
        self.key = self._best_column() if self.rows else 0
        self._check_names(unknown)

    @property
    def index(self) -> Array:
        """The number of the node or graph that each row names."""
        numbers = [self._names[_bare(row[self.key])] for _, row in self.rows]
        return np.array(numbers, dtype=np.int64)

    def target_columns(self, target: Sequence[str]) -> list[str]:
        """Return the names of the columns of targets."""
        if not self._has_header:
            self.header = self._numbered_columns(target)
        others = [name.strip() for place, name in enumerate(self.header) if place != self.key]
        return choose_columns(target, others) or [self._only_one(others)]

    def targets(self, wanted: Sequence[str]) -> Array:
        """Return the columns of targets, one or one row per row of the table."""
        columns = TargetColumns(self._path, wanted if len(wanted) > 1 else wanted[0], self._level)
        places = [column_of(self.header, name, self._path) for name in wanted]
        for line, row in self.rows:
            columns.add([row[place].strip() for place in places], line)
        values = columns.targets()
        assert values is not None
        return values

    def _only_one(self, others: list[str]) -> str:
        if len(others) == 1:
            return others[0]
        choice = "There is none beside the names; add one"
        if others:
            choice = (
                f"Name one or several of {preview(others, 20)} with target_column= "
                "(--target in a command; '*' takes all)"
            )
        raise FormatError(self._path, f"which column holds the targets? {choice}")

    def check_unique(self, index: Array) -> None:
        """Raise where two rows name the same node or graph."""
        first = np.unique(index, return_index=True)[1]
        if len(first) < len(index):
            line, row = self.rows[int(np.setdiff1d(np.arange(len(index)), first)[0])]
            raise FormatError(self._path, f"{short(row[self.key].strip())} is named twice", line)

    def _first_line_is_header(self, target: Sequence[str]) -> bool:
        """Return whether the first line names columns.

        It does where it has the columns that are asked for, or where its cell in the column of
        names is not a name, as far as that can be told.
        """
        if target and all(has_column(self.header, name) for name in target):
            return True
        cell = _bare(self.header[self._best_column()])
        is_word = _HEADER_WORD.fullmatch(cell.casefold()) is not None
        if "://" in cell:
            return False
        if len(self.header) == 1:
            return is_word and cell not in self._names
        return is_word or cell not in self._names

    def _unknown_rows(self, column: int) -> list[Row]:
        return [row for row in self.rows if _bare(row[1][column]) not in self._names]

    def _best_column(self) -> int:
        """Return the first column with the fewest cells that name nothing."""
        return min(range(len(self.header)), key=lambda column: len(self._unknown_rows(column)))

    def _check_names(self, unknown: OnUnknownName) -> None:
        """Raise where a row names nothing in the data, or leave such rows out with a warning."""
        if not self.rows:
            only = short(",".join(self.header))
            rule = f"no {self._level} of the data is named in it, there is only the line {only}"
            raise FormatError(self._path, rule, 1)
        strange = self._unknown_rows(self.key)
        if not strange:
            return
        line, row = strange[0]
        name = short(row[self.key].strip())
        names = counted(len(self.rows), "name")
        number = f"{len(strange):,} of the {names} in column {self.key + 1}"
        are_all = len(strange) == len(self.rows)
        if unknown == "error" or are_all:
            rule = f"{name} is no {self._level} of the data; unknown are {number}"
            if not are_all:
                rule += " (unknown_names='skip', in a command --skip-unknown, leaves them out)"
            advice = _advice(_bare(row[self.key]), self._names)
            raise FormatError(self._path, f"{rule}{advice}", line)
        self.rows = [row for row in self.rows if _bare(row[1][self.key]) in self._names]
        warnings.warn(
            f"{fspath(self._path)}: {number} name no {self._level} of the data and are skipped; "
            f"the first: {name} in line {line}",
            stacklevel=4,
        )

    def _numbered_columns(self, target: Sequence[str]) -> list[str]:
        """Return names for the columns of a table without a header: names, perhaps targets."""
        first = self.rows[0][1]
        level = self._level
        rule = (
            f"the first line names the {level} {short(first[self.key].strip())}, not the columns; "
            f"put a header above it, such as {level},"
        )
        if target:
            raise FormatError(self._path, f"there is no column {target[0]!r}: {rule}{target[0]}", 1)
        if len(first) > 2 or (len(first) == 2 and not self._first_target_is_like_others()):
            advice = "target, or if it is one, say which of its columns holds the targets"
            raise FormatError(self._path, f"{rule}{advice}", 1)
        return [f"column {place + 1}" for place in range(len(first))]

    def _first_target_is_like_others(self) -> bool:
        values = [row[1 - self.key].strip() for _, row in self.rows]
        is_repeated = values[0] in values[1:]
        return is_repeated or all(number_in(value) is not None for value in values if value)


def _advice(name: str, names: Collection[str]) -> str:
    """Return how to fix an unknown name.

    Only names of the same kind are suggested: nobody means a blank node or a literal by an IRI.
    """
    kind = _term_kind(name)
    alike = [known for known in names if _term_kind(known) == kind]
    iris = [known for known in alike if "://" in known]
    if kind != "iri" or not iris or _has_known_scheme(name, alike):
        hint = "; correct the name or remove the row (IRIs stand in full, with or without <>)"
        return suggestion(name, alike) or hint
    prefix = ", not a prefix" if ":" in name else ""
    meant = _whole_iri(name, iris)
    question = "" if meant is None else f"; did you mean {meant!r}?"
    return f"; give the whole IRI{prefix}{question}"


def _has_known_scheme(name: str, names: Sequence[str]) -> bool:
    scheme, colon, _ = name.partition(":")
    return bool(colon) and any(known.startswith(f"{scheme}:") for known in names)


def _whole_iri(name: str, iris: Sequence[str]) -> str | None:
    """Return the IRI that ends as a short name does, or else one like it."""
    last = re.split("[:/#]", name)[-1]
    for iri in iris:
        if last and iri.endswith((f"/{last}", f"#{last}", f":{last}")):
            return iri
    return closest(name, iris)


def _term_kind(name: str) -> str:
    if name.startswith("_:"):
        return "blank"
    return "literal" if name.startswith('"') else "iri"


def _bare(cell: str) -> str:
    """Return the name in a cell: an IRI may stand in brackets."""
    cell = cell.strip()
    is_bracketed = cell.startswith("<") and cell.endswith(">") and not cell.startswith("<<")
    return cell[1:-1] if is_bracketed else cell
