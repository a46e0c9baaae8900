"""What do the rivals cost? Kernels against GraKeL, walks against a plain walker, an R-GCN epoch against PyG."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks._formulations import both_ways
from benchmarks._grakel import matching_grams, path_grams
from benchmarks._harness import Row, Skipped, as_far_as_it_goes, folder_of
from benchmarks._timing import in_turns
from edgnn.graphs import Graphs
from edgnn.io.datasets import Dataset, load_dataset
from edgnn.models import (
    RGCNNodeClassifier,
    SubgraphMatchingClassifier,
    WLShortestPathClassifier,
    random_walks,
)

_DEPTH, _WALKS = 4, 500
_HIDDEN, _RATE = 16, 0.01


def rivals(
    data_dir: str | os.PathLike[str] | None = None, quick: bool = False, device: str = "cpu"
) -> Iterator[Row | Skipped]:
    """Measure the rivals, yielding each row as it is done; ``quick`` shrinks everything for tests."""
    if device == "cpu":
        mutag = load_dataset("MUTAG", data_dir=data_dir)
        yield from as_far_as_it_goes(
            "kernels", _kernels(mutag.graphs[:12] if quick else mutag.graphs), device
        )
        yield from as_far_as_it_goes(
            "walks", _on_rdf("AIFB", data_dir, partial(_walks, quick=quick)), device
        )
    for name, bases in (("AIFB", None), ("AIFB", 30), ("MUTAG-RDF", 30)):
        if not quick or (name, bases) == ("AIFB", None):
            rows = _on_rdf(
                name, data_dir, partial(_epochs, bases=bases, device=device, quick=quick)
            )
            yield from as_far_as_it_goes(
                f"R-GCN epochs, {name}, {bases or 'no'} bases", rows, device
            )


def _on_rdf(
    name: str,
    data_dir: str | os.PathLike[str] | None,
    measure: Callable[[Dataset], Iterator[Row | Skipped]],
) -> Iterator[Row | Skipped]:
    if folder_of(name, data_dir) is None:
        yield Skipped(
            f"rivals on {name}", f"{name} is not on this machine; load it once, or set EDGNN_DATA"
        )
    else:
        yield from measure(load_dataset(name, data_dir=data_dir))


# Kernels


def _kernels(graphs: Graphs) -> Iterator[Row | Skipped]:
    """Time Gram matrices; GraKeL's once, since it takes minutes, ours beside it."""
    rows: tuple[tuple[str, Any, Any], ...] = (
        (
            "subgraph matching, k = 3",
            SubgraphMatchingClassifier((1, 2, 3), normalize=False),
            partial(matching_grams, graphs, 3),
        ),
        (
            "WL shortest paths, depths 0 to 5",
            WLShortestPathClassifier((0, 1, 2, 3, 4, 5), normalize=False),
            partial(path_grams, graphs, 5),
        ),
    )
    for what, classifier, peer in rows:
        what = f"{what}, {len(graphs)} graphs of MUTAG"
        if find_spec("grakel") is None:
            yield Skipped(what, "grakel is not installed")
            continue
        peer_s, theirs = _timed(peer)
        runs = [_timed(partial(_gram, classifier, graphs)) for _ in range(3)]
        difference = max(
            float(np.abs(theirs[setting] - runs[0][1][setting]).max()) for setting in theirs
        )
        extra = {"largest_difference": difference}
        yield Row(what, median(seconds for seconds, _ in runs), "GraKeL", peer_s, extra=extra)


def _gram(classifier: Any, graphs: Graphs) -> dict[Any, Any]:
    represented = classifier._represent(graphs)
    kernels: dict[Any, Any] = classifier._kernels(represented, represented)
    return kernels


def _timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


# Walks


def plain_walks(
    graphs: Graphs, starts: list[int], depth: int, number: int, seed: int = 0
) -> list[list[int]]:
    """Walk as one does in plain Python: a list of ways out of each node, and a choice at each step."""
    choose = random.Random(seed).choice  # noqa: S311 - walks need no secrets
    ways: list[list[tuple[int, int]]] = [[] for _ in range(graphs.num_nodes)]
    edges = zip(
        graphs.edge_source.tolist(),
        graphs.edge_label.tolist(),
        graphs.edge_target.tolist(),
        strict=True,
    )
    for source, label, target in edges:
        ways[source].append((label, target))
    walks = []
    for start in starts:
        for _ in range(number):
            walk, node = [start], start
            for _ in range(depth):
                if not ways[node]:
                    break
                label, node = choose(ways[node])
                walk += (label, node)
            walks.append(walk)
    return walks


def _walks(dataset: Dataset, quick: bool) -> Iterator[Row | Skipped]:
    graphs, nodes = dataset.graphs, dataset.nodes
    assert nodes is not None
    number = 20 if quick else _WALKS
    for who, starts in (
        ("the labeled nodes", nodes.index.tolist()),
        ("all nodes", list(range(graphs.num_nodes))),
    ):
        few = number if len(starts) < 1000 else number // 10
        ours = partial(random_walks, graphs, starts, depth=_DEPTH, number=few)
        peer = partial(plain_walks, graphs, starts, _DEPTH, few)
        seconds, peer_s = in_turns(ours, peer, 1 if quick else 5)
        what = f"{few} walks of depth {_DEPTH} from {who} of {dataset.name} ({len(starts):,})"
        extra = {"walks_per_second": round(few * len(starts) / seconds)}
        yield Row(what, seconds, "plain Python walker", peer_s, "≥ 20×", extra)


# R-GCN


class PyGRGCN(nn.Module):
    """R-GCN for nodes as PyG's users write it: two layers of a kind, no input but the nodes themselves."""

    def __init__(
        self, kind: str, nodes: int, relations: int, classes: int, bases: int | None
    ) -> None:
        import torch_geometric.nn

        super().__init__()
        conv = getattr(torch_geometric.nn, kind)
        self.first = conv(nodes, _HIDDEN, relations, num_bases=bases, bias=False)
        self.second = conv(_HIDDEN, classes, relations, num_bases=bases, bias=False)

    def forward(self, edge_index: Tensor, edge_type: Tensor) -> Tensor:
        """Return the classes' scores of every node."""
        result: Tensor = self.second(
            torch.relu(self.first(None, edge_index, edge_type)), edge_index, edge_type
        )
        return result


def _epochs(
    dataset: Dataset, bases: int | None, device: str, quick: bool
) -> Iterator[Row | Skipped]:
    told = "no bases" if bases is None else f"{bases} bases"
    what = f"one epoch of R-GCN on {dataset.name} (nodes), 2 layers × {_HIDDEN}, featureless, {told}, {device}"
    if find_spec("torch_geometric") is None:
        yield Skipped(what, "torch_geometric is not installed")
        return
    epochs, repeats = (2, 1) if quick else (10, 5)
    for kind in ("RGCNConv", "FastRGCNConv"):
        peer, seconds, peer_s = (
            _peer(dataset, kind, bases, device, epochs),
            list[float](),
            list[float](),
        )
        for _ in range(repeats):
            seconds.append(_ours(dataset, bases, device, epochs))
            peer_s.append(peer())
        asked = (dataset.name, kind, bases, device) == ("AIFB", "RGCNConv", None, "cpu")
        yield Row(
            what, median(seconds), f"PyG {kind} model", median(peer_s), "≥ 5×" if asked else ""
        )


def _ours(dataset: Dataset, bases: int | None, device: str, epochs: int) -> float:
    """Return the median time of an epoch; the first one, which builds what is kept, is left out."""
    assert dataset.nodes is not None
    assert dataset.targets is not None
    assert dataset.split is not None
    train, times = dataset.split["train"], []
    estimator = RGCNNodeClassifier(
        bases=bases, max_epochs=epochs + 1, device=device, random_state=0
    )
    estimator.fit(
        dataset.nodes[train],
        dataset.targets[train],
        on_epoch=lambda epoch: times.append(time.perf_counter()),
    )
    return median(np.diff(times).tolist())


def _peer(
    dataset: Dataset, kind: str, bases: int | None, device: str, epochs: int
) -> Callable[[], float]:
    """Return what trains PyG's model for some epochs and tells the median time of one, the first left out."""
    assert dataset.nodes is not None
    assert dataset.targets is not None
    assert dataset.split is not None
    (source, target), label = both_ways(dataset.graphs)
    edge_index, edge_type = torch.stack([source, target]).to(device), label.to(device)
    relations = 2 * len(dataset.graphs.edge_vocabulary)
    train = torch.as_tensor(dataset.split["train"])
    nodes, classes = (
        dataset.nodes.index[train].to(device),
        torch.as_tensor(dataset.targets)[train].to(device),
    )
    model = PyGRGCN(kind, dataset.graphs.num_nodes, relations, len(dataset.class_names), bases).to(
        device
    )
    optimizer = torch.optim.Adam(model.parameters(), _RATE)

    def run() -> float:
        times = []
        for _ in range(epochs + 1):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(edge_index, edge_type)[nodes], classes)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            float(loss.detach())
            times.append(time.perf_counter())
        return median(np.diff(times).tolist())

    return run
