"""History of a refinement: the initial colors, and the nodes that changed color in each round."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn._arrays import Array, to_array, to_host, to_tensor

_Plain = np.ndarray[Any, Any]


@dataclass
class Changes:
    """The nodes that changed color in a round, with their old and new colors."""

    nodes: Array
    old: Array
    new: Array


@dataclass
class _Stretch:
    """Consecutive rounds: nodes and new colors round after round, and where each round ends."""

    nodes: Any
    colors: Any
    ends: array[int]


@dataclass
class History:
    """Colors kept as changes.

    When a class of nodes splits, its largest part keeps the color, so a node changes color at most
    log2(N) times and the whole history of N rounds takes O(N log N) memory. Rounds stay where they
    were computed; many small ones share one stretch.
    """

    initial: Tensor
    counts: array[int] = field(default_factory=lambda: array("q"))
    _stretches: list[_Stretch] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """Number of rounds recorded."""
        return len(self.counts)

    @property
    def highest_color(self) -> int:
        """The largest color number of any round; −1 where there are no nodes."""
        every = [self.initial, *(_plain(stretch.colors) for stretch in self._stretches)]
        return max((int(colors.max()) for colors in every if len(colors)), default=-1)

    def record(self, nodes: Array, colors: Array, count: int) -> None:
        """Append a round: which nodes got which color, and how many colors there are now."""
        self._stretches.append(_Stretch(nodes, colors, array("q", [len(nodes)])))
        self.counts.append(count)

    def record_few(self, nodes: list[int], colors: list[int], count: int) -> None:
        """Append one round of a few changes, in lists."""
        if not self._stretches or not isinstance(self._stretches[-1].nodes, array):
            self._stretches.append(_Stretch(array("q"), array("q"), array("q")))
        stretch = self._stretches[-1]
        stretch.nodes.extend(nodes)
        stretch.colors.extend(colors)
        stretch.ends.append(len(stretch.nodes))
        self.counts.append(count)

    def at(self, round: int) -> Tensor:
        """Rebuild the colors after ``round`` rounds."""
        colors = to_array(self.initial.clone())
        for stretch in self._stretches:
            if round <= 0:
                break
            end = stretch.ends[min(round, len(stretch.ends)) - 1]
            nodes, new = _plain(stretch.nodes)[:end], _plain(stretch.colors)[:end]
            if isinstance(colors, Tensor) and not isinstance(nodes, Tensor):
                nodes, new = _last_of_each(nodes, new, colors.device)
            colors[nodes] = new  # numpy assigns in order, so within a stretch a later round wins
            round -= len(stretch.ends)
        return to_tensor(colors)

    def each(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the nodes and new colors of every round."""
        for stretch in self._stretches:
            nodes, colors = to_host(_plain(stretch.nodes)), to_host(_plain(stretch.colors))
            begin = 0
            for end in stretch.ends:
                yield nodes[begin:end].tolist(), colors[begin:end].tolist()
                begin = end


def _plain(values: Any) -> Array:
    return np.frombuffer(values, dtype=np.int64) if isinstance(values, array) else values


def _last_of_each(nodes: _Plain, new: _Plain, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return every node once, with its last color: a device keeps no order of assignments."""
    distinct, position = np.unique(nodes[::-1], return_index=True)
    colors = np.ascontiguousarray(new[::-1][position])
    return to_tensor(distinct).to(device), to_tensor(colors).to(device)
