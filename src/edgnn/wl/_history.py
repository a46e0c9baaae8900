"""History of a refinement: the initial colors, and the nodes that changed color in each round."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

Values = np.ndarray[Any, Any] | list[int]


@dataclass
class History:
    """Colors kept as changes.

    When a class of nodes splits, its largest part keeps the color, so a node changes color at most log2(N) times and the whole
    history of N rounds takes O(N log N) memory.
    """

    initial: Tensor
    nodes: array[int] = field(default_factory=lambda: array("q"))
    colors: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q", [0]))
    counts: array[int] = field(default_factory=lambda: array("q"))

    @property
    def rounds(self) -> int:
        """Number of rounds recorded."""
        return len(self.ends) - 1

    def record(self, nodes: Values, colors: Values, count: int) -> None:
        """Append one round: which nodes got which new color, and how many colors there are now."""
        for store, values in ((self.nodes, nodes), (self.colors, colors)):
            if isinstance(values, np.ndarray):
                store.frombytes(np.ascontiguousarray(values, dtype=np.int64).tobytes())
            else:
                store.extend(values)
        self.ends.append(len(self.nodes))
        self.counts.append(count)

    def at(self, round: int) -> Tensor:
        """Rebuild the colors after ``round`` rounds."""
        colors = self.initial.clone()
        end = self.ends[min(round, self.rounds)]
        if end:
            nodes = np.frombuffer(self.nodes, dtype=np.int64)[:end]
            new = np.frombuffer(self.colors, dtype=np.int64)[:end]
            target = colors.numpy() if colors.device.type == "cpu" else colors.cpu().numpy()
            target[nodes] = new  # numpy assigns in order, so a later round wins
            colors = torch.from_numpy(target).to(colors.device)
        return colors
