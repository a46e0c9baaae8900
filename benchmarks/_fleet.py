"""What does one more model cost? Fleets against PyG models trained one after another, against time, and against their size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from torch import Tensor

from benchmarks._gine import BATCH_SIZE, HIDDEN, LAYERS, LEARNING_RATE, WEIGHT_DECAY, GineModels
from benchmarks._harness import (
    TU_SETS,
    Memory,
    Row,
    Skipped,
    draw_points,
    folder_of,
    left_out,
    or_skipped,
)
from benchmarks._timing import Missing, extra_bytes, free, timed, tried
from edgnn.graphs import Graphs
from edgnn.io.datasets import Dataset, load_dataset
from edgnn.nn import Inputs
from edgnn.training import Member, Settings, Targets, Trained, outputs, train

_Array = np.ndarray[Any, Any]
_Split = tuple[_Array, _Array, _Array]
_DataDir = str | os.PathLike[str] | None
#: The paper's settings for node sets.
NODE_LEARNING_RATE, NODE_DROPOUT = 5e-3, 0.5
_WARM_EPOCHS = 3


@dataclass(frozen=True)
class Plan:
    """Sizes and goals of a run.

    ``peer_epochs`` is how long a PyG model is really trained; ``all_sets`` adds fleets on all of
    the paper's graph sets.
    """

    models: int
    epochs: int
    peer_epochs: int
    repeats: int
    members: tuple[int, ...]
    member_epochs: int
    node_members: tuple[int, ...]
    node_epochs: int
    all_sets: bool
    all_sets_goal: str = ""
    node_goal: str = ""


CPU = Plan(100, 40, 40, 3, (1, 10, 100), 10, (1, 20), 40, all_sets=False)
CUDA = Plan(100, 40, 5, 3, (1, 10, 100, 500), 10, (1, 20), 400, True, "≤ 5 s", "≤ 0.7 s")
QUICK = Plan(4, 2, 1, 1, (1, 2, 4), 2, (1, 2), 5, True, CUDA.all_sets_goal, CUDA.node_goal)


def fleet(
    data_dir: _DataDir = None, quick: bool = False, device: str = "cpu"
) -> Iterator[Row | Skipped]:
    """Measure the training of fleets, yielding each row as it is done; ``quick`` shrinks everything for tests."""
    plan = QUICK if quick else CPU if device == "cpu" else CUDA
    mutag = load_dataset("MUTAG", data_dir=data_dir)
    plain = _against_gine([mutag], plan, False, device, "≥ 10×")
    yield from plain
    yield from _against_gine([mutag], plan, True, device, "≥ 10×")
    if plan.all_sets:
        yield from _all_sets(data_dir, plan, device)
    for members in plan.members:
        of_graphs = partial(_members, mutag, members, plan, plain[0], device)
        yield or_skipped(f"MUTAG (graphs), fleet of {members}", of_graphs, device)
    for members in plan.node_members:
        goal = plan.node_goal if members == plan.node_members[-1] else ""
        of_nodes = partial(_nodes, data_dir, members, plan.node_epochs, device, goal)
        yield or_skipped(f"AIFB (nodes), fleet of {members}", of_nodes, device)


def plot(rows: list[Row | Skipped]) -> str:
    """Draw the time of a training against the number of models in it."""
    return draw_points(rows, "Fleets: seconds per training")


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


def train_fleet(
    dataset: Dataset, inputs: Inputs, models: int, epochs: int, batch_norm: bool, device: str
) -> Trained:
    """Train so many models of the paper's shape on a graph set, each on a fold of its own, as one fleet."""
    members = [
        Member(training, validation, seed)
        for seed, (training, validation, _) in enumerate(folds(len(dataset), models))
    ]
    settings = Settings(
        max_epochs=epochs,
        batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        device=device,
    )
    config = _shape(dataset.graphs, dataset, layers=LAYERS, batch_norm=batch_norm)
    return train("graph", config, inputs, _targets(dataset), members, settings)


def _all_sets(data_dir: _DataDir, plan: Plan, device: str) -> Iterator[Row | Skipped]:
    absent = [name for name in TU_SETS if folder_of(name, data_dir) is None and name != "MUTAG"]
    if absent:
        what = f"{plan.models * len(TU_SETS)} models of the paper's five graph sets"
        yield Skipped(
            what, f"{', '.join(absent)}: not on this machine; load them once, or set EDGNN_DATA"
        )
        return
    sets = [load_dataset(name, data_dir=data_dir) for name in TU_SETS]
    yield from _against_gine(sets, plan, False, device, plan.all_sets_goal)


def _against_gine(
    sets: Sequence[Dataset], plan: Plan, batch_norm: bool, device: str, goal: str
) -> list[Row | Skipped]:
    """Time the fleets, one per set, and in turns single PyG models, whose median time is multiplied by the number of models."""
    named = sets[0].name if len(sets) == 1 else f"{len(sets)} TU sets"
    what = f"{plan.models * len(sets)} models of {named}, {plan.epochs} epochs, {'with' if batch_norm else 'no'} batch norm"
    splits = [folds(len(dataset), plan.models) for dataset in sets]
    build = partial(
        GineModels,
        batch_norm=batch_norm,
        epochs=plan.epochs,
        timed_epochs=plan.peer_epochs,
        device=device,
    )
    peers = [tried(partial(build, *pair), device) for pair in zip(sets, splits, strict=True)]
    missing = next((peer for peer in peers if isinstance(peer, Missing)), None)
    measure = partial(
        _fleets, what, sets, splits, [] if missing else peers, plan, batch_norm, device, goal
    )
    rows = [or_skipped(what, measure, device)]
    return [*rows, left_out(f"{GineModels.name}, {what}", missing)] if missing else rows


def _fleets(
    what: str,
    sets: Sequence[Dataset],
    splits: Sequence[list[_Split]],
    peers: Sequence[GineModels],
    plan: Plan,
    batch_norm: bool,
    device: str,
    goal: str,
) -> Row:
    inputs = [Inputs.of(dataset.graphs, device=device) for dataset in sets]

    def ours(epochs: int) -> list[Trained]:
        return [
            train_fleet(dataset, own, plan.models, epochs, batch_norm, device)
            for dataset, own in zip(sets, inputs, strict=True)
        ]

    memory = extra_bytes(partial(ours, min(plan.epochs, _WARM_EPOCHS)), device)
    if memory is None:
        ours(1)
    seconds = []
    for _ in range(plan.repeats):
        taken, trained = timed(partial(ours, plan.epochs), device)
        seconds.append(taken)
        for peer in peers:
            peer.train_some()
    correct = [_accuracy(*parts) for parts in zip(trained, inputs, sets, splits, strict=True)]
    row = Row(
        what,
        median(seconds),
        goal=goal,
        extra={
            "ms_per_model": round(1e3 * median(seconds) / (plan.models * len(sets)), 1),
            "test_accuracy": round(float(np.mean(correct)), 4),
        },
        memory=None if memory is None else Memory(memory),
    )
    return _with_peers(row, peers, plan) if peers else row


def _with_peers(row: Row, peers: Sequence[GineModels], plan: Plan) -> Row:
    """Return the row with the time that all models of the peers would take."""
    name = GineModels.name
    if plan.peer_epochs < plan.epochs:
        name += f" (from {plan.peer_epochs} of {plan.epochs} epochs)"
    extra = {
        "peer_ms_per_model": round(1e3 * sum(peer.seconds for peer in peers) / len(peers), 1),
        "peer_models_timed": sum(len(peer.times) for peer in peers),
    }
    return replace(
        row,
        peer=name,
        peer_s=plan.models * sum(peer.seconds for peer in peers),
        extra=row.extra | extra,
    )


def _members(dataset: Dataset, members: int, plan: Plan, alone: Row | Skipped, device: str) -> Row:
    """Time a fleet of a size; the peer's time is that of its single models in the row ``alone``."""
    inputs, epochs = Inputs.of(dataset.graphs, device=device), plan.member_epochs
    train_fleet(dataset, inputs, members, min(epochs, _WARM_EPOCHS), False, device)
    seconds, _ = timed(
        partial(train_fleet, dataset, inputs, members, epochs, False, device), device
    )
    extra = {"ms_per_model_and_epoch": round(1e3 * seconds / (members * epochs), 3)}
    peer_ms = alone.extra.get("peer_ms_per_model") if isinstance(alone, Row) else None
    peer_s = None if peer_ms is None else peer_ms / 1e3 / plan.epochs * members * epochs
    return Row(
        f"fleet of {members}, {epochs} epochs",
        seconds,
        "" if peer_s is None else GineModels.name,
        peer_s,
        extra=extra,
        points={f"members, {epochs} epochs": members},
        ours=f"{dataset.name} (graphs)",
    )


def _nodes(data_dir: _DataDir, members: int, epochs: int, device: str, goal: str) -> Row | Skipped:
    """Time full-graph training on AIFB with the paper's settings: degrees as labels, two layers, dropout."""
    what = f"fleet of {members}, {epochs} epochs"
    if folder_of("AIFB", data_dir) is None:
        return Skipped(
            f"AIFB (nodes), {what}", "AIFB is not on this machine; load it once, or set EDGNN_DATA"
        )
    dataset = load_dataset("AIFB", data_dir=data_dir)
    assert dataset.split is not None
    assert dataset.nodes is not None
    graphs = dataset.graphs.with_degree_labels("in")
    inputs, positions = Inputs.of(graphs, device=device), dataset.nodes.index
    fifth = len(dataset.split["train"]) // 5
    training, validation, test = (
        dataset.split["train"][fifth:],
        dataset.split["train"][:fifth],
        dataset.split["test"],
    )
    fleet = [Member(training, validation, seed) for seed in range(members)]
    config = _shape(graphs, dataset, layers=LAYERS, dropout=NODE_DROPOUT)

    def ours(epochs: int) -> Trained:
        settings = Settings(
            max_epochs=epochs, batch_size=None, learning_rate=NODE_LEARNING_RATE, device=device
        )
        return train(
            "node", config, inputs, _targets(dataset), fleet, settings, positions=positions
        )

    ours(_WARM_EPOCHS)
    seconds, trained = timed(partial(ours, epochs), device)
    extra = {
        "ms_per_model_and_epoch": round(1e3 * seconds / (members * epochs), 3),
        "test_accuracy": round(
            _accuracy(
                trained, inputs, dataset, [(training, validation, test)] * members, positions
            ),
            4,
        ),
    }
    points: dict[str, float] = {f"members, {epochs} epochs": members}
    free(device)
    return Row(what, seconds, goal=goal, extra=extra, points=points, ours="AIFB (nodes)")


def _shape(graphs: Graphs, dataset: Dataset, **options: Any) -> dict[str, Any]:
    counts = {
        "node_labels": len(graphs.node_vocabulary),
        "edge_labels": len(graphs.edge_vocabulary),
    }
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
        np.mean(
            [
                (row[test] == dataset.targets[test]).mean()
                for row, (_, _, test) in zip(predicted, splits, strict=True)
            ]
        )
    )
