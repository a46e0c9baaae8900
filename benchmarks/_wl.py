"""How fast is color refinement? Against networkx and GraKeL, and against the size of the graph."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

import torch

from benchmarks._growths import draw_growths
from benchmarks._harness import TU_SETS, Row, Skipped, folder_of, measure_alone, or_skipped
from benchmarks._timing import in_turns, wait
from edgnn.graphs import Graphs
from edgnn.io.datasets import load_dataset
from edgnn.wl import Neighborhood, Refinement, WLVectorizer, refine

_STABLE_ALONE = """
import json, sys, time, torch
from benchmarks._harness import peak_bytes
from benchmarks._wl import random_digraph
from edgnn.wl import refine
graphs = random_digraph(int(sys.argv[1]), int(sys.argv[2]))
before = peak_bytes()
start = time.perf_counter()
coloring = refine(graphs, scheme="joint")
seconds = time.perf_counter() - start
peak = peak_bytes()
print(json.dumps({"seconds": seconds, "bytes": peak - before, "rounds": coloring.rounds, "colors": coloring.num_colors()}))
"""


def wl(
    data_dir: str | os.PathLike[str] | None = None, quick: bool = False, device: str = "cpu"
) -> Iterator[Row | Skipped]:
    """Measure refinement, yielding each row as it is done; ``quick`` shrinks everything for tests."""
    repeats, large = (1, 1_000) if quick else (5, 1_000_000)
    if device == "cpu":
        yield or_skipped(
            "three rounds on AIFB", partial(_against_networkx, data_dir, repeats), device
        )
        yield or_skipped(
            "WL features of depth 5", partial(_against_grakel, data_dir, repeats), device
        )
        yield or_skipped("stable joint coloring", partial(_stable, large, 10 * large), device)
        yield or_skipped("stable coloring of a path", partial(_path, large), device)
    largest = (5 if device == "cpu" else 6) if quick else (7 if device == "cpu" else 8)
    for power in range(4, largest + 1):
        growth = partial(_growth, 10**power, device, repeats=1 if quick else 3)
        yield or_skipped(f"five joint rounds, {10**power:,} edges, {device}", growth, device)


def plot(rows: list[Row | Skipped]) -> str:
    """Draw the time of five rounds against the number of edges; return nothing where none was measured."""
    growth = [row for row in rows if isinstance(row, Row) and "ns_per_edge_and_round" in row.extra]
    series: dict[str, list[tuple[float, float]]] = {row.extra["device"]: [] for row in growth}
    for row in growth:
        series[row.extra["device"]].append((row.extra["edges"], row.ours_s / 5))
    return draw_growths({"edges": series}, "One round of joint refinement") if series else ""


def random_digraph(nodes: int, edges: int, device: str = "cpu", labels: int = 64) -> Graphs:
    """Return a uniform random digraph with one node label and uniform edge labels."""
    generator = torch.Generator(device).manual_seed(0)
    ends = torch.randint(nodes, (edges, 2), generator=generator, device=device)
    edge_label = torch.randint(labels, (edges,), generator=generator, device=device)
    return Graphs.from_edges(ends, num_nodes=nodes).with_edge_labels(edge_label)


def _against_networkx(data_dir: str | os.PathLike[str] | None, repeats: int) -> Row | Skipped:
    what = "three rounds on AIFB (8,285 nodes, 29,043 edges)"
    if folder_of("AIFB", data_dir) is None:
        return Skipped(what, "AIFB is not on this machine; load it once, or set EDGNN_DATA")
    import networkx as nx

    graphs = load_dataset("AIFB", data_dir=data_dir).graphs
    digraph = nx.DiGraph()
    labels = graphs.edge_labels
    digraph.add_nodes_from(range(graphs.num_nodes), label="")
    digraph.add_edges_from(
        (source, target, {"label": label})
        for source, target, label in zip(
            graphs.edge_source.tolist(), graphs.edge_target.tolist(), labels, strict=True
        )
    )

    def peer() -> None:
        nx.weisfeiler_lehman_subgraph_hashes(
            digraph, edge_attr="label", node_attr="label", iterations=3
        )

    ours_s, peer_s = in_turns(lambda: refine(graphs, 3, "joint"), peer, repeats)
    extra = {
        "separate_s": round(
            median(_times(lambda: refine(graphs, 3, "separate"), max(repeats, 2))), 5
        )
    }
    return Row(what, ours_s, "networkx weisfeiler_lehman_subgraph_hashes", peer_s, "≥ 30×", extra)


def _against_grakel(data_dir: str | os.PathLike[str] | None, repeats: int) -> Row | Skipped:
    sets = [name for name in TU_SETS if folder_of(name, data_dir) is not None]
    what = f"WL features of depth 5, {len(sets)} TU sets together"
    if len(sets) < len(TU_SETS):
        return Skipped(
            what, "not all five sets are on this machine; load them once, or set EDGNN_DATA"
        )
    try:
        from grakel.kernels import VertexHistogram, WeisfeilerLehman
    except ImportError:
        return Skipped(what, "grakel is not installed")
    collections = [load_dataset(name, data_dir=data_dir).graphs for name in sets]
    theirs = [[_for_grakel(graph) for graph in graphs] for graphs in collections]

    def ours() -> None:
        for graphs in collections:
            WLVectorizer(5, "node").fit_transform(graphs)

    def peer() -> None:
        for graphs in theirs:
            WeisfeilerLehman(n_iter=5, base_graph_kernel=VertexHistogram).fit_transform(graphs)

    ours_s, peer_s = in_turns(ours, peer, repeats)
    return Row(
        what, ours_s, "GraKeL WeisfeilerLehman fit_transform", peer_s, "≥ 20×", {"sets": sets}
    )


def _for_grakel(graph: Graphs) -> list[Any]:
    edges: dict[int, dict[int, float]] = {}
    for source, target in zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True):
        edges.setdefault(source, {})[target] = 1.0
    return [edges, dict(enumerate(graph.node_labels))]


def _stable(nodes: int, edges: int) -> Row:
    result = measure_alone(_STABLE_ALONE, str(nodes), str(edges))
    extra = {
        "peak_bytes_per_edge": round(result["bytes"] / edges, 1),
        "rounds": result["rounds"],
        "colors": result["colors"],
    }
    return Row(
        f"stable joint coloring of {nodes:,} nodes, {edges:,} edges", result["seconds"], extra=extra
    )


def _path(size: int) -> Row:
    edges = torch.stack([torch.arange(size - 1), torch.arange(1, size)], 1)
    graphs = Graphs.from_edges(edges)
    start = time.perf_counter()
    coloring = refine(graphs, scheme="node")
    seconds = time.perf_counter() - start
    extra = {
        "rounds": coloring.rounds,
        "us_per_round": round(1e6 * seconds / max(coloring.rounds, 1), 1),
    }
    return Row(f"stable coloring of a path of {size:,} nodes", seconds, extra=extra)


def _growth(edges: int, device: str, repeats: int) -> Row:
    """Time five whole rounds, the first of five refinements: later ones of one refinement would have less and less to do."""
    graphs = random_digraph(max(edges // 10, 10), edges, device)
    refine(graphs, 1, "joint")
    start = time.perf_counter()
    around = Neighborhood.of(graphs, "joint")
    wait(device)
    build_s = time.perf_counter() - start

    def rounds() -> None:
        for _ in range(5):
            Refinement(graphs.node_label, around, seed=0, exact=False).first()
        wait(device)

    seconds = median(_times(rounds, repeats))
    extra = {
        "edges": edges,
        "ns_per_edge_and_round": round(1e9 * seconds / (5 * edges), 2),
        "neighborhood_s": round(build_s, 5),
        "device": device,
    }
    return Row(f"five joint rounds, {edges:,} edges, {device}", seconds, extra=extra)


def _times(function: Any, repeats: int) -> list[float]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return times
