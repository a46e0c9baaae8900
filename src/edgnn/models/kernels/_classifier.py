"""KernelClassifier: what the kernel methods share, from items to predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from edgnn.models.kernels._reading import Array, job_count, read_items, read_split, read_targets
from edgnn.models.kernels._solved import OnSplit, SolvedClassifier
from edgnn.models.kernels._solvers import Kernels, Solver
from edgnn.models.networks._inputs import Items
from edgnn.models.networks._parts import root_seed


class KernelClassifier(SolvedClassifier):
    """A classifier that compares items in pairs and knows nothing else of them.

    A subclass says how items are represented, which kernels compare two representations, and what
    learns from the kernels. What is said of an item depends on that item alone, never on which
    others it came with, and no label enters.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What was chosen inside the training part.
    """

    random_state: Any
    n_jobs: Any

    @abstractmethod
    def _represent(self, items: Items, reference: Any = None) -> Any:
        """Represent items; ``reference`` is the representation of the training items that new ones will be compared with."""

    @abstractmethod
    def _kernels(self, rows: Any, columns: Any) -> dict[Hashable, Array]:
        """Compare two representations by every candidate kernel; (n, m) matrices by setting, the simplest setting first."""

    @abstractmethod
    def _solver(self) -> Solver:
        """Return what learns from the kernels."""

    # Learning

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from items and their classes.

        Parameters
        ----------
        X : Graphs or Nodes, or a list of them
            The items.
        y : array-like
            One class per item.
        """
        items = read_items(X, self._levels)
        targets, seed, solver = read_targets(y, items), root_seed(self.random_state), self._solver()
        classes, codes = np.unique(targets, return_inverse=True)
        represented = self._represent(items)
        fitted = solver.fit(self._kernels(represented, represented), codes, len(classes), seed)
        self._trained_on, self._targets, self._as_fitted = represented, targets, clone(self)
        self._keep(fitted, classes)
        return self

    def predict_splits(
        self, X: Any, y: Any, splits: Iterable[Any], *, on_split: OnSplit | None = None
    ) -> list[dict[str, Any]]:
        """Learn from every split and predict its test part; kernels are computed once for all items.

        A split gets what a fresh classifier with ``random_state=split.seed`` predicts for
        ``X[split.test]`` after ``fit`` on the training and validation part together. Classes of
        test items are not looked at.

        Parameters
        ----------
        X, y
            As in :meth:`fit`, of all items.
        splits : iterable
            Objects with ``train``, ``valid`` (or ``None``) and ``test``, positions in ``X``, and
            ``seed``.
        on_split : callable, optional
            Called with the number of splits that are done.

        Returns
        -------
        list of dict
            For each split ``"prediction"``, ``"chosen"`` and ``"training_accuracy"``, that on the
            training and validation part; ``"probability"`` and ``"classes"`` where there are
            probabilities.
        """
        from joblib import Parallel, delayed

        items, solver, jobs = read_items(X, self._levels), self._solver(), job_count(self.n_jobs)
        targets = read_targets(y, items)
        parts = [
            (*read_split(split, len(items), number), int(split.seed))
            for number, split in enumerate(splits)
        ]
        represented = self._represent(items)
        kernels = self._kernels(represented, represented)
        work = (
            delayed(_answer)(solver, kernels, targets[known], known, test, seed)
            for known, test, seed in parts
        )
        answers = []
        for answer in Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(work):
            answers.append(answer)
            if on_split is not None:
                on_split(len(answers))
        return answers

    def _compared(self, X: Any) -> Array:
        """Return the chosen kernel's values of new items against the training items."""
        then = self._as_fitted  # parameters may have been set anew since
        new = then._represent(read_items(X, self._levels), self._trained_on)
        compared: Array = then._kernels(new, self._trained_on)[self._fitted.setting]
        return compared


def _answer(
    solver: Solver, kernels: Kernels, y: Array, known: Array, test: Array, seed: int
) -> dict[str, Any]:
    """Learn from the known items of a split and predict its test items."""
    classes, codes = np.unique(y, return_inverse=True)
    among = {setting: K[np.ix_(known, known)] for setting, K in kernels.items()}
    fitted = solver.fit(among, codes, len(classes), seed)
    K = kernels[fitted.setting][np.ix_(test, known)]
    accuracy = float(np.mean(fitted.predict(among[fitted.setting]) == codes))
    answer = {
        "prediction": classes[fitted.predict(K)],
        "chosen": fitted.chosen,
        "training_accuracy": accuracy,
    }
    if hasattr(fitted, "probabilities"):
        answer |= {"probability": fitted.probabilities(K), "classes": classes}
    return answer
