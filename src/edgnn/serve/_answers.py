"""What a model says about items, as rows of JSON and as CSV with the columns of ``predict``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgnn._json import to_csv
from edgnn.graphs import Nodes
from edgnn.models import Predictions, identities, in_pieces, prediction_columns

if TYPE_CHECKING:
    from edgnn.graphs import Graphs
    from edgnn.io import Deadline
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

    def rows(self, class_names: Sequence[str]) -> list[dict[str, Any]]:
        """Return one object per item, ready for JSON."""
        columns = {name: values.tolist() for name, values in self.arrays.items()}
        rows = []
        for number in range(len(columns["prediction"])):
            row = {name: values[number] for name, values in columns.items()}
            ids = {name: _identity(values[number]) for name, values in self.ids.items()}
            measures = {_measure(name): row[name] for name in row if name.startswith(_UNCERTAINTY)}
            familiarity = None
            if "share" in row:
                first_new = _round(row["first_new"])
                familiarity = {"first_new_round": first_new, "seen_share": row["share"]}
            rows.append(
                {
                    **ids,
                    "prediction": named(row["prediction"], class_names),
                    "probabilities": row.get("probability"),
                    "uncertainty": measures,
                    "familiarity": familiarity,
                    "unseen_labels": row["unseen"],
                }
            )
        return rows

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
        arrays = self.arrays
        measures = {
            _measure(name): arrays[name] for name in arrays if name.startswith(_UNCERTAINTY)
        }
        columns = self.ids | prediction_columns(
            model,
            Predictions(arrays["prediction"], arrays.get("probability"), measures),
            class_names=class_names,
            target_names=target_names,
            uncertainty=True,
        )
        if "first_new" in arrays:
            columns["first_new_round"] = [_round(first) for first in arrays["first_new"].tolist()]
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
    """Return a prediction as JSON has it: a class by its name, all else as it is."""
    return class_names[value] if class_names and isinstance(value, int) else value


def _measure(name: str) -> str:
    return name.removeprefix(_UNCERTAINTY)


def _round(first_new: int) -> int | None:
    return None if first_new < 0 else first_new


def _identity(value: Any) -> Any:
    return value if type(value) is int else str(value)
