"""RDF2Vec: vectors of the nodes of a graph, learned from walks as if they were sentences."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from edgnn._hashing import mix
from edgnn._optional import optional
from edgnn._rules import FLAG, RATE, Rules, check, one_of, whole
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs, Nodes
from edgnn.models._items import read_items
from edgnn.models._model import NotFitted
from edgnn.models._seeds import root_seed
from edgnn.models.kernels._checks import Array
from edgnn.models.rivals._walks import Ways, all_walks, random_walks, relabeled

Starts = Literal["given", "alike", "all"]

#: The predicate that says what kind of thing a node is.
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

_MOST = 100_000  # of anything that is counted; far larger numbers make gensim stop without an end
_LINES = 2**16  # of a file, written at once
_SPACE, _END = 32, 10
_ORDER = 3  # what a hash is for

RULES: Rules = {
    "depth": whole(0, _MOST),
    "walks": whole(1, _MOST).or_none("all there are"),
    "strategy": one_of("random", "wl"),
    "wl_rounds": whole(0, _MOST),
    "inverse": FLAG,
    "distinct": FLAG,
    "dimensions": whole(1, _MOST),
    "method": one_of("skip-gram", "cbow"),
    "window": whole(1, _MOST),
    "negative": whole(1, _MOST),
    "epochs": whole(1, _MOST),
    "sample": RATE,
    "starts": one_of(*get_args(Starts)),
}


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
        items = read_items(X, ("node",))
        assert isinstance(items, Nodes)
        if not len(items):
            raise EstimatorError("X holds no nodes: there is nothing to walk from (0 samples)")
        check(self.get_params(), RULES, EstimatorError)
        seed = root_seed(self.random_state)
        self.starts_ = starts_of(items, self.starts, self.inverse)
        sentences, words = self._sentences(items.graphs, seed)
        rows, self.vectors_ = word_vectors(
            sentences,
            words,
            seed,
            vector_size=self.dimensions,
            window=self.window,
            sg=int(self.method == "skip-gram"),
            negative=self.negative,
            epochs=self.epochs,
            sample=self.sample,
        )
        self._rows, self._graphs = rows[: items.graphs.num_nodes], items.graphs
        return self

    def transform(self, X: Any) -> Array:
        """Return vectors of nodes of the fitted graph; zeros, with a warning, where no walk came.

        Shapes
        ------
        → (n, dimensions)
        """
        self._check_fitted()
        items = read_items(X, ("node",))
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
        self._check_fitted()
        names = [f"rdf2vec{column}" for column in range(self.vectors_.shape[1])]
        return np.array(names, dtype=object)

    def _check_fitted(self) -> None:
        if not hasattr(self, "vectors_"):
            raise NotFitted("this RDF2Vec is not fitted yet: call fit first")

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
        rounds = self.wl_rounds if self.strategy == "wl" else 0
        names = np.arange(graphs.num_nodes)
        labels = relabeled(Ways.of(graphs, self.inverse), names, rounds)
        first = int(labels.max()) + 1
        predicates = len(graphs.edge_vocabulary) * (1 + self.inverse)
        sentences = np.concatenate([_read(walks, of_round, first) for of_round in labels])
        return sentences, first + predicates


def _read(walks: Array, labels: Array, predicates: int) -> Array:
    """Return walks with labels for all nodes but the first, predicates numbered behind them."""
    words: Array = np.full(walks.shape, -1, dtype=np.int32)
    words[:, 0] = walks[:, 0]
    words[:, 2::2] = np.where(walks[:, 2::2] >= 0, labels[walks[:, 2::2]], -1)
    words[:, 1::2] = np.where(walks[:, 1::2] >= 0, walks[:, 1::2] + predicates, -1)
    return words


def starts_of(items: Nodes, starts: Starts, inverse: bool = False) -> Array:
    """Return the numbers of the nodes that walks start from, rising.

    Parameters
    ----------
    items : Nodes
        The nodes that vectors are wanted for.
    starts : {"given", "alike", "all"}
        These nodes; with them all nodes of one of their types (an edge ``rdf:type`` to the same
        node) and, if some of them have no type, others without one that have the same label; or
        with them all nodes. The nodes added are those that an edge leaves.
    inverse : bool
        Edges leave both of their ends.
    """
    given = np.unique(items.index.cpu().numpy())
    if starts == "given":
        return given
    source, target = (
        ends.cpu().numpy() for ends in (items.graphs.edge_source, items.graphs.edge_target)
    )
    left = np.unique(np.concatenate([source, target]) if inverse else source)
    if starts == "all":
        return np.union1d(given, left)
    return np.union1d(given, _alike(items.graphs, given, left))


def _alike(graphs: Graphs, given: Array, left: Array) -> Array:
    typing = (graphs.edge_label == _number_of(TYPE, graphs)).cpu().numpy()
    thing, kind = graphs.edge_source.cpu().numpy()[typing], graphs.edge_target.cpu().numpy()[typing]
    same_type = thing[np.isin(kind, kind[np.isin(thing, given)])]
    label, untyped = graphs.node_label.cpu().numpy(), left[~np.isin(left, thing)]
    same_label = untyped[np.isin(label[untyped], label[given[~np.isin(given, thing)]])]
    return np.union1d(same_type, same_label)


def _number_of(label: str, graphs: Graphs) -> int:
    """Return the number of an edge label; −1 where the graphs lack it."""
    return list(graphs.edge_vocabulary).index(label) if label in graphs.edge_vocabulary else -1


def word_vectors(
    sentences: Array, words: int, seed: int, *, epochs: int, **options: Any
) -> tuple[Array, Array]:
    """Train word2vec on sentences, in an order that follows from the seed.

    Parameters
    ----------
    sentences : array of int
        One per row: numbers of words, −1 behind its end.
    words : int
        Every word's number is smaller.
    seed : int
        The random seed.
    epochs : int
        Passes over the sentences.
    **options
        Of gensim's ``Word2Vec``.

    Returns
    -------
    tuple of arrays
        The row of each word in the second array (−1: it is in no sentence), and the vectors
        (float32).

    Shapes
    ------
    sentences (S, L) → (words,), (V, vector_size)
    """
    models = optional("gensim.models", "RDF2Vec")
    counts = np.bincount(sentences[sentences >= 0], minlength=words)
    used = np.flatnonzero(counts)
    texts = [str(word) for word in used.tolist()]
    frequency = dict(zip(texts, counts[used].tolist(), strict=True))
    model = models.Word2Vec(min_count=0, workers=1, seed=seed % 2**32, epochs=epochs, **options)
    model.build_vocab_from_freq(frequency, corpus_count=len(sentences))
    with TemporaryDirectory() as folder:
        file = Path(folder, "walks.txt")
        order = np.argsort(mix(np.arange(len(sentences)), seed + _ORDER), kind="stable")
        _write(file, sentences[order], words)
        model.train(
            corpus_file=str(file),
            total_examples=len(sentences),
            total_words=int(counts.sum()),
            epochs=epochs,
        )
    rows = np.full(words, -1)
    rows[used] = [model.wv.key_to_index[text] for text in texts]
    return rows, np.array(model.wv.vectors)


def _write(file: Path, sentences: Array, words: int) -> None:
    """Write one sentence per line, padded to one width so that Python takes no step per word."""
    table = np.array([*map(str, range(words)), ""], dtype=np.bytes_)
    width = table.itemsize
    with file.open("wb") as out:
        for start in range(0, len(sentences), _LINES):
            chosen = table[sentences[start : start + _LINES]]
            text = np.full((*chosen.shape, width + 1), _SPACE, dtype=np.uint8)
            text[:, :, :width] = chosen.view(np.uint8).reshape(*chosen.shape, width)
            text[text == 0] = _SPACE
            text[:, -1, -1] = _END
            out.write(text.tobytes())
