"""The search behind counter-examples: single changes, pairs of them, and larger sets that grow from promising ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.explain._changes import Changes
from edgnn.explain._links import links_of, members_of
from edgnn.explain._subject import Subject
from edgnn.explain._values import explained, mean_probabilities, member_outputs
from edgnn.models import decide

#: So many sets are tried at a time; the search ends with the first batch that holds a
#: counter-example.
_BATCH = 2048
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
    def place(self) -> tuple[bool, tuple[int, ...]]:
        """What is changed: two changes of one place do not go together."""
        return self.kind == "node label", self.elements


@dataclass(frozen=True)
class Found:
    """Changes that give another prediction, and whether all smaller sets were tried."""

    steps: tuple[Step, ...]
    smallest: bool


class Search:
    """Looks for sets of changes that change a prediction.

    Parameters
    ----------
    subject : Subject
        What is predicted.
    wanted : int, optional
        The column that is to become the prediction, or of several labels the one to change.
    most, memory : int
        Largest number of changed graphs; bytes per pass.
    """

    def __init__(
        self, subject: Subject, wanted: int | None, steps: list[Step], most: int, memory: int
    ) -> None:
        self.subject, self.wanted, self.steps, self.memory = subject, wanted, steps, memory
        self.left, self.tried = most, 0
        estimator: Any = subject.estimator
        self.task = estimator._encoding.task
        outputs = member_outputs(subject, Changes.of(1), memory)
        self.prediction = decide(mean_probabilities(estimator, outputs), estimator._encoding)[0]
        self.own = (
            None
            if self.task == "labels"
            else int(mean_probabilities(estimator, outputs)[0].argmax())
        )

    @classmethod
    def of(cls, subject: Subject, wanted: int | None, most: int, memory: int) -> Search:
        """Prepare the search over all changes that labels seen in training allow."""
        return cls(subject, wanted, single_steps(subject, most + 1), most, memory)

    def flips(self, prediction: Any) -> bool:
        """Return whether a prediction is another one, of the kind wanted."""
        if self.task == "labels":
            changed = np.asarray(prediction) != self.prediction
            return bool(changed.any() if self.wanted is None else changed[self.wanted])
        classes = self.subject.estimator._encoding.classes
        return bool(
            prediction != self.prediction
            if self.wanted is None
            else prediction == classes[self.wanted]
        )

    def _margins(self, outputs: Tensor) -> _Array:
        """Return how far each prediction is on the other side, in log-odds; below zero, how far it is away from it.

        Shapes
        ------
        outputs (M, n, K) → (n,)
        """
        estimator, columns = self.subject.estimator, range(outputs.shape[-1])
        if self.task == "labels":
            odds = np.stack(
                [explained(estimator, outputs, column).numpy() for column in columns], axis=1
            )
            side = np.where(self.prediction > 0, -odds, odds)
            return np.asarray(side.max(axis=1) if self.wanted is None else side[:, self.wanted])
        logs = torch.logsumexp(
            torch.log_softmax(outputs / getattr(estimator, "temperature_", 1.0), dim=-1), dim=0
        ).numpy()
        one = self.wanted if self.own is None or self.wanted is not None else self.own
        assert one is not None
        ahead: _Array = logs[:, one] - np.delete(logs, one, axis=1).max(axis=1)
        return -ahead if self.wanted is None else ahead

    def by_size(self, largest: int) -> Iterator[Found]:
        """Yield what was found, the fewest changes first, to be verified."""
        if self.flips(self.prediction):
            return
        few = self.steps if len(self.steps) <= self.left else self.steps[: max(1, self.left // 2)]
        margins = self._asked([(step,) for step in few])
        steps = self.steps[: len(margins)]
        exhaustive = len(margins) == len(self.steps) and not self.subject.has_links_beyond
        yield from self._offered([(step,) for step in steps], margins, True)
        best: list[tuple[tuple[Step, ...], float]] = [
            ((step,), float(margin)) for step, margin in zip(steps, margins, strict=True)
        ]
        for size in range(2, largest + 1):
            sets, every = self._grown(best, steps, margins, size, largest)
            tried: list[tuple[tuple[Step, ...], float]] = []
            for start in range(0, len(sets), _BATCH):
                batch = sets[start : start + _BATCH]
                of_batch = self._asked(batch)
                yield from self._offered(batch[: len(of_batch)], of_batch, exhaustive)
                tried += [
                    (steps_, float(margin)) for steps_, margin in zip(batch, of_batch, strict=False)
                ]
            exhaustive = exhaustive and every and len(tried) == len(sets)
            best = tried
            if not best or self.left <= 0:
                return

    def _offered(
        self, sets: Sequence[tuple[Step, ...]], margins: _Array, smallest: bool
    ) -> Iterator[Found]:
        order = np.argsort(-margins, kind="stable")[:_OFFERED]
        return (Found(sets[place], smallest) for place in order.tolist() if margins[place] > 0)

    def _grown(
        self,
        best: list[tuple[tuple[Step, ...], float]],
        steps: list[Step],
        margins: _Array,
        size: int,
        largest: int,
    ) -> tuple[list[tuple[Step, ...]], bool]:
        """Return sets of a size, the most promising first: all, where they can be tried, else some that grow from the best.

        Larger sizes get an equal share of what may still be tried.
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
        self.left -= len(sets)
        self.tried += len(sets)
        if not sets:
            return np.zeros(0)
        outputs = member_outputs(self.subject, _as_changes(sets), self.memory)
        return self._margins(outputs)


def single_steps(subject: Subject, most: int | None = None) -> list[Step]:
    """Return single changes, at most so many, the nearest to an explained node first: links out, new labels of nodes, of links."""
    return list(islice(_steps(subject), most))


def _steps(subject: Subject) -> Iterator[Step]:
    estimator, encoded, distance = subject.estimator, subject.encoded, subject.distance()
    links = [tuple(edges.tolist()) for edges in members_of(links_of(subject.raw))]
    source, target, edge_label = (
        part.tolist() for part in (encoded.edge_source, encoded.edge_target, encoded.edge_label)
    )
    away = np.array(
        [min(distance[source[edges[0]]], distance[target[edges[0]]]) for edges in links],
        dtype=np.int64,
    )
    of_nodes = subject.node_label_kind == "label" and subject.has_node_labels
    node_labels = np.flatnonzero(estimator._seen.nodes.numpy()).tolist() if of_nodes else []
    edge_labels = (
        np.flatnonzero(estimator._seen.edges.numpy()).tolist() if subject.has_edge_labels else []
    )
    node_label = encoded.node_label.tolist()
    for far in range(int(distance.max()) + 1):
        near = [links[link] for link in np.flatnonzero(away == far).tolist()]
        yield from (Step("link out", edges, -1) for edges in near)
        for node in np.flatnonzero(distance == far).tolist():
            yield from (
                Step("node label", (node,), other)
                for other in node_labels
                if other != node_label[node]
            )
        for edges in near:
            yield from (
                Step("link label", edges, other)
                for other in edge_labels
                if other != edge_label[edges[0]]
            )


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
