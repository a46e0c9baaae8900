"""Graphs in files: what it takes to count them, to open them, and to compute all outputs in bounded memory, each by itself."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from benchmarks._extra_memory import most_held, return_memory_at_once
from benchmarks._formulations import Size
from benchmarks._harness import Memory, Row, Skipped, measure_alone, or_skipped
from benchmarks._scale_epochs import graph_size, model_config
from benchmarks._wl import random_digraph
from edgnn.graphs import CSR, Graphs, Structure
from edgnn.io import open_structure, read_arrays, write_arrays, write_structure
from edgnn.nn import Inputs, LargeInputs, NodeModel
from edgnn.training import outputs

LAYERS = 3
_ALONE = """
import json, sys
from benchmarks._formulations import Size
from benchmarks._scale_files import measured
print(json.dumps(measured(sys.argv[1], sys.argv[2], int(sys.argv[3]), Size(*map(int, sys.argv[4:8])))))
"""
_SMALL = 50, 500
_Call = Callable[[], Any]


def file_rows(size: Size, memory: int) -> Iterator[Row | Skipped]:
    """Write a random graph to files, then measure what can be done with them, each in a process of its own.

    Memory is what a process holds on top of the graph where that is in memory, without pages of
    mapped files. Nothing waits for a disk: the files are fresh, so the system still has them in
    memory.
    """
    bounded, inference = (
        f"{memory / 2**20:g} MiB",
        f"all outputs, {graph_size(size)}, {LAYERS} layers, width {size.width}",
    )
    whole = ("whole", "whole graph at once")
    rows = (
        (
            f"structure of {graph_size(size)}",
            ("count-to-files", f"write_structure, memory {bounded}"),
            ("count", "Structure.of"),
        ),
        (
            f"graph and structure of {graph_size(size)}",
            ("open", "mapped"),
            ("load", "read into memory"),
        ),
        (inference, ("layers-of-files", f"layer by layer, mapped graph, memory {bounded}"), whole),
        (inference, ("layers", "layer by layer"), whole),
    )
    with tempfile.TemporaryDirectory(prefix="edgnn-bench-") as folder:
        write_arrays(
            random_digraph(size.nodes, size.edges, labels=size.labels), Path(folder) / "graphs"
        )
        numbers = [
            str(number) for number in (memory, size.nodes, size.edges, size.labels, size.width)
        ]
        alone = cache(lambda way: measure_alone(_ALONE, way, folder, *numbers))
        for what, ours, peer in rows:
            yield or_skipped(f"{ours[1]}, {what}", partial(_row, what, ours, peer, alone), "cpu")


def _row(
    what: str, ours: tuple[str, str], peer: tuple[str, str], alone: Callable[[str], dict[str, Any]]
) -> Row:
    mine, theirs = alone(ours[0]), alone(peer[0])
    used = Memory(mine["bytes"], theirs["bytes"])
    return Row(what, mine["seconds"], peer[1], theirs["seconds"], ours=ours[1], memory=used)


def measured(way: str, folder: str, memory: int, size: Size) -> dict[str, Any]:
    """Return seconds and memory of one way, in this process, which must have done nothing else.

    A small graph comes first, so that what is loaded and set up on first use is no part of it.
    """
    return_memory_at_once()
    with tempfile.TemporaryDirectory(prefix="edgnn-bench-") as small:
        few = Size(*_SMALL, size.labels, size.width)
        write_arrays(random_digraph(*_SMALL, labels=size.labels), Path(small) / "graphs")
        write_structure(_graphs(small), Path(small) / "structure")
        _WAYS[way](small, memory, few)()
    call = _WAYS[way](folder, memory, size)
    start = time.perf_counter()
    held, _ = most_held(call)
    return {"seconds": time.perf_counter() - start, "bytes": held}


def _count_to_files(folder: str, memory: int, size: Size) -> _Call:
    place = Path(folder) / "structure"
    if place.exists():
        place = place.with_name("structure-again")
    return partial(write_structure, _graphs(folder), place, memory=memory)


def _count(folder: str, memory: int, size: Size) -> _Call:
    return partial(Structure.of, _graphs(folder))


def _open(folder: str, memory: int, size: Size) -> _Call:
    return lambda: (_graphs(folder), _structure(folder))


def _load(folder: str, memory: int, size: Size) -> _Call:
    def load() -> list[Any]:
        graphs, structure = _graphs(folder), _structure(folder)
        arrays: list[Any] = [
            graphs.node_label,
            graphs.edge_source,
            graphs.edge_target,
            graphs.edge_label,
        ]
        for matrix in (structure.neighbors, structure.C_in, structure.C_out):
            arrays += (
                [matrix.indptr, matrix.indices, matrix.values]
                if isinstance(matrix, CSR)
                else [matrix]
            )
        return [part.clone() for part in arrays if part is not None]

    return load


def _layers_of_files(folder: str, memory: int, size: Size) -> _Call:
    inputs = LargeInputs.of(_graphs(folder), _structure(folder))
    return partial(outputs, _model(size), inputs, memory=memory)


def _layers(folder: str, memory: int, size: Size) -> _Call:
    graphs = _graphs(folder)
    return partial(outputs, _model(size), LargeInputs.of(graphs, Structure.of(graphs)))


def _whole(folder: str, memory: int, size: Size) -> _Call:
    model, inputs = _model(size), Inputs.of(_graphs(folder))

    def forward() -> Any:
        with torch.no_grad():
            return model(inputs)

    return forward


_WAYS: dict[str, Callable[[str, int, Size], _Call]] = {
    "count-to-files": _count_to_files,
    "count": _count,
    "open": _open,
    "load": _load,
    "layers-of-files": _layers_of_files,
    "layers": _layers,
    "whole": _whole,
}


def _graphs(folder: str) -> Graphs:
    return read_arrays(Path(folder) / "graphs").graphs


def _structure(folder: str) -> Structure:
    return open_structure(Path(folder) / "structure")


def _model(size: Size) -> NodeModel:
    return NodeModel(**model_config(size, LAYERS)).eval()
