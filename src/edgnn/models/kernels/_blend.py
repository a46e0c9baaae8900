"""BlendGraphClassifier: ridge in closed form and a random forest on color counts, mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, get_args

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from torch import Tensor

from edgnn._rules import FLAG, Rule, Rules, number, some_of, whole
from edgnn.graphs import Graphs
from edgnn.models._data import Data
from edgnn.models._finite import check_outputs
from edgnn.models._items import Level, graphs_of
from edgnn.models._model import new_model
from edgnn.models._seeds import root_seed
from edgnn.models._splits import Split
from edgnn.models._state import (
    decode_parameters,
    encode_parameters,
    pack_fields,
    unpack_fields,
)
from edgnn.models.counts import Trees
from edgnn.models.kernels._checks import DEEPEST, Array, words
from edgnn.models.kernels._classifier import SplitClassifier, solved_split
from edgnn.models.kernels._count_kernels import NodeColors
from edgnn.models.kernels._ridge_graphs import RidgeGraphClassifier, prepared
from edgnn.models.kernels._solvers import Kernels
from edgnn.wl import Coloring, Scheme, refine

#: Numbers of a table; forests grow several times faster on plain arrays, which beyond this are
#: too large.
_DENSE = 2**25


@dataclass(frozen=True, eq=False)
class _Colored:
    """The colors of the training graphs, and those that are columns of the forest's table."""

    colorings: tuple[Coloring, ...]
    columns: tuple[Array, ...]


@dataclass(eq=False, repr=False)
class BlendGraphClassifier(SplitClassifier):
    r"""Mix the probabilities of :class:`RidgeGraphClassifier` with those of a random forest.

    Ridge weighs everything that two graphs share at once; a forest asks for one color after the
    other. Where they err on different graphs, a mixture can do better than either:

    .. math:: p = (1 - s)\,p_\text{ridge} + s\,p_\text{forest}

    The forest sees how often a graph has each Weisfeiler–Lehman color of rounds 0 to ``rounds``, of
    the colors that at least two training graphs have. What is said of a graph does not depend on
    which others are predicted along.

    Parameters
    ----------
    ridge : RidgeGraphClassifier, optional
        The other half; default: one with this ``ring_sizes``.
    share : float
        The s above, 0 to 1.
    trees : int
        Trees of the forest.
    min_samples_leaf : int
        Least training graphs in a leaf.
    rounds : int
        Most rounds of refinement.
    schemes : {"node", "separate", "joint"}, or several
        Refinements as in :func:`edgnn.wl.refine`.
    ring_sizes : bool
        Add ring sizes to the labels first (:meth:`Graphs.with_ring_sizes`).
    n_jobs : int, optional
        How many splits :meth:`predict_splits` works on at a time.
    random_state : int, RandomState or None
        The random seed of the forest.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What ridge chose inside the training set, and how many columns the forest was shown.
    ridge_, forest_ : RidgeGraphClassifier, Trees
        Both halves.

    Examples
    --------
    >>> import edgnn
    >>> from edgnn.models import BlendGraphClassifier
    >>> data = edgnn.load_dataset("MUTAG")
    >>> model = BlendGraphClassifier(trees=50, random_state=0)
    >>> model = model.fit(data.graphs[:150], data.targets[:150])
    >>> model.predict_proba(data.graphs[150:]).shape
    (38, 2)
    """

    levels: ClassVar[tuple[Level, ...]] = ("graph",)
    rules: ClassVar[Rules] = {
        "ridge": Rule(
            lambda value: isinstance(value, RidgeGraphClassifier | None),
            "a RidgeGraphClassifier, or None for one as it comes",
        ),
        "share": number(
            lambda value: 0 <= value <= 1, "a number from 0 (ridge alone) to 1 (the forest alone)"
        ),
        "trees": whole(1),
        "min_samples_leaf": whole(1),
        "rounds": whole(0, DEEPEST),
        "schemes": some_of(*get_args(Scheme)),
        "ring_sizes": FLAG,
    }

    ridge: RidgeGraphClassifier | None = None
    _: KW_ONLY
    share: float = 0.3
    trees: int = 500
    min_samples_leaf: int = 1
    rounds: int = 3
    schemes: Scheme | Sequence[Scheme] = ("node", "joint")
    ring_sizes: bool = True

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from graphs and their classes.

        Parameters
        ----------
        X : Graphs, or a list of them
            The items.
        y : array-like
            One class per graph.
        """
        self.check_parameters()
        seed, data = root_seed(self.random_state), self.read_training(X, y)
        graphs = graphs_of(data.items)
        ridge = self._ridge_half().fit(graphs, data.y)
        colorings = self._colorings(graphs)
        colors = NodeColors.of(colorings)
        columns = colors.columns(np.arange(len(graphs)))
        self.forest_ = self._grown(colors.counts(columns), data.codes, seed)
        self.ridge_, self._seed, self._as_fitted = ridge, seed, clone(self)
        self._colored = _Colored(colorings, columns)
        self.chosen_ = _chosen(ridge.chosen_, columns)
        self.remember(data)
        return self

    @cached_property
    def _colored(self) -> _Colored:
        # a loaded classifier colors its training graphs when it first predicts
        graphs = graphs_of(self._training_items())
        colorings = self._as_fitted._colorings(graphs)
        return _Colored(colorings, NodeColors.of(colorings).columns(np.arange(len(graphs))))

    def _shared(self, data: Data) -> tuple[Kernels, NodeColors]:
        ridge = self._ridge_half()
        represented = ridge._represent(data.items)
        kernels = ridge._kernels(represented, represented)
        return kernels, NodeColors.of(self._colorings(graphs_of(data.items)))

    def _results(self, data: Data, shared: Any, splits: Sequence[Split]) -> list[dict[str, Any]]:
        kernels, colors = shared
        return [self._result(data, kernels, colors, split) for split in splits]

    def _result(
        self, data: Data, kernels: Kernels, colors: NodeColors, split: Split
    ) -> dict[str, Any]:
        known = split.known
        result, solved = solved_split(self._ridge_half()._solver(), kernels, data, split)
        classes, codes = np.unique(data.y[known], return_inverse=True)
        columns = colors.columns(known)
        table = colors.counts(columns)
        forest = self._grown(table[known], codes, split.seed)
        among = kernels[solved.setting][np.ix_(known, known)]
        of_ridge = solved.probabilities(among)  # type: ignore[attr-defined]
        of_known = self._mixed(of_ridge, forest, table[known])
        of_test = self._mixed(result["probability"], forest, table[split.test])
        return {
            "prediction": classes[of_test.argmax(axis=1)],
            "probability": of_test,
            "classes": classes,
            "chosen": _chosen(solved.chosen, columns),
            "training_accuracy": float(np.mean(of_known.argmax(axis=1) == codes)),
        }

    # Predicting

    def predict(self, X: Any) -> Array:
        """Return the class of each graph, that of the highest probability.

        Shapes
        ------
        → (n,)
        """
        probability = self.predict_proba(X)
        found: Array = self.classes_[probability.argmax(axis=1)]
        return found

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Shapes
        ------
        → (n, K)
        """
        graphs = graphs_of(self.read_items(X))
        then, colored = self._as_fitted, self._colored
        new = prepared(graphs, then.ring_sizes)
        colors = NodeColors.of([coloring.extend(new) for coloring in colored.colorings])
        table = colors.counts(colored.columns)
        mixed: Array = then._mixed(self.ridge_.predict_proba(graphs), self.forest_, table)
        check_outputs(mixed)
        return mixed

    # Halves

    def check_parameters(self) -> None:
        """Raise where a parameter of this model or of its ridge makes no sense."""
        super().check_parameters()
        self._ridge_half().check_parameters()

    def _ridge_half(self) -> RidgeGraphClassifier:
        if self.ridge is None:
            return RidgeGraphClassifier(ring_sizes=self.ring_sizes)
        copy: RidgeGraphClassifier = clone(self.ridge)
        return copy

    def _grown(self, table: csr_array, codes: Array, seed: int) -> Trees:
        """Grow a forest on color counts."""
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(
            int(self.trees),
            min_samples_leaf=int(self.min_samples_leaf),
            random_state=seed % 2**32,
            n_jobs=1,
        )
        return Trees.of_forest(forest.fit(_readable(table), codes))

    def _mixed(self, ridge: Array, forest: Trees, table: csr_array) -> Array:
        share = float(self.share)
        found: Array = (1 - share) * ridge + share * forest.predict_proba(_readable(table))
        return found

    def _colorings(self, graphs: Graphs) -> tuple[Coloring, ...]:
        plain = prepared(graphs, self.ring_sizes)
        return tuple(refine(plain, int(self.rounds), scheme) for scheme in words(self.schemes))

    # Keeping

    def get_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return both halves; the training graphs are with ridge."""
        facts, tensors = self.ridge_.get_state()
        _, forest = pack_fields(self.forest_, "forest.")
        facts["ridge_parameters"] = encode_parameters(self.ridge_)
        facts["blend_fitted_with"] = encode_parameters(self._as_fitted)
        facts["chosen"] = self.chosen_
        return facts, tensors | forest

    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Set both halves."""
        then = decode_parameters(facts["blend_fitted_with"], new_model)
        self._as_fitted = type(self)(**then)
        self._as_fitted.check_parameters()
        parameters = decode_parameters(facts["ridge_parameters"], new_model)
        self.ridge_ = RidgeGraphClassifier(**parameters)
        self.ridge_.set_state(facts, tensors)
        self.ridge_._level = "graph"
        self.ridge_._set_encoding(self._encoding)
        self._items = self.ridge_._items
        self.forest_ = unpack_fields(Trees, {}, tensors, "forest.")
        self.chosen_ = facts["chosen"]
        self.forest_.check(self.chosen_["colors"])


def _readable(table: csr_array) -> Any:
    """Return counts as a forest can read them: plain where that is not too large."""
    if not table.shape[1]:
        return np.zeros((table.shape[0], 1), dtype=np.float32)
    if table.shape[0] * table.shape[1] <= _DENSE:
        return table.astype(np.float32).toarray()
    places = table.indices.astype(np.int32), table.indptr.astype(np.int32)
    return csr_array((table.data.astype(np.float32), *places), shape=table.shape)


def _chosen(of_ridge: dict[str, Any], columns: Sequence[Array]) -> dict[str, Any]:
    return of_ridge | {"colors": sum(map(len, columns))}
