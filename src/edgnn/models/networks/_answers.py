"""Everything an estimator says about new items at once, and as columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from edgnn._words import preview
from edgnn.errors import RunError, UnknownLabelError
from edgnn.graphs import Nodes
from edgnn.models.networks._base import Estimator
from edgnn.models.networks._classifier import Classifier, decide
from edgnn.models.networks._coder import _count
from edgnn.models.networks._inputs import Items, graphs_of
from edgnn.models.networks._regressor import shaped
from edgnn.models.networks._uncertainty import uncertainty_of

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Predictions:
    """What an estimator says about some items.

    Attributes
    ----------
    prediction : array
        Classes, a 0/1 matrix, or values.
    probability : array, optional
        Of each class or label; ``None`` from regressors.
    uncertainty : dict of arrays
        By name, one number or one row of numbers per item; empty for regressors with a single
        model.
    """

    prediction: _Array
    probability: _Array | None = None
    uncertainty: dict[str, _Array] = field(default_factory=dict)


def predictions_of(estimator: Estimator, X: Any) -> Predictions:
    """Return predictions, probabilities and uncertainty of one pass over the items, with at most one warning."""
    if not isinstance(estimator, Classifier):
        values = estimator._outputs(X)
        spread = {"std": shaped(values.std(axis=0), estimator._encoding)} if len(values) > 1 else {}
        return Predictions(shaped(values.mean(axis=0), estimator._encoding), None, spread)
    members = estimator._member_probabilities(X)
    mean, task = members.mean(axis=0), estimator._encoding.task
    found = uncertainty_of(members, task)
    measures = {
        "total_entropy": found.total_entropy,
        "mutual_information": found.mutual_information,
        "std": found.std,
    }
    return Predictions(decide(mean, estimator._encoding), mean, measures)


def check_known(estimator: Estimator, items: Items) -> None:
    """Raise where the model has learned no label of any node or edge, and there are no features: it could only guess.

    Degrees, which stand in for labels that nodes do not have, are known of any graph; they say
    nothing beside edges of other kinds.
    """
    graphs, coder = graphs_of(items), estimator._coder
    if coder.node_features or coder.edge_features or not graphs.num_nodes:
        return
    nodes, edges = estimator._seen.unseen(coder.encode(graphs))
    if len(edges) < graphs.num_edges:
        return
    labeled = coder.degree_labels is None and not coder.node_vocabulary.constant
    by_edges = not labeled and graphs.num_edges > 0 and estimator._model.convs[0].reads_labels
    if len(nodes) < graphs.num_nodes and not by_edges:
        return
    counts = ("" if by_edges else f"{_count(graphs.num_nodes, 'node')} and ") + _count(
        graphs.num_edges, "edge"
    )
    labels = graphs.node_vocabulary if labeled else graphs.edge_vocabulary
    learned = coder.node_vocabulary if labeled else coder.edge_vocabulary
    raise UnknownLabelError(
        f"the model has learned none of the labels of these {counts}: "
        f"they are {preview(list(labels)) or 'none'}, those of the training were {preview(list(learned)) or 'none'}",
        kind="labels",
        advice="; read the data as that of the training was read (-o), or train on data with these labels",
    )


def identities(items: Items) -> dict[str, list[Any]]:
    """Return what names the items: ``id``, the users' own names or else numbers; for nodes of several graphs ``graph`` as well."""
    graphs = graphs_of(items)
    if not isinstance(items, Nodes):
        return {
            "id": list(range(len(graphs)))
            if graphs.graph_names is None
            else graphs.graph_names.tolist()
        }
    nodes = items.index.tolist() if items.names is None else items.names
    if len(graphs) == 1:
        return {"id": nodes}
    owner = graphs.graph_of_node[items.index].tolist()
    names = None if graphs.graph_names is None else graphs.graph_names.tolist()
    return {"graph": owner if names is None else [names[place] for place in owner], "id": nodes}


def prediction_columns(
    estimator: Estimator,
    found: Predictions,
    *,
    class_names: Sequence[str] = (),
    target_names: Sequence[str] = (),
    probabilities: bool = True,
    uncertainty: bool = False,
) -> dict[str, list[Any]]:
    """Return predictions as columns of a table: ``prediction``, ``p(class)``, and measures of uncertainty.

    Parameters
    ----------
    estimator : Estimator
        That made them.
    found : Predictions
        What it said.
    class_names : sequence of str
        What class numbers mean; default: classes as they are.
    target_names : sequence of str
        Names of several labels or values; default: their numbers.
    probabilities, uncertainty : bool
        Whether there are columns for them.
    """
    task, outputs = estimator._encoding.task, estimator._encoding.outputs
    targets = list(target_names) if len(target_names) == outputs else list(range(outputs))
    found = _in_own_digits(estimator, found)
    if task == "classes":
        names = _classes(estimator._encoding.classes, class_names)
        columns = {"prediction": _classes(found.prediction, class_names)}
    else:
        names, columns = targets, _columns(found.prediction, "prediction", targets)
    if probabilities and found.probability is not None:
        columns |= _columns(found.probability, "p", names)
    if uncertainty:
        for measure, values in found.uncertainty.items():
            columns |= _columns(values, measure, names)
    return columns


def target_columns(
    estimator: Estimator, y: _Array, *, class_names: Sequence[str], target_names: Sequence[str]
) -> dict[str, list[Any]]:
    """Return the true targets as columns of a table."""
    if estimator._encoding.task == "classes":
        return {"target": _classes(y, class_names)}
    outputs = estimator._encoding.outputs
    return _columns(
        y, "target", list(target_names) if len(target_names) == outputs else list(range(outputs))
    )


def _in_own_digits(estimator: Estimator, found: Predictions) -> Predictions:
    """Return what a model of single precision says in as many digits as it has."""
    if next(estimator._model.parameters()).dtype == torch.float64:
        return found
    return Predictions(
        _shortened(found.prediction),
        None if found.probability is None else _shortened(found.probability),
        {name: _shortened(values) for name, values in found.uncertainty.items()},
    )


def _shortened(values: _Array) -> _Array:
    return (
        values.astype(np.float32).astype(str).astype(np.float64)
        if values.dtype.kind == "f"
        else values
    )


def _columns(values: _Array, name: str, of: Sequence[Any]) -> dict[str, list[Any]]:
    if values.ndim == 1:
        return {name: values.tolist()}
    return {f"{name}({entry})": column.tolist() for entry, column in zip(of, values.T, strict=True)}


def _classes(values: _Array, class_names: Sequence[str]) -> list[Any]:
    if not class_names:
        found: list[Any] = values.tolist()
        return found
    try:
        return [class_names[value] for value in values.tolist()]
    except (IndexError, TypeError):
        raise RunError(
            f"the run has names of {len(class_names)} classes, {preview(class_names)}, but its model has others: "
            "config.json is damaged"
        ) from None
