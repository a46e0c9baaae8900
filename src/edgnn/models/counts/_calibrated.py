"""Models of graphs that know held-out predictions: what they predict, with intervals and sets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from edgnn._rules import check
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models._data import Data
from edgnn.models._finite import check_outputs
from edgnn.models._items import Level, graphs_of, in_pieces
from edgnn.models._model import ClassifierModel, Model, RegressorModel
from edgnn.models._predictions import Predictions
from edgnn.models._seeds import root_seed
from edgnn.models._targets import Task, class_weights, decide, shaped
from edgnn.models.counts._conformal import Conformal, check_coverage
from edgnn.models.counts._kept import usable_part
from edgnn.models.counts._problem import Problem

_Array = np.ndarray[Any, Any]

_HUGE = 1e15  # values; squares of some thousand more fit into single precision


class CalibratedModel(Model):
    """What the classifiers and regressors share that are calibrated on held-out predictions."""

    levels: ClassVar[tuple[Level, ...]] = ("graph",)
    reads_attributes: ClassVar[bool] = True

    random_state: Any

    _conformal: Conformal | None

    @abstractmethod
    def _learn(self, data: Data) -> None:
        """Learn from items whose targets are known, and remember them."""

    @abstractmethod
    def _piece(self, graphs: Graphs) -> tuple[_Array, _Array]:
        """Return the outputs of some items, and how unlike the training items each is."""

    def check_parameters(self) -> None:
        """Raise where a parameter makes no sense."""
        check(self.get_params(deep=False), self.rules, EstimatorError)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from graphs and their targets.

        Parameters
        ----------
        X : Graphs, or a list of them, or of SMILES strings
            The items.
        y : array-like
            One class per item; or a matrix of labels 0 and 1; or numbers; NaN where missing.
        sample_weight : array-like, optional
            How much each item counts.
        """
        self.check_parameters()
        self._learn(usable_part(self.read_training(X, y, sample_weight)))
        return self

    def _problem(self, data: Data) -> Problem:
        _refuse_huge(data)
        return Problem(
            data.task,
            data.codes,
            data.encoding.outputs,
            self._weights(data),
            root_seed(self.random_state),
        )

    def _weights(self, data: Data) -> _Array | None:
        return data.weight

    def _outputs(self, X: Any) -> tuple[_Array, _Array]:
        """Return probabilities or values of items, and how unlike the training items each is."""
        items = self.read_items(X)
        if not len(items):  # an empty list has neither attributes nor features
            return np.zeros((0, self._encoding.outputs)), np.zeros(0)
        pieces = [self._piece(graphs_of(piece)) for piece in in_pieces(items, members=2)]
        outputs, novelty = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        check_outputs(outputs)
        return outputs, novelty

    def _calibrated(self) -> Any:
        self._check_fitted()
        return self._conformal

    @property
    def offers_coverage(self) -> bool:
        """Whether :meth:`covering_predictions` has an answer."""
        return self._conformal is not None

    def _novelty_column(self, novelty: _Array) -> dict[str, _Array]:
        """Return what is said of novelty beside predictions; nothing where it is not known."""
        return {}


class CalibratedClassifier(CalibratedModel, ClassifierModel):
    """Classes or several labels, with sets of classes that are plausible."""

    tasks: ClassVar[tuple[Task, ...]] = ("classes", "labels")

    class_weight: Any

    def predict(self, X: Any) -> _Array:
        """Return the most probable class of each item; of several labels, a matrix of 0 and 1.

        Shapes
        ------
        → (n,) or (n, L)
        """
        return decide(self._outputs(X)[0], self._encoding)

    def predict_proba(self, X: Any) -> _Array:
        """Return the probability of each class, or of each label.

        Shapes
        ------
        → (n, K) or (n, L)
        """
        return self._outputs(X)[0]

    def predict_set(self, X: Any, coverage: float = 0.9, *, per_class: bool = False) -> _Array:
        """Return, for each item, which classes are plausible.

        The set of a new item like those of the training holds its class with the probability asked
        for; it may hold several classes, or none where all are implausible.

        Parameters
        ----------
        X : Graphs, or a list of them, or of SMILES strings
            The items.
        coverage : float
            How often the set shall hold the true class.
        per_class : bool
            Whether that holds for the items of each class by itself.

        Shapes
        ------
        → (n, K) of bool
        """
        coverage = check_coverage(coverage)
        if self._calibrated() is None:
            raise EstimatorError(
                "sets are for one class per item; this model learned several labels"
            )
        members: _Array = self._calibrated().members(self._outputs(X)[0], coverage, per_class)
        return members

    def covering_predictions(self, X: Any, coverage: float) -> Predictions:
        """Return predictions with the set of plausible classes of each item."""
        if not self.offers_coverage:
            return super().covering_predictions(X, coverage)
        predictions = self.predictions(X)
        assert self._conformal is not None
        assert predictions.probability is not None
        plausible = self._conformal.members(
            predictions.probability, check_coverage(coverage), per_class=False
        )
        return replace(predictions, plausible=plausible)

    def predictions(self, X: Any) -> Predictions:
        """Return predictions with their probabilities, and the novelty of each item."""
        probability, novelty = self._outputs(X)
        return Predictions(
            decide(probability, self._encoding), probability, self._novelty_column(novelty)
        )

    def _weights(self, data: Data) -> _Array | None:
        weights = class_weights(self.class_weight, data.encoding)
        if weights is None:
            return data.weight
        codes = data.codes
        if isinstance(weights, str):
            counts = np.bincount(codes, data.weight, minlength=data.encoding.outputs)
            weights = counts.sum() / np.maximum(counts, 1) / data.encoding.outputs
        of_items: _Array = np.asarray(weights)[codes]
        return of_items if data.weight is None else of_items * data.weight


class CalibratedRegressor(CalibratedModel, RegressorModel):
    """Values, with intervals around them."""

    def predict(self, X: Any) -> _Array:
        """Return the value of each item.

        Shapes
        ------
        → (n,) or (n, T)
        """
        return shaped(self._outputs(X)[0], self._encoding)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> _Array:
        """Return the lower and the upper end of an interval around each prediction.

        The interval of a new item like those of the training holds its value with the probability
        asked for. It is wider for items that are unlike the training items, where the model knows.

        Parameters
        ----------
        X : Graphs, or a list of them, or of SMILES strings
            The items.
        coverage : float
            How often the interval shall hold the true value.

        Shapes
        ------
        → (n, 2) or (n, 2, T)
        """
        coverage = check_coverage(coverage)
        return self._interval(*self._outputs(X), coverage)

    def _interval(self, outputs: _Array, novelty: _Array, coverage: float) -> _Array:
        half = self._calibrated().half_widths(novelty, coverage)
        ends = np.stack([outputs - half, outputs + half], axis=1)
        return ends[:, :, 0] if self._encoding.flat else ends

    def covering_predictions(self, X: Any, coverage: float) -> Predictions:
        """Return predictions with an interval around each."""
        coverage = check_coverage(coverage)
        values, novelty = self._outputs(X)
        return Predictions(
            shaped(values, self._encoding),
            None,
            self._novelty_column(novelty),
            self._interval(values, novelty, coverage),
        )

    def predictions(self, X: Any) -> Predictions:
        """Return predictions, and the novelty of each item."""
        values, novelty = self._outputs(X)
        return Predictions(shaped(values, self._encoding), None, self._novelty_column(novelty))


def _refuse_huge(data: Data) -> None:
    """Raise where squares of values overflow in what learns with single precision."""
    if data.task != "values":
        return
    largest = float(np.nanmax(np.abs(data.y)))
    if largest > _HUGE:
        raise EstimatorError(
            f"y holds values up to {largest:.3g}, whose squares overflow: choose a larger unit, or "
            "learn their logarithms"
        )
