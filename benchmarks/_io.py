"""How fast does data arrive? RDF against rdflib, TU against PyG, the structure against one sort."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks._harness import TU_SETS, Row, Skipped, folder_of, measure_alone, or_skipped
from benchmarks._timing import in_turns, wait
from edgnn.graphs import Graphs, Structure
from edgnn.io import read_rdf, read_tu

_READ_ALONE = """
import json, sys, time
from benchmarks._harness import peak_bytes
from edgnn.io import read_rdf
import torch, pyoxigraph
before = peak_bytes()
start = time.perf_counter()
graphs = read_rdf(sys.argv[1]).graphs
seconds = time.perf_counter() - start
peak = peak_bytes()
print(json.dumps({"seconds": seconds, "bytes": peak - before, "nodes": graphs.num_nodes, "edges": graphs.num_edges}))
"""


def io(
    data_dir: str | os.PathLike[str] | None = None, quick: bool = False, device: str = "cpu"
) -> Iterator[Row | Skipped]:
    """Measure reading and structure building, yielding each row as it is done.

    ``quick`` shrinks the generated data tenfold or more: for tests, not for figures. On another
    device only the structure is built.
    """
    nodes, edges = (10_000, 100_000) if quick else (1_000_000, 10_000_000)
    repeats = 1 if quick else 5
    structure = partial(_structure, nodes, edges, labels=64, repeats=repeats, device=device)
    if device != "cpu":
        yield or_skipped("Structure", structure, device)
        return
    yield or_skipped("N-Triples to Graphs", partial(_ntriples, data_dir, repeats), device)
    yield or_skipped("TU folders to Graphs", partial(_tu, data_dir, repeats), device)
    yield or_skipped("Structure", structure, device)
    yield or_skipped(
        "N-Triples to Graphs, generated",
        partial(_large_rdf, 20_000 if quick else 5_000_000),
        device,
    )


def _ntriples(data_dir: str | os.PathLike[str] | None, repeats: int) -> Row | Skipped:
    what = "N-Triples to Graphs, MUTAG-RDF (74,227 triples, gzip)"
    folder = folder_of("MUTAG-RDF", data_dir)
    if folder is None:
        return Skipped(what, "MUTAG-RDF is not on this machine; load it once, or set EDGNN_DATA")
    try:
        import rdflib
    except ImportError:
        return Skipped(what, "rdflib is not installed")
    file = folder / "mutag_stripped.nt.gz"

    def peer() -> None:
        with gzip.open(file) as stream:
            rdflib.Graph().parse(stream, format="nt")

    ours_s, peer_s = in_turns(lambda: read_rdf(file), peer, repeats)
    return Row(
        what, ours_s, "rdflib parse", peer_s, "≥ 8×", {"triples_per_s": round(74_227 / ours_s)}
    )


def _tu(data_dir: str | os.PathLike[str] | None, repeats: int) -> Row | Skipped:
    folders = {
        name: folder for name in TU_SETS if (folder := folder_of(name, data_dir)) is not None
    }
    what = f"TU folders to Graphs, {len(folders)} sets together"
    if len(folders) < len(TU_SETS):
        return Skipped(
            what, "not all five sets are on this machine; load them once, or set EDGNN_DATA"
        )
    try:
        from torch_geometric.io import read_tu_data
    except ImportError:
        return Skipped(what, "torch_geometric is not installed")

    def ours() -> None:
        for folder in folders.values():
            read_tu(folder)

    def peer() -> None:
        for name, folder in folders.items():
            read_tu_data(str(folder), name)

    ours_s, peer_s = in_turns(ours, peer, repeats)
    return Row(what, ours_s, "PyG read_tu_data", peer_s, "≥ 5×", {"sets": list(folders)})


def _structure(nodes: int, edges: int, labels: int, repeats: int, device: str = "cpu") -> Row:
    generator = torch.Generator().manual_seed(0)
    ends = torch.randint(nodes, (edges, 2), generator=generator)
    edge_labels = torch.randint(labels, (edges,), generator=generator)
    graphs = Graphs.from_edges(ends, num_nodes=nodes, edge_labels=edge_labels).to(device)
    structure = Structure.of(graphs)

    def ours() -> None:
        Structure.of(graphs)
        wait(device)

    def peer() -> None:
        torch.argsort(graphs.edge_target)
        wait(device)

    ours_s, peer_s = in_turns(ours, peer, repeats)
    extra = {
        "bytes_per_edge": round(structure.nbytes / edges, 1),
        "nodes": nodes,
        "edges": edges,
        "edge_labels": labels,
    }
    return Row(
        f"Structure of {nodes:,} nodes, {edges:,} edges, {device}",
        ours_s,
        "torch.argsort of targets",
        peer_s,
        "≤ 5×",
        extra,
    )


def _large_rdf(triples: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.nt"
        _generate(path, triples)
        size = path.stat().st_size
        result = measure_alone(_READ_ALONE, str(path))
    extra = {
        "triples_per_s": round(triples / result["seconds"]),
        "peak_bytes_per_triple": round(result["bytes"] / triples, 1),
        "file_bytes_per_triple": round(size / triples, 1),
        "nodes": result["nodes"],
        "edges": result["edges"],
    }
    return Row(
        f"N-Triples to Graphs, {triples:,} generated triples", result["seconds"], extra=extra
    )


def _generate(path: Path, triples: int) -> None:
    """Write random triples over a fifth as many entities, 50 predicates, one literal in five."""
    random = np.random.default_rng(0)
    entities = max(triples // 5, 1)
    with path.open("w", encoding="ascii") as stream:
        for start in range(0, triples, 100_000):
            count = min(100_000, triples - start)
            numbers = random.integers(entities, size=(count, 2)).tolist()
            predicates = random.integers(50, size=count).tolist()
            literals = (random.random(count) < 0.2).tolist()
            for (subject, target), predicate, literal in zip(
                numbers, predicates, literals, strict=True
            ):
                end = f'"value {target}"' if literal else f"<http://example.org/entity/{target}>"
                stream.write(
                    f"<http://example.org/entity/{subject}> <http://example.org/relation/{predicate}> {end} .\n"
                )
