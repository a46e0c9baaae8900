"""RDF2VecClassifier: a support vector machine on vectors of nodes that were learned from walks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from torch import Tensor

from edgnn._rules import Rules
from edgnn.graphs import Nodes
from edgnn.models._data import Data
from edgnn.models._items import Items, Level
from edgnn.models._model import new_model
from edgnn.models._seeds import root_seed
from edgnn.models._splits import Split
from edgnn.models._state import (
    decode_parameters,
    encode_parameters,
    pack_items,
    to_tensor,
    unpack_items,
)
from edgnn.models.kernels._checks import Array
from edgnn.models.kernels._classifier import SolvedClassifier, solved_among
from edgnn.models.kernels._solvers import SVM_RULES, Kernels, SVMSolver
from edgnn.models.rivals._rdf_vectors import RULES, RDF2Vec, Starts, starts_of

_OWN = ("C", "folds", "n_jobs", "random_state")


@dataclass(eq=False, repr=False)
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
        Inner folds of the training set.
    n_jobs : int, optional
        Embeddings that :meth:`predict_splits` learns at once, each in one thread, because with more
        threads gensim gives other vectors every time.
    random_state : int, RandomState or None
        The random seed of walks, word2vec and inner folds.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    chosen_ : dict
        What was chosen inside the training set.
    embedding_ : RDF2Vec
        The vectors.
    """

    levels: ClassVar[tuple[Level, ...]] = ("node",)
    transductive: ClassVar[bool] = True
    rules: ClassVar[Rules] = {**RULES, **SVM_RULES}

    depth: int = 4
    walks: int | None = 500
    _: KW_ONLY
    strategy: Literal["random", "wl"] = "random"
    wl_rounds: int = 2
    inverse: bool = False
    distinct: bool = True
    dimensions: int = 200
    method: Literal["skip-gram", "cbow"] = "skip-gram"
    window: int = 5
    negative: int = 5
    epochs: int = 5
    sample: float = 0.001
    starts: Starts = "alike"
    C: Sequence[float] = SVMSolver.C
    folds: int = 5

    def fit(self, X: Any, y: Any) -> Self:
        """Learn vectors of nodes, then classes from the vectors of the nodes ``X``.

        Parameters
        ----------
        X : Nodes, or a list of them
            The training nodes; their whole graph is walked over.
        y : array-like
            One class per node.
        """
        self.check_parameters()
        data = self.read_training(X, y)
        seed = root_seed(self.random_state)
        solver = self._solver()
        embedding = self._embedding(seed).fit(data.items)
        scaled = _Scaled.of(embedding.transform(data.items))
        fitted = solver.fit(scaled.kernels(), data.codes, data.encoding.outputs, seed)
        self.embedding_, self._scaled, self._seed = embedding, scaled, seed
        self._keep(fitted, data)
        return self

    def embed(self, X: Any) -> Array:
        """Return the vectors of nodes.

        Shapes
        ------
        → (n, dimensions)
        """
        return self.embedding_.transform(self.read_items(X))

    def _compared(self, items: Items) -> Array:
        kernels = self._scaled.kernels(self.embedding_.transform(items))
        return kernels[self._fitted.setting]

    def _shared(self, data: Data) -> None:
        return None

    def _groups(self, data: Data, splits: Sequence[Split]) -> list[list[int]]:
        """Group the splits that have one embedding: those of one seed and the same starts."""
        groups: dict[Any, list[int]] = {}
        assert isinstance(data.items, Nodes)
        for number, split in enumerate(splits):
            starts = starts_of(data.items[split.known], self.starts, self.inverse)
            groups.setdefault((split.seed, starts.tobytes()), []).append(number)
        return list(groups.values())

    def _results(self, data: Data, shared: Any, splits: Sequence[Split]) -> list[dict[str, Any]]:
        items, solver = data.items, self._solver()
        embedding = self._embedding(splits[0].seed).fit(items[splits[0].known])
        results: list[dict[str, Any]] = []
        for split in splits:
            scaled = _Scaled.of(embedding.transform(items[split.known]))
            new = scaled.kernels(embedding.transform(items[split.test]))
            result, _ = solved_among(
                solver, scaled.kernels(), new.__getitem__, data.y[split.known], split.seed
            )
            results.append(result)
        return results

    def _embedding(self, seed: int) -> RDF2Vec:
        parameters = {name: value for name, value in self.get_params().items() if name not in _OWN}
        return RDF2Vec(**parameters, random_state=seed)

    def _solver(self) -> SVMSolver:
        return SVMSolver.of(self.C, self.folds)

    # Keeping

    def get_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return the vectors, and what the solver has learned from them."""
        facts, tensors = super().get_state()
        facts["embedding"] = encode_parameters(self.embedding_)
        arrays = {f"embedding.{name}": value for name, value in self.embedding_.arrays().items()}
        arrays |= {"scaled.mean": self._scaled.mean, "scaled.scale": self._scaled.scale}
        tensors |= {name: to_tensor(value) for name, value in arrays.items()}
        return facts, tensors | pack_items(self._training_items())

    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Set the vectors, and what the solver has learned from them."""
        super().set_state(facts, tensors)
        items = unpack_items(tensors)
        if not isinstance(items, Nodes):
            raise ValueError("the training items are no nodes")
        self._items = items
        parameters = decode_parameters(facts["embedding"], new_model)
        arrays = {
            name.removeprefix("embedding."): value.numpy()
            for name, value in tensors.items()
            if name.startswith("embedding.")
        }
        self.embedding_ = RDF2Vec(**parameters).with_arrays(items.graphs, **arrays)
        mean, scale = (tensors[f"scaled.{name}"].numpy() for name in ("mean", "scale"))
        self._scaled = _Scaled(self.embedding_.transform(items), mean, scale)


class _Scaled:
    """Vectors of the training nodes, and the mean and scale by which all are standardized."""

    def __init__(self, vectors: Array, mean: Array, scale: Array) -> None:
        self.mean, self.scale = mean, scale
        self.known = self._scale(vectors)

    @classmethod
    def of(cls, vectors: Array) -> _Scaled:
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler().fit(vectors.astype(np.float64))
        return cls(vectors, scaler.mean_, scaler.scale_)

    def kernels(self, vectors: Array | None = None) -> Kernels:
        """Return the linear and the RBF kernel of vectors against those of the training nodes.

        Both are divided by the number of columns. Default: the training nodes themselves.
        """
        columns = self.known
        rows = columns if vectors is None else self._scale(vectors)
        width = columns.shape[1]
        linear = rows @ columns.T / width
        squares = [(part**2).sum(axis=1) / width for part in (rows, columns)]
        distance = squares[0][:, None] + squares[1] - 2 * linear
        return {"linear": linear, "rbf": np.exp(-np.maximum(distance, 0))}

    def _scale(self, vectors: Array) -> Array:
        scaled: Array = (vectors.astype(np.float64) - self.mean) / self.scale
        return scaled
