"""Nodes: a sequence of nodes of one Graphs, which scikit-learn can split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from edgnn._words import suggestion
from edgnn.errors import GraphError
from edgnn.graphs import checks as check
from edgnn.graphs._graphs import Graphs


class Nodes:
    """Some nodes of a :class:`Graphs`, in a chosen order.

    Indexing by an integer, a slice, a list or a mask gives ``Nodes`` again, so ``nodes[train]`` is
    what an estimator for nodes is fitted on while the whole graph stays in reach.

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

    def __init__(
        self, graphs: Graphs, index: Sequence[int] | np.ndarray[Any, Any] | Tensor | None = None
    ) -> None:
        everything = torch.arange(graphs.num_nodes, device=graphs.device)
        chosen = (
            slice(None)
            if index is None
            else check.positions(index, graphs.num_nodes, "node", graphs.device)
        )
        self._set(graphs, everything[chosen])

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(
        self, key: int | slice | Sequence[int] | np.ndarray[Any, Any] | Tensor
    ) -> Nodes:
        chosen = check.positions(key, len(self), "node", self.index.device)
        return self._of(self.graphs, self.index[chosen])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return check.objects(self, dtype)

    def __iter__(self) -> Iterator[Nodes]:
        return (self[position] for position in range(len(self)))

    def __repr__(self) -> str:
        return f"Nodes({len(self):,} of {self.graphs!r})"

    @classmethod
    def _of(cls, graphs: Graphs, index: Tensor) -> Nodes:
        made = object.__new__(cls)
        made._set(graphs, index)
        return made

    def _set(self, graphs: Graphs, index: Tensor) -> None:
        object.__setattr__(self, "graphs", graphs)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"cannot assign to {name!r}: Nodes do not change; index them or make new ones"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name!r}: Nodes do not change")

    @classmethod
    def named(
        cls, graphs: Graphs, names: Iterable[Any], *, unknown: Literal["error", "skip"] = "error"
    ) -> Nodes:
        """Return the nodes with these names of a single graph.

        Parameters
        ----------
        graphs : Graphs
            One graph, whose nodes have names.
        names : iterable
            IRIs, keys of a table: what ``graphs.node_names`` holds, in full.
        unknown : {"error", "skip"}
            What to do with names that the graph does not have: raise, or leave them out, so that
            :attr:`names` are those that were found.
        """
        if graphs.node_names is None or len(graphs) != 1:
            raise GraphError(
                "nodes are found by name in a single graph whose nodes have names, not in "
                f"{graphs!r}"
            )
        if unknown not in ("error", "skip"):
            raise GraphError(f"unknown={unknown!r}: choose 'error' or 'skip'")
        position = {name: number for number, name in enumerate(graphs.node_names.tolist())}
        index = []
        for entry, name in enumerate(names):
            if name not in position and unknown == "skip":
                continue
            if name not in position:
                raise GraphError(
                    f"entry {entry} names the node {name!r}, which the graph does not have"
                    f"{suggestion(name, position)}"
                )
            index.append(position[name])
        return cls(graphs, torch.tensor(index, dtype=torch.int64))

    @classmethod
    def concat(cls, parts: Iterable[Nodes]) -> Nodes:
        """Join selections of the same graphs, as scikit-learn hands them out one by one."""
        pieces = list(parts)
        if not pieces:
            raise GraphError(
                "no nodes to join: an empty list does not say which graph they belong to"
            )
        graphs = pieces[0].graphs
        for number, piece in enumerate(pieces):
            if piece.graphs is not graphs and not piece.graphs.equals(graphs):
                raise GraphError(
                    f"part {number} selects nodes of other graphs ({piece.graphs!r}) than part 0 "
                    f"({graphs!r})"
                )
        return cls._of(graphs, torch.cat([piece.index for piece in pieces]))

    @property
    def names(self) -> list[Any] | None:
        """The users' own names of these nodes, where the graphs have names."""
        return (
            None
            if self.graphs.node_names is None
            else self.graphs.node_names[self.index.cpu().numpy()].tolist()
        )

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
        graphs, index = state
        self._set(graphs, torch.from_numpy(np.require(index, requirements="W")).to(graphs.device))
