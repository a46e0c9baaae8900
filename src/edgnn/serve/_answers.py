"""What a model says about items, as rows of JSON and as CSV: the columns of ``edgnn predict``, and what was seen in training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from edgnn._json import to_csv
from edgnn.graphs import Nodes
from edgnn.models import (
    Estimator,
    Predictions,
    identities,
    in_pieces,
    prediction_columns,
)

if TYPE_CHECKING:
    from edgnn.graphs import Graphs
    from edgnn.serve._limits import Deadline
    from edgnn.serve._molecules import LeftOut

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Answers:
    """Predictions for some items, and how like the training data they are.

    Parameters
    ----------
    ids : dict of lists
        What names the items.
    found : Predictions
        What the model says.
    share : array, optional
        Of an item's nodes, those whose color of a round occurs in the training part; ``None`` where
        that is not known.
    first_new : array, optional
        The first round with a color never seen; −1 for none.
    unseen : array
        Nodes and edges of each item whose label the model has not learned.

    Shapes
    ------
    share (n, rounds + 1), first_new (n,), unseen (n,)
    """

    ids: dict[str, list[Any]]
    found: Predictions
    share: _Array | None
    first_new: _Array | None
    unseen: _Array

    def __len__(self) -> int:
        return len(self.unseen)

    def take(self, places: Sequence[int]) -> Answers:
        """Return the answers for some of the items."""
        index = np.asarray(places, dtype=np.int64)
        return Answers(
            {name: [values[place] for place in places] for name, values in self.ids.items()},
            Predictions(
                self.found.prediction[index],
                None if self.found.probability is None else self.found.probability[index],
                {name: values[index] for name, values in self.found.uncertainty.items()},
            ),
            None if self.share is None else self.share[index],
            None if self.first_new is None else self.first_new[index],
            self.unseen[index],
        )

    @classmethod
    def joined(cls, parts: Sequence[Answers]) -> Answers:
        """Return the answers of several pieces as one, without what names their items."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        probability = None
        if first.found.probability is not None:
            probability = np.concatenate([part.found.probability for part in parts])
        return cls(
            {},
            Predictions(
                np.concatenate([part.found.prediction for part in parts]),
                probability,
                {
                    name: np.concatenate([part.found.uncertainty[name] for part in parts])
                    for name in first.found.uncertainty
                },
            ),
            None if first.share is None else np.concatenate([part.share for part in parts]),
            None if first.first_new is None else np.concatenate([part.first_new for part in parts]),
            np.concatenate([part.unseen for part in parts]),
        )

    def rows(self, class_names: Sequence[str]) -> list[dict[str, Any]]:
        """Return one object per item, ready for JSON."""
        prediction = [_plain(value, class_names) for value in self.found.prediction.tolist()]
        names = list(self.ids)
        return [
            {
                **{name: _identity(self.ids[name][place]) for name in names},
                "prediction": prediction[place],
                "probabilities": None
                if self.found.probability is None
                else _finite(self.found.probability[place].tolist()),
                "uncertainty": {
                    name: _finite(values[place].tolist())
                    for name, values in self.found.uncertainty.items()
                },
                "familiarity": self._familiarity(place),
                "unseen_labels": int(self.unseen[place]),
            }
            for place in range(len(self))
        ]

    def _familiarity(self, place: int) -> dict[str, Any] | None:
        if self.share is None or self.first_new is None:
            return None
        first = int(self.first_new[place])
        return {
            "first_new_round": None if first < 0 else first,
            "seen_share": _finite(self.share[place].tolist()),
        }

    def csv(
        self,
        estimator: Estimator,
        class_names: Sequence[str],
        target_names: Sequence[str],
        skipped: Sequence[LeftOut] = (),
    ) -> bytes:
        """Return a table with the columns of ``edgnn predict``, and the first round with a color never seen.

        What was left out has a row where it stood, and where there is such, a column says why.
        """
        columns = self.ids | prediction_columns(
            estimator,
            self.found,
            class_names=class_names,
            target_names=target_names,
            uncertainty=bool(self.found.uncertainty),
        )
        if self.first_new is not None:
            columns |= {
                "first_new_round": [
                    None if first < 0 else first for first in self.first_new.tolist()
                ]
            }
        return to_csv(_with_skipped(columns, skipped) if skipped else columns)


def answers_of(
    estimator: Estimator, items: Graphs | Nodes, deadline: Deadline | None = None
) -> Answers:
    """Return what an estimator says about items, some at a time; it raises where the time is over."""
    parts = []
    for piece in in_pieces(items, len(estimator.best_epoch_)):
        if deadline is not None:
            deadline.check()
        known = estimator.familiarity(piece)
        share = None if known is None else np.asarray(known.share, dtype=np.float64).T
        first = None if known is None else np.asarray(known.first_new, dtype=np.int64)
        parts.append(
            Answers({}, estimator.predictions(piece), share, first, _unseen(estimator, piece))
        )
    return replace(Answers.joined(parts), ids=identities(items))


def _with_skipped(
    columns: dict[str, list[Any]], skipped: Sequence[LeftOut]
) -> dict[str, list[Any]]:
    """Return columns with a row for each item left out, where it stood."""
    left_out = {entry.index: entry for entry in skipped}
    kept = iter(range(len(columns["id"])))
    order = [
        None if place in left_out else next(kept)
        for place in range(len(columns["id"]) + len(skipped))
    ]
    found = {
        name: [None if place is None else values[place] for place in order]
        for name, values in columns.items()
    }
    found["error"] = [None] * len(order)
    for place, entry in left_out.items():
        found["id"][place], found["error"][place] = entry.name, entry.error
    return found


def _unseen(estimator: Estimator, items: Graphs | Nodes) -> _Array:
    """Count the nodes and edges of each item whose label was not learned; of a node, whether its own was not."""
    graphs = items.graphs if isinstance(items, Nodes) else items
    nodes, edges = estimator._seen.unseen(estimator._coder.encode(graphs))
    if isinstance(items, Nodes):
        own: _Array = np.isin(items.index.cpu().numpy(), nodes.cpu().numpy()).astype(np.int64)
        return own
    owner = graphs.graph_of_node.cpu().numpy()
    counts = np.bincount(owner[nodes.cpu().numpy()], minlength=len(graphs))
    counts += np.bincount(
        owner[graphs.edge_source.cpu().numpy()[edges.cpu().numpy()]], minlength=len(graphs)
    )
    return counts


def _plain(value: Any, class_names: Sequence[str]) -> Any:
    if class_names:
        return class_names[value]
    return _finite(value) if isinstance(value, float | list) else value


def _finite(value: Any) -> Any:
    """Return numbers as JSON has them: ``None`` for what is none."""
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _identity(value: Any) -> Any:
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)
