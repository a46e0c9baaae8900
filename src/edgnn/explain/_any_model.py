"""Any model that can predict: changed copies are predicted in batches, nothing else is asked."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from edgnn.errors import EstimatorError
from edgnn.explain._changes import Changes, copies
from edgnn.explain._subject import (
    Check,
    Labels,
    Measure,
    Scores,
    Subject,
    check_classes,
    check_fitted,
    check_single,
    cut,
    part_around,
)
from edgnn.graphs import Graphs, Nodes, Vocabulary, known_labels
from edgnn.models import Model, graphs_of

_Array = np.ndarray[Any, Any]

#: Probabilities of 0 and 1 have log-odds of about ∓14 and ±14.
_LEAST = 1e-6
#: How many edges around a node its prediction is taken to rest on, mostly.
_REACH = 2
#: Nodes and edges that are predicted in one batch, and copies.
_ELEMENTS_AT_ONCE, _COPIES_AT_ONCE = 200_000, 512


@dataclass(frozen=True, eq=False)
class PlainScores(Scores):
    """Probabilities, outputs or decisions, as the estimator returns them."""

    numbers: _Array
    measure: Measure

    def value(self, column: int) -> _Array:
        """Return the log-odds of a class, or a number as it is."""
        if self.measure != "log-odds":
            return self.numbers[:, column]
        probability = self.numbers[:, column].clip(_LEAST, 1 - _LEAST)
        log_odds: _Array = np.log(probability) - np.log1p(-probability)
        return log_odds

    def log_probability(self) -> _Array:
        """Return the logarithm of every class's probability, or its decision value."""
        if self.measure != "log-odds":
            return self.numbers
        logs: _Array = np.log(self.numbers.clip(_LEAST))
        return logs


class AnySubject(Subject):
    """A single item of an estimator of which only ``predict`` and ``predict_proba`` are known.

    Nobody knows how far such a model looks around a node: what is tried lies within two edges of
    it, and every copy is one of the whole graph.
    """

    elements = 2_000_000

    def __init__(self, estimator: Any, item: Any, check: Check | None) -> None:
        check_fitted(estimator, _is_fitted(estimator))
        self.task, self.classes = "values", []
        if getattr(estimator, "classes_", None) is not None:
            self.task, self.classes = "classes", np.asarray(estimator.classes_).tolist()
        if isinstance(estimator, Model):
            self.task = estimator.task
        check_classes(estimator, self.classes, self.task)
        if isinstance(estimator, Model) and estimator.transductive:
            raise EstimatorError(
                f"{type(estimator).__name__} cannot be explained: it knows nothing but the graph "
                "it was fitted on, so no element of it can be left out"
            )
        self.estimator, self.check = estimator, check
        self.item = estimator.read_items(item) if isinstance(estimator, Model) else _items(item)
        check_single(self.item)
        whole = graphs_of(self.item)
        nodes, edges = whole.node_vocabulary, whole.edge_vocabulary
        if isinstance(estimator, Model):
            nodes = _extended(nodes, estimator.coder.node_vocabulary, estimator.seen.nodes)
            edges = _extended(edges, estimator.coder.edge_vocabulary, estimator.seen.edges)
        self._whole = whole._with(
            node_vocabulary=nodes if nodes.constant else nodes.with_unknown(),
            edge_vocabulary=edges if edges.constant else edges.with_unknown(),
        )
        self.part = None
        self.raw = whole
        if isinstance(self.item, Nodes):
            node = int(self.item.index[0])
            self.part = part_around(whole, node, _REACH, "both", every_edge=True)
            self.raw = cut(whole, self.part)
        self.labels = {
            "node": Labels.of(nodes, self.raw.node_label),
            "edge": Labels.of(edges, self.raw.edge_label),
        }
        if self.task == "values":
            self.classes = list(range(self.scores(Changes.of(1)).numbers.shape[1]))

    def scores(self, changes: Changes) -> PlainScores:
        """Predict changed copies, a batch at a time."""
        if self.part is not None:
            nodes, edges = self.part.nodes.cpu().numpy(), self.part.edges.cpu().numpy()
            changes = changes.renumbered(nodes, edges)
        elements = max(1, self._whole.num_nodes + self._whole.num_edges)
        size = min(max(1, _ELEMENTS_AT_ONCE // elements), _COPIES_AT_ONCE)
        found = [np.zeros((0, len(self.classes)))] if self.classes else []
        for start in range(0, changes.count, size):
            self.look()
            piece = changes.piece(start, min(start + size, changes.count))
            found.append(self._predicted(*copies(self._whole, piece)))
        return PlainScores(np.concatenate(found), self.measure)

    def _predicted(self, graphs: Graphs, numbers: Tensor) -> _Array:
        items: Graphs | Nodes = graphs
        if isinstance(self.item, Nodes):
            items = Nodes._of(graphs, numbers[:, int(self.item.index[0])])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of labels that are taken out on purpose
            return self._numbers(items)

    @cached_property
    def measure(self) -> Measure:
        """What is explained: of a classifier without probabilities, its decisions if it has any."""
        if self.task == "values":
            return "output"
        if hasattr(self.estimator, "predict_proba"):
            return "log-odds"
        return "decision" if self._decides_by_class() else "class"

    def _decides_by_class(self) -> bool:
        """Return whether there is one decision value per class, or one for two classes."""
        if self.task != "classes" or not hasattr(self.estimator, "decision_function"):
            return False
        shape = np.shape(self.estimator.decision_function(self.item))
        if shape == (1,):
            return len(self.classes) == 2
        return bool(shape == (1, len(self.classes)))

    def _numbers(self, items: Graphs | Nodes) -> _Array:
        if self.measure == "log-odds":
            return np.asarray(self.estimator.predict_proba(items), dtype=float)
        if self.measure == "decision":
            decision = np.asarray(self.estimator.decision_function(items), dtype=float)
            return np.stack([-decision, decision], axis=1) if decision.ndim == 1 else decision
        predicted = np.asarray(self.estimator.predict(items))
        if self.measure == "output":
            return predicted.astype(float).reshape(len(items), -1)
        if self.task == "labels":
            return predicted.astype(float)
        is_predicted: _Array = predicted[:, None] == np.asarray(self.classes)[None]
        return is_predicted.astype(float)

    def prediction(self, scores: Scores) -> Any:
        """Return what ``predict`` says of the item."""
        predicted = self.estimator.predict(self.item)[0]
        return predicted.item() if np.ndim(predicted) == 0 else np.asarray(predicted)

    def answer(self, item: Graphs | Nodes) -> tuple[_Array | None, Any]:
        """Ask the estimator itself."""
        probability = self._numbers(item)[0] if self.measure == "log-odds" else None
        return probability, self.estimator.predict(item)[0]

    def label_choices(self, kind: str) -> list[int]:
        """Return the labels of the training set; of foreign models, of the graph's vocabulary."""
        vocabulary = self.labels[kind].vocabulary
        if not isinstance(self.estimator, Model):
            return list(range(known_labels(vocabulary)))
        coder, seen = self.estimator.coder, self.estimator.seen
        known, occur = coder.edge_vocabulary, seen.edges
        if kind == "node":
            known, occur = coder.node_vocabulary, seen.nodes
        return sorted(vocabulary.index(label) for label in _occurring(known, occur))

    @property
    def is_whole(self) -> bool:
        """Whether the part around a node is its whole graph."""
        same_nodes = self.raw.num_nodes == self._whole.num_nodes
        return same_nodes and self.raw.num_edges == self._whole.num_edges

    @property
    def copied_elements(self) -> int:
        """How many nodes and edges the whole graph has."""
        return self._whole.num_nodes + self._whole.num_edges

    @property
    def node_keys(self) -> list[Hashable]:
        """Labels and names: a model may know nodes by name."""
        keys, names = super().node_keys, self.raw.node_names
        return keys if names is None else list(zip(keys, names.tolist(), strict=True))


def _occurring(vocabulary: Vocabulary, seen: Tensor) -> list[Any]:
    """Return the labels that a model has learned from."""
    return [vocabulary[place] for place in seen.nonzero()[:, 0].tolist()]


def _extended(vocabulary: Vocabulary, known: Vocabulary, seen: Tensor) -> Vocabulary:
    """Return a graph's vocabulary with the labels of the training set behind its own."""
    more = [label for label in _occurring(known, seen) if label not in vocabulary]
    return Vocabulary((*vocabulary, *more)) if more else vocabulary


def _is_fitted(estimator: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(estimator, "fit"):
        return True
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    except (AttributeError, TypeError):  # no estimator of scikit-learn: nobody can tell
        return True
    return True


def _items(item: Any) -> Graphs | Nodes:
    if isinstance(item, Graphs | Nodes):
        return item
    if isinstance(item, str):
        from edgnn.io import from_smiles

        return from_smiles(item)
    raise EstimatorError(
        f"an explanation is of one graph (graphs[0]) or one node (graphs.nodes[7]), "
        f"not of a {type(item).__name__}"
    )
