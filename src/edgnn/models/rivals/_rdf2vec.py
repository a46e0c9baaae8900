"""RDF2VecClassifier: a support vector machine on vectors of nodes that were learned from walks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from edgnn.graphs import Nodes
from edgnn.models.kernels._reading import Array, job_count, read_items, read_split, read_targets
from edgnn.models.kernels._solved import OnSplit, SolvedClassifier
from edgnn.models.kernels._solvers import Fitted, Kernels, SVMSolver
from edgnn.models.networks._inputs import Items, Level
from edgnn.models.networks._parts import root_seed
from edgnn.models.rivals._rdf_starts import Starts, starts_of
from edgnn.models.rivals._rdf_vectors import RDF2Vec, UnseenNodeWarning

__all__ = ["RDF2Vec", "RDF2VecClassifier", "UnseenNodeWarning"]

_OWN = ("C", "folds", "n_jobs", "random_state")


class RDF2VecClassifier(SolvedClassifier):
    """RDF2Vec with a support vector machine (Ristoski & Paulheim 2016).

    Vectors are learned from the graph, without any target, for all nodes that walks start from,
    those to be predicted later among them: by default all nodes of the kinds that the training
    nodes have. Vectors are standardized by the training nodes; kernel (linear or RBF) and C are
    chosen by inner folds of the training nodes.

    Parameters
    ----------
    depth, walks, strategy, wl_rounds, inverse, distinct, dimensions, method, window, negative,
    epochs, sample
        As in :class:`RDF2Vec`. The defaults of ``dimensions``, ``negative`` and ``epochs`` are
        smaller than the 500, 25 and 10 of the paper: on the training nodes of AIFB and MUTAG-RDF
        those took about four times as long and did a little better on one, worse on the other.
    starts : {"alike", "all", "given"}
        As in :class:`RDF2Vec`; with ``"given"``, new nodes have vectors only where walks from
        training nodes came across them.
    C : sequence of float
        Strengths of the support vector machine to choose from, rising.
    folds : int
        Inner folds of the training part.
    n_jobs : int, optional
        Embeddings that :meth:`predict_splits` learns at once, each in one thread, because with more
        threads gensim gives other vectors every time.
    random_state : int, RandomState or None
        What walks, word2vec and inner folds follow from.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What was chosen inside the training part.
    embedding_ : RDF2Vec
        The vectors.
    """

    _levels: ClassVar[tuple[Level, ...]] = ("node",)

    def __init__(
        self,
        depth: int = 4,
        walks: int | None = 500,
        *,
        strategy: Literal["random", "wl"] = "random",
        wl_rounds: int = 2,
        inverse: bool = False,
        distinct: bool = True,
        dimensions: int = 200,
        method: Literal["skip-gram", "cbow"] = "skip-gram",
        window: int = 5,
        negative: int = 5,
        epochs: int = 5,
        sample: float = 0.001,
        starts: Starts = "alike",
        C: Sequence[float] = SVMSolver.C,
        folds: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.depth = depth
        self.walks = walks
        self.strategy = strategy
        self.wl_rounds = wl_rounds
        self.inverse = inverse
        self.distinct = distinct
        self.dimensions = dimensions
        self.method = method
        self.window = window
        self.negative = negative
        self.epochs = epochs
        self.sample = sample
        self.starts = starts
        self.C = C
        self.folds = folds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> RDF2VecClassifier:
        """Learn vectors of nodes, then classes from the vectors of the nodes ``X``.

        Parameters
        ----------
        X : Nodes, or a list of them
            The training nodes; their whole graph is walked over.
        y : array-like
            One class per node.
        """
        items = _nodes(X)
        targets, seed = read_targets(y, items), root_seed(self.random_state)
        classes, codes = np.unique(targets, return_inverse=True)
        embedding = self._embedding(seed).fit(items)
        machine = _Machine(embedding.transform(items), codes, self._solver(), seed)
        self.embedding_, self._machine = embedding, machine
        self._keep(machine.fitted, classes)
        return self

    def _compared(self, X: Any) -> Array:
        return self._machine.compared(self.embedding_.transform(_nodes(X)))

    def predict_splits(
        self, X: Any, y: Any, splits: Iterable[Any], *, on_split: OnSplit | None = None
    ) -> list[dict[str, Any]]:
        """Learn from every split and predict its test part; vectors are learned once for splits of one seed and the same starts.

        A split gets what a fresh classifier with ``random_state=split.seed`` predicts for
        ``X[split.test]`` after ``fit`` on the training and validation part together. Classes of
        test nodes are not looked at.

        Parameters
        ----------
        X, y
            As in :meth:`fit`, of all nodes.
        splits : iterable
            Objects with ``train``, ``valid`` (or ``None``) and ``test``, positions in ``X``, and
            ``seed``.
        on_split : callable, optional
            Called with the number of splits that are done.

        Returns
        -------
        list of dict
            For each split ``"prediction"``, ``"chosen"`` and ``"training_accuracy"``, that on the
            training and validation part.
        """
        from joblib import Parallel, delayed

        items, solver = _nodes(X), self._solver()
        targets = read_targets(y, items)
        parts = [
            (*read_split(split, len(items), number), int(split.seed))
            for number, split in enumerate(splits)
        ]
        groups: dict[Any, list[int]] = {}
        for number, (known, _, seed) in enumerate(parts):
            starts = starts_of(items[known], self.starts, self.inverse)
            groups.setdefault((seed, starts.tobytes()), []).append(number)
        work = (
            delayed(_answers)(
                self._embedding(parts[group[0]][2]),
                solver,
                items,
                targets,
                [parts[number] for number in group],
            )
            for group in groups.values()
        )
        answers: list[dict[str, Any]] = [{} for _ in parts]
        done, learned = (
            0,
            Parallel(n_jobs=job_count(self.n_jobs), prefer="threads", return_as="generator")(work),
        )
        for group, found in zip(groups.values(), learned, strict=True):
            for number, answer in zip(group, found, strict=True):
                answers[number], done = answer, done + 1
                if on_split is not None:
                    on_split(done)
        return answers

    def _embedding(self, seed: int) -> RDF2Vec:
        return RDF2Vec(
            **{name: value for name, value in self.get_params().items() if name not in _OWN},
            random_state=seed,
        )

    def _solver(self) -> SVMSolver:
        return SVMSolver.checked(self.C, self.folds)


class _Machine:
    """A support vector machine on vectors, standardized as those it learned from."""

    def __init__(self, vectors: Array, codes: Array, solver: SVMSolver, seed: int) -> None:
        from sklearn.preprocessing import StandardScaler

        self._scaler = StandardScaler().fit(vectors.astype(np.float64))
        self._known: Array = self._scaled(vectors)
        kernels = _kernels(self._known, self._known)
        self.fitted: Fitted = solver.fit(kernels, codes, int(codes.max()) + 1, seed)
        self.training_accuracy = float(
            np.mean(self.fitted.predict(kernels[self.fitted.setting]) == codes)
        )

    def compared(self, vectors: Array) -> Array:
        """Return the chosen kernel's values of vectors against those it learned from."""
        return _kernels(self._scaled(vectors), self._known)[self.fitted.setting]

    def _scaled(self, vectors: Array) -> Array:
        scaled: Array = self._scaler.transform(vectors.astype(np.float64))
        return scaled


def _kernels(rows: Array, columns: Array) -> Kernels:
    """Return the linear and the RBF kernel of standardized vectors, both with a width that the number of columns gives."""
    linear = rows @ columns.T / rows.shape[1]
    squares = [(part**2).sum(axis=1) / rows.shape[1] for part in (rows, columns)]
    distance = squares[0][:, None] + squares[1] - 2 * linear
    return {"linear": linear, "rbf": np.exp(-np.maximum(distance, 0))}


def _answers(
    embedding: RDF2Vec,
    solver: SVMSolver,
    items: Nodes,
    y: Array,
    parts: list[tuple[Array, Array, int]],
) -> list[dict[str, Any]]:
    """Learn vectors once, and from them every split of one seed."""
    answers: list[dict[str, Any]] = []
    embedding.fit(items[parts[0][0]])
    for known, test, seed in parts:
        classes, codes = np.unique(y[known], return_inverse=True)
        machine = _Machine(embedding.transform(items[known]), codes, solver, seed)
        found = machine.fitted.predict(machine.compared(embedding.transform(items[test])))
        told = {"chosen": machine.fitted.chosen, "training_accuracy": machine.training_accuracy}
        answers.append({"prediction": classes[found]} | told)
    return answers


def _nodes(X: Any) -> Nodes:
    items: Items = read_items(X, RDF2VecClassifier._levels)
    assert isinstance(items, Nodes)
    return items
