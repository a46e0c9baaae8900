"""Outputs of node models layer by layer, some rows at a time: bounded memory on any graph."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from edgnn.errors import TrainingError
from edgnn.graphs import CSR, places, select_rows
from edgnn.nn import Inputs, LargeInputs, Model, SummedStates, with_neighbors
from edgnn.nn.ops import check_lists, constant_product, row_sum

_MEMORY = 2**30
_LEAST_MEMORY, _LARGEST_CHUNK = 2**20, 2**26
_memory: ContextVar[int] = ContextVar("memory", default=_MEMORY)
_INDEX_BYTES = 24  # of one entry of a neighbor list while a chunk is put together
_ROWS_AT_ONCE = 2**16


@torch.no_grad()
def node_outputs(
    model: Model,
    inputs: Inputs | LargeInputs,
    nodes: Tensor,
    *,
    memory: int | None = None,
    states: bool = False,
) -> Tensor:
    r"""Return a node model's outputs for some nodes, layer by layer over the rows they depend on.

    Every state is computed once, whatever the number of layers. Beyond the graph and the result,
    the most memory that is held is

    .. math:: m \cdot b \cdot \max_t (N_t d_t + N_{t+1} d_{t+1}) + c

    the states of two layers before the last, which goes straight into the result (so of one, where
    there are two layers): each of the :math:`N_t \le N` nodes that are needed of it, :math:`d_t`
    wide, of m members at a time, b bytes per number; and a chunk c, an eighth of ``memory`` up to
    64 MiB, or what the largest neighbor list takes. Where ``memory`` is too little for all members,
    fewer are taken at a time; where it is too little for one, the states are kept in temporary
    files, in the folder that the environment variable ``TMPDIR`` names (``/tmp`` without; where
    that is kept in memory, as on many systems, name one on a disk).

    Parameters
    ----------
    model : Model
        Is used as it is after training, without dropout.
    inputs : Inputs or LargeInputs
        Of the whole graphs.
    nodes : Tensor
        Which outputs are wanted.
    memory : int, optional
        Bytes for states and chunk; by default 1 GiB, on CUDA half of what is free.
    states : bool
        Whether the states before the outputs are wanted instead.

    Shapes
    ------
    nodes (n,) → (n, K);  with members, (M, n, K)
    """
    memory = default_memory(inputs.device) if memory is None else memory
    if not isinstance(memory, Integral) or memory < _LEAST_MEMORY:
        raise TrainingError(
            f"memory={memory!r}: at least {_LEAST_MEMORY:,} bytes are needed, a whole number of "
            "them"
        )
    training = model.training
    model.eval()
    try:
        nodes = nodes.to(inputs.structure.device)
        wanted, place = torch.unique(nodes, return_inverse=True)
        layers = len(model.convs)
        if states and not hasattr(model, "head"):  # the last layer gives the outputs
            layers -= 1
        plan = _Plan(model, inputs, wanted, layers)
        parts = _parts(model, plan.members(memory))
        of_members = [plan.run(part, memory, states) for part in parts]
        together = of_members[0] if len(of_members) == 1 else torch.cat(of_members)
        if torch.equal(wanted, nodes):
            return together
        return together[..., place.to(together.device), :]
    finally:
        model.train(training)


def default_memory(device: torch.device) -> int:
    """Return how many bytes of states are held at once: 1 GiB, on CUDA half of what is free."""
    return _memory.get() if device.type != "cuda" else torch.cuda.mem_get_info(device)[0] // 2


@contextmanager
def states_within(memory: int) -> Iterator[None]:
    """Let states on the CPU take at most so many bytes (at least 1 MiB) while the block lasts."""
    token = _memory.set(min(_memory.get(), max(_LEAST_MEMORY, memory)))
    try:
        yield
    finally:
        _memory.reset(token)


class _Plan:
    """Which rows of every layer are needed, and how they are computed.

    Embeddings of nodes are a layer of their own, before all others.
    """

    def __init__(
        self, model: Model, inputs: Inputs | LargeInputs, nodes: Tensor, layers: int
    ) -> None:
        self.inputs, self.structure = inputs, inputs.structure
        self.embedded, self.convs = model.embedding is not None, model.convs[:layers]
        self.constant = not self.embedded and model.convs[0].takes_constants(inputs.cells)
        check_lists(self.structure, model.convs[0].relations)
        self.widths = [] if model.embedding is None else [int(model.embedding.shape[-1])]
        self.widths += [conv.out_dim for conv in self.convs]
        self.needed = [nodes]
        for _ in self.widths[1:]:
            self.needed.insert(0, _reached(self.structure.neighbors, self.needed[0]))
        self.bytes = next(model.parameters()).element_size()

    @property
    def table_bytes(self) -> int:
        """The most bytes of states that are held at a time per member, without the result."""
        layers = list(zip(self.needed, self.widths, strict=False))[:-1]
        sizes = [len(rows) * width * self.bytes for rows, width in layers]
        return max((one + two for one, two in pairwise([*sizes, 0])), default=0)

    def members(self, memory: int) -> int:
        """Return how many members to compute at a time."""
        return max(1, (memory - _chunk(memory)) // max(1, self.table_bytes))

    def run(self, model: Model, memory: int, states: bool) -> Tensor:
        """Return the outputs of a model for the wanted nodes."""
        if not self.widths:
            return self._entering(model)
        members, dtype = model.members or 1, next(model.parameters()).dtype
        shape = () if model.members is None else (members,)
        needed, chunk = self.table_bytes * members, _chunk(memory)
        in_files = needed if needed > memory - chunk else None
        with _Tables(self.inputs.device, dtype, in_files) as tables:
            table = None
            for number, (rows, width) in enumerate(zip(self.needed, self.widths, strict=True)):
                ends = number == len(self.widths) - 1
                finishes = ends and not states
                size = model.config["outputs"] if finishes else width
                made = tables.new(
                    (*shape, len(rows), size), rows, self.structure.num_nodes, result=ends
                )
                for part, place in _chunks(rows, self._cost(number, rows, members), chunk):
                    state = self._state(model, number, part, table)
                    made.values[..., place, :] = _finished(model, state) if finishes else state
                table = made
        assert table is not None
        return table.values

    def _state(self, model: Model, number: int, rows: Tensor, table: _Table | None) -> Tensor:
        """Return the next states of some rows."""
        if self.embedded and not number:
            assert model.embedding is not None
            return constant_product(_inputs_of(self.inputs, rows), model.embedding)
        structure, device, dtype = self.structure, self.inputs.device, self.inputs.dtype
        conv: Any = model.convs[number - self.embedded]
        if table is None:
            hop = structure.rows(
                rows, None if self.constant else with_neighbors(structure.neighbors, rows)
            )
            entering = self.inputs.of_hops((hop,), rows)
            x: Any = model.entering(entering)
            hop = entering.layer(0)
        elif conv.reads_sums:
            # sums straight out of the table: a copy of all columns would cost several times as much
            x = SummedStates(
                table.rows(rows),
                row_sum(table.numbered(structure.neighbors.take(rows)), table.values),
                one_hot=False,
            )
            hop = structure.rows(rows).to(device, dtype)
        else:
            columns = with_neighbors(structure.neighbors, rows)
            x, hop = table.rows(columns), structure.rows(rows, columns).to(device, dtype)
        state: Tensor = conv(x, hop)
        return state

    def _cost(self, number: int, rows: Tensor, members: int) -> Tensor:
        """Return about how many bytes it takes to compute each row."""
        starts, width = self.structure.neighbors.indptr, self.widths[number]
        if self.embedded and not number:
            return torch.full((len(rows),), 2 * members * width * self.bytes)
        conv = self.convs[number - self.embedded]
        numbers = members * (2 * conv.in_dim + 3 * width) + 2 * self.structure.num_edge_labels
        copied = 0 if conv.reads_sums else 2 * members * conv.in_dim * self.bytes
        degree = (starts[rows + 1] - starts[rows]).to(torch.int64)
        cost: Tensor = numbers * self.bytes + degree * (_INDEX_BYTES + copied)
        return cost

    def _entering(self, model: Model) -> Tensor:
        H0 = _inputs_of(self.inputs, self.needed[-1])
        dense = H0 if isinstance(H0, Tensor) else H0.to_dense(self.inputs.dtype)
        return dense if model.members is None else dense.expand(model.members, -1, -1)


class _Table:
    """States of some nodes: all, or those that ``place`` has a row for."""

    def __init__(self, values: Tensor, place: Tensor | None) -> None:
        self.values, self.place = values, place

    def rows(self, nodes: Tensor) -> Tensor:
        """Return the states of some nodes."""
        rows = nodes if self.place is None else self.place[nodes].long()
        return self.values.index_select(-2, rows.to(self.values.device))

    def numbered(self, lists: CSR) -> CSR:
        """Return lists of nodes as lists of rows."""
        indices = lists.indices
        if self.place is not None:
            indices = self.place[indices.long()].to(indices.dtype)
        shape = (lists.shape[0], self.values.shape[-2])
        return CSR(lists.indptr, indices, None, shape).to(self.values.device)


class _Tables:
    """Makes tables in memory or, given the bytes of two layers, in files of a temporary folder."""

    def __init__(self, device: torch.device, dtype: torch.dtype, in_files: int | None) -> None:
        self._device, self._dtype, self._made, self._bytes = device, dtype, 0, in_files
        self._folder = None
        if in_files and device.type == "cpu":
            self._folder = TemporaryDirectory(prefix="edgnn-states-")

    def __enter__(self) -> _Tables:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def new(self, shape: tuple[int, ...], rows: Tensor, nodes: int, *, result: bool) -> _Table:
        """Return an empty table for the states of ``rows``; results are always in memory."""
        place = None if result or len(rows) == nodes else places(rows, nodes)
        if self._folder is None or result or not rows.numel():
            return _Table(torch.empty(shape, dtype=self._dtype, device=self._device), place)
        folder, size = Path(self._folder.name), torch.Size(shape).numel()
        path = folder / str(self._made)
        # the layer before the last is not read any more
        (folder / str(self._made - 2)).unlink(missing_ok=True)
        self._made += 1
        try:
            _reserve(path, size * self._dtype.itemsize)
        except OSError as error:
            raise TrainingError(
                f"the states of two layers take {self._bytes:,} bytes, but {folder.parent} has no "
                f"such room ({error.strerror}): "
                "name a folder with more of it in the environment variable TMPDIR, or give more "
                "memory"
            ) from None
        values = torch.from_file(str(path), shared=True, size=size, dtype=self._dtype)
        return _Table(values.view(shape), place)


def _reserve(path: Path, size: int) -> None:
    """Make a file of so many bytes that are really there.

    To write where a mapped file has no room would end the whole program.
    """
    with path.open("wb") as stream:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(stream.fileno(), 0, size)
        else:
            for start in range(0, size, _LEAST_MEMORY):
                stream.write(bytes(min(_LEAST_MEMORY, size - start)))


def _parts(model: Model, size: int) -> Iterator[Model]:
    """Yield the model, or models of some of its members."""
    if model.members is None or model.members <= size:
        yield model
        return
    weights, some = model.state_dict(), next(model.parameters())
    for start in range(0, model.members, size):
        rows = slice(start, min(start + size, model.members))
        part = model.with_members(rows.stop - rows.start).to(some)
        part.load_state_dict({name: value[rows] for name, value in weights.items()})
        yield part.eval()


def _finished(model: Model, x: Tensor) -> Tensor:
    """Return the outputs that come of the last states."""
    return model.in_units(model.head(x) if hasattr(model, "head") else x)


def _inputs_of(inputs: Inputs | LargeInputs, rows: Tensor) -> Tensor | CSR:
    if isinstance(inputs, LargeInputs):
        return inputs.node_inputs(rows)
    return select_rows(inputs.H0, rows)


def _reached(neighbors: CSR, rows: Tensor) -> Tensor:
    """Return ``rows`` and all their neighbors, rising."""
    if len(rows) == neighbors.shape[0]:
        return rows
    met = torch.zeros(neighbors.shape[1], dtype=torch.bool, device=rows.device)
    met[rows] = True
    for part in torch.split(rows, _ROWS_AT_ONCE):
        met[neighbors.take(part).indices.long()] = True
    return met.nonzero().flatten()


def _chunks(rows: Tensor, cost: Tensor, most: int) -> Iterator[tuple[Tensor, slice]]:
    """Cut rows into chunks of at most so many bytes, or of one row; yield each with its place."""
    total, start = torch.cumsum(cost, 0).cpu(), 0
    while start < len(rows):
        spent = int(total[start - 1]) if start else 0
        stop = max(start + 1, int(torch.searchsorted(total, spent + most, right=True)))
        yield rows[start:stop], slice(start, stop)
        start = stop


def _chunk(memory: int) -> int:
    return min(memory // 8, _LARGEST_CHUNK)
