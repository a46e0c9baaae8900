"""Tables of predictions for sources of any size, a piece at a time, no row lost."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgnn._words import short
from edgnn.errors import EdgnnError, GraphError, ModelError
from edgnn.graphs import Graphs, Nodes
from edgnn.io import Piece, distinct, none_readable
from edgnn.models._coder import UnknownLabelWarning
from edgnn.models._finite import NOT_FINITE
from edgnn.models._items import Items, in_pieces
from edgnn.models._predictions import (
    Predictions,
    check_known,
    identities,
    prediction_columns,
)

if TYPE_CHECKING:
    from edgnn.models._model import Model

Columns = dict[str, list[Any]]

_NOT_FINITE = "the model's output is not a finite number: its input or its weights are too large"


@dataclass(frozen=True, eq=False)
class TablePiece:
    """Some rows of a table of predictions.

    Parameters
    ----------
    columns : dict of lists
        By name; the same names in every piece.
    failed : int
        How many rows have an ``error`` in place of a prediction.
    """

    columns: Columns
    failed: int

    def __len__(self) -> int:
        return len(self.columns["error"])


def predict_table(
    model: Model,
    source: Items | Iterable[Piece],
    *,
    class_names: Sequence[str] = (),
    target_names: Sequence[str] = (),
    probabilities: bool = True,
    uncertainty: bool | None = None,
    coverage: float | None = None,
) -> Iterator[TablePiece]:
    """Yield a table of predictions, a piece of the source at a time, in its order.

    Its columns are ``id`` (and ``graph``, for nodes of several graphs); those of the source;
    ``prediction``, ``p(class)`` and measures of uncertainty; ``first_new_round``, where the model
    knows its training data: the first round of color refinement in which the item has a color that
    no training item has (see :meth:`Model.familiarity`), empty where there is none; and ``error``,
    why a row has no prediction. A column of the source whose name is taken gets a number behind
    it, as in ``prediction (2)``.

    Parameters
    ----------
    model : Model
        A fitted model.
    source : Graphs, Nodes or iterable of Piece
        What to predict for; pieces as :func:`edgnn.io.read_pieces` yields them are read one by one.
    class_names, target_names, probabilities
        As in :func:`prediction_table`.
    uncertainty : bool, optional
        Whether there are columns for it; default: for ensembles.
    coverage : float, optional
        Of models that offer it (:attr:`Model.offers_coverage`): ``lower`` and ``upper``, or for
        classes ``set``, with names joined by ``|``, that hold the truth so often, such as 0.9.

    Examples
    --------
    >>> import edgnn
    >>> from edgnn.io import smiles_pieces
    >>> from edgnn.models import RidgeGraphClassifier, predict_table
    >>> texts = ["CO", "CCO", "CN", "CCN"]
    >>> model = RidgeGraphClassifier(parts=("wl",)).fit(texts, ["a", "a", "b", "b"])
    >>> (table,) = predict_table(model, smiles_pieces(["CCCO", "C(("]))
    >>> table.columns["id"], table.columns["prediction"], table.failed
    (['CCCO', 'C(('], ['a', None], 1)
    """
    if uncertainty is None:
        uncertainty = model.num_members > 1
    unknown = _Unknown()
    rows = (
        _predict_piece(model, piece, unknown, coverage) for piece in _known_pieces(model, source)
    )

    def columns_of(predicted: _Predicted) -> Columns:
        assert predicted.predictions is not None
        columns = prediction_columns(
            model,
            predicted.predictions,
            class_names=class_names,
            target_names=target_names,
            probabilities=probabilities,
            uncertainty=uncertainty,
        )
        if predicted.first_new is not None:
            columns["first_new_round"] = first_new_rounds(predicted.first_new)
        return columns

    yield from _with_the_same_columns(rows, columns_of)
    unknown.warn()


def table_piece(piece: Piece, columns: Columns, errors: Mapping[int, str]) -> TablePiece:
    """Return the rows of a piece, with gaps where there are errors.

    Parameters
    ----------
    piece : Piece
        What was predicted for.
    columns : dict of lists
        The columns that the model makes, for the rows without an error.
    errors : mapping
        Why the others have no prediction, by position in the piece.
    """
    ids = identities(piece.items) if piece.names is None else {"id": list(piece.names)}
    carried = distinct([*piece.columns.items()], taken=[*ids, *columns, "error"])
    kept = [place for place in range(len(piece)) if place not in errors]
    table = ids | {name: list(cells) for name, cells in carried.items()}
    for name, values in columns.items():
        by_place = dict(zip(kept, values, strict=True))
        table[name] = [by_place.get(place) for place in range(len(piece))]
    table["error"] = [errors.get(place) for place in range(len(piece))]
    return TablePiece(table, len(errors))


def unread_errors(piece: Piece) -> dict[int, str]:
    """Return why molecules of a piece cannot be read, with their lines, by position in it."""
    return {entry.position - piece.first: entry.located_reason for entry in piece.unread}


def first_new_rounds(first_new: np.ndarray[Any, Any]) -> list[int | None]:
    """Return the first unfamiliar rounds as a column: nothing where every round is familiar."""
    return [None if first < 0 else first for first in first_new.tolist()]


def unseen_labels(model: Model, items: Items) -> np.ndarray[Any, Any]:
    """Count labels not learned: of a graph's nodes and edges; of a node, whether its own is."""
    graphs = items.graphs if isinstance(items, Nodes) else items
    unseen = model.seen.unseen(model.coder.encode(graphs))
    unseen_nodes, unseen_edges = (numbers.cpu().numpy() for numbers in unseen)
    if isinstance(items, Nodes):
        own: np.ndarray[Any, Any] = np.isin(items.index.cpu().numpy(), unseen_nodes).astype(
            np.int64
        )
        return own
    owner = graphs.graph_of_node.cpu().numpy()
    edge_owner = owner[graphs.edge_source.cpu().numpy()]
    counts = np.bincount(owner[unseen_nodes], minlength=len(graphs))
    counts += np.bincount(edge_owner[unseen_edges], minlength=len(graphs))
    return counts


@dataclass(frozen=True, eq=False)
class _Predicted:
    """What a model says about the items of a piece that it can say something about."""

    piece: Piece
    predictions: Predictions | None
    first_new: np.ndarray[Any, Any] | None
    errors: dict[int, str]


def _known_pieces(model: Model, source: Items | Iterable[Piece]) -> Iterator[Piece]:
    """Yield pieces; raise where the first one that holds anything is nothing the model knows."""
    is_known = False
    for piece in _item_pieces(source) if isinstance(source, Graphs | Nodes) else source:
        if not is_known and len(piece.items):
            check_known(model, piece.items)
            is_known = True
        yield piece


def _item_pieces(items: Items) -> Iterator[Piece]:
    if isinstance(items, Nodes):
        yield Piece(items)
        return
    names = identities(items)["id"]
    first = 0
    for part in in_pieces(items, 1):
        yield Piece(part, names=names[first : first + len(part)], first=first)
        first += len(part)


def _with_the_same_columns(
    rows: Iterable[_Predicted], columns_of: Callable[[_Predicted], Columns]
) -> Iterator[TablePiece]:
    """Yield tables; pieces without a prediction wait until one says what the columns are."""
    names: list[str] = []
    waiting: list[_Predicted] = []
    for row in rows:
        waiting.append(row)
        if row.predictions is not None:
            names = list(columns_of(row))
        if not names:
            continue
        for one in waiting:
            columns = {name: [] for name in names} if one.predictions is None else columns_of(one)
            yield table_piece(one.piece, columns, one.errors)
        waiting.clear()
    if waiting:
        raise _no_predictions(waiting)


def _no_predictions(rows: Sequence[_Predicted]) -> EdgnnError:
    unread = [entry for row in rows for entry in row.piece.unread]
    errors = [reason for row in rows for reason in row.errors.values()]
    if unread:
        return none_readable(len(unread), short(unread[0].text, 60), errors[0])
    if errors:
        return ModelError(errors[0])
    return GraphError("there is nothing to predict: a table needs rows below its column names")


def _predict_piece(
    model: Model, piece: Piece, unknown: _Unknown, coverage: float | None
) -> _Predicted:
    errors = unread_errors(piece)
    items = piece.items
    if not len(items):
        return _Predicted(piece, None, None, errors)
    with unknown.counted(model, items):
        parts = list(finite_parts(model, items, coverage=coverage))
        familiarity = model.familiarity(items)
    places = [place for place in range(len(piece)) if place not in errors]
    good: list[np.ndarray[Any, Any]] = []
    found: list[Predictions] = []
    for numbers, predictions in parts:
        if isinstance(predictions, str):
            errors |= {places[number]: predictions for number in numbers}
        else:
            good.append(numbers)
            found.append(predictions)
    if not found:
        return _Predicted(piece, None, None, errors)
    first_new = None if familiarity is None else familiarity.first_new[np.concatenate(good)]
    return _Predicted(piece, Predictions.joined(found), first_new, errors)


def finite_parts(
    model: Model, items: Items, first: int = 0, *, coverage: float | None = None
) -> Iterator[tuple[np.ndarray[Any, Any], Predictions | str]]:
    """Yield predictions with the numbers of their items, or why these have none.

    Parameters
    ----------
    model : Model
        Any fitted model.
    items : Graphs or Nodes
        What to predict for.
    first : int
        The number of the first item.
    coverage : float, optional
        As of :func:`predict_table`.
    """
    numbers = np.arange(first, first + len(items))
    try:
        if coverage is None:
            predictions = model.predictions(items)
        else:
            predictions = model.covering_predictions(items, coverage)
    except ModelError as error:
        if error.kind != NOT_FINITE:
            raise
        half = len(items) // 2
        if not half:
            yield numbers, _NOT_FINITE
            return
        yield from finite_parts(model, items[:half], first, coverage=coverage)
        yield from finite_parts(model, items[half:], first + half, coverage=coverage)
        return
    finite = predictions.finite
    if finite.any() or not len(items):
        yield numbers[finite], predictions.mapped(lambda values: values[finite])
    if not finite.all():
        yield numbers[~finite], _NOT_FINITE


class _Unknown:
    """Labels that the training set did not contain: one warning for all pieces."""

    def __init__(self) -> None:
        self._warnings: list[UnknownLabelWarning] = []
        self._with_unknown = 0
        self._items = 0

    @contextmanager
    def counted(self, model: Model, items: Items) -> Iterator[None]:
        """Hold back the warning about unknown labels that predicting for some items gives."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        messages = [warning.message for warning in caught]
        own = [message for message in messages if isinstance(message, UnknownLabelWarning)]
        for message in messages:
            if message not in own:
                warnings.warn(message, stacklevel=3)
        self._items += len(items)
        if own:
            self._warnings.append(own[0])
            self._with_unknown += int((unseen_labels(model, items) > 0).sum())

    def warn(self) -> None:
        """Warn once of what was held back."""
        if not self._warnings:
            return
        message = self._warnings[0]
        if len(self._warnings) > 1:
            message = UnknownLabelWarning(
                f"the training set did not contain some labels of {self._with_unknown:,} of "
                f"{self._items:,} graphs; they count for nothing in the prediction"
            )
        warnings.warn(message, stacklevel=3)  # where predict_table is iterated over
