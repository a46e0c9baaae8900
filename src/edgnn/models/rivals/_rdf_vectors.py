"""RDF2Vec: vectors of the nodes of a graph, learned from walks as if they were sentences."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs, Nodes
from edgnn.models._items import collect
from edgnn.models._model import NotFitted
from edgnn.models._seeds import root_seed
from edgnn.models.kernels._checks import Array, flag, is_whole
from edgnn.models.rivals._rdf_relabel import relabeled
from edgnn.models.rivals._rdf_starts import Starts, starts_of
from edgnn.models.rivals._rdf_words import Word2Vec, word_vectors
from edgnn.models.rivals._walks import Ways, all_walks, random_walks

_MOST = 100_000  # of anything that is counted; far larger numbers make gensim stop without an end


class UnseenNodeWarning(UserWarning):
    """Nodes that no walk came across; their vectors are zero."""


@dataclass(eq=False, repr=False)
class RDF2Vec(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Vectors of nodes from walks over a labeled digraph (Ristoski & Paulheim 2016).

    From each start, walks along random edges are read as sentences, node, predicate, node, …, and
    word2vec (gensim's) learns a vector for each word from the words around it. No target is needed
    or used.

    Parameters
    ----------
    depth : int
        Most edges of a walk.
    walks : int, optional
        Walks from each start; ``None``: all there are.
    strategy : {"random", "wl"}
        Read the nodes themselves, or read every walk again after each round of Weisfeiler–Lehman
        relabeling, all but its first node renamed. In a single graph whose nodes all differ,
        relabeling only gives further names to the same nodes.
    wl_rounds : int
        Rounds of relabeling, for ``strategy="wl"``.
    inverse : bool
        Walk edges against their direction as well.
    distinct : bool
        No walk twice; a start that has no more than ``walks`` walks gets each of them.
    dimensions : int
        Length of the vectors.
    method : {"skip-gram", "cbow"}
        What word2vec predicts: the words around a word, or the word from those.
    window, negative, epochs, sample : int, int, int, float
        Of word2vec: how far around a word it looks, random words per true one, passes, and the
        share from which frequent words are left out at random (0: never).
    starts : {"given", "alike", "all"}
        Walk from the nodes given to :meth:`fit`; with them from all nodes of their kinds (one
        ``rdf:type``; or the same label, for nodes without a type); or with them from all nodes that
        can be left.
    random_state : int, RandomState or None
        The random seed. Training uses one thread, because with more gensim gives other
        vectors every time.

    Attributes
    ----------
    vectors_ : array
        One row for each word that occurs.
    starts_ : array
        The nodes that were walked from.

    Examples
    --------
    >>> from edgnn import Graphs
    >>> from edgnn.models import RDF2Vec
    >>> graph = Graphs.from_edges([(0, 1), (1, 2)], edge_labels=["knows", "knows"])
    >>> RDF2Vec(dimensions=8, random_state=0).fit_transform(graph.nodes).shape
    (3, 8)
    """

    depth: int = 4
    walks: int | None = 500
    _: KW_ONLY
    strategy: Literal["random", "wl"] = "random"
    wl_rounds: int = 2
    inverse: bool = False
    distinct: bool = True
    dimensions: int = 500
    method: Literal["skip-gram", "cbow"] = "skip-gram"
    window: int = 5
    negative: int = 25
    epochs: int = 10
    sample: float = 0.001
    starts: Starts = "given"
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> RDF2Vec:
        """Learn vectors of the nodes ``X`` and of all others that walks meet; ``y`` is ignored."""
        items = collect(X, "node")
        assert isinstance(items, Nodes)
        if not len(items):
            raise EstimatorError("X holds no nodes: there is nothing to walk from (0 samples)")
        settings, seed = self._settings(), root_seed(self.random_state)
        self.starts_ = starts_of(items, self.starts, self.inverse)
        sentences, words = self._sentences(items.graphs, seed)
        rows, self.vectors_ = word_vectors(sentences, words, settings, seed)
        self._rows, self._graphs = rows[: items.graphs.num_nodes], items.graphs
        return self

    def transform(self, X: Any) -> Array:
        """Return vectors of nodes of the fitted graph; zeros, with a warning, where no walk came.

        Shapes
        ------
        → (n, dimensions)
        """
        if not hasattr(self, "vectors_"):
            raise NotFitted("this RDF2Vec is not fitted yet: call fit first")
        items = collect(X, "node")
        assert isinstance(items, Nodes)
        if items.graphs is not self._graphs and not items.graphs.equals(self._graphs):
            raise EstimatorError(
                f"X holds nodes of another graph ({items.graphs!r}) than the one that was fitted "
                f"({self._graphs!r}); RDF2Vec has vectors of that graph's nodes only: "
                "join the graphs and fit again"
            )
        index = items.index.cpu().numpy()
        rows = self._rows[index]
        if (rows < 0).any():
            node, count = int(index[rows < 0][0]), int((rows < 0).sum())
            warnings.warn(
                f"no walk came across {count} of the nodes, such as node {node}: "
                "their vectors are zero; fit on these nodes too, or with starts='alike' or 'all'",
                UnseenNodeWarning,
                stacklevel=2,
            )
        found: Array = np.where(rows[:, None] >= 0, self.vectors_[rows], np.float32(0))
        return found

    def arrays(self) -> dict[str, Array]:
        """Return what :meth:`fit` has learned, for :meth:`with_arrays`."""
        return {"vectors": self.vectors_, "rows": self._rows, "starts": self.starts_}

    def with_arrays(self, graphs: Graphs, vectors: Array, rows: Array, starts: Array) -> RDF2Vec:
        """Set what :meth:`fit` on nodes of these graphs has learned."""
        if rows.shape != (graphs.num_nodes,) or int(rows.max(initial=-1)) >= len(vectors):
            raise ValueError("the stored vectors are not those of the stored graph")
        self.vectors_, self._rows, self.starts_, self._graphs = vectors, rows, starts, graphs
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the columns' names, ``rdf2vec0`` and so on."""
        if not hasattr(self, "vectors_"):
            raise NotFitted("this RDF2Vec is not fitted yet: call fit first")
        return np.array(
            [f"rdf2vec{column}" for column in range(self.vectors_.shape[1])], dtype=object
        )

    def _settings(self) -> Word2Vec:
        for name, least in (
            ("dimensions", 1),
            ("window", 1),
            ("negative", 1),
            ("epochs", 1),
            ("depth", 0),
            ("wl_rounds", 0),
        ):
            _check_whole(getattr(self, name), name, least)
        if self.walks is not None:
            _check_whole(self.walks, "walks", 1)
        flag(self.inverse, "inverse"), flag(self.distinct, "distinct")
        for name, choices in (("strategy", ("random", "wl")), ("method", ("skip-gram", "cbow"))):
            if getattr(self, name) not in choices:
                raise EstimatorError(
                    f"{name}={getattr(self, name)!r}: choose one of {', '.join(map(repr, choices))}"
                )
        if not isinstance(self.sample, int | float) or not 0 <= self.sample < 1:
            raise EstimatorError(
                f"sample={self.sample!r}: choose a share from 0 to below 1, such as 0.001"
            )
        sg = int(self.method == "skip-gram")
        return Word2Vec(self.dimensions, self.window, sg, self.negative, self.epochs, self.sample)

    def _sentences(self, graphs: Graphs, seed: int) -> tuple[Array, int]:
        """Return all walks as rows of word numbers, and how many words there may be."""
        if self.walks is None:
            walks, _ = all_walks(graphs, self.starts_, depth=self.depth, inverse=self.inverse)
        else:
            walks = random_walks(
                graphs,
                self.starts_,
                depth=self.depth,
                number=self.walks,
                inverse=self.inverse,
                distinct=self.distinct,
                seed=seed,
            )
            walks = walks.reshape(-1, walks.shape[-1])
        walks = walks[walks[:, 0] >= 0]
        names = np.arange(graphs.num_nodes)
        labels = relabeled(
            Ways.of(graphs, self.inverse), names, self.wl_rounds if self.strategy == "wl" else 0
        )
        first = int(labels.max()) + 1
        predicates = len(graphs.edge_vocabulary) * (1 + self.inverse)
        return np.concatenate(
            [_read(walks, of_round, first) for of_round in labels]
        ), first + predicates


def _read(walks: Array, labels: Array, predicates: int) -> Array:
    """Return walks with labels for all nodes but the first, predicates numbered behind them."""
    words: Array = np.full(walks.shape, -1, dtype=np.int32)
    words[:, 0] = walks[:, 0]
    words[:, 2::2] = np.where(walks[:, 2::2] >= 0, labels[walks[:, 2::2]], -1)
    words[:, 1::2] = np.where(walks[:, 1::2] >= 0, walks[:, 1::2] + predicates, -1)
    return words


def _check_whole(value: Any, name: str, least: int) -> None:
    if not is_whole(value, least, _MOST):
        raise EstimatorError(f"{name}={value!r}: choose a whole number from {least} to {_MOST:,}")
