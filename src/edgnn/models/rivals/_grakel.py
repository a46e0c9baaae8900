"""The same kernels as GraKeL computes them: graph by graph and pair by pair, many times slower, to compare with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from edgnn._optional import optional
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models.kernels._reading import Array, job_count
from edgnn.models.rivals._gram_cache import OnBlock, cached_blocks, content_key
from edgnn.models.rivals._part_counts import PartCounts
from edgnn.models.rivals._subgraphs import Content
from edgnn.wl import bare

Backend = Literal["edgnn", "grakel"]

_ROWS = 8  # of a block: a few seconds' work
_LAYOUT = 1


def check_backend(backend: Any) -> Backend:
    """Return the name of a backend that there is."""
    if backend not in ("edgnn", "grakel"):
        raise EstimatorError(f"backend={backend!r}: choose 'edgnn' or 'grakel'")
    found: Backend = backend
    return found


def matching_products(
    rows: Graphs,
    columns: Graphs,
    k: int,
    *,
    n_jobs: int | None = None,
    folder: Path | None = None,
    on_block: OnBlock | None = None,
) -> Array:
    """Return how many connected subgraphs of each size match, for all pairs of graphs, by GraKeL's ``SubgraphMatching``.

    GraKeL looks at one direction of each pair of nodes only, so it is given edges both ways with
    labels that say everything between the two nodes; loops are part of their node's label.

    Parameters
    ----------
    rows, columns : Graphs
        What to compare; where both are one object, each pair is computed once.
    k : int
        Largest number of nodes.
    n_jobs : int, optional
        Number of processes; default: one per core.
    folder : Path, optional
        Where finished blocks of rows are kept, and looked for.
    on_block : callable, optional
        Called with the number of finished blocks and of all.

    Shapes
    ------
    → (k, len(rows), len(columns))
    """
    optional("grakel", "the subgraph matching kernel with backend='grakel'")
    both = rows if rows is columns else Graphs.concat([rows, columns])
    inputs = _matching_inputs(both)
    left, right = inputs[: len(rows)], inputs[-len(columns) :] if len(columns) else []
    starts = range(0, len(rows), _ROWS)
    skipped = [start if rows is columns else 0 for start in starts]
    shapes = [
        (k, len(left[start : start + _ROWS]), len(columns) - skip)
        for start, skip in zip(starts, skipped, strict=True)
    ]

    def compute(missing: list[int]) -> Iterator[tuple[int, Array]]:
        work = (
            (number, left[starts[number] :][:_ROWS], right[skipped[number] :], k, rows is columns)
            for number in missing
        )
        yield from _in_processes(work, n_jobs)

    if folder is not None:
        parameters = {
            "kernel": "matching",
            "k": k,
            "rows": _ROWS,
            "layout": _LAYOUT,
            "grakel": version("grakel"),
        }
        folder = folder / content_key([rows] if rows is columns else [rows, columns], parameters)
    products = np.zeros((k, len(rows), len(columns)))
    for start, skip, block in zip(
        starts, skipped, cached_blocks(shapes, compute, folder, on_block), strict=True
    ):
        products[:, start : start + _ROWS, skip:] = block
    if rows is columns:
        lower = np.tril_indices(len(rows), -1)
        products[:, lower[0], lower[1]] = products[:, lower[1], lower[0]]
    return products


def _in_processes(
    work: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[tuple[int, Array]]:
    """Compute blocks in processes of their own, as they come; the processes end with the last block, or when interrupted."""
    from joblib import effective_n_jobs
    from joblib.externals.loky import ProcessPoolExecutor, as_completed

    processes = effective_n_jobs(-1 if n_jobs is None else job_count(n_jobs))
    if processes == 1:
        yield from (_block(*block) for block in work)
        return
    pool = ProcessPoolExecutor(processes)
    try:
        for done in as_completed([pool.submit(_block, *block) for block in work]):
            yield done.result()
    finally:
        pool.shutdown(kill_workers=True)


def matching_squares(graphs: Graphs, k: int) -> Array:
    """Return how many connected subgraphs of each size match within each graph.

    Shapes
    ------
    → (k, len(graphs))
    """
    squares = [
        _block(0, [graph], [graph], k, False)[1].reshape(k) for graph in _matching_inputs(graphs)
    ]
    return np.reshape(squares, (len(graphs), k)).T


def path_counts(graphs: Graphs, depth: int) -> PartCounts:
    """Count pairs of colors and their distance by GraKeL's ``WeisfeilerLehman`` over ``ShortestPath``.

    Directions are ignored. The groups are the rounds.
    """
    grakel = optional("grakel", "the shortest-path kernel with backend='grakel'")
    inputs = _path_inputs(graphs)
    filled = [number for number, (edges, _) in enumerate(inputs) if edges]
    pieces = []
    if filled:
        kernel = grakel.WeisfeilerLehman(
            n_iter=max(depth, 1), base_graph_kernel=(grakel.ShortestPath, {"with_labels": True})
        )
        fitted = kernel.fit([inputs[number] for number in filled]).X
        for round in range(depth + 1):
            found = [
                (filled[row], kind, times)
                for row, kinds in fitted[round].X.items()
                for kind, times in kinds.items()
            ]
            graph, kind, times = np.reshape(np.array(found, dtype=np.int64), (-1, 3)).T
            pieces.append(
                (
                    graph,
                    kind * (depth + 1) + round,
                    np.full(len(kind), round),
                    np.ones(len(kind), dtype=np.int64),
                    times,
                )
            )
    return PartCounts.collect(pieces, len(graphs))


def _block(
    number: int, rows: list[Any], columns: list[Any], k: int, triangle: bool
) -> tuple[int, Array]:
    """Compare some rows with all columns; of a triangle, with the columns from the row's own on."""
    from grakel.kernels.subgraph_matching import sm_kernel

    values = np.zeros((k, len(rows), len(columns)))
    for row, one in enumerate(rows):
        for column in range(row if triangle else 0, len(columns)):
            values[:, row, column] = sm_kernel(one, columns[column], _equal, _equal, k)[:k]
    return number, values


def _equal(a: int, b: int) -> int:
    return int(a == b)


def _matching_inputs(graphs: Graphs) -> list[Any]:
    """Return each graph as GraKeL's own function takes it: node count, edges, node labels, edge labels."""
    content, offset = Content.of(graphs), graphs.graph_offset.tolist()
    first = np.repeat(np.arange(len(content.node)), np.diff(content.indptr))
    node, pair, ends = content.node.tolist(), content.pair.tolist(), content.indptr.tolist()
    inputs = []
    for start, stop in pairwise(offset):
        own = slice(ends[start], ends[stop])
        edges = list(
            zip(
                (first[own] - start).tolist(), (content.neighbor[own] - start).tolist(), strict=True
            )
        )
        labels = dict(zip(edges, pair[own], strict=True))
        inputs.append((stop - start, set(edges), dict(enumerate(node[start:stop])), labels))
    return inputs


def _path_inputs(graphs: Graphs) -> list[tuple[dict[int, dict[int, float]], dict[int, int]]]:
    """Return each graph as nested dictionaries of edges, both ways, and its node labels."""
    graphs = bare(graphs).to("cpu")
    offset, label = graphs.graph_offset.tolist(), graphs.node_label.tolist()
    edges: list[dict[int, float]] = [{} for _ in label]
    start = graphs.graph_offset[graphs.graph_of_node]
    source, target = graphs.edge_source, graphs.edge_target
    inside = zip(source.tolist(), target.tolist(), start[source].tolist(), strict=True)
    for a, b, first in inside:
        edges[a][b - first] = edges[b][a - first] = 1.0
    return [
        (dict(enumerate(edges[begin:end])), dict(enumerate(label[begin:end])))
        for begin, end in pairwise(offset)
    ]
