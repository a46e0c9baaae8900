"""Sampled batches per second: our sampler and training, beside a plain Python sampler."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, cycle
from typing import Any

import torch
from torch import Tensor

from benchmarks._formulations import Size
from benchmarks._harness import Row, Skipped, beside
from benchmarks._scale_epochs import classes, graph_size, model_config
from benchmarks._timing import race
from benchmarks._wl import random_digraph
from edgnn.graphs import CSR, ListedBy, Structure
from edgnn.nn import Inputs
from edgnn.nn.ops import Sampler
from edgnn.training import Member, Settings, new_fleet


@dataclass(frozen=True)
class PlainHop:
    """The neighbors drawn for some nodes: their lists as positions among ``columns``, and how much each counts."""

    columns: list[int]
    lists: list[list[int]]
    factors: list[float]


class PlainSampler:
    """Draws at most so many neighbors per node and hop without replacement, with one Python step per node and neighbor.

    Parameters
    ----------
    structure : Structure
        Whose neighbor lists are read; they are turned into a Python list per node when first asked
        for.
    seed : int
        Of Python's generator.
    """

    def __init__(self, structure: Structure, seed: int = 0) -> None:
        self._indptr, self._indices = (
            structure.neighbors.indptr.numpy(),
            structure.neighbors.indices.numpy(),
        )
        self._lists: dict[int, list[int]] = {}
        self._random = random.Random(seed)  # noqa: S311 - samples need no secrets

    def hops(self, nodes: Sequence[int], fanouts: Sequence[int]) -> list[PlainHop]:
        """Return a hop for every fan-out, the first from ``nodes``, each other from the columns of the one before."""
        hops, rows = [], list(nodes)
        for fanout in fanouts:
            hops.append(self.hop(rows, fanout))
            rows = hops[-1].columns
        return hops

    def hop(self, rows: Sequence[int], fanout: int) -> PlainHop:
        """Return the neighbors of some nodes; the rows come first among the columns."""
        columns = list(rows)
        place = {node: number for number, node in enumerate(columns)}
        lists, factors = [], []
        for node in rows:
            neighbors = self._neighbors(node)
            degree = len(neighbors)
            if degree > fanout:
                neighbors = self._random.sample(neighbors, fanout)
            drawn = []
            for neighbor in neighbors:
                if neighbor not in place:
                    place[neighbor] = len(columns)
                    columns.append(neighbor)
                drawn.append(place[neighbor])
            lists.append(drawn)
            factors.append(degree / max(len(drawn), 1))
        return PlainHop(columns, lists, factors)

    def _neighbors(self, node: int) -> list[int]:
        """Return a node's list; kept, as an adjacency dictionary would be."""
        found = self._lists.get(node)
        if found is None:
            found = self._indices[self._indptr[node] : self._indptr[node + 1]].tolist()
            self._lists[node] = found
        return found


PLAIN = "plain Python sampler"


@dataclass(frozen=True)
class Sampling:
    """A graph, and the batches that are drawn from it."""

    size: Size
    batch_size: int = 1024
    batches: int = 8
    fanout: tuple[int, ...] = (10, 10)
    repeats: int = 3

    def __str__(self) -> str:
        fanout = " × ".join(map(str, self.fanout))
        return f"{graph_size(self.size)}, {self.size.labels} relations, batches of {self.batch_size:,}, fan-out {fanout}"


class PlainHops(Sampler):
    """The plain sampler in the place of ours: what it draws, as parts of a structure."""

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        self._plain = PlainSampler(structure.to("cpu"))

    def hop(
        self,
        rows: Tensor,
        fanout: int | None,
        key: int,
        *,
        relations: ListedBy = False,
        means: bool = False,
    ) -> Structure:
        """Return what :meth:`Sampler.hop` does for layers that read neighbors, drawn otherwise."""
        assert fanout is not None
        assert not relations
        drawn, device = self._plain.hop(rows.tolist(), fanout), rows.device
        lengths = torch.tensor([len(part) for part in drawn.lists])
        indptr = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]).to(torch.int32)
        indices = torch.tensor([place for part in drawn.lists for place in part], dtype=torch.int32)
        values = torch.tensor(drawn.factors).repeat_interleave(lengths)
        shape = (len(rows), len(drawn.columns))
        neighbors = CSR(indptr, indices, values, shape).to(device)
        return replace(
            self.structure.rows(rows),
            neighbors=neighbors,
            nodes=torch.tensor(drawn.columns, device=device),
        )


def sampled_rows(plan: Sampling, device: str) -> Iterator[Row | Skipped]:
    """Time the drawing of neighbors by itself, then whole training steps with either sampler."""
    inputs = Inputs.of(random_digraph(plan.size.nodes, plan.size.edges, device, plan.size.labels))
    seeds = _seeds(plan, device)
    structure = inputs.structure
    of_seeds = race(
        [_ours(structure, seeds, plan), _plain(structure, seeds, plan)], 3 * plan.repeats, device
    )
    for row in beside(str(plan), ("neighbors drawn", of_seeds[0]), (PLAIN, of_seeds[1])):
        yield _per_second(row, plan.batch_size)
    samplers: tuple[type[Sampler], ...] = (Sampler, PlainHops)
    of_epochs = race(
        [_training(inputs, seeds, plan, sampler, device) for sampler in samplers],
        plan.repeats,
        device,
    )
    layers = len(plan.fanout) + 1
    what = f"{plan}, {layers} layers, width {plan.size.width}"
    for row in beside(
        what, ("sampled training", of_epochs[0]), (f"the same with a {PLAIN}", of_epochs[1])
    ):
        yield _per_second(row, seeds.numel())


def _per_second(row: Row | Skipped, seeds: int) -> Row | Skipped:
    if isinstance(row, Skipped):
        return row
    peer = None if row.peer_s is None else seeds / row.peer_s
    return replace(row, ours_s=seeds / row.ours_s, peer_s=peer, unit="seeds/s")


def _seeds(plan: Sampling, device: str) -> Tensor:
    """Return the nodes of every batch."""
    order = torch.randperm(plan.size.nodes, generator=torch.Generator().manual_seed(1))
    return order[: plan.batches * plan.batch_size].view(plan.batches, plan.batch_size).to(device)


def _ours(structure: Structure, seeds: Tensor, plan: Sampling) -> Callable[[], Callable[[], None]]:
    def build() -> Callable[[], None]:
        sampler, batches, keys = Sampler(structure), cycle(seeds), count()

        def draw() -> None:
            rows: Tensor | None = next(batches)
            for fanout in plan.fanout:
                assert rows is not None
                rows = sampler.hop(rows, fanout, next(keys)).nodes

        return draw

    return build


def _plain(structure: Structure, seeds: Tensor, plan: Sampling) -> Callable[[], Callable[[], None]]:
    def build() -> Callable[[], None]:
        sampler, batches = PlainSampler(structure.to("cpu")), cycle(seeds.tolist())
        return lambda: _drop(sampler.hops(next(batches), plan.fanout))

    return build


def _drop(_: object) -> None:
    pass


def _training(
    inputs: Inputs, seeds: Tensor, plan: Sampling, sampler: type[Sampler], device: str
) -> Callable[[], Callable[[], None]]:
    def build() -> Callable[[], None]:
        items = seeds.numel()
        fleet = new_fleet(
            "node",
            model_config(plan.size, len(plan.fanout) + 1),
            inputs,
            classes(items),
            [Member(torch.arange(items))],
            Settings(batch_size=plan.batch_size, fanout=plan.fanout, device=device),
            positions=seeds.flatten().cpu(),
        )
        task: Any = fleet.task
        task.sampler = sampler(inputs.structure)
        numbers = count(1)
        return lambda: _drop(fleet.epoch(next(numbers)))

    return build
