"""Dataset: graphs, targets, and what is known about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgnn.errors import DatasetError
from edgnn.graphs import Graphs, Nodes
from edgnn.io._common import Array
from edgnn.io.datasets._targets import task_of
from edgnn.registry import Level, Task


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set as :func:`edgnn.load_dataset` returns it.

    Parameters
    ----------
    name : str
        Its name, or the path it was read from.
    graphs : Graphs
        All graphs, or the one graph that ``nodes`` belong to.
    targets : array, optional
        Class numbers (int64) or real values, one or one row per graph or node; ``None`` where the
        source has none.
    class_names : tuple of str
        What the class numbers mean; empty for labels and values.
    target_names : tuple of str
        What the columns of targets are called, where they were chosen by name.
    nodes : Nodes, optional
        The labeled nodes that ``targets`` belong to; ``None`` when they belong to graphs.
    split : mapping, optional
        The published or given split: positions in ``targets`` of ``"train"``, ``"test"`` and
        perhaps ``"validation"``, or of each fold by its number.
    subsets : mapping
        Subsets of the items that are of interest by themselves, as positions in ``targets`` by
        name: ``"cliffs"`` of the sets of MoleculeACE.
    source : str
        Where the files came from.
    sha256 : mapping
        Hashes of the files, where they were checked.
    description, citation, license : str
        What it is, whom to cite, and the terms that its source names.
    paper : mapping
        What the paper's statistics table says about it; ``paper_note`` says where and why that
        differs.

    Shapes
    ------
    targets : (n,) or (n, T), with n graphs or nodes
    """

    name: str
    graphs: Graphs
    targets: Array | None = None
    class_names: tuple[str, ...] = ()
    nodes: Nodes | None = None
    split: Mapping[str, Array] | None = None
    source: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    citation: str = ""
    license: str = ""
    paper: Mapping[str, Any] = field(default_factory=dict)
    paper_note: str = ""
    target_names: tuple[str, ...] = ()
    subsets: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.targets is not None and len(self.targets) != len(self):
            raise DatasetError(
                f"{self.name}: {len(self.targets)} targets were given for {len(self)} {self.level}s"
            )

    @property
    def items(self) -> Graphs | Nodes:
        """What targets belong to: the graphs, or the labeled nodes."""
        return self.graphs if self.nodes is None else self.nodes

    @property
    def level(self) -> Level:
        """Whether targets belong to graphs or to nodes."""
        return "graph" if self.nodes is None else "node"

    @property
    def task(self) -> Task | None:
        """What targets are: classes, several labels per item, or values; ``None`` without any."""
        return None if self.targets is None else task_of(self.targets)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        text = repr(self.name)
        if self.class_names:
            text += f", {len(self.class_names)} classes"
        if self.nodes is not None:
            text += f", {len(self.nodes):,} labeled nodes"
        if self.split is not None:
            sizes = ", ".join(f"{len(ids)} {subset}" for subset, ids in self.split.items())
            text += f" ({sizes})"
        return f"Dataset({text}, {self.graphs!r})"


def positions_by_word(values: Iterable[Any]) -> dict[str, Array]:
    """Return the positions of each value, as text, in the order of first appearance."""
    positions: dict[str, list[int]] = {}
    for position, value in enumerate(values):
        positions.setdefault(str(value), []).append(position)
    return {word: np.array(items) for word, items in positions.items()}
