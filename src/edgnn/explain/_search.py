"""The search behind counter-examples: single changes, pairs, and sets that grow from the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np

from edgnn.explain._changes import Changes
from edgnn.explain._links import links_of, members_of
from edgnn.explain._subject import Scores, Subject
from edgnn.io import Deadline

#: So many sets are tried at a time; the search ends with the first batch that holds a
#: counter-example.
_BATCH = 2048
#: So many are tried between two looks at the clock.
_PIECE = 64
#: From so many of the most promising sets larger ones grow where not all can be tried.
_BEAM = 16
#: So many of the found sets are offered for verification.
_OFFERED = 8

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Step:
    """One change: a node or a link, and the number of its new label (−1: the link is taken out)."""

    kind: str
    elements: tuple[int, ...]
    label: int

    @property
    def what(self) -> str:
        """Whether elements are each a ``"node"`` or an ``"edge"``."""
        return "node" if self.kind == "node label" else "edge"

    @property
    def place(self) -> tuple[str, tuple[int, ...]]:
        """What is changed: two changes of one place do not go together."""
        return self.what, self.elements


@dataclass(frozen=True)
class Found:
    """Changes that give another prediction, and whether all smaller sets were tried."""

    steps: tuple[Step, ...]
    smallest: bool


class Search:
    """Looks for sets of changes, among all that known labels allow, that change a prediction.

    Parameters
    ----------
    subject : Subject
        What is predicted.
    wanted : int, optional
        The column that is to become the prediction, or of several labels the one to change.
    most : int
        Largest number of changed graphs.
    limit : Deadline
        How long it may take.
    """

    def __init__(self, subject: Subject, wanted: int | None, most: int, limit: Deadline) -> None:
        self.subject, self.wanted, self.limit = subject, wanted, limit
        self.steps = list(islice(_steps(subject), most + 1))
        self.left, self.tried = most, 0
        scores = subject.scores(Changes.of(1))
        self.prediction = subject.prediction(scores)
        self.own = None if subject.task == "labels" else subject.column(None, scores)

    def flips(self, prediction: Any) -> bool:
        """Return whether a prediction is another one, of the kind wanted."""
        if self.subject.task == "labels":
            changed = np.asarray(prediction) != self.prediction
            return bool(changed.any() if self.wanted is None else changed[self.wanted])
        if self.wanted is None:
            return bool(prediction != self.prediction)
        return bool(prediction == self.subject.classes[self.wanted])

    def _margins(self, scores: Scores) -> _Array:
        """Return how far each prediction is on the other side: below zero, not yet.

        In log-odds, or decision values.

        Shapes
        ------
        → (copies,)
        """
        if self.subject.task == "labels":
            columns = range(len(self.subject.classes))
            odds = np.stack([scores.value(column) for column in columns], axis=1)
            if self.subject.measure == "class":
                odds -= 0.5
            side = np.where(np.asarray(self.prediction) > 0, -odds, odds)
            return np.asarray(side.max(axis=1) if self.wanted is None else side[:, self.wanted])
        logs = scores.log_probability()
        column = self.own if self.wanted is None else self.wanted
        assert column is not None
        ahead: _Array = logs[:, column] - np.delete(logs, column, axis=1).max(axis=1)
        return -ahead if self.wanted is None else ahead

    def by_size(self, largest: int) -> Iterator[Found]:
        """Yield what was found, the fewest changes first, to be verified."""
        if self.flips(self.prediction):
            return
        steps = self.steps
        if len(steps) > self.left:
            steps = steps[: max(1, self.left // 2)]
        singles = [(step,) for step in steps]
        margins = self._asked(singles)
        exhaustive = len(margins) == len(self.steps) and self.subject.is_whole
        yield from _offered(singles, margins, True)
        if len(margins) < len(singles):
            return
        reached: list[tuple[tuple[Step, ...], float]] = list(
            zip(singles, margins.tolist(), strict=True)
        )
        for size in range(2, largest + 1):
            sets, is_every = self._grown(reached, steps, margins, size, largest)
            reached = []
            for start in range(0, len(sets), _BATCH):
                batch = sets[start : start + _BATCH]
                of_batch = self._asked(batch)
                yield from _offered(batch, of_batch, exhaustive)
                reached += zip(batch, of_batch.tolist(), strict=False)
            exhaustive = exhaustive and is_every and len(reached) == len(sets)
            if not reached or self.left <= 0:
                return

    def _grown(
        self,
        best: list[tuple[tuple[Step, ...], float]],
        steps: list[Step],
        margins: _Array,
        size: int,
        largest: int,
    ) -> tuple[list[tuple[Step, ...]], bool]:
        """Return sets of a size, the most promising first, and whether that is all of them.

        Where not all can be tried, sets grow from the best. Larger sizes get an equal share of what
        may still be tried.
        """
        count = len(steps)
        if size == 2 and count * (count - 1) // 2 <= self.left:
            pairs = [
                (i, j) for i, j in combinations(range(count), 2) if steps[i].place != steps[j].place
            ]
            pairs.sort(key=lambda pair: -(margins[pair[0]] + margins[pair[1]]))
            return [(steps[i], steps[j]) for i, j in pairs], True
        beam = sorted(best, key=lambda entry: -entry[1])[:_BEAM]
        grown: dict[frozenset[Step], tuple[tuple[Step, ...], float]] = {}
        for chosen, reached in beam:
            places = {step.place for step in chosen}
            for step, margin in zip(steps, margins.tolist(), strict=True):
                if step.place not in places:
                    grown.setdefault(
                        frozenset((*chosen, step)), ((*chosen, step), reached + margin)
                    )
        ranked = sorted(grown.values(), key=lambda entry: -entry[1])
        share = max(self.left, 0) // (largest - size + 1)
        return [steps_ for steps_, _ in ranked[:share]], False

    def _asked(self, sets: Sequence[tuple[Step, ...]]) -> _Array:
        """Return the margins of as many of the sets as may still be tried."""
        sets = sets[: max(self.left, 0)]
        size = _PIECE if self.limit.left < math.inf else max(1, len(sets))
        margins = [np.zeros(0)]
        for start in range(0, len(sets), size):
            if self.limit.is_over:
                self.left = 0
                break
            piece = sets[start : start + size]
            self.left -= len(piece)
            self.tried += len(piece)
            margins.append(self._margins(self.subject.scores(_as_changes(piece))))
        return np.concatenate(margins)


def _offered(sets: Sequence[tuple[Step, ...]], margins: _Array, smallest: bool) -> Iterator[Found]:
    """Return the sets that change the prediction most clearly, of those that were tried."""
    order = np.argsort(-margins, kind="stable")[:_OFFERED]
    return (Found(sets[place], smallest) for place in order.tolist() if margins[place] > 0)


def _steps(subject: Subject) -> Iterator[Step]:
    """Yield links to take out, new labels of nodes, new labels of links, by rising distance."""
    distance = subject.distance()
    links = [tuple(edges.tolist()) for edges in members_of(links_of(subject.raw))]
    source, target = subject.raw.edge_source.tolist(), subject.raw.edge_target.tolist()
    away = np.array(
        [min(distance[source[edges[0]]], distance[target[edges[0]]]) for edges in links],
        dtype=np.int64,
    )
    choices = {kind: _choices(subject, kind) for kind in subject.labels}
    for far in range(int(distance.max()) + 1):
        near = [links[link] for link in np.flatnonzero(away == far).tolist()]
        yield from (Step("link out", edges, -1) for edges in near)
        for node in np.flatnonzero(distance == far).tolist():
            yield from _relabelings("node label", (node,), subject, choices)
        for edges in near:
            yield from _relabelings("link label", edges, subject, choices)


def _choices(subject: Subject, kind: str) -> list[int]:
    """Return the labels that an element may get; degrees and names cannot be given to a node."""
    if not subject.labels[kind].removable:
        return []
    if kind == "node" and subject.node_label_kind != "label":
        return []
    return subject.label_choices(kind)


def _relabelings(
    kind: str, elements: tuple[int, ...], subject: Subject, choices: dict[str, list[int]]
) -> Iterator[Step]:
    what = Step(kind, elements, -1).what
    own = subject.labels[what].numbers[elements[0]]
    return (Step(kind, elements, label) for label in choices[what] if label != own)


def _as_changes(sets: Sequence[tuple[Step, ...]]) -> Changes:
    out: list[tuple[int, int]] = []
    labels: dict[str, list[tuple[int, int, int]]] = {"node label": [], "link label": []}
    for copy, steps in enumerate(sets):
        for step in steps:
            if step.kind == "link out":
                out += [(copy, edge) for edge in step.elements]
            else:
                labels[step.kind] += [(copy, element, step.label) for element in step.elements]
    return Changes.of(
        len(sets),
        edges_out=np.array(out, np.int64).reshape(-1, 2).T,
        node_labels=np.array(labels["node label"], np.int64).reshape(-1, 3).T,
        edge_labels=np.array(labels["link label"], np.int64).reshape(-1, 3).T,
    )
