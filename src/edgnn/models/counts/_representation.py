"""What every learner on counts sees of graphs: counts of their parts, and numbers beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import csr_array, hstack

from edgnn._words import short
from edgnn.graphs import Graphs
from edgnn.models.counts._labelings import (
    PHARMACOPHORE,
    Labeling,
    default_labelings,
    has_chemistry,
    relabeled,
)
from edgnn.models.counts._parts import (
    MOST_PAIRS,
    Counts,
    color_counts,
    number_of_pairs,
    pair_counts,
)
from edgnn.wl import Scheme, signatures

_Array = np.ndarray[Any, Any]
Kind = Literal["colors", "pairs"]
Comparison = Literal["tanimoto", "log-cosine"]

#: Most rounds of refinement.
DEEPEST = 100

#: Most edges between two nodes of a pair.
FARTHEST = 8
_LEAST_ITEMS = 2  # that must differ in a column


@dataclass(frozen=True)
class View:
    """One way of counting parts: colors of one refinement by round, or pairs of nodes.

    Parameters
    ----------
    kind : {"colors", "pairs"}
        What is counted.
    labeling : Labeling
        What nodes and edges start from.
    scheme : {"node", "separate", "joint"}
        The refinement.
    rounds : int
        Most rounds of refinement; of pairs, the round whose colors the two nodes have.
    comparisons : tuple of str
        How counts of two items are compared: ``"tanimoto"``, ``"log-cosine"``, the mean of both.
    """

    kind: Kind
    labeling: Labeling
    scheme: Scheme = "joint"
    rounds: int = 4
    comparisons: tuple[Comparison, ...] = ("tanimoto",)

    @property
    def name(self) -> str:
        """What the view is called."""
        pairs = f"pairs up to {FARTHEST} edges apart of " if self.kind == "pairs" else ""
        return f"{pairs}{self.labeling.name} ({self.scheme})"

    def count(self, graphs: Graphs) -> tuple[Counts, ...]:
        """Return the counts of encoded graphs: of colors by round, of pairs one."""
        labeled = relabeled(graphs, self.labeling)
        colors = [hashes.cpu().numpy() for hashes in signatures(labeled, self.rounds, self.scheme)]
        if self.kind == "pairs":
            return (pair_counts(labeled, colors[-1], FARTHEST),)
        owner = labeled.graph_of_node.cpu().numpy()
        return tuple(color_counts(colors, owner, len(labeled)))


def default_views(graphs: Graphs, rounds: int) -> tuple[View, ...]:
    """Return the views that fit these graphs."""
    labelings = default_labelings(graphs)
    if not has_chemistry(graphs):
        # pairs only did harm on the five sets of the paper, and a second comparison helped
        both = get_args(Comparison)
        first = [View("colors", labeling, "joint", rounds, both) for labeling in labelings]
        others: tuple[Scheme, ...] = ("node", "separate")
        more = [View("colors", labelings[-1], scheme, rounds, both) for scheme in others]
        return (*first, *more)
    views = [View("colors", labeling, rounds=rounds) for labeling in labelings]
    if number_of_pairs(graphs) <= MOST_PAIRS:
        of_pairs = (labelings[-1], PHARMACOPHORE)
        views += [View("pairs", labeling, rounds=0) for labeling in of_pairs]
    return tuple(views)


@dataclass(frozen=True, eq=False)
class Represented:
    """Items as counts, one tuple per view, and as numbers beside the counts.

    Parameters
    ----------
    views : tuple of View
        What was counted.
    counts : tuple of tuples of Counts
        For each view, the counts of each round, or of pairs.
    features : array
        Standardized numbers, such as descriptors; may have no columns.

    Shapes
    ------
    features (n, F)
    """

    views: tuple[View, ...]
    counts: tuple[tuple[Counts, ...], ...]
    features: _Array

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, items: _Array) -> Represented:
        """Return some of the items, in the same columns."""
        counts = tuple(tuple(part[items] for part in view) for view in self.counts)
        return Represented(self.views, counts, self.features[items])

    def in_columns_of(self, known: Represented) -> Represented:
        """Return the items in the columns of others."""
        pairs = zip(self.counts, known.counts, strict=True)
        counts = tuple(
            tuple(new.in_columns(old.names) for new, old in zip(mine, theirs, strict=True))
            for mine, theirs in pairs
        )
        return Represented(self.views, counts, self.features)


@dataclass(frozen=True, eq=False)
class Columns:
    """Which counts become the columns of a table, for learners that look at one column at a time.

    Parameters
    ----------
    names : tuple of tuples of arrays
        For each view and round, the parts that are columns, rising.
    """

    names: tuple[tuple[_Array, ...], ...]

    @classmethod
    def of(cls, items: Represented, most: int, deepest: int) -> Columns:
        """Choose the parts that tell most items apart, of rounds up to ``deepest``."""
        apart = [
            [_items_apart(part, len(items)) for part in view[: deepest + 1]]
            for view in items.counts
        ]
        everything = np.sort(np.concatenate([few for rounds in apart for few in rounds]))[::-1]
        least = _LEAST_ITEMS
        if len(everything) > most:
            least = max(least, int(everything[most]))
        names = [
            tuple(part.names[few >= least] for few, part in zip(rounds, view, strict=False))
            for rounds, view in zip(apart, items.counts, strict=True)
        ]
        nothing = np.zeros(0, dtype=np.int64)
        deeper = [len(view) - len(rounds) for view, rounds in zip(items.counts, apart, strict=True)]
        return cls(
            tuple((*chosen, *[nothing] * more) for chosen, more in zip(names, deeper, strict=True))
        )

    def table(self, items: Represented) -> csr_array:
        """Return the counts in these columns, and behind them the items' numbers."""
        blocks = [
            part.in_columns(names).table
            for view, chosen in zip(items.counts, self.names, strict=True)
            for part, names in zip(view, chosen, strict=True)
        ]
        blocks.append(csr_array(items.features.astype(np.float32)))
        return csr_array(hstack(blocks, format="csr"))


def _items_apart(part: Counts, items: int) -> _Array:
    """Return how many items each part sets apart: those that have it, or those that do not.

    A part of nearly all items may still vary in how often it occurs.
    """
    present = part.frequencies
    totals = np.bincount(part.table.indices, part.table.data, minlength=len(part.names))
    repeated = np.minimum(totals - present, present).astype(np.int64)
    apart: _Array = np.maximum(np.minimum(present, items - present), repeated)
    return apart


def view_facts(view: View) -> dict[str, Any]:
    """Return a view as JSON holds it."""
    labeling = view.labeling
    return {
        "kind": view.kind,
        "scheme": view.scheme,
        "rounds": view.rounds,
        "labeling": labeling.name,
        "node": list(labeling.node),
        "edge": list(labeling.edge),
        "comparisons": list(view.comparisons),
    }


def view_from(facts: Mapping[str, Any]) -> View:
    """Return the view that :func:`view_facts` stored."""
    kind, scheme, rounds = facts["kind"], facts["scheme"], facts["rounds"]
    if kind not in ("colors", "pairs") or type(rounds) is not int or not 0 <= rounds <= DEEPEST:
        raise ValueError(f"{short(dict(facts))} is no view of graphs")
    if scheme not in get_args(Scheme):
        raise ValueError(f"{short(scheme)} is no scheme of refinement")
    labeling = Labeling(str(facts["labeling"]), _texts(facts["node"]), _texts(facts["edge"]))
    comparisons: Any = _texts(facts["comparisons"])
    if not comparisons or not set(comparisons) <= set(get_args(Comparison)):
        raise ValueError(f"{short(comparisons)} are no comparisons of counts")
    return View(kind, labeling, scheme, rounds, comparisons)


def _texts(stored: Sequence[Any]) -> tuple[str, ...]:
    if not all(isinstance(text, str) for text in stored):
        raise ValueError("the names of labels and attributes must be texts")
    return tuple(stored)
