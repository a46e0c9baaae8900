"""BlendGraphClassifier: ridge in closed form and a random forest on color counts, their probabilities mixed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models.kernels._color_columns import NodeColors
from edgnn.models.kernels._reading import (
    Array,
    flag,
    is_whole,
    job_count,
    read_items,
    read_split,
    read_targets,
)
from edgnn.models.kernels._ridge_classifier import chosen_words
from edgnn.models.kernels._ridge_graphs import RidgeGraphClassifier
from edgnn.models.kernels._solved import OnSplit
from edgnn.models.networks._errors import NotFitted
from edgnn.models.networks._inputs import graphs_of
from edgnn.models.networks._parts import root_seed
from edgnn.wl import Coloring, Scheme, bare, refine

_DEEPEST = 1000
_DENSE = (
    2**25
)  # numbers; forests grow several times faster on plain arrays, but beyond this they would be too large


@dataclass(frozen=True, eq=False)
class _Fitted:
    """What was learned, with the parameters that predictions need as they were then."""

    ridge: RidgeGraphClassifier
    forest: Any
    share: float
    rings: bool
    colorings: tuple[Coloring, ...]
    columns: tuple[Array, ...]

    def probabilities(self, graphs: Graphs) -> Array:
        prepared = _prepared(graphs, self.rings)
        colors = NodeColors.of([coloring.extend(prepared) for coloring in self.colorings])
        grown = _votes(self.forest, _readable(colors.counts_of_others(self.columns)))
        return _mixed(self.ridge.predict_proba(graphs), grown, self.share)


class BlendGraphClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Mix the probabilities of :class:`RidgeGraphClassifier` with those of a random forest on color counts.

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
        What the forest follows from.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What ridge chose inside the training part, and how many columns the forest was shown.
    ridge_, forest_ : RidgeGraphClassifier, RandomForestClassifier
        Both halves.

    Examples
    --------
    >>> import edgnn
    >>> from edgnn.models.kernels import BlendGraphClassifier
    >>> data = edgnn.load_dataset("MUTAG")
    >>> model = BlendGraphClassifier(trees=50, random_state=0).fit(data.graphs[:150], data.targets[:150])
    >>> model.predict_proba(data.graphs[150:]).shape
    (38, 2)
    """

    def __init__(
        self,
        ridge: RidgeGraphClassifier | None = None,
        *,
        share: float = 0.3,
        trees: int = 500,
        min_samples_leaf: int = 1,
        rounds: int = 3,
        schemes: Scheme | Sequence[Scheme] = ("node", "joint"),
        ring_sizes: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.ridge = ridge
        self.share = share
        self.trees = trees
        self.min_samples_leaf = min_samples_leaf
        self.rounds = rounds
        self.schemes = schemes
        self.ring_sizes = ring_sizes
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Learning

    def fit(self, X: Any, y: Any) -> BlendGraphClassifier:
        """Learn from graphs and their classes.

        Parameters
        ----------
        X : Graphs, or a list of them
            The items.
        y : array-like
            One class per graph.
        """
        (share, ridge), seed = self._checked(), root_seed(self.random_state)
        items = read_items(X, ("graph",))
        targets = read_targets(y, items)
        classes, codes = np.unique(targets, return_inverse=True)
        graphs = graphs_of(items)
        ridge.fit(graphs, targets)
        colorings = self._colorings(graphs)
        colors = NodeColors.of(colorings)
        columns = colors.columns(np.arange(len(graphs)))
        forest = self._forest(seed).fit(_readable(colors.counts(columns)), codes)
        self._fitted = _Fitted(ridge, forest, share, bool(self.ring_sizes), colorings, columns)
        self.classes_, self.ridge_, self.forest_ = classes, ridge, forest
        self.chosen_ = _told(ridge.chosen_, columns)
        return self

    def predict_splits(
        self, X: Any, y: Any, splits: Iterable[Any], *, on_split: OnSplit | None = None
    ) -> list[dict[str, Any]]:
        """Learn from every split and predict its test part; kernels and colors are computed once for all graphs.

        A split gets what a fresh classifier with ``random_state=split.seed`` predicts for
        ``X[split.test]`` after ``fit`` on the training and validation part together, positions
        rising. Classes of test graphs are not looked at.

        Parameters
        ----------
        X, y
            As in :meth:`fit`, of all graphs.
        splits : iterable
            Objects with ``train``, ``valid`` (or ``None``) and ``test``, positions in ``X``, and
            ``seed``.
        on_split : callable, optional
            Called with the number of splits that are done.

        Returns
        -------
        list of dict
            For each split ``"prediction"``, ``"probability"``, ``"classes"``, ``"chosen"`` and
            ``"training_accuracy"``, that on the training and validation part.
        """
        from joblib import Parallel, delayed

        (share, ridge), jobs = self._checked(), job_count(self.n_jobs)
        items = read_items(X, ("graph",))
        targets = read_targets(y, items)
        parts = [
            (*read_split(split, len(items), number), int(split.seed))
            for number, split in enumerate(splits)
        ]
        solver, represented = ridge._solver(), ridge._represent(items)
        kernels = ridge._kernels(represented, represented)
        colors = NodeColors.of(self._colorings(graphs_of(items)))

        def answer(known: Array, test: Array, seed: int) -> dict[str, Any]:
            classes, codes = np.unique(targets[known], return_inverse=True)
            among = {setting: K[np.ix_(known, known)] for setting, K in kernels.items()}
            solved = solver.fit(among, codes, len(classes), seed)
            columns = colors.columns(known)
            table = colors.counts(columns)
            forest = self._forest(seed).fit(_readable(table[known]), codes)
            found = {}
            for name, part in (("known", known), ("test", test)):
                K = kernels[solved.setting][np.ix_(part, known)]
                found[name] = _mixed(
                    solved.probabilities(K), _votes(forest, _readable(table[part])), share
                )
            return {
                "prediction": classes[found["test"].argmax(axis=1)],
                "probability": found["test"],
                "classes": classes,
                "chosen": _told(solved.chosen, columns),
                "training_accuracy": float(np.mean(found["known"].argmax(axis=1) == codes)),
            }

        answers = []
        for told in Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(
            delayed(answer)(*part) for part in parts
        ):
            answers.append(told)
            if on_split is not None:
                on_split(len(answers))
        return answers

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
        if not self.__sklearn_is_fitted__():
            raise NotFitted(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self._fitted.probabilities(graphs_of(read_items(X, ("graph",))))

    # Parts, and parameters checked

    def _checked(self) -> tuple[float, RidgeGraphClassifier]:
        """Refuse parameters that make no sense; return the share, and ridge to be fitted."""
        if (
            not isinstance(self.share, int | float | np.number)
            or isinstance(self.share, bool)
            or not 0 <= self.share <= 1
        ):
            raise EstimatorError(
                f"share={self.share!r}: give a number from 0 (ridge alone) to 1 (the forest alone)"
            )
        for name in ("trees", "min_samples_leaf"):
            if not is_whole(getattr(self, name), 1, 2**31 - 1):
                raise EstimatorError(
                    f"{name}={getattr(self, name)!r}: give a whole number from 1 on"
                )
        if not is_whole(self.rounds, 0, _DEEPEST):
            raise EstimatorError(
                f"rounds={self.rounds!r}: give a whole number from 0 to {_DEEPEST}"
            )
        chosen_words(self.schemes, "schemes", get_args(Scheme))
        rings = flag(self.ring_sizes, "ring_sizes")
        if self.ridge is not None and not isinstance(self.ridge, RidgeGraphClassifier):
            raise EstimatorError(
                f"ridge={self.ridge!r}: give a RidgeGraphClassifier, or None for one as it comes"
            )
        return float(self.share), RidgeGraphClassifier(
            ring_sizes=rings
        ) if self.ridge is None else clone(self.ridge)

    def _forest(self, seed: int) -> Any:
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(
            int(self.trees),
            min_samples_leaf=int(self.min_samples_leaf),
            random_state=seed % 2**32,
            n_jobs=1,
        )

    def _colorings(self, graphs: Graphs) -> tuple[Coloring, ...]:
        prepared, schemes = (
            _prepared(graphs, self.ring_sizes),
            chosen_words(self.schemes, "schemes", get_args(Scheme)),
        )
        return tuple(refine(prepared, int(self.rounds), scheme) for scheme in schemes)  # type: ignore[arg-type]

    # What scikit-learn asks

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


def _prepared(graphs: Graphs, rings: bool) -> Graphs:
    return bare(graphs).with_ring_sizes() if rings else bare(graphs)


def _readable(table: csr_array) -> Any:
    """Return counts as a forest can read them: with a column at least, and plain where that is not too large."""
    if not table.shape[1]:
        return np.zeros((table.shape[0], 1), dtype=np.float32)
    if table.shape[0] * table.shape[1] <= _DENSE:
        return table.astype(np.float32).toarray()
    places = table.indices.astype(np.int32), table.indptr.astype(np.int32)
    return csr_array((table.data.astype(np.float32), *places), shape=table.shape)


def _votes(forest: Any, table: Any) -> Array:
    """Return a forest's probabilities, also of no graphs at all."""
    found: Array = (
        forest.predict_proba(table) if table.shape[0] else np.zeros((0, len(forest.classes_)))
    )
    return found


def _mixed(ridge: Array, forest: Array, share: float) -> Array:
    found: Array = (1 - share) * ridge + share * forest
    return found


def _told(chosen: dict[str, Any], columns: Sequence[Array]) -> dict[str, Any]:
    return chosen | {"colors": sum(map(len, columns))}
