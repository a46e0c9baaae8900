"""How far does it reach? Epochs against edges, sampled batches, inference in bounded memory, mapped graphs, several processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from benchmarks._formulations import Size
from benchmarks._harness import Row, Skipped, as_far_as_it_goes, draw_points, or_skipped
from benchmarks._scale_epochs import epoch_row
from benchmarks._scale_files import file_rows
from benchmarks._scale_ranks import ranks_row
from benchmarks._scale_sampled import Sampling, sampled_rows
from benchmarks._timing import copy_bandwidth, free


@dataclass(frozen=True)
class Plan:
    """Sizes of a run.

    ``edges`` are those of epochs over the whole graph, a tenth as many nodes each, of which
    ``labeled`` shares are trained on; shares below one only at the most edges. ``files`` and
    ``ranks`` are for the CPU: a graph to be mapped, with the bytes that inference and sorting may
    take, and one to be spread over two processes.
    """

    edges: tuple[int, ...]
    labeled: tuple[float, ...]
    epochs: int
    sampling: Sampling
    files: Size | None
    memory: int
    ranks: Size | None
    goal: str = ""
    copied: int | None = None


HUGE = Size(1_000_000, 10_000_000, 64)
CPU = Plan(
    edges=(100_000, 1_000_000, 10_000_000),
    labeled=(1.0,),
    epochs=3,
    sampling=Sampling(HUGE, batches=8, repeats=3),
    files=HUGE,
    memory=2**27,
    ranks=Size(100_000, 1_000_000, 64),
)
CUDA = Plan(
    edges=(1_000_000, 10_000_000, 100_000_000),
    labeled=(1.0, 0.1),
    epochs=8,
    sampling=Sampling(HUGE, batches=8, repeats=3),
    files=None,
    memory=0,
    ranks=None,
    goal="memory ≤ 139 GiB",
)
QUICK = Plan(
    edges=(1_000, 2_000),
    labeled=(1.0, 0.1),
    epochs=2,
    sampling=Sampling(Size(500, 5_000, 4, 8), batch_size=64, batches=2, fanout=(3, 3), repeats=1),
    files=Size(2_000, 20_000, 4, 8),
    memory=2**20,
    ranks=Size(500, 5_000, 4, 8),
    copied=2**24,
)


def scale(
    data_dir: str | os.PathLike[str] | None = None, quick: bool = False, device: str = "cpu"
) -> Iterator[Row | Skipped]:
    """Measure what large graphs cost, yielding each row as it is done; ``quick`` shrinks everything for tests.

    Everything is made up, so ``data_dir`` is not looked at.
    """
    plan = QUICK if quick else CPU if device == "cpu" else CUDA
    if device != "cpu":
        plan = replace(plan, files=None, ranks=None)
    copy = copy_bandwidth(device, plan.copied)
    for edges in plan.edges:
        size = replace(plan.sampling.size, nodes=edges // 10, edges=edges)
        for labeled in plan.labeled if edges == plan.edges[-1] else plan.labeled[:1]:
            goal = plan.goal if edges == plan.edges[-1] else ""
            epoch = partial(epoch_row, size, labeled, plan.epochs, device, copy, goal)
            yield or_skipped(f"training epoch of the whole graph, {size}", epoch, device)
            free(device)
    yield from as_far_as_it_goes(
        "the rest of: sampled batches", sampled_rows(plan.sampling, device), device
    )
    if plan.files is not None:
        yield from as_far_as_it_goes(
            "the rest of: graphs in files", file_rows(plan.files, plan.memory), device
        )
    if plan.ranks is not None:
        yield or_skipped(
            f"two processes, {plan.ranks}", partial(ranks_row, plan.ranks, plan.epochs), device
        )


def plot(rows: list[Row | Skipped]) -> str:
    """Draw the time of an epoch against the number of edges."""
    return draw_points(rows, "Seconds per training epoch over the whole graph")
