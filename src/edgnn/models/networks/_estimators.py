"""The four estimators: classifiers and regressors of graphs and of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from edgnn.errors import EstimatorError
from edgnn.models._items import Level
from edgnn.models._model import ClassifierModel, RegressorModel
from edgnn.models._predictions import Predictions
from edgnn.models._probabilities import (
    Uncertainty,
    probabilities,
    stored_temperature,
    temperature_of,
    uncertainty_of,
)
from edgnn.models._targets import Encoding, Task, decide, shaped
from edgnn.models.networks._base import Estimator
from edgnn.models.networks._parameters import (
    ClassifierParameters,
    GraphParameters,
    NodeParameters,
)
from edgnn.models.networks._pipeline import Part, Pipeline

_Array = np.ndarray[Any, Any]


class Classifier(ClassifierModel, ClassifierParameters, Estimator):
    """Classes, or several labels, from the outputs of a fleet."""

    tasks: ClassVar[tuple[Task, ...]] = ("classes", "labels")

    def predict_proba(self, X: Any) -> _Array:
        """Return the probability of each class in the order of ``classes_``, or of each label.

        Shapes
        ------
        → (n, K)
        """
        mean: _Array = self._member_probabilities(X).mean(axis=0)
        return mean

    def predict(self, X: Any) -> _Array:
        """Return the most probable class of each item; of several labels, a matrix of 0 and 1.

        Shapes
        ------
        → (n,), or (n, L)
        """
        return decide(self.predict_proba(X), self._encoding)

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Return how uncertain predictions are, and how much of that the members disagree about."""
        return uncertainty_of(self._member_probabilities(X), self._encoding.task)

    def predictions(self, X: Any) -> Predictions:
        """Return predictions, probabilities and uncertainty of one pass over the items."""
        members = self._member_probabilities(X)
        mean = members.mean(axis=0)
        uncertainty = uncertainty_of(members, self._encoding.task)
        measures = {
            "total_entropy": uncertainty.total_entropy,
            "mutual_information": uncertainty.mutual_information,
            "std": uncertainty.std,
        }
        return Predictions(decide(mean, self._encoding), mean, measures)

    def _member_probabilities(self, X: Any) -> _Array:
        logits = self._outputs(X)
        return probabilities(logits, self._encoding.task, self.temperature_)

    def _check_part(self, part: Part) -> None:
        if self.calibrate and not len(part.valid):
            raise EstimatorError(
                "calibrate=True needs a validation set: set validation to a fraction such as 0.1, "
                "or pass validation=(X, y) to fit"
            )

    def _learned(self, pipeline: Pipeline, part: Part) -> None:
        self.temperature_ = 1.0
        if self.calibrate:
            logits = pipeline.outputs(self._model)
            self.temperature_ = self._temperature(logits, pipeline, self._encoding, part)

    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Rebuild the network; set the temperature."""
        super().set_state(facts, tensors)
        self.temperature_ = stored_temperature(facts["temperature"])

    def _temperature(
        self, logits: _Array, pipeline: Pipeline, encoding: Encoding, part: Part
    ) -> float:
        """Return the temperature of an ensemble, found on its validation set."""
        data, valid = pipeline.data, part.valid
        weight = None if data.weight is None else data.weight[valid]
        target = encoding.encode(data.y[valid])
        return temperature_of(logits[:, valid], target, encoding.task, weight)

    def _result(
        self, outputs: _Array, pipeline: Pipeline, encoding: Encoding, part: Part, items: _Array
    ) -> dict[str, Any]:
        temperature = 1.0
        if self.calibrate:
            temperature = self._temperature(outputs, pipeline, encoding, part)
        probability = probabilities(outputs[:, items], encoding.task, temperature).mean(axis=0)
        return {
            "prediction": decide(probability, encoding),
            "probability": probability,
            "classes": encoding.classes,
        }


class Regressor(RegressorModel, Estimator):
    """Real values from the outputs of a fleet, in the users' units, averaged over members."""

    def predict(self, X: Any) -> _Array:
        """Return the predicted value, or values, of each item.

        Shapes
        ------
        → (n,), or (n, T) where y was a matrix
        """
        return shaped(self._outputs(X).mean(axis=0), self._encoding)

    def predict_uncertainty(self, X: Any) -> _Array:
        """Return the standard deviation of the members' predictions.

        Shapes
        ------
        → as :meth:`predict`
        """
        outputs = self._outputs(X)
        if len(outputs) == 1:
            raise EstimatorError(
                "a single model has no spread: fit with members=5 or so to have an ensemble"
            )
        return shaped(outputs.std(axis=0), self._encoding)

    def predictions(self, X: Any) -> Predictions:
        """Return predictions, and of an ensemble their standard deviation."""
        values = self._outputs(X)
        spread = {"std": shaped(values.std(axis=0), self._encoding)} if len(values) > 1 else {}
        return Predictions(shaped(values.mean(axis=0), self._encoding), None, spread)

    def _result(
        self, outputs: _Array, pipeline: Pipeline, encoding: Encoding, part: Part, items: _Array
    ) -> dict[str, Any]:
        prediction = shaped(outputs[:, items].mean(axis=0), encoding)
        return {"prediction": prediction, "probability": None, "classes": None}


@dataclass(kw_only=True, eq=False, repr=False)
class GraphClassifier(GraphParameters, Classifier):
    """Classify graphs with edGNN, with the scikit-learn API.

    ``fit`` takes :class:`~edgnn.Graphs`, or a list of networkx graphs, PyG data, RDKit molecules or
    SMILES strings, and one class per graph (any texts, whole numbers or truth values), or a 0/1
    matrix with one column per label, NaN where one is not known. A prediction never depends on what
    else is predicted with it.

    Parameters
    ----------
    layers, hidden : int
        How many layers, and how wide.
    conv : {"edgnn", "gnn", "joint", "rgcn", "gine"}
        The layer: Eq. 4 of the paper; Eq. 3, blind to edge labels; a weight per edge label and
        direction, with sums or with means; GINE, whose nodes always have learned embeddings.
    activation : str
        ``"relu"``, ``"cosine"``, ``"tanh"`` or another of :data:`edgnn.nn.ACTIVATIONS`.
    dropout, input_dropout : float
        Rate at which entries are dropped of each layer's result, and of the states that enter each
        layer.
    batch_norm : bool
        Normalize after each activation; predictions use running statistics.
    bias : bool
        Whether layers have one.
    embedding, edge_embedding : int, optional
        Width of learned embeddings of node and edge labels; one-hot without.
    readout : {"sum", "mean", "max"}
        How the states of a graph's nodes are put together.
    include_input : bool
        Whether the input labels are part of the readout, as the paper has it.
    direction : {"both", "in"}
        Whether outgoing edges count as well.
    multiplicity : {"once", "per-edge"}
        Whether a neighbor counts once or once per edge.
    bases : int or "relations", optional
        Number of basis matrices of ``"joint"`` and ``"rgcn"``; ``"relations"``: as many as edge
        labels times directions.
    degree_labels : {"in", "out", "both", "auto"}, optional
        Put degrees in the place of node labels; ``"auto"``: in-degrees where nodes have neither
        labels nor features.
    optimizer : {"adam", "adamw"}
        With weight decay in the gradient, or apart from it.
    learning_rate, weight_decay : float
        Of the optimizer.
    batch_size : int, optional
        Graphs per step; all at once without.
    max_epochs : int
        Number of passes over the training set.
    patience : int, optional
        Stop after so many epochs without a lower validation loss. With or without it, the weights
        of the best epoch are kept.
    clip_norm : float, optional
        Largest norm of the gradient.
    class_weight : dict or "balanced", optional
        How much each class counts (1 for those a dict leaves out), or as much as makes all classes
        weigh the same.
    validation : float, optional
        Share of the training items that is held out to judge epochs, stratified by class; all
        members hold out the same ones, and never the last graph that has a label (unless each of
        them is one). Without it, the last epoch's weights are kept. ``fit(…, validation=(X, y))``
        takes its place.
    members : int
        Number of models to train at once; their probabilities are averaged. A member's seed follows
        from ``random_state`` and its number alone.
    calibrate : bool
        Scale the logits by a temperature found on the validation set.
    unknown : {"zero", "silent", "error"}
        What a prediction does with labels that the training set did not contain: let them count
        for nothing and warn once, with their number, or raise
        :class:`~edgnn.errors.UnknownLabelError`.
    precision : {"float32", "float64", "bfloat16"}
        Of the arithmetic; ``"bfloat16"`` is mixed.
    device : str
        ``"cpu"``, ``"cuda"``, or ``"auto"`` for CUDA where there is one.
    warm_start : bool
        Whether another ``fit`` goes on from the fitted weights. All labels of the vocabulary of the
        first graphs then have weights, for later fits may bring graphs that have them.
    random_state : int, RandomState or None
        The random seed.
    verbose : int
        Write a line to stderr every so many epochs; 0 for none.

    Attributes
    ----------
    classes_ : array
        The classes, sorted; of several labels their numbers.
    history_ : list of dict
        ``epoch``, ``train_loss``, ``valid_loss`` (a number per member) and ``seconds`` of every
        epoch.
    best_epoch_ : list of int
        The epoch whose weights each member keeps.
    temperature_ : float
        What logits are divided by; 1 without calibration.

    Examples
    --------
    >>> import edgnn
    >>> data = edgnn.load_dataset("MUTAG")
    >>> classifier = edgnn.GraphClassifier(max_epochs=5, random_state=0)
    >>> classifier = classifier.fit(data.graphs, data.targets)
    >>> classifier.predict_proba(data.graphs[:3]).shape
    (3, 2)
    """

    levels: ClassVar[tuple[Level, ...]] = ("graph",)


@dataclass(kw_only=True, eq=False, repr=False)
class GraphRegressor(GraphParameters, Regressor):
    """Predict real values of graphs with edGNN, with the scikit-learn API.

    ``y`` is a vector, or a matrix with one column per target; NaN stands for a missing value. Each
    member standardizes targets on its own training set; predictions are in the units of ``y``.

    Parameters
    ----------
    **parameters
        As of :class:`GraphClassifier`, without ``class_weight`` and ``calibrate``.

    Attributes
    ----------
    history_, best_epoch_
        As of :class:`GraphClassifier`.
    """

    levels: ClassVar[tuple[Level, ...]] = ("graph",)


@dataclass(kw_only=True, eq=False, repr=False)
class NodeClassifier(NodeParameters, Classifier):
    """Classify nodes with edGNN, with the scikit-learn API.

    ``fit(nodes, y)`` takes :class:`~edgnn.Nodes`, such as ``data.nodes[train]``, and one class per
    node. Messages run over the whole graph, also over nodes without a target; ``predict`` takes
    other nodes of the same graph, or nodes of new graphs.

    Parameters
    ----------
    head : {"linear", "conv"}
        What gives the outputs: a linear map behind the layers, or the last of the layers itself, as
        in the authors' code.
    degree_labels : {"auto", "in", "out", "both"}, optional
        Put degrees in the place of node labels, as the paper does; ``"auto"``: in-degrees where
        nodes have neither labels nor features. ``None`` takes the labels as they are.
    batch_size : int, optional
        Nodes per step. With ``None`` a step is over all nodes at once, each computed once: right up
        to millions of edges.
    fanout : int or tuple of int, optional
        With ``batch_size``: most neighbors per node that a step reads (for ``"joint"`` and
        ``"rgcn"``: per relation and direction), drawn anew at every step; all by default. One
        number for every layer that reads neighbors, or one for each, the last layer first; the
        first layer of ``"edgnn"`` reads none, for its sums are known, so two layers take one
        number. Sums are scaled up to be right in the mean. Batch norm takes the statistics of the
        nodes of the step. Validation and predictions leave nothing out.
    **parameters
        All others as of :class:`~edgnn.GraphClassifier`, without ``readout`` and ``include_input``.

    Attributes
    ----------
    classes_, history_, best_epoch_, temperature_
        As of :class:`~edgnn.GraphClassifier`.
    """

    levels: ClassVar[tuple[Level, ...]] = ("node",)


@dataclass(kw_only=True, eq=False, repr=False)
class NodeRegressor(NodeParameters, Regressor):
    """Predict real values of nodes with edGNN, with the scikit-learn API.

    ``y`` is a vector, or a matrix with one column per target; NaN stands for a missing value.

    Parameters
    ----------
    **parameters
        As of :class:`NodeClassifier`, without ``class_weight`` and ``calibrate``.

    Attributes
    ----------
    history_, best_epoch_
        As of :class:`~edgnn.GraphClassifier`.
    """

    levels: ClassVar[tuple[Level, ...]] = ("node",)
