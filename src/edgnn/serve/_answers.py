"""What a model says about items, as rows of JSON and as CSV with the columns of ``predict``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgnn._json import to_csv
from edgnn.graphs import Nodes
from edgnn.models import Predictions, identities, in_pieces, prediction_columns

if TYPE_CHECKING:
    from edgnn.graphs import Graphs
    from edgnn.serve._limits import Deadline
    from edgnn.serve._molecules import Skipped

_Array = np.ndarray[Any, Any]
_UNCERTAINTY = "uncertainty "


@dataclass(frozen=True, eq=False)
class Answers:
    """Predictions for some items, and how like the training data they are.

    Parameters
    ----------
    ids : dict of lists
        What names the items.
    arrays : dict of arrays
        One row per item: ``prediction``; where there are any, ``probability`` and measures of
        ``uncertainty``, by name behind a blank; ``unseen``, how many labels of nodes and edges the
        model has not learned; where that is known, ``share``, the fraction of nodes by round whose
        color occurs in the training part, and ``first_new``, the first round with a color never
        seen (−1 for none).
    """

    ids: dict[str, list[Any]]
    arrays: dict[str, _Array]

    def take(self, positions: Sequence[int]) -> Answers:
        """Return the answers for some of the items."""
        index = np.asarray(positions, dtype=np.int64)
        ids = {name: [values[number] for number in positions] for name, values in self.ids.items()}
        return Answers(ids, {name: values[index] for name, values in self.arrays.items()})

    @property
    def predictions(self) -> Predictions:
        """What the model predicts, as tables take it."""
        return Predictions(
            self.arrays["prediction"], self.arrays.get("probability"), self._uncertainty
        )

    @property
    def _uncertainty(self) -> dict[str, _Array]:
        return {
            name.removeprefix(_UNCERTAINTY): values
            for name, values in self.arrays.items()
            if name.startswith(_UNCERTAINTY)
        }

    def rows(self, class_names: Sequence[str]) -> list[dict[str, Any]]:
        """Return one object per item, ready for JSON."""
        count = len(self.arrays["prediction"])
        columns: dict[str, list[Any]] = {
            name: [_identity(value) for value in values] for name, values in self.ids.items()
        }
        columns["prediction"] = [named(value, class_names) for value in self.arrays["prediction"]]
        columns["probabilities"] = self._column("probability", count)
        measures = {name: finite(values.tolist()) for name, values in self._uncertainty.items()}
        columns["uncertainty"] = [
            {name: values[number] for name, values in measures.items()} for number in range(count)
        ]
        columns["familiarity"] = [None] * count
        if "share" in self.arrays:
            columns["familiarity"] = [
                {"first_new_round": _round(first), "seen_share": finite(share.tolist())}
                for first, share in zip(self.arrays["first_new"], self.arrays["share"], strict=True)
            ]
        columns["unseen_labels"] = self._column("unseen", count)
        names = list(columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _column(self, name: str, count: int) -> list[Any]:
        values = self.arrays.get(name)
        return [None] * count if values is None else finite(values.tolist())

    def csv(
        self,
        model: Any,
        class_names: Sequence[str],
        target_names: Sequence[str],
        skipped: Sequence[Skipped] = (),
    ) -> bytes:
        """Return a table with the columns of ``edgnn predict``, and the first unfamiliar round.

        Molecules that were skipped have rows where they stood, and a column says why.
        """
        columns = self.ids | prediction_columns(
            model,
            self.predictions,
            class_names=class_names,
            target_names=target_names,
            uncertainty=True,
        )
        if "first_new" in self.arrays:
            columns["first_new_round"] = [_round(first) for first in self.arrays["first_new"]]
        return to_csv(_with_skipped(columns, skipped) if skipped else columns)


def answers_of(model: Any, items: Graphs | Nodes, deadline: Deadline | None = None) -> Answers:
    """Return what a model says about items, some at a time, within the deadline."""
    pieces = []
    for piece in in_pieces(items, model.num_members):
        if deadline is not None:
            deadline.check()
        pieces.append(_arrays(model, piece))
    arrays = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return Answers(identities(items), arrays)


def _arrays(model: Any, items: Graphs | Nodes) -> dict[str, _Array]:
    predictions: Predictions = model.predictions(items)
    arrays = {"prediction": predictions.prediction, "unseen": _unseen(model, items)}
    if predictions.probability is not None:
        arrays["probability"] = predictions.probability
    for name, values in predictions.uncertainty.items():
        arrays[_UNCERTAINTY + name] = values
    familiarity = model.familiarity(items)
    if familiarity is not None:
        arrays["share"] = np.asarray(familiarity.share, dtype=np.float64).T
        arrays["first_new"] = np.asarray(familiarity.first_new, dtype=np.int64)
    return arrays


def _with_skipped(
    columns: dict[str, list[Any]], skipped: Sequence[Skipped]
) -> dict[str, list[Any]]:
    """Return columns with a row for each skipped item, where it stood."""
    table = {name: list(values) for name, values in columns.items()}
    table["error"] = [None] * len(columns["id"])
    for entry in sorted(skipped, key=lambda entry: entry.index):
        for values in table.values():
            values.insert(entry.index, None)
        table["id"][entry.index] = entry.name
        table["error"][entry.index] = entry.error
    return table


def _unseen(model: Any, items: Graphs | Nodes) -> _Array:
    """Count labels not learned: of a graph's nodes and edges; of a node, whether its own is."""
    graphs = items.graphs if isinstance(items, Nodes) else items
    unseen = model.seen.unseen(model.coder.encode(graphs))
    unseen_nodes, unseen_edges = (numbers.cpu().numpy() for numbers in unseen)
    if isinstance(items, Nodes):
        own: _Array = np.isin(items.index.cpu().numpy(), unseen_nodes).astype(np.int64)
        return own
    owner = graphs.graph_of_node.cpu().numpy()
    edge_owner = owner[graphs.edge_source.cpu().numpy()]
    counts = np.bincount(owner[unseen_nodes], minlength=len(graphs))
    counts += np.bincount(edge_owner[unseen_edges], minlength=len(graphs))
    return counts


def named(value: Any, class_names: Sequence[str]) -> Any:
    """Return a prediction as JSON has it: a class by its name, numbers as they are."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    if class_names and isinstance(plain, int):
        return class_names[plain]
    return finite(plain)


def finite(value: Any) -> Any:
    """Return numbers as JSON has them: ``None`` for NaN and infinity."""
    if isinstance(value, list):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _round(first_new: Any) -> int | None:
    return None if first_new < 0 else int(first_new)


def _identity(value: Any) -> Any:
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)
