"""What a model predicts for some items, and that as columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from edgnn._words import counted, preview
from edgnn.errors import RunError, UnknownLabelError
from edgnn.graphs import Graphs, Nodes
from edgnn.models._items import Items, graphs_of

if TYPE_CHECKING:
    from edgnn.models._model import Model

_Array = np.ndarray[Any, Any]

#: Measures of uncertainty that stand in every table: they cost nothing, and warn of the unlike.
_ALWAYS = ("novelty",)


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model predicts for some items.

    Attributes
    ----------
    prediction : array
        Classes, a 0/1 matrix, or values.
    probability : array, optional
        Of each class or label; ``None`` from models without probabilities.
    uncertainty : dict of arrays
        By name, one number or one row of numbers per item; empty where there is none.
    interval : array, optional
        Of values, the lower and the upper end of an interval around each.
    plausible : array, optional
        Of classes, whether each is in the set of an item.

    Shapes
    ------
    interval (n, 2) or (n, 2, T), plausible (n, K) of bool
    """

    prediction: _Array
    probability: _Array | None = None
    uncertainty: dict[str, _Array] = field(default_factory=dict)
    interval: _Array | None = None
    plausible: _Array | None = None

    @property
    def finite(self) -> _Array:
        """For each item, whether all numbers are finite."""
        arrays = [self.prediction, *self.uncertainty.values()]
        if self.probability is not None:
            arrays.append(self.probability)
        finite = np.ones(len(self.prediction), dtype=bool)
        for values in arrays:
            if values.dtype.kind == "f":
                finite &= np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
        return finite

    def mapped(self, change: Callable[[_Array], _Array]) -> Predictions:
        """Return predictions with every array changed."""

        def changed(values: _Array | None) -> _Array | None:
            return None if values is None else change(values)

        return Predictions(
            change(self.prediction),
            changed(self.probability),
            {name: change(values) for name, values in self.uncertainty.items()},
            changed(self.interval),
            changed(self.plausible),
        )

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Return the predictions of consecutive items, one after another."""
        return cls(
            np.concatenate([part.prediction for part in parts]),
            _joined([part.probability for part in parts]),
            {
                name: np.concatenate([part.uncertainty[name] for part in parts])
                for name in parts[0].uncertainty
            },
            _joined([part.interval for part in parts]),
            _joined([part.plausible for part in parts]),
        )


def _joined(arrays: Sequence[_Array | None]) -> _Array | None:
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if present else None


def check_known(model: Model, items: Items) -> None:
    """Raise where the model has learned no label of any node or edge: it could only guess.

    Features say enough without labels. Degrees, which stand in for labels that nodes do not have,
    are known of any graph; they say nothing beside edges of other kinds.
    """
    graphs, coder = graphs_of(items), model._coder
    has_features = coder.node_features > 0 or coder.edge_features > 0
    if has_features or not graphs.num_nodes:
        return
    labels, learned = graphs.edge_vocabulary, coder.edge_vocabulary
    elements = counted(graphs.num_edges, "edge")
    by_edges = graphs.num_edges > 0 and model._reads_edge_labels
    if coder.degree_labels is None and not coder.node_vocabulary.constant:
        labels, learned = graphs.node_vocabulary, coder.node_vocabulary
        by_edges = False
    if not by_edges:
        elements = f"{counted(graphs.num_nodes, 'node')} and {elements}"
    if _knows_some(model, graphs, nodes=not by_edges):
        return
    raise UnknownLabelError(
        f"the model has learned none of the labels of these {elements}: "
        f"they are {preview(list(labels)) or 'none'}, "
        f"those of the training were {preview(list(learned)) or 'none'}",
        kind="labels",
        advice="; read the data as that of the training was read (-o), "
        "or train on data with these labels",
    )


def _knows_some(model: Model, graphs: Graphs, *, nodes: bool) -> bool:
    """Return whether the model has learned the label of any edge or, if these count, any node."""
    new_nodes, new_edges = model._seen.unseen(model._coder.encode(graphs))
    knows_nodes = nodes and len(new_nodes) < graphs.num_nodes
    return knows_nodes or len(new_edges) < graphs.num_edges


def prediction_table(
    model: Model,
    items: Items,
    predictions: Predictions | None = None,
    *,
    part: str | None = None,
    targets: Any = None,
    class_names: Sequence[str] = (),
    target_names: Sequence[str] = (),
    probabilities: bool = True,
    uncertainty: bool = False,
) -> dict[str, list[Any]]:
    """Return predictions as the columns of ``predictions.csv`` and of ``edgnn predict``.

    Parameters
    ----------
    model : Model
        A fitted model.
    items : Graphs or Nodes
        What to predict.
    predictions : Predictions, optional
        What the model predicts for them, where that is known already.
    part : str, optional
        Which set these items are, such as ``"test"``; adds a column ``part``.
    targets : array, optional
        The true targets; adds columns ``target``.
    class_names : sequence of str
        What class numbers mean; default: classes as they are.
    target_names : sequence of str
        Names of several labels or values; default: their numbers.
    probabilities, uncertainty : bool
        Whether there are columns for them.

    Returns
    -------
    dict of lists
        ``id`` (and ``graph``, for nodes of several graphs), ``part``, ``target``, ``prediction``,
        ``p(class)``, measures of uncertainty, ``lower`` and ``upper`` or ``set``.
    """
    columns = identities(items)
    if part is not None:
        columns["part"] = [part] * len(items)
    if targets is not None:
        names = names_of_targets(model, target_names)
        columns |= _columns(model, np.asarray(targets), "target", names, class_names)
    if predictions is None:
        predictions = model.predictions(items)
    return columns | prediction_columns(
        model,
        predictions,
        class_names=class_names,
        target_names=target_names,
        probabilities=probabilities,
        uncertainty=uncertainty,
    )


def identities(items: Items) -> dict[str, list[Any]]:
    """Return what names the items: ``id``, and for nodes of several graphs ``graph`` as well."""
    graphs = graphs_of(items)
    graph_names = list(range(len(graphs)))
    if graphs.graph_names is not None:
        graph_names = graphs.graph_names.tolist()
    if not isinstance(items, Nodes):
        return {"id": graph_names}
    nodes = items.index.tolist() if items.names is None else items.names
    if len(graphs) == 1:
        return {"id": nodes}
    owner = graphs.graph_of_node[items.index].tolist()
    return {"graph": [graph_names[graph] for graph in owner], "id": nodes}


def prediction_columns(
    model: Model,
    predictions: Predictions,
    *,
    class_names: Sequence[str] = (),
    target_names: Sequence[str] = (),
    probabilities: bool = True,
    uncertainty: bool = False,
) -> dict[str, list[Any]]:
    """Return the columns of :func:`prediction_table` that the model makes."""
    if model._single_precision:
        predictions = predictions.mapped(_shortened)
    names = names_of_targets(model, target_names)
    columns = _columns(model, predictions.prediction, "prediction", names, class_names)
    if model.task == "classes":
        names = _class_names(model.encoding.classes, class_names)
    if probabilities and predictions.probability is not None:
        columns |= _split_columns(predictions.probability, "p", names)
    for measure, values in predictions.uncertainty.items():
        if uncertainty or measure in _ALWAYS:
            columns |= _split_columns(values, measure, names)
    if predictions.interval is not None:
        for end, values in zip(
            ("lower", "upper"), predictions.interval.swapaxes(0, 1), strict=True
        ):
            columns |= _split_columns(values, end, names)
    if predictions.plausible is not None:
        columns["set"] = ["|".join(row) for row in plausible_names(predictions.plausible, names)]
    return columns


def plausible_names(plausible: _Array, names: Sequence[Any]) -> list[list[str]]:
    """Return the names of the classes in the set of each item."""
    texts = np.array([str(name) for name in names], dtype=object)
    return [texts[row].tolist() for row in plausible]


def _columns(
    model: Model, values: _Array, name: str, targets: Sequence[Any], class_names: Sequence[str]
) -> dict[str, list[Any]]:
    """Return targets, true or predicted ones, as columns."""
    if model.task == "classes":
        return {name: _class_names(values, class_names)}
    return _split_columns(values, name, targets)


def names_of_targets(model: Model, names: Sequence[str]) -> list[Any]:
    """Return the names of several labels or values; their numbers where there are none."""
    outputs = model.encoding.outputs
    return list(names) if len(names) == outputs else list(range(outputs))


def _shortened(values: _Array) -> _Array:
    """Return numbers in as many digits as a model of single precision has."""
    if values.dtype.kind != "f":
        return values
    return values.astype(np.float32).astype(str).astype(np.float64)


def _split_columns(values: _Array, name: str, targets: Sequence[Any]) -> dict[str, list[Any]]:
    """Return one column of a vector; of a matrix, one for each target."""
    if values.ndim == 1:
        return {name: values.tolist()}
    pairs = zip(targets, values.T, strict=True)
    return {f"{name}({target})": column.tolist() for target, column in pairs}


def _class_names(values: _Array, class_names: Sequence[str]) -> list[Any]:
    numbers: list[Any] = values.tolist()
    if not class_names:
        return numbers
    try:
        return [class_names[number] for number in numbers]
    except (IndexError, TypeError):
        raise RunError(
            f"the run has names of {len(class_names)} classes, {preview(class_names)}, "
            "but its model has others: config.json is damaged"
        ) from None
