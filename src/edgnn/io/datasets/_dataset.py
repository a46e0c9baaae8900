"""Dataset: graphs, targets, and what is known about them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from edgnn.errors import DatasetError
from edgnn.graphs import Graphs, Nodes

_Array = np.ndarray[Any, Any]
Task = Literal["classification", "regression"]


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
        What the class numbers mean; empty for regression.
    nodes : Nodes, optional
        The labeled nodes that ``targets`` belong to; ``None`` when they belong to graphs.
    split : mapping, optional
        The published split: positions in ``targets`` of ``"train"`` and ``"test"``.
    source : str
        Where the files came from.
    sha256 : mapping
        Hashes of the files, where they were checked.
    description, citation : str
        What it is, and whom to cite.
    paper : mapping
        What the paper's statistics table says about it; ``paper_note`` says where and why that
        differs.

    Shapes
    ------
    targets : (n,) or (n, T), with n graphs or nodes
    """

    name: str
    graphs: Graphs
    targets: _Array | None = None
    class_names: tuple[str, ...] = ()
    nodes: Nodes | None = None
    split: Mapping[str, _Array] | None = None
    source: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    citation: str = ""
    paper: Mapping[str, Any] = field(default_factory=dict)
    paper_note: str = ""

    def __post_init__(self) -> None:
        items = len(self.graphs if self.nodes is None else self.nodes)
        if self.targets is not None and len(self.targets) != items:
            raise DatasetError(
                f"{self.name}: {len(self.targets)} targets were given for {items} {self.level}s"
            )

    @property
    def level(self) -> Literal["graph", "node"]:
        """Whether targets belong to graphs or to nodes."""
        return "graph" if self.nodes is None else "node"

    @property
    def task(self) -> Task | None:
        """What kind of target there is to learn."""
        if self.targets is None:
            return None
        return "classification" if self.targets.dtype.kind in "iu" else "regression"

    def __len__(self) -> int:
        return len(self.graphs if self.nodes is None else self.nodes)

    def __repr__(self) -> str:
        classes = f", {len(self.class_names)} classes" if self.class_names else ""
        items = "" if self.nodes is None else f", {len(self.nodes):,} labeled nodes"
        split = (
            ""
            if self.split is None
            else " (" + ", ".join(f"{len(ids)} {part}" for part, ids in self.split.items()) + ")"
        )
        return f"Dataset({self.name!r}{classes}{items}{split}, {self.graphs!r})"


def encode_classes(
    values: _Array, class_names: Mapping[str, str] | None = None
) -> tuple[_Array, tuple[str, ...]]:
    """Number target values as classes in sorted order; real-valued ones are left as they are.

    Parameters
    ----------
    values : array
        Raw targets of a file: integers or strings are classes, floats are real values.
    class_names : mapping, optional
        Readable names of the raw values, written as text.
    """
    if values.dtype.kind == "f":
        _warn_of_missing_classes(values)
    if values.dtype.kind == "f" or values.ndim > 1:
        return values, ()
    known = class_names or {}
    if (
        values.dtype.kind == "O"
    ):  # as an array of str_, every value would take the room of the longest one
        texts = list(map(str, values))
        place = {text: number for number, text in enumerate(sorted(set(texts)))}
        return np.array([place[text] for text in texts], np.int64), tuple(
            known.get(text, text) for text in place
        )
    raw, numbers = np.unique(values, return_inverse=True)
    return numbers.astype(np.int64), tuple(known.get(str(value), str(value)) for value in raw)


def _warn_of_missing_classes(values: _Array) -> None:
    missing = np.isnan(values)
    known = values[~missing]
    if (
        values.ndim == 1
        and missing.any()
        and len(known)
        and (known == np.round(known)).all()
        and len(np.unique(known)) <= 20
    ):
        warnings.warn(
            f"{int(missing.sum())} of {len(values)} targets are missing, so whole numbers are taken as real values to regress on; "
            "if they are classes, drop the items without a target first (--classification in a command does that)",
            stacklevel=4,
        )
