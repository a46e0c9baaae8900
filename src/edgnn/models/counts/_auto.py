"""AutoClassifier and AutoRegressor: several learners on counts, the best or a blend of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from sklearn.base import clone
from torch import Tensor

from edgnn._rules import POSITIVE, Rules, one_of, some_of, whole
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models._data import Data
from edgnn.models._items import graphs_of
from edgnn.models._seeds import RANDOM_STATE
from edgnn.models._state import pack_fields, to_tensor, unpack_fields
from edgnn.models.counts._blend import blend_shares
from edgnn.models.counts._boosting import Boosting
from edgnn.models.counts._calibrated import (
    CalibratedClassifier,
    CalibratedModel,
    CalibratedRegressor,
)
from edgnn.models.counts._conformal import Conformal
from edgnn.models.counts._features import Standard, numbers_of
from edgnn.models.counts._forest import Forest
from edgnn.models.counts._kept import (
    MOST_KEPT,
    extended,
    pack_data,
    unpack_data,
    usable_part,
    without,
)
from edgnn.models.counts._labelings import has_chemistry
from edgnn.models.counts._problem import Problem
from edgnn.models.counts._representation import (
    DEEPEST,
    Columns,
    Represented,
    View,
    default_views,
)
from edgnn.models.counts._ridge_learner import CountRidge, FittedRidge, RidgeSolution
from edgnn.models.counts._sparse import SparseLinear
from edgnn.models.counts._stored import pack_fitted, unpack_fitted
from edgnn.models.counts._stored_counts import (
    check_columns,
    check_task,
    pack_columns,
    pack_represented,
    pack_standard,
    pack_views,
    unpack_columns,
    unpack_represented,
    unpack_shares,
    unpack_standard,
    unpack_views,
)
from edgnn.models.counts._with_reasons import WithReasons

_Array = np.ndarray[Any, Any]
Learner = Literal["ridge", "sparse", "forest", "boosting"]

_MOST_COLUMNS = 3_000  # of the table that trees and linear models see
_TABLE_ROUNDS = 2
_USUAL = 0.99  # of the training items are as novel, or less

# columns and folds are bounded because most of the time goes here: on three sets of MoleculeACE
# 512 and 3,000 columns gave held-out errors within 4 % of each other
_TABLE_LEARNERS: dict[str, Any] = {
    "sparse": SparseLinear(most_columns=750, strengths=15, folds=3),
    "forest": Forest(trees=300),
    "boosting": Boosting(most_columns=512, folds=3),
}


class CountModel(WithReasons, CalibratedModel):
    """What the classifier and the regressor share."""

    rules: ClassVar[Rules] = {
        "learners": some_of(*get_args(Learner)),
        "rounds": whole(1, DEEPEST),
        "descriptors": one_of("auto", "rdkit", "none").or_none("as 'none'"),
        "random_state": RANDOM_STATE,
        "seconds": POSITIVE.or_none("as long as it takes"),
    }

    learners: Learner | Sequence[Learner]
    rounds: int
    descriptors: Literal["auto", "rdkit", "none"] | None
    seconds: float | None

    _views: tuple[View, ...]
    _standard: Standard
    _columns: Columns
    _fitted: dict[str, Any]
    _shares: dict[str, float]
    _usual: float
    _learned_from: Data | None

    # Learning

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more items: the model becomes what ``fit`` makes of all, the new ones last.

        A model that was loaded can do so as long as its run folder holds its training items: up to
        20,000 of them. With ``random_state`` a whole number and no limit of time, the model is the
        same number by number. Where an error is raised, the model stays what it was.

        Parameters
        ----------
        X, y, sample_weight
            As of :meth:`fit`.

        Examples
        --------
        >>> from edgnn import AutoRegressor
        >>> model = AutoRegressor(learners="ridge", descriptors="none", random_state=0)
        >>> model.fit(["C", "CC", "CCC"], [1, 2, 3]).update(["CCCC"], [4]).held_out_.shape
        (4, 1)
        """
        old = self._kept()
        new = Data.read(self._items_of_level(X), y, (self.task,), sample_weight)
        return self._become(extended(old, new))

    def forget(self, items: Any) -> Self:
        """Take training items out: the model becomes what ``fit`` makes of the others.

        Parameters
        ----------
        items : int, str, or a list of them, or a mask
            Positions among the items with a target, in the order of ``held_out_``, or names of
            graphs; all items of a name are taken out.
        """
        return self._become(without(self._kept(), items))

    def _kept(self) -> Data:
        self._check_fitted()
        if self._learned_from is None:
            raise EstimatorError(
                f"this model no longer has its training items (run folders hold up to "
                f"{MOST_KEPT:,}): fit a new model on all items"
            )
        return self._learned_from

    def _become(self, data: Data) -> Self:
        fresh = clone(self)
        fresh.check_parameters()
        fresh._learn(usable_part(data))
        parameters = self.get_params(deep=False)
        self.__dict__.clear()
        self.__dict__.update(fresh.__dict__ | parameters)
        return self

    def _learn(self, data: Data) -> None:
        # what raises comes first: a model is fitted from ``remember`` on
        graphs, problem = graphs_of(data.items), self._problem(data)
        self._descriptors = _uses_descriptors(self.descriptors, graphs)
        numbers = numbers_of(graphs, self._descriptors)
        self._standard = Standard.of(numbers)
        self.remember(data)
        self._learned_from = data
        self._views = default_views(graphs, self.rounds)
        items = self._counted(self._coder.encode(graphs), numbers)
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
        self._shares = {
            name: float(share) for name, share in zip(names, shares, strict=True) if share
        }
        for row in self.tried_:
            row["share"] = self._shares.get(row["learner"], 0.0)
        mixed = sum(self._shares[name] * self._fitted[name].held_out for name in self._shares)
        novelty = np.zeros(len(problem))
        if "ridge" in self._fitted:
            novelty = self._fitted["ridge"].novelty
        self._usual = float(np.quantile(novelty, _USUAL))
        mixed = np.asarray(mixed)
        self.held_out_ = self._doubted(mixed, novelty, mixed.mean(axis=0), problem.task)
        self.tried_.append({"learner": "blend"} | _held_out_scores(self.held_out_, problem))
        self._fitted = {
            name: fitted
            for name, fitted in self._fitted.items()
            if name in self._shares or name == "ridge"
        }
        self._conformal = None
        if problem.task != "labels":
            self._conformal = Conformal.of(self.held_out_, novelty, problem)
        self.chosen_ = {
            "blend": ", ".join(f"{name} {share:.2f}" for name, share in self._shares.items())
        }

    def _counted(self, graphs: Graphs, numbers: _Array) -> Represented:
        counts = tuple(view.count(graphs) for view in self._views)
        return Represented(self._views, counts, self._standard(numbers))

    # Predicting

    def _piece(self, graphs: Graphs) -> tuple[_Array, _Array]:
        # descriptors come from the molecules as they are: encoding hides elements never seen
        numbers = numbers_of(graphs, self._descriptors)
        counted = self._counted(self._coder.encode(graphs), numbers)
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
        prior = self.held_out_.mean(axis=0)
        return self._doubted(np.asarray(total), novelty, prior, self.task), novelty

    def _doubted(self, outputs: _Array, novelty: _Array, prior: _Array, task: str) -> _Array:
        """Return probabilities nearer to the prior, for items unlike nearly all training items.

        A single decisive column would make a linear model sure of anything that has it.
        """
        if task == "values" or self._usual >= 1:
            return outputs
        beyond = np.clip((novelty - self._usual) / (1 - self._usual), 0, 1)
        doubt = (beyond**2)[:, None]
        doubted: _Array = (1 - doubt) * outputs + doubt * prior
        return doubted

    def novelty(self, X: Any) -> _Array:
        """Return how unlike the training items each item is: 0, as the most similar, to 1.

        One less the mean similarity to the five most similar training items.

        Shapes
        ------
        → (n,)
        """
        self._check_fitted()
        if "ridge" not in self._fitted:
            raise EstimatorError(
                "novelty is measured by the similarities of ridge, which this model has not "
                "learned: name 'ridge' among the learners"
            )
        return self._outputs(X)[1]

    def _novelty_column(self, novelty: _Array) -> dict[str, _Array]:
        return {"novelty": novelty} if "ridge" in self._fitted else {}

    # Keeping

    def get_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return what was learned, and of small training sets the items."""
        facts: dict[str, Any] = {
            "views": pack_views(self._views),
            "parts": [len(view) for view in self._columns.names],
            "descriptors": self._descriptors,
            "shares": self._shares,
            "usual_novelty": self._usual,
            "tried": self.tried_,
            "chosen": self.chosen_,
            "learned": {},
        }
        tensors = pack_columns(self._columns, "columns.")
        tensors |= pack_standard(self._standard, "standard.")
        tensors["held_out"] = to_tensor(self.held_out_)
        for name, fitted in self._fitted.items():
            prefix = f"learned.{name}."
            if name == "ridge":
                facts["centers"], centers = pack_represented(fitted.centers, "centers.")
                tensors |= centers
                facts["learned"][name], own = pack_fields(fitted.solution, prefix)
            else:
                facts["learned"][name], own = pack_fitted(fitted, prefix)
            tensors |= own
        if self._conformal is not None:
            _, own = pack_fields(self._conformal, "conformal.")
            tensors |= own
        if self._learned_from is not None and len(self._learned_from) <= MOST_KEPT:
            tensors |= pack_data(self._learned_from)
        return facts, tensors

    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Set what was learned."""
        self._views = unpack_views(facts["views"])
        self._columns = unpack_columns(facts["parts"], tensors, "columns.")
        self._standard = unpack_standard(tensors, "standard.")
        self._descriptors = bool(facts["descriptors"])
        self._shares = unpack_shares(facts["shares"], facts["learned"])
        self._usual = float(facts["usual_novelty"])
        if not 0 <= self._usual <= 1:
            raise ValueError("the stored novelty of training items is damaged")
        self.tried_, self.chosen_ = list(facts["tried"]), dict(facts["chosen"])
        self.held_out_ = tensors["held_out"].numpy()
        if self.held_out_.shape[1:] != (self._encoding.outputs,) or not len(self.held_out_):
            raise ValueError("the stored predictions of held-out items are damaged")
        check_columns(self._views, self._columns)
        self._fitted = {name: self._unpacked(name, facts, tensors) for name in facts["learned"]}
        self._conformal = None
        if self.task != "labels":
            self._conformal = unpack_fields(Conformal, {}, tensors, "conformal.")
            self._conformal.check(self.task, self._encoding.outputs)
        self._learned_from = None
        if "codes" in tensors:
            self._learned_from = unpack_data(tensors, self._encoding)
            self._items = self._learned_from.items

    def _unpacked(self, name: str, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Any:
        """Return what a learner has learned, from what was stored."""
        stored, prefix = facts["learned"][name], f"learned.{name}."
        numbers, outputs = len(self._standard.mean), self._encoding.outputs
        if name != "ridge":
            width = sum(len(names) for view in self._columns.names for names in view)
            fitted = unpack_fitted(stored, tensors, prefix, width + numbers)
            check_task(fitted.task, fitted.held_out.shape[1], self.task, outputs)
            return fitted
        centers = unpack_represented(facts["centers"], tensors, "centers.")
        solution = unpack_fields(RidgeSolution, stored, tensors, prefix)
        solution.check(len(centers))
        check_task(solution.task, len(solution.intercept), self.task, outputs)
        if centers.views != self._views or centers.features.shape[1] != numbers:
            raise ValueError("the stored centers are not counted as new items are")
        # what was held out in training is not needed to predict
        nothing = np.zeros((0, outputs))
        return FittedRidge(centers, solution, nothing, nothing[:, 0])


@dataclass(eq=False, repr=False)
class AutoClassifier(CountModel, CalibratedClassifier):
    """Classify graphs by counts of what they are made of, with the best of several learners.

    Graphs are counted once: colors of Weisfeiler–Lehman refinement round by round, and pairs of
    nodes at a distance, from several labelings. Of molecules these are elements with ring sizes,
    with charges and stereo, atom types, and pharmacophores; features and RDKit descriptors stand
    beside the counts. On these learn kernel ridge on Tanimoto similarities, sparse logistic
    regression, a forest and boosted trees. The one that predicts held-out training items best is
    taken, or a blend where that is better.

    Parameters
    ----------
    learners : {"ridge", "sparse", "forest", "boosting"}, or several
        What to try.
    rounds : int
        Most rounds of refinement.
    descriptors : {"auto", "rdkit", "none"}
        Whether RDKit's descriptors of molecules are computed; ``"auto"``: where the graphs are
        molecules.
    seconds : float, optional
        No further learner is tried once half of that time is over.
    class_weight : "balanced", dict, optional
        How much the items of each class count.
    random_state : int, RandomState or None
        The random seed of forest, boosting and inner folds.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    tried_ : list of dict
        What was tried: the learner, how well it predicts held-out items, its seconds and its share.
    held_out_ : array
        The probabilities of each training item by models that did not learn from it.

    Examples
    --------
    >>> import edgnn
    >>> data = edgnn.load_dataset("MUTAG")
    >>> model = edgnn.AutoClassifier(learners="ridge").fit(data.graphs[:150], data.targets[:150])
    >>> model.predict_proba(data.graphs[150:]).shape
    (38, 2)
    >>> model.predict_set(data.graphs[150:], coverage=0.9).shape
    (38, 2)
    """

    learners: Learner | Sequence[Learner] = ("ridge", "sparse", "forest", "boosting")
    _: KW_ONLY
    rounds: int = 4
    descriptors: Literal["auto", "rdkit", "none"] | None = "auto"
    seconds: float | None = None
    class_weight: Any = None
    random_state: Any = None


@dataclass(eq=False, repr=False)
class AutoRegressor(CountModel, CalibratedRegressor):
    """Predict numbers of graphs from counts of what they are made of; see :class:`AutoClassifier`.

    Parameters
    ----------
    learners, rounds, descriptors, seconds, random_state
        As of :class:`AutoClassifier`.

    Attributes
    ----------
    tried_ : list of dict
        What was tried: the learner, how well it predicts held-out items, its seconds and its share.
    held_out_ : array
        The values of each training item by models that did not learn from it.

    Examples
    --------
    >>> from edgnn import AutoRegressor
    >>> texts = ["C" * size for size in range(1, 30)]
    >>> model = AutoRegressor(descriptors="none").fit(texts[::2], range(1, 30, 2))
    >>> model.predict(texts[1::2]).round()[:3]
    array([2., 4., 6.])
    """

    learners: Learner | Sequence[Learner] = ("ridge", "sparse", "forest", "boosting")
    _: KW_ONLY
    rounds: int = 4
    descriptors: Literal["auto", "rdkit", "none"] | None = "auto"
    seconds: float | None = None
    random_state: Any = None


def _uses_descriptors(wish: str | None, graphs: Graphs) -> bool:
    """Return whether descriptors are computed; raise where they cannot be."""
    if wish == "auto":
        return has_chemistry(graphs)
    if wish == "rdkit" and not has_chemistry(graphs):
        raise EstimatorError(
            "descriptors='rdkit' is for molecules read from SMILES or SD files with their "
            "attributes: choose 'none' for other graphs"
        )
    return wish == "rdkit"


def _held_out_scores(held_out: _Array, problem: Problem) -> dict[str, float]:
    """Return how well held-out items are predicted, in the terms of the task."""
    known = problem.known
    if problem.task == "values":
        errors = (problem.targets - held_out)[known]
        return {"rmse": float(np.sqrt(np.mean(errors**2)))}
    losses = problem.losses(held_out)
    scores = {"log loss": float(np.nanmean(losses))}
    if problem.task == "classes":
        right = held_out.argmax(axis=1) == problem.targets
    else:
        right = ((held_out > 0.5) == (problem.targets > 0.5))[known]
    return scores | {"accuracy": float(np.mean(right))}
