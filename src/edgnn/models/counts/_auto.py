"""AutoClassifier and AutoRegressor: several learners on counts, the best or a blend of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from torch import Tensor

from edgnn._rules import NOT_NEGATIVE, POSITIVE, Rules, check, one_of, some_of, whole
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models._data import Data
from edgnn.models._finite import check_outputs
from edgnn.models._items import Items, Level, graphs_of
from edgnn.models._model import ClassifierModel, Model, RegressorModel
from edgnn.models._predictions import Predictions
from edgnn.models._seeds import root_seed
from edgnn.models._state import pack_fields, pack_items, to_tensor, unpack_fields, unpack_items
from edgnn.models._targets import Task, class_weights, decide, shaped
from edgnn.models.counts._blend import blend_shares
from edgnn.models.counts._boosting import Boosting, FittedBoosting
from edgnn.models.counts._conformal import Conformal, check_coverage
from edgnn.models.counts._features import Standard, numbers_of
from edgnn.models.counts._forest import FittedForest, Forest
from edgnn.models.counts._labelings import has_chemistry
from edgnn.models.counts._problem import Problem
from edgnn.models.counts._representation import (
    DEEPEST,
    Columns,
    Represented,
    View,
    default_views,
)
from edgnn.models.counts._ridge_learner import CountRidge, FittedRidge
from edgnn.models.counts._sparse import FittedSparse, SparseLinear
from edgnn.models.counts._stored import (
    pack_columns,
    pack_represented,
    pack_views,
    unpack_columns,
    unpack_represented,
    unpack_views,
)

_Array = np.ndarray[Any, Any]
Learner = Literal["ridge", "sparse", "forest", "boosting"]

_MOST_KEPT = 20_000  # training items that a run folder holds, for updates and for reasons


class CountModel(Model):
    """What the classifier and the regressor share."""

    levels: ClassVar[tuple[Level, ...]] = ("graph",)
    rules: ClassVar[Rules] = {
        "learners": some_of(*get_args(Learner)),
        "rounds": whole(1, DEEPEST),
        "descriptors": one_of("auto", "rdkit", "none"),
        "seconds": POSITIVE.or_none("as long as it takes"),
    }

    learners: Learner | Sequence[Learner]
    rounds: int
    descriptors: Literal["auto", "rdkit", "none"]
    seconds: float | None
    random_state: Any

    _views: tuple[View, ...]
    _standard: Standard
    _columns: Columns
    _fitted: dict[str, Any]
    _shares: dict[str, float]
    _conformal: Conformal | None

    def check_parameters(self) -> None:
        """Raise where a parameter makes no sense."""
        check(self.get_params(deep=False), self.rules, EstimatorError)

    # Learning

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
        data = self.read_training(X, y, sample_weight)
        usable = np.flatnonzero(data.usable)
        if not len(usable):
            raise EstimatorError("no item has a known target: there is nothing to learn")
        self.remember(data[usable])
        self._learn(data[usable])
        return self

    def _learn(self, data: Data) -> None:
        self._data = data
        graphs = self._coder.encode(graphs_of(data.items))
        problem = Problem(
            data.task, data.codes, data.encoding.outputs, self._weights(data), root_seed(self.random_state)
        )
        self._descriptors = _uses_descriptors(self.descriptors, graphs)
        numbers = numbers_of(graphs, self._descriptors)
        self._standard = Standard.of(numbers)
        self._views = default_views(graphs, self.rounds)
        items = self._counted(graphs, numbers)
        self._columns = Columns.of(items, _MOST_COLUMNS, _TABLE_ROUNDS)
        self._fitted, self.tried_ = self._tried(items, problem)
        self._blend(problem)

    def _tried(
        self, items: Represented, problem: Problem
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Fit one learner after another, as long as there is time."""
        begin = time.monotonic()
        names = (self.learners,) if isinstance(self.learners, str) else tuple(self.learners)
        fitted: dict[str, Any] = {}
        tried: list[dict[str, Any]] = []
        table: Any = None
        for name in names:
            elapsed = time.monotonic() - begin
            if self.seconds is not None and fitted and elapsed > self.seconds / 2:
                tried.append({"learner": name, "skipped": "no time left"})
                continue
            start = time.monotonic()
            if name == "ridge":
                fitted[name] = CountRidge().fit(items, problem)
            else:
                table = self._columns.table(items) if table is None else table
                fitted[name] = _TABLE_LEARNERS[name].fit(
                    table,
                    problem.targets,
                    problem.task,
                    weight=problem.weight,
                    outputs=problem.outputs,
                    seed=problem.seed,
                )
            scores = _held_out_scores(fitted[name].held_out, problem)
            tried.append({"learner": name} | scores | {"seconds": time.monotonic() - start})
        return fitted, tried

    def _blend(self, problem: Problem) -> None:
        """Decide how much each learner counts; those that do not are forgotten."""
        names = list(self._fitted)
        held_out = [self._fitted[name].held_out for name in names]
        shares = blend_shares(held_out, problem)
        self._shares = {name: float(share) for name, share in zip(names, shares, strict=True) if share}
        for row in self.tried_:
            row["share"] = self._shares.get(row["learner"], 0.0)
        mixed = sum(self._shares[name] * self._fitted[name].held_out for name in self._shares)
        self.held_out_ = np.asarray(mixed)
        self.tried_.append({"learner": "blend"} | _held_out_scores(self.held_out_, problem))
        novelty = np.zeros(len(problem))
        if "ridge" in self._fitted:
            novelty = self._fitted["ridge"].novelty
        self._fitted = {
            name: fitted
            for name, fitted in self._fitted.items()
            if name in self._shares or name == "ridge"
        }
        self._conformal = None
        if problem.task != "labels":
            self._conformal = Conformal.of(self.held_out_, novelty, problem)
        self.chosen_ = {"blend": ", ".join(f"{name} {share:.2f}" for name, share in self._shares.items())}

    def _weights(self, data: Data) -> _Array | None:
        return data.weight

    def _counted(self, graphs: Graphs, numbers: _Array) -> Represented:
        counts = tuple(view.count(graphs) for view in self._views)
        return Represented(self._views, counts, self._standard(numbers))

    # Predicting

    def _outputs(self, X: Any) -> tuple[_Array, _Array]:
        """Return probabilities or values of items, and how unlike the training items each is."""
        items = self.read_items(X)
        pieces = [self._piece(piece) for piece in _pieces(items)]
        outputs, novelty = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        check_outputs(outputs)
        return outputs, novelty

    def _piece(self, items: Items) -> tuple[_Array, _Array]:
        graphs = self._coder.encode(graphs_of(items))
        counted = self._counted(graphs, numbers_of(graphs, self._descriptors))
        novelty = np.zeros(len(counted))
        total: Any = 0.0
        table: Any = None
        for name, fitted in self._fitted.items():
            if name == "ridge":
                outputs, novelty = fitted.predict(counted)
            else:
                table = self._columns.table(counted) if table is None else table
                outputs = fitted.predict(table)
            total = total + self._shares.get(name, 0.0) * outputs
        return np.asarray(total), novelty

    def novelty(self, X: Any) -> _Array:
        """Return how unlike the training items each item is: 0, as the most similar, to 1.

        One less the mean similarity to the five most similar training items.

        Shapes
        ------
        → (n,)
        """
        return self._outputs(X)[1]

    # Keeping

    def get_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return what was learned, and of small training sets the items."""
        facts: dict[str, Any] = {
            "views": pack_views(self._views),
            "parts": [len(view) for view in self._columns.names],
            "descriptors": self._descriptors,
            "shares": self._shares,
            "tried": self.tried_,
            "chosen": self.chosen_,
            "learned": {},
        }
        tensors = pack_columns(self._columns, "columns.")
        tensors |= {
            "standard.mean": to_tensor(self._standard.mean),
            "standard.scale": to_tensor(np.where(np.isinf(self._standard.scale), 0.0, self._standard.scale)),
            "held_out": to_tensor(self.held_out_),
        }
        for name, fitted in self._fitted.items():
            prefix = f"learned.{name}."
            if name == "ridge":
                facts["centers"], centers = pack_represented(fitted.centers, "centers.")
                tensors |= centers
            stored = fitted.record if name == "ridge" else fitted
            facts["learned"][name], own = pack_fields(stored, prefix)
            tensors |= own
        if self._conformal is not None:
            _, own = pack_fields(self._conformal, "conformal.")
            tensors |= own
        if self._data is not None and len(self._data) <= _MOST_KEPT:
            tensors |= pack_items(self._data.items)
            tensors["codes"] = to_tensor(self._data.codes)
        return facts, tensors

    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Set what was learned."""
        self._views = unpack_views(facts["views"])
        self._columns = unpack_columns(facts["parts"], tensors, "columns.")
        scale = tensors["standard.scale"].numpy()
        self._standard = Standard(tensors["standard.mean"].numpy(), np.where(scale > 0, scale, np.inf))
        self._descriptors = bool(facts["descriptors"])
        self._shares = {name: float(share) for name, share in facts["shares"].items()}
        self.tried_, self.chosen_ = list(facts["tried"]), dict(facts["chosen"])
        self.held_out_ = tensors["held_out"].numpy()
        self._fitted = {}
        width = sum(len(names) for view in self._columns.names for names in view)
        for name, stored in facts["learned"].items():
            prefix = f"learned.{name}."
            if name == "ridge":
                centers = unpack_represented(facts["centers"], tensors, "centers.")
                record = unpack_fields(RidgeRecord, stored, tensors, prefix)
                self._fitted[name] = FittedRidge.of(centers, record)
                continue
            fitted = unpack_fields(_FITTED[name], stored, tensors, prefix)
            fitted.check(width + len(scale))
            self._fitted[name] = fitted
        self._conformal = None
        if "conformal.scores" in tensors:
            self._conformal = unpack_fields(Conformal, {}, tensors, "conformal.")
        if "codes" in tensors:
            self._items = unpack_items(tensors)
