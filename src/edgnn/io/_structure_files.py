"""A Structure on disk: built from mapped graphs in bounded memory, and mapped itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn._files import Path_, atomic_folder, naming
from edgnn.errors import GraphError
from edgnn.graphs import CSR, DENSE_ENTRIES_PER_EDGE, Graphs, Multiplicity, Structure, known_labels
from edgnn.io import _piece_checks as check
from edgnn.io._array_files import ArrayFile, Entry, write_array
from edgnn.io._array_folder import blaming, open_arrays, read_header, whole_numbers, write_header
from edgnn.io._common import Array
from edgnn.io._row_files import DenseCounts, RowsFile
from edgnn.io._sorted_runs import SortedRuns

HEADER = "structure.json"
KIND = "edgnn structure"

#: The least memory that a structure is built in, and what of it goes to one number that is sorted.
LEAST_MEMORY = 2**20
_BYTES_PER_KEY = 64

_MATRICES = ("neighbors", "neighbors_t", "C_in", "C_out")
_SUMS = ("F_in", "F_out")


def write_structure(
    graphs: Graphs,
    folder: Path_,
    *,
    direction: Literal["both", "in"] = "both",
    multiplicity: Multiplicity = "once",
    dtype: torch.dtype = torch.float32,
    memory: int = 2**30,
) -> None:
    """Build the structure of ``graphs`` on disk, in bounded memory.

    :func:`open_structure` maps it.

    It holds what :meth:`Structure.of` would, bit by bit: pairs (row, column) are sorted in runs
    that fit into memory, which are then merged. While that goes on, the folder holds up to 16 bytes
    per edge more.

    Parameters
    ----------
    graphs : Graphs
        On the CPU, mapped or not.
    folder : path
        A place where nothing is yet.
    direction, multiplicity, dtype
        As in :meth:`Structure.of`.
    memory : int
        About how many bytes it may take; sums of edge features read all edges once per so many
        bytes of sums.
    """
    size = _check_options(graphs, direction, multiplicity, dtype, memory)
    with naming(folder), atomic_folder(folder) as unfinished:
        builder = _Builder(graphs, unfinished, size, dtype)
        arrays = builder.build(direction, multiplicity)
        content = {
            "nodes": graphs.num_nodes,
            "num_edge_labels": builder.known,
            "direction": direction,
            "multiplicity": multiplicity,
            "arrays": {name: entry.stored() for name, entry in arrays.items()},
        }
        write_header(unfinished / HEADER, KIND, content)


def open_structure(folder: Path_, *, verify: bool = False) -> Structure:
    """Map a structure that :func:`write_structure` wrote.

    Nothing of an array is read before it is used.

    Parameters
    ----------
    folder : path
        The folder.
    verify : bool
        Check that the contents are what was written, and make a structure, which reads all of them.
    """
    path = Path(folder)
    content = read_header(path / HEADER, KIND)
    with blaming(path / HEADER):
        opened = open_arrays(path, content["arrays"], _names(), verify=verify)
        arrays = {name: torch.from_numpy(array) for name, (array, _) in opened.items()}
        nodes, labels = whole_numbers(content, "nodes", "num_edge_labels")
        both = content["direction"] == "both"
        neighbors = _csr(arrays, "neighbors", (nodes, nodes))
        structure = Structure(
            neighbors=neighbors,
            neighbors_t=neighbors if both else _csr(arrays, "neighbors_t", (nodes, nodes)),
            C_in=_counts(arrays, "C_in", (nodes, labels)),
            C_out=_counts(arrays, "C_out", (nodes, labels)) if both else None,
            F_in=arrays.get("F_in"),
            F_out=arrays.get("F_out"),
            graph_offset=arrays["graph_offset"],
            num_edge_labels=labels,
            direction=content["direction"],
            multiplicity=content["multiplicity"],
        )
    if verify:
        with blaming(path):
            _verify(structure)
    return structure


def _names() -> list[str]:
    parts = [f"{name}_{part}" for name in _MATRICES for part in ("indptr", "indices", "values")]
    return ["graph_offset", *_MATRICES, *parts, *_SUMS]


def _csr(arrays: dict[str, Tensor], name: str, shape: tuple[int, int]) -> CSR:
    indptr = arrays[f"{name}_indptr"]
    indices = arrays[f"{name}_indices"]
    values = arrays.get(f"{name}_values")
    entries = len(indices)
    has_rows = len(indptr) == shape[0] + 1 and (int(indptr[0]), int(indptr[-1])) == (0, entries)
    if not has_rows or (values is not None and len(values) != entries):
        raise ValueError(f"the arrays of {name!r} do not fit one another")
    return CSR(indptr, indices, values, shape)


def _counts(arrays: dict[str, Tensor], name: str, shape: tuple[int, int]) -> Tensor | CSR:
    if name not in arrays:
        return _csr(arrays, name, shape)
    if arrays[name].shape != shape:
        raise ValueError(f"{name!r} does not have the shape {shape}")
    return arrays[name]


def _verify(structure: Structure) -> None:
    """Check that all matrices are some, whatever the checksums say."""
    check.offsets(structure.graph_offset.numpy(), structure.neighbors.shape[0], "graph_offset")
    for name in _MATRICES:
        matrix = getattr(structure, name)
        if isinstance(matrix, CSR):
            check.offsets(matrix.indptr.numpy(), matrix.nnz, f"{name}_indptr")
            check.columns(matrix.indices.numpy(), matrix.shape[1], f"{name}_indices")


def _check_options(
    graphs: Graphs, direction: str, multiplicity: str, dtype: torch.dtype, memory: Any
) -> int:
    """Return the memory as a number, after checking all options."""
    for name, value, allowed in (
        ("direction", direction, ("both", "in")),
        ("multiplicity", multiplicity, ("once", "per-edge")),
        ("dtype", dtype, (torch.float32, torch.float64)),
    ):
        if value not in allowed:
            raise GraphError(f"{name}={value!r}: choose {' or '.join(map(repr, allowed))}")
    if graphs.device.type != "cpu":
        raise GraphError(
            f"the graphs are on {graphs.device}; a structure is built on disk from graphs on the "
            "CPU: .to('cpu')"
        )
    if graphs.num_nodes >= 2**31:
        raise GraphError(
            f"{graphs.num_nodes} nodes are too many for one structure; the limit is 2^31 - 1"
        )
    rule = f"memory={memory!r}: give a whole number of bytes to sort in, at least {LEAST_MEMORY:,}"
    return check.whole_number(memory, LEAST_MEMORY, rule)


class _Builder:
    """Builds one matrix after another from the edges, read a piece at a time."""

    def __init__(self, graphs: Graphs, folder: Path, memory: int, dtype: torch.dtype) -> None:
        self._graphs = graphs
        self._folder = folder
        self._memory = memory
        self._dtype = dtype
        self._numpy_type = np.float32 if dtype == torch.float32 else np.float64
        self._run = max(1, memory // _BYTES_PER_KEY)
        self.known = known_labels(graphs.edge_vocabulary)

    def build(self, direction: str, multiplicity: str) -> dict[str, Entry]:
        """Write all arrays and return what the header says about them."""
        graphs = self._graphs
        offset = graphs.graph_offset.numpy()
        check.offsets(offset, graphs.num_nodes, "graph_offset")
        source = graphs.edge_source.numpy()
        target = graphs.edge_target.numpy()
        label = graphs.edge_label.numpy()
        both = direction == "both"
        distinct = multiplicity == "once"
        entries = self._neighbors("neighbors", target, source, both, distinct)
        if not both:
            entries |= self._neighbors("neighbors_t", source, target, False, distinct)
        known = self._known_edges(label)
        sides = {"in": target, "out": source} if both else {"in": target}
        for name, node in sides.items():
            entries |= self._counts(f"C_{name}", node, label, known)
            if graphs.edge_features is not None:
                entries |= self._sums(f"F_{name}", node, graphs.edge_features)
        return entries | {"graph_offset": write_array(self._folder / "graph_offset.npy", offset)}

    def _pieces(self, width: int = 1) -> Iterator[slice]:
        step = max(1, min(2**18, self._run // (4 * max(1, width))))
        return (slice(start, start + step) for start in range(0, self._graphs.num_edges, step))

    def _neighbors(
        self, name: str, row: Array, column: Array, both: bool, distinct: bool
    ) -> dict[str, Entry]:
        most = self._graphs.num_edges * (1 + both)
        with (
            closing(RowsFile(self._folder, name, self._graphs.num_nodes, most)) as rows,
            SortedRuns(
                self._folder / "sorting", self._run, distinct=distinct, expected=most
            ) as runs,
        ):
            for piece in self._pieces():
                check.ends(column[piece], row[piece], 0, self._graphs.num_nodes, piece.start)
                runs.add(_packed(row[piece], column[piece]))
                if both:
                    runs.add(_packed(column[piece], row[piece]))
            for keys, counts in runs.merged():
                rows.append_repeated(keys, counts)
            return rows.finish()

    def _counts(self, name: str, node: Array, label: Array, known: int) -> dict[str, Entry]:
        nodes, dtype = self._graphs.num_nodes, self._numpy_type
        dense = nodes * self.known <= DENSE_ENTRIES_PER_EDGE * known
        folder = self._folder
        file: DenseCounts | RowsFile
        if dense:
            file = DenseCounts(folder, name, nodes, self.known, dtype)
        else:
            file = RowsFile(folder, name, nodes, known, dtype)
        with (
            closing(file),
            SortedRuns(folder / "sorting", self._run, distinct=False, expected=known) as runs,
        ):
            for piece in self._pieces():
                owner, number = node[piece], label[piece]
                check.label_numbers(number, len(self._graphs.edge_vocabulary), piece.start, "edge")
                if known < len(label):
                    owner, number = owner[number < self.known], number[number < self.known]
                runs.add(_packed(owner, number))
            for keys, times in runs.merged():
                assert times is not None
                file.append(keys, times)
            return file.finish()

    def _sums(self, name: str, node: Array, features: Tensor) -> dict[str, Entry]:
        nodes, width = self._graphs.num_nodes, features.shape[1]
        step = max(1, self._memory // (32 * max(1, width)))
        with closing(ArrayFile(self._folder / f"{name}.npy", self._numpy_type, width)) as file:
            for low in range(0, nodes, step):
                total = torch.zeros(min(nodes, low + step) - low, width, dtype=self._dtype)
                for piece in self._pieces(width):
                    owner = node[piece] - low
                    here = np.flatnonzero((owner >= 0) & (owner < len(total)))
                    rows = features[piece][torch.from_numpy(here)].to(self._dtype)
                    total.index_add_(0, torch.from_numpy(owner[here]), rows)
                file.append(total.numpy())
            return {name: file.finish()}

    def _known_edges(self, label: Array) -> int:
        if self.known == len(self._graphs.edge_vocabulary):
            return len(label)
        return sum(int((label[piece] < self.known).sum()) for piece in self._pieces())


def _packed(row: Array, column: Array) -> Array:
    """Put each (row, column) into one number that sorts by row, then column."""
    keys = row << 32
    keys |= column
    return keys
