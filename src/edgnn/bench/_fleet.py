"""What does one more model cost? A fleet against PyG models trained one after another, and against its own size."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from edgnn.bench._harness import Row, Skipped, folder_of, wait
from edgnn.datasets import Dataset, load_dataset
from edgnn.graphs import Graphs
from edgnn.io import to_pyg
from edgnn.nn import Inputs
from edgnn.training import Member, Settings, Targets, Trained, outputs, train

_Array = np.ndarray[Any, Any]
_Split = tuple[_Array, _Array, _Array]

LEARNING_RATE, WEIGHT_DECAY, BATCH_SIZE, HIDDEN, LAYERS = 1e-4, 5e-4, 8, 64, 2


def fleet(data_dir: str | os.PathLike[str] | None = None, quick: bool = False, device: str = "cpu") -> Iterator[Row | Skipped]:
    """Measure the training of fleets, yielding each row as it is done; ``quick`` shrinks everything for tests."""
    mutag = load_dataset("MUTAG", data_dir=data_dir)
    models, epochs, repeats = (4, 2, 1) if quick else (100, 40, 3)
    for batch_norm in (False, True):
        yield _against_gine(mutag, models, epochs, repeats, batch_norm, device)
    for members in (1, 2, 4) if quick else (1, 10, 100):
        yield _members(mutag, members, 2 if quick else 10, device)
    for members in (1, 2) if quick else (1, 20):
        yield _nodes(data_dir, members, 5 if quick else 40, device)


def folds(items: int, models: int) -> list[_Split]:
    """Return training, validation and test positions of repeated 10-fold splits; a tenth of the whole set is for validation."""
    parts = []
    for repeat in range(-(-models // 10)):
        order = np.random.default_rng(repeat).permutation(items)
        for fold in range(10):
            test = order[fold::10]
            rest = np.random.default_rng([repeat, fold]).permutation(np.setdiff1d(order, test))
            parts.append((rest[items // 10 :], rest[: items // 10], test))
    return parts[:models]


def gine(inputs: int, edge_labels: int, outputs: int, batch_norm: bool = False, hidden: int = HIDDEN) -> nn.Module:
    """Return PyG's GIN with edge labels: a sum of all layers' states per graph, then one linear map."""
    from torch_geometric.nn import GINEConv, global_add_pool

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [inputs] + [hidden] * LAYERS
            self.convolutions = nn.ModuleList(
                GINEConv(nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, hidden)), edge_dim=edge_labels)
                for width in widths[:-1]
            )
            self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) if batch_norm else nn.Identity() for _ in range(LAYERS))
            self.head = nn.Linear(sum(widths), outputs)

        def forward(self, data: Any) -> Tensor:
            states = [data.x]
            for convolution, norm in zip(self.convolutions, self.norms, strict=True):
                states.append(norm(torch.relu(convolution(states[-1], data.edge_index, data.edge_attr))))
            result: Tensor = self.head(global_add_pool(torch.cat(states, 1), data.batch, data.num_graphs))
            return result

    return Model()


def train_gine(
    model: nn.Module, data: list[Any], training: _Array, validation: _Array, epochs: int, device: str
) -> list[float]:
    """Train one PyG model as its users do and return the validation loss of each epoch."""
    from torch_geometric.loader import DataLoader

    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    batches = DataLoader([data[item] for item in training], BATCH_SIZE, shuffle=True)
    held_out = DataLoader([data[item] for item in validation], len(validation))
    losses = []
    for _ in range(epochs):
        model.train()
        for batch in batches:
            batch = batch.to(device)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch), batch.y).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for batch in held_out:
                batch = batch.to(device)
                losses.append(float(nn.functional.cross_entropy(model(batch), batch.y)))
    return losses


def as_pyg(dataset: Dataset) -> list[Any]:
    """Return a graph set as PyG's own data sets come: one-hot labels and the class, nothing else to collate."""
    from torch_geometric.data import Data

    assert dataset.targets is not None
    return [
        Data(x=graph.x, edge_index=graph.edge_index, edge_attr=graph.edge_attr, y=torch.tensor([target]))
        for graph, target in zip(to_pyg(dataset.graphs, one_hot=True), dataset.targets.tolist(), strict=True)
    ]


def train_fleet(dataset: Dataset, inputs: Inputs, models: int, epochs: int, batch_norm: bool, device: str) -> Trained:
    """Train so many models of the paper's shape on a graph set, each on a fold of its own, as one fleet."""
    members = [Member(training, validation, seed) for seed, (training, validation, _) in enumerate(folds(len(dataset), models))]
    settings = Settings(
        max_epochs=epochs, batch_size=BATCH_SIZE, learning_rate=LEARNING_RATE, weight_decay=WEIGHT_DECAY, device=device
    )
    config = _shape(dataset.graphs, dataset, layers=LAYERS, batch_norm=batch_norm)
    return train("graph", config, inputs, _targets(dataset), members, settings)


def _against_gine(dataset: Dataset, models: int, epochs: int, repeats: int, batch_norm: bool, device: str) -> Row | Skipped:
    """Time the fleet and, in turns, single PyG models; their median times the number of models is the peer's time."""
    what = (
        f"{models} models of {dataset.name}, {epochs} epochs each, {'with' if batch_norm else 'without'} batch norm, {device}"
    )
    try:
        data = as_pyg(dataset)
    except ImportError:
        return Skipped(what, "torch_geometric is not installed")
    inputs, splits = Inputs.of(dataset.graphs, device=device), folds(len(dataset), models)
    vocabularies = dataset.graphs.node_vocabulary, dataset.graphs.edge_vocabulary

    def ours(epochs: int) -> Trained:
        return train_fleet(dataset, inputs, models, epochs, batch_norm, device)

    def peer(epochs: int, split: int) -> None:
        model = gine(len(vocabularies[0]), len(vocabularies[1]), len(dataset.class_names), batch_norm)
        train_gine(model, data, splits[split][0], splits[split][1], epochs, device)

    ours(1)
    peer(1, 0)
    ours_s, peer_s = [], []
    for turn in range(repeats):
        seconds, trained = _timed(partial(ours, epochs), device)
        ours_s.append(seconds)
        peer_s += [_timed(partial(peer, epochs, split % models), device)[0] for split in (2 * turn, 2 * turn + 1)]
    extra = {
        "ms_per_model": round(1e3 * median(ours_s) / models, 1),
        "peer_ms_per_model": round(1e3 * median(peer_s), 1),
        "peer_models_timed": len(peer_s),
        "test_accuracy": round(_accuracy(trained, inputs, dataset, splits), 4),
    }
    return Row(what, median(ours_s), f"one PyG GINEConv model × {models}", models * median(peer_s), "≥ 10×", extra)


def _members(dataset: Dataset, members: int, epochs: int, device: str) -> Row:
    inputs = Inputs.of(dataset.graphs, device=device)
    train_fleet(dataset, inputs, members, 1, False, device)
    seconds, _ = _timed(partial(train_fleet, dataset, inputs, members, epochs, False, device), device)
    extra = {"ms_per_model_and_epoch": round(1e3 * seconds / (members * epochs), 3)}
    return Row(f"fleet of {members} on {dataset.name}, {epochs} epochs, {device}", seconds, extra=extra)


def _nodes(data_dir: str | os.PathLike[str] | None, members: int, epochs: int, device: str) -> Row | Skipped:
    """Time full-graph training on AIFB with the paper's settings: degrees as labels, two layers, dropout."""
    what = f"fleet of {members} on AIFB (nodes), {epochs} epochs, {device}"
    if folder_of("AIFB", data_dir) is None:
        return Skipped(what, "AIFB is not on this machine; load it once, or set EDGNN_DATA")
    dataset = load_dataset("AIFB", data_dir=data_dir)
    assert dataset.split is not None
    assert dataset.nodes is not None
    graphs = dataset.graphs.with_degree_labels("in")
    inputs, positions = Inputs.of(graphs, device=device), dataset.nodes.index
    fifth = len(dataset.split["train"]) // 5
    training, validation, test = dataset.split["train"][fifth:], dataset.split["train"][:fifth], dataset.split["test"]
    fleet = [Member(training, validation, seed) for seed in range(members)]
    config = _shape(graphs, dataset, layers=2, dropout=0.5)

    def ours(epochs: int) -> Trained:
        settings = Settings(max_epochs=epochs, batch_size=None, learning_rate=5e-3, device=device)
        return train("node", config, inputs, _targets(dataset), fleet, settings, positions=positions)

    ours(1)
    seconds, trained = _timed(partial(ours, epochs), device)
    extra = {
        "ms_per_model_and_epoch": round(1e3 * seconds / (members * epochs), 3),
        "test_accuracy": round(_accuracy(trained, inputs, dataset, [(training, validation, test)] * members, positions), 4),
    }
    return Row(what, seconds, extra=extra)


def _shape(graphs: Graphs, dataset: Dataset, **options: Any) -> dict[str, Any]:
    counts = {"node_labels": len(graphs.node_vocabulary), "edge_labels": len(graphs.edge_vocabulary)}
    return counts | {"outputs": len(dataset.class_names), "hidden": HIDDEN} | options


def _targets(dataset: Dataset) -> Targets:
    assert dataset.targets is not None
    return Targets.classes(dataset.targets, len(dataset.class_names))


def _accuracy(
    trained: Trained,
    inputs: Inputs,
    dataset: Dataset,
    splits: list[_Split],
    positions: Tensor | None = None,
) -> float:
    """Return the mean test accuracy of the members: that what was timed has learned something."""
    assert dataset.targets is not None
    predicted = outputs(trained, inputs, positions=positions).argmax(-1).cpu().numpy()
    return float(
        np.mean([(row[test] == dataset.targets[test]).mean() for row, (_, _, test) in zip(predicted, splits, strict=True)])
    )


def _timed(function: Callable[[], Any], device: str) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function()
    wait(device)
    return time.perf_counter() - start, result
