"""What a model says about items, as rows of JSON and as CSV with the columns of ``predict``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgnn._json import to_csv
from edgnn.errors import GraphError
from edgnn.models import (
    Predictions,
    finite_parts,
    first_new_rounds,
    identities,
    in_pieces,
    prediction_columns,
    table_piece,
    unread_errors,
    unseen_labels,
)

if TYPE_CHECKING:
    from edgnn.graphs import Graphs, Nodes
    from edgnn.io import Deadline, Piece

_Array = np.ndarray[Any, Any]
_UNCERTAINTY = "uncertainty "
#: How often the intervals and sets of classes in answers hold the truth.
COVERAGE = 0.9


@dataclass(frozen=True, eq=False)
class Answers:
    """Predictions for some items, and how like the training data they are.

    Parameters
    ----------
    ids : dict of lists
        What names the items.
    arrays : dict of arrays
        One row per item: ``prediction``; where there are any, ``probability`` and measures of
        ``uncertainty``, by name behind a blank; ``interval`` or ``plausible``, of models that offer
        them; ``unseen``, how many labels of nodes and edges the
        model has not learned; where that is known, ``share``, the fraction of nodes by round whose
        color occurs in the training set, and ``first_new``, the first round with a color never
        seen (−1 for none).
    errors : dict
        Why some items have no prediction, by position.
    """

    ids: dict[str, list[Any]]
    arrays: dict[str, _Array]
    errors: dict[int, str]

    def take(self, positions: Sequence[int]) -> Answers:
        """Return the answers for some of the items."""
        index = np.asarray(positions, dtype=np.int64)
        ids = {}
        for name, values in self.ids.items():
            ids[name] = [values[number] for number in positions]
        arrays = {name: values[index] for name, values in self.arrays.items()}
        errors = {}
        for new, old in enumerate(positions):
            if old in self.errors:
                errors[new] = self.errors[old]
        return Answers(ids, arrays, errors)

    def rows(self, class_names: Sequence[str], classes: Sequence[str]) -> list[dict[str, Any]]:
        """Return one object per item, ready for JSON.

        Parameters
        ----------
        class_names : sequence of str
            What class numbers mean; empty where classes are themselves.
        classes : sequence of str
            What probabilities belong to, in their order.
        """
        columns = {name: values.tolist() for name, values in self.arrays.items()}
        count = len(columns["prediction"])
        rows = []
        for number in range(count):
            values = {name: column[number] for name, column in columns.items()}
            if "plausible" in values:
                chosen = zip(classes, values["plausible"], strict=True)
                values["set"] = [name for name, is_in in chosen if is_in]
            rows.append(_row(values, class_names))
        for number, error in self.errors.items():
            rows[number] |= {"prediction": None, "probabilities": None, "error": error}
            rows[number] |= {"uncertainty": {}, "interval": None, "set": None}
        for number, row in enumerate(rows):
            ids = {name: _identity(values[number]) for name, values in self.ids.items()}
            rows[number] = ids | row
        return rows

    def csv(
        self,
        model: Any,
        class_names: Sequence[str],
        target_names: Sequence[str],
        piece: Piece,
    ) -> bytes:
        """Return the table of ``edgnn predict``; items without a prediction have rows as well.

        ``piece`` holds the items of these answers, with those that were skipped.
        """
        good = [number for number in range(len(piece.items)) if number not in self.errors]
        arrays = {name: values[good] for name, values in self.arrays.items()}
        columns = prediction_columns(
            model,
            Predictions(
                arrays["prediction"],
                arrays.get("probability"),
                _measures(arrays),
                arrays.get("interval"),
                arrays.get("plausible"),
            ),
            class_names=class_names,
            target_names=target_names,
            uncertainty=True,
        )
        if "first_new" in arrays:
            columns["first_new_round"] = first_new_rounds(arrays["first_new"])
        unread = unread_errors(piece)
        places = [place for place in range(len(piece)) if place not in unread]
        errors = unread | {places[number]: error for number, error in self.errors.items()}
        return to_csv(table_piece(piece, columns, errors).columns)


def answers_of(model: Any, items: Graphs | Nodes, deadline: Deadline | None = None) -> Answers:
    """Return what a model says about items, some at a time, within the deadline."""
    arrays: dict[str, _Array] = {}
    errors: dict[int, str] = {}
    first = 0
    coverage = COVERAGE if getattr(model, "offers_coverage", False) else None
    for piece in in_pieces(items, model.num_members):
        if deadline is not None:
            deadline.check()
        for numbers, predictions in finite_parts(model, piece, first, coverage=coverage):
            if isinstance(predictions, str):
                errors |= dict.fromkeys(numbers.tolist(), predictions)
            else:
                _put(arrays, len(items), numbers, _predicted(predictions))
        every = slice(first, first + len(piece))
        _put(arrays, len(items), every, _familiarity(model, piece))
        first += len(piece)
    if errors and "prediction" not in arrays:
        raise GraphError(next(iter(errors.values())))
    return Answers(identities(items), arrays, errors)


def _put(
    arrays: dict[str, _Array], count: int, where: _Array | slice, found: dict[str, _Array]
) -> None:
    """Write the values of some items into arrays over all items."""
    for name, values in found.items():
        if name not in arrays:
            arrays[name] = np.zeros((count, *values.shape[1:]), values.dtype)
        arrays[name][where] = values


def _predicted(predictions: Predictions) -> dict[str, _Array]:
    arrays = {"prediction": predictions.prediction}
    if predictions.probability is not None:
        arrays["probability"] = predictions.probability
    if predictions.interval is not None:
        arrays["interval"] = predictions.interval
    if predictions.plausible is not None:
        arrays["plausible"] = predictions.plausible
    measures = predictions.uncertainty.items()
    return arrays | {_UNCERTAINTY + name: values for name, values in measures}


def _familiarity(model: Any, items: Graphs | Nodes) -> dict[str, _Array]:
    arrays = {"unseen": unseen_labels(model, items)}
    familiarity = model.familiarity(items)
    if familiarity is not None:
        arrays["share"] = np.asarray(familiarity.share, dtype=np.float64).T
        arrays["first_new"] = np.asarray(familiarity.first_new, dtype=np.int64)
    return arrays


def _row(values: dict[str, Any], class_names: Sequence[str]) -> dict[str, Any]:
    """Return what JSON has of an item, but for its names."""
    familiarity = None
    if "share" in values:
        first_new = values["first_new"] if values["first_new"] >= 0 else None
        familiarity = {"first_new_round": first_new, "seen_share": values["share"]}
    return {
        "prediction": named(values["prediction"], class_names),
        "probabilities": values.get("probability"),
        "uncertainty": _measures(values),
        "interval": values.get("interval"),
        "set": values.get("set"),
        "familiarity": familiarity,
        "unseen_labels": values["unseen"],
    }


def _measures(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the measures of uncertainty by name."""
    return {
        name.removeprefix(_UNCERTAINTY): values
        for name, values in arrays.items()
        if name.startswith(_UNCERTAINTY)
    }


def named(value: Any, class_names: Sequence[str]) -> Any:
    """Return a prediction as JSON has it: a class by its name, all else as it is."""
    return class_names[value] if class_names and isinstance(value, int) else value


def _identity(value: Any) -> Any:
    return value if type(value) is int else str(value)
