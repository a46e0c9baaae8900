"""Nodes: a sequence of nodes of one Graphs, which scikit-learn can split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import GraphError
from edgnn.graphs import _checks as check
from edgnn.graphs._graphs import Graphs


class Nodes:
    """Some nodes of a :class:`Graphs`, in a chosen order.

    Indexing by an integer, a slice, a list or a mask gives ``Nodes`` again, so ``nodes[train]`` is what an estimator for nodes is
    fitted on while the whole graph stays in reach.

    Parameters
    ----------
    graphs : Graphs
        The graphs the nodes belong to.
    index : sequence of int, mask, or tensor, optional
        Node numbers over all graphs; all nodes by default.

    Shapes
    ------
    index : (n,)
    """

    __slots__ = ("graphs", "index")

    graphs: Graphs
    index: Tensor

    def __init__(self, graphs: Graphs, index: Sequence[int] | np.ndarray[Any, Any] | Tensor | None = None) -> None:
        self.graphs = graphs
        everything = torch.arange(graphs.num_nodes, device=graphs.device)
        self.index = everything if index is None else everything[check.positions(index, graphs.num_nodes, "node")]

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, key: int | slice | Sequence[int] | np.ndarray[Any, Any] | Tensor) -> Nodes:
        chosen = check.positions(key, len(self), "node")
        return self._of(self.graphs, self.index[chosen])

    def __iter__(self) -> Iterator[Nodes]:
        return (self[position] for position in range(len(self)))

    def __repr__(self) -> str:
        return f"Nodes({len(self):,} of {self.graphs!r})"

    @classmethod
    def _of(cls, graphs: Graphs, index: Tensor) -> Nodes:
        made = object.__new__(cls)
        made.graphs, made.index = graphs, index
        return made

    @classmethod
    def named(cls, graphs: Graphs, names: Sequence[Any]) -> Nodes:
        """Return the nodes with these names (IRIs, table keys) of a single graph."""
        if graphs.node_names is None or len(graphs) != 1:
            raise GraphError(f"nodes are found by name in a single graph whose nodes have names, not in {graphs!r}")
        position = {name: number for number, name in enumerate(graphs.node_names.tolist())}
        for entry, name in enumerate(names):
            if name not in position:
                raise GraphError(f"entry {entry} names the node {name!r}, which the graph does not have")
        return cls(graphs, torch.tensor([position[name] for name in names], dtype=torch.int64))

    @classmethod
    def concat(cls, parts: Iterable[Nodes]) -> Nodes:
        """Join selections of the same graphs, as scikit-learn hands them out one by one."""
        pieces = list(parts)
        if not pieces:
            raise GraphError("no nodes to join: an empty list does not say which graph they belong to")
        graphs = pieces[0].graphs
        for number, piece in enumerate(pieces):
            if piece.graphs is not graphs and not piece.graphs.equals(graphs):
                raise GraphError(f"part {number} selects nodes of other graphs ({piece.graphs!r}) than part 0 ({graphs!r})")
        return cls._of(graphs, torch.cat([piece.index for piece in pieces]))

    @property
    def names(self) -> list[Any] | None:
        """The users' own names of these nodes, where the graphs have names."""
        return None if self.graphs.node_names is None else self.graphs.node_names[self.index.cpu().numpy()].tolist()

    @property
    def labels(self) -> list[Any]:
        """The users' own labels of these nodes."""
        return self.graphs.node_vocabulary.decode(self.graphs.node_label[self.index])

    def to(self, device: torch.device | str) -> Nodes:
        """Return the same nodes of the same graphs on ``device``."""
        return self._of(self.graphs.to(device), self.index.to(device))

    def __getstate__(self) -> tuple[Graphs, np.ndarray[Any, Any]]:
        return self.graphs, self.index.cpu().numpy()

    def __setstate__(self, state: tuple[Graphs, np.ndarray[Any, Any]]) -> None:
        self.graphs = state[0]
        self.index = torch.from_numpy(np.require(state[1], requirements="W")).to(self.graphs.device)
