"""ECFPClassifier and ECFPRegressor: trees on circular fingerprints and descriptors of molecules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy.sparse import csr_array, hstack
from torch import Tensor

from edgnn._rules import Rules, one_of, whole
from edgnn.errors import EstimatorError, GraphError
from edgnn.graphs import Graphs
from edgnn.io import ecfp_counts
from edgnn.models._data import Data
from edgnn.models._items import graphs_of
from edgnn.models._state import pack_fields, unpack_fields
from edgnn.models.counts import (
    Boosting,
    FittedTable,
    Forest,
    TableLearner,
    pack_fitted,
    unpack_fitted,
)
from edgnn.models.counts._calibrated import (
    CalibratedClassifier,
    CalibratedModel,
    CalibratedRegressor,
)
from edgnn.models.counts._conformal import Conformal
from edgnn.models.counts._features import numbers_of

_Array = np.ndarray[Any, Any]
Learner = Literal["forest", "boosting"]

_LEARNERS: dict[str, TableLearner] = {"forest": Forest(), "boosting": Boosting()}
_LEARNED, _CONFORMAL = "learned.", "conformal."


class ECFPModel(CalibratedModel):
    """What the classifier and the regressor share: the table, and one learner on it."""

    rules: ClassVar[Rules] = {
        "learner": one_of(*get_args(Learner)),
        "radius": whole(0, 10),
        "bits": whole(1, 2**20),
    }

    learner: Learner
    radius: int
    bits: int

    _columns: int
    _fitted: FittedTable

    def _learn(self, data: Data) -> None:
        problem = self._problem(data)
        table = self._table(graphs_of(data.items))
        self.remember(data)
        self._columns = table.shape[1]
        self._fitted = _LEARNERS[self.learner].fit(
            table,
            problem.targets,
            problem.task,
            weight=problem.weight,
            outputs=problem.outputs,
            seed=problem.seed,
        )
        self._conformal = None
        if problem.task != "labels":
            # a forest does not say how unlike its training items a molecule is
            alike = np.zeros(len(problem))
            self._conformal = Conformal.of(self._fitted.held_out, alike, problem)

    @property
    def held_out_(self) -> _Array:
        """Predictions of the training items by trees that did not learn from them."""
        self._check_fitted()
        return self._fitted.held_out

    def _piece(self, graphs: Graphs) -> tuple[_Array, _Array]:
        table = self._table(graphs)
        if table.shape[1] != self._columns:
            raise EstimatorError(
                f"the molecules have {table.shape[1] - self.bits} features and descriptors, those "
                f"of the training set {self._columns - self.bits}: give the same features"
            )
        return self._fitted.predict(table), np.zeros(len(graphs))

    def _table(self, graphs: Graphs) -> csr_array:
        """Return counts of the fingerprint, then descriptors and the graphs' own features."""
        try:
            counts = ecfp_counts(graphs, self.radius, self.bits)
        except GraphError as error:
            raise EstimatorError(
                f"ecfp is for molecules ({error}); choose another model, such as auto"
            ) from None
        return csr_array(hstack([counts, csr_array(numbers_of(graphs, True))], format="csr"))

    # Keeping

    def get_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return the trees, and how far held-out predictions were from the truth."""
        learned, tensors = pack_fitted(self._fitted, _LEARNED)
        if self._conformal is not None:
            tensors |= pack_fields(self._conformal, _CONFORMAL)[1]
        return {"columns": self._columns, "learned": learned}, tensors

    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Set what :meth:`get_state` returned."""
        self._columns = int(facts["columns"])
        self._fitted = unpack_fitted(facts["learned"], tensors, _LEARNED, self._columns)
        self._conformal = None
        if f"{_CONFORMAL}scores" in tensors:
            self._conformal = unpack_fields(Conformal, {}, tensors, _CONFORMAL)


@dataclass(eq=False, repr=False)
class ECFPClassifier(ECFPModel, CalibratedClassifier):
    """Classify molecules by what chemists commonly use: trees on ECFP4 counts and descriptors.

    A row of the table is how often each circular neighborhood occurs in a molecule, folded to
    2,048 columns (Rogers & Hahn 2010), then RDKit's fast 2D descriptors, then the features that
    graphs have. The model to beat on molecules; graphs must have been read from molecules.

    Parameters
    ----------
    learner : {"forest", "boosting"}
        Extremely randomized trees, or scikit-learn's histogram boosting.
    radius : int
        Bonds around each atom; 2 is ECFP4.
    bits : int
        How many columns neighborhoods are folded into.
    class_weight : "balanced", dict, optional
        How much the items of each class count.
    random_state : int, RandomState or None
        The random seed.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    held_out_ : array
        The probabilities of each training item by trees that did not learn from it.

    Examples
    --------
    >>> from edgnn.models import ECFPClassifier
    >>> texts = ["C" * carbons + end for carbons in range(1, 9) for end in "NO"]
    >>> model = ECFPClassifier(random_state=0).fit(texts, ["amine", "alcohol"] * 8)
    >>> model.predict(["CCC(C)CO", "CCC(C)CN"]).tolist()
    ['alcohol', 'amine']
    """

    learner: Learner = "forest"
    _: KW_ONLY
    radius: int = 2
    bits: int = 2048
    class_weight: Any = None
    random_state: Any = None


@dataclass(eq=False, repr=False)
class ECFPRegressor(ECFPModel, CalibratedRegressor):
    """Predict numbers of molecules by trees on ECFP4 counts and descriptors.

    Parameters
    ----------
    learner, radius, bits, random_state
        As of :class:`ECFPClassifier`.

    Attributes
    ----------
    held_out_ : array
        The values of each training item by trees that did not learn from it.

    Examples
    --------
    >>> from edgnn.models import ECFPRegressor
    >>> texts = ["C" * size for size in range(1, 30)]
    >>> model = ECFPRegressor(random_state=0).fit(texts[::2], range(1, 30, 2))
    >>> bool(abs(model.predict(texts[9:12]) - [10, 11, 12]).max() < 2)
    True
    """

    learner: Learner = "forest"
    _: KW_ONLY
    radius: int = 2
    bits: int = 2048
    random_state: Any = None
