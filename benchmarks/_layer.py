"""How fast is one layer? Against PyG's R-GCN and gather-concat-scatter, the speed of copying, and its own size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from benchmarks._extra_memory import step_bytes
from benchmarks._formulations import NAMES, Size, short, step
from benchmarks._harness import (
    Memory,
    Row,
    Skipped,
    as_far_as_it_goes,
    beside,
    draw_points,
    left_out,
)
from benchmarks._product import DEGREES, narrow_product, product_rows
from benchmarks._timing import Missing, copy_bandwidth, free, race, tried


@dataclass(frozen=True)
class Plan:
    """Sizes and goals of a run.

    ``main`` is where all formulations meet and where relations are swept, ``middle`` where nodes,
    edges and width are; ``product`` is the graph of the sparse product. ``thorough`` adds degree
    distributions, widths and bfloat16. Beyond ``peer_relations`` relations the peer, which takes
    minutes and many gigabytes there, is left out.
    """

    main: Size
    middle: Size
    product: Size
    relations: tuple[int, ...]
    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    widths: tuple[int, ...]
    product_widths: tuple[int, ...]
    thorough: bool
    goals: dict[str, str]
    peer_relations: int = 512
    repeats: int = 9
    copied: int | None = None


MEDIUM, LARGE, HUGE = (
    Size(20_000, 200_000, 45),
    Size(100_000, 1_000_000, 64),
    Size(1_000_000, 10_000_000, 64),
)
CPU = Plan(
    main=MEDIUM,
    middle=MEDIUM,
    product=HUGE,
    relations=(1, 8, 64, 200, 512),
    nodes=(2_000, 20_000, 100_000),
    edges=(10_000, 100_000, 1_000_000),
    widths=(16, 64, 256),
    product_widths=(16, 64),
    thorough=False,
    goals={"rgcn": "≥ 20×, memory ≤ 0.1×", "gather": "≥ 20×, memory ≤ 0.1×"},
    peer_relations=200,
)
CUDA = Plan(
    main=HUGE,
    middle=LARGE,
    product=HUGE,
    relations=(1, 8, 64, 200, 512),
    nodes=(10_000, 100_000, 1_000_000),
    edges=(10_000, 100_000, 1_000_000, 10_000_000),
    widths=(16, 32, 64, 128, 256),
    product_widths=(16, 64, 256),
    thorough=True,
    goals={
        "rgcn": "≥ 55×, memory ≤ 0.1×",
        "gather": "≥ 15×, memory ≤ 0.1×",
        "joint": "≥ 5×, memory ≤ 0.25×",
        "product": "≥ 80 % of copying",
        "bfloat16": "≥ 1.6×",
        "relations": "≤ 1.5×",
    },
)
QUICK = Plan(
    main=Size(2_000, 20_000, 5, 16),
    middle=Size(200, 2_000, 5, 16),
    product=Size(2_000, 20_000, 5, 64),
    relations=(1, 3),
    nodes=(100, 200),
    edges=(1_000, 2_000),
    widths=(8, 16),
    product_widths=(16, 64),
    thorough=True,
    goals=CUDA.goals,
    repeats=1,
    copied=2**24,
)


def layer(
    data_dir: str | os.PathLike[str] | None = None, quick: bool = False, device: str = "cpu"
) -> Iterator[Row | Skipped]:
    """Measure forward and backward of one layer, yielding each row as it is done; ``quick`` shrinks everything for tests.

    Everything is made up, so ``data_dir`` is not looked at.
    """
    plan = QUICK if quick else CPU if device == "cpu" else CUDA
    copy = copy_bandwidth(device, plan.copied)
    yield Row("copying memory, read and written", copy / 1e9, unit="GB/s", ours="torch copy_")
    parts = {
        "peers": _against_peers(plan, device),
        "sparse products": _products(plan, device, copy),
        "relations": _relations(plan, device),
        "sweeps": _sweeps(plan, device),
    }
    for name, rows in parts.items():
        yield from as_far_as_it_goes(f"the rest of: {name}", rows, device)


def plot(rows: list[Row | Skipped]) -> str:
    """Draw the cost of a step, and of a product, against every size that was swept."""
    products = [row for row in rows if isinstance(row, Row) and row.ours == "neighbor_sum"]
    steps = [row for row in rows if row not in products]
    return draw_points(
        [*steps, *products],
        "One layer: seconds per step (forward and backward), and per sparse product",
    )


def _against_peers(plan: Plan, device: str) -> Iterator[Row | Skipped]:
    pairs = (
        ("edgnn", "rgcn", plan.goals.get("rgcn", "")),
        ("edgnn", "gather", plan.goals.get("gather", "")),
        ("edgnn", "gather-sum-first", ""),
        ("relational", "rgcn", plan.goals.get("joint", "")),
    )
    known: dict[str, int | Missing] = {}
    for ours, peer, goal in pairs:
        yield from _pair(ours, peer, plan.main, device, plan.repeats, goal, known=known)
    small = replace(plan.main, nodes=plan.main.nodes // 10, edges=plan.main.edges // 10)
    yield from _pair("relational", "fast-rgcn", small, device, plan.repeats)


def _products(plan: Plan, device: str, copy: float) -> Iterator[Row | Skipped]:
    size = plan.product
    for degrees in DEGREES if plan.thorough else DEGREES[:1]:
        goal = plan.goals.get("product", "") if degrees == "uniform" else ""
        yield from product_rows(
            size.nodes, size.edges, plan.product_widths, degrees, device, plan.repeats, copy, goal
        )
        free(device)
    if plan.thorough:
        goal = plan.goals.get("bfloat16", "")
        yield from narrow_product(size, device, plan.repeats, copy, goal)
        builders = [
            step("edgnn", plan.main, device, torch.bfloat16),
            step("edgnn", plan.main, device),
        ]
        ours, peer = race(builders, plan.repeats, device)
        yield from beside(
            str(plan.main), ("EdGNNConv, bfloat16", ours), ("the same in float32", peer), goal
        )


def _relations(plan: Plan, device: str) -> Iterator[Row | Skipped]:
    """Sweep the number of relations, and time the most and the fewest in turns."""
    fewest, most = (
        replace(plan.main, labels=labels) for labels in (plan.relations[0], plan.relations[-1])
    )
    ours, peer = race(
        [step("edgnn", most, device), step("edgnn", fewest, device)], plan.repeats, device
    )
    names = ("EdGNNConv", ours), (f"itself at {fewest.labels} relation", peer)
    yield from beside(str(most), *names, plan.goals.get("relations", "≤ 1.5×"))
    yield from _sweep(
        "relations", [replace(plan.main, labels=labels) for labels in plan.relations], plan, device
    )


def _sweeps(plan: Plan, device: str) -> Iterator[Row | Skipped]:
    middle = plan.middle
    per_node = middle.edges // middle.nodes
    yield from _sweep(
        "edges",
        [replace(middle, nodes=edges // per_node, edges=edges) for edges in plan.edges],
        plan,
        device,
    )
    yield from _sweep("nodes", [replace(middle, nodes=nodes) for nodes in plan.nodes], plan, device)
    yield from _sweep(
        "width", [replace(middle, width=width) for width in plan.widths], plan, device
    )


def _sweep(axis: str, sizes: Sequence[Size], plan: Plan, device: str) -> Iterator[Row | Skipped]:
    for size in sizes:
        value = size.labels if axis == "relations" else getattr(size, axis)
        nodes, edges = f"{short(size.nodes)} nodes", f"{short(size.edges)} edges"
        fixed = {"edges": f"{size.edges // size.nodes} per node", "nodes": edges}.get(
            axis, f"{nodes}, {edges}"
        )
        points = {f"{axis} ({fixed})": value}
        peer = "rgcn" if size.labels <= plan.peer_relations else None
        yield from _pair("edgnn", peer, size, device, min(plan.repeats, 5), points=points)


def _pair(
    ours: str,
    peer: str | None,
    size: Size,
    device: str,
    repeats: int,
    goal: str = "",
    *,
    points: dict[str, float] | None = None,
    known: dict[str, int | Missing] | None = None,
) -> Iterator[Row | Skipped]:
    """Time one step of ours and of a peer on the same graph, in turns.

    On the CPU, memory takes a process per kind: it is measured only where ``known`` is given, which
    keeps what was.
    """
    if peer is None:
        (alone,) = race([step(ours, size, device)], repeats, device)
        yield from beside(str(size), (NAMES[ours], alone), None, points=points or {})
        return
    mine, theirs = race([step(ours, size, device), step(peer, size, device)], repeats, device)
    free(device)
    rows = beside(str(size), (NAMES[ours], mine), (NAMES[peer], theirs), goal, points=points or {})
    if device == "cpu" and known is not None and isinstance(rows[0], Row):
        kinds = (ours,) if isinstance(theirs, Missing) else (ours, peer)
        rows = [*_with_memory(rows[0], kinds, size, known), *rows[1:]]
    yield from rows


def _with_memory(
    row: Row, kinds: tuple[str, ...], size: Size, known: dict[str, int | Missing]
) -> list[Row | Skipped]:
    """Return the row with the memory of the steps it compares, and what could not be measured of that."""
    told: list[Row | Skipped] = []
    for kind in kinds:
        if kind not in known:
            known[kind] = measured = tried(partial(step_bytes, kind, size), "cpu")
            if isinstance(measured, Missing):
                told.append(left_out(f"memory of {NAMES[kind]}, {size}", measured))
    used = [None if isinstance(known[kind], Missing) else known[kind] for kind in kinds]
    if isinstance(used[0], int):
        row = replace(
            row, memory=Memory(used[0], *(part for part in used[1:] if isinstance(part, int)))
        )
    return [row, *told]
