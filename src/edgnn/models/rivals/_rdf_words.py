"""Word vectors of walks: walks written as text, word2vec by gensim on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from edgnn._hashing import mix
from edgnn._optional import optional

_Array = np.ndarray[Any, Any]

_LINES = 2**16
_SPACE, _END = 32, 10
_ORDER = 3  # what a hash is for


@dataclass(frozen=True)
class Word2Vec:
    """The settings of gensim's ``Word2Vec``, by its own names."""

    vector_size: int
    window: int
    sg: int
    negative: int
    epochs: int
    sample: float


def word_vectors(
    sentences: _Array, words: int, settings: Word2Vec, seed: int
) -> tuple[_Array, _Array]:
    """Train word2vec on sentences, in an order that follows from the seed.

    Parameters
    ----------
    sentences : array of int
        One per row: numbers of words, −1 behind its end.
    words : int
        Every word's number is smaller.
    settings : Word2Vec
        How to train.
    seed : int
        The random seed.

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
    frequency = {
        _text(word): count for word, count in zip(used.tolist(), counts[used].tolist(), strict=True)
    }
    options = {name: getattr(settings, name) for name in settings.__dataclass_fields__}
    model = models.Word2Vec(min_count=0, workers=1, seed=seed % 2**32, **options)
    model.build_vocab_from_freq(frequency, corpus_count=len(sentences))
    with TemporaryDirectory() as folder:
        file = Path(folder, "walks.txt")
        _write(
            file,
            sentences[np.argsort(mix(np.arange(len(sentences)), seed + _ORDER), kind="stable")],
            words,
        )
        model.train(
            corpus_file=str(file),
            total_examples=len(sentences),
            total_words=int(counts.sum()),
            epochs=settings.epochs,
        )
    rows = np.full(words, -1)
    rows[used] = [model.wv.key_to_index[_text(word)] for word in used.tolist()]
    return rows, np.array(model.wv.vectors)


def _text(word: int) -> str:
    return str(word)


def _write(file: Path, sentences: _Array, words: int) -> None:
    """Write one sentence per line, padded to one width so that Python takes no step per word."""
    table = np.array([_text(word) for word in range(words)] + [""], dtype=np.bytes_)
    width = table.itemsize
    with file.open("wb") as out:
        for start in range(0, len(sentences), _LINES):
            chosen = table[sentences[start : start + _LINES]]
            text = np.full((*chosen.shape, width + 1), _SPACE, dtype=np.uint8)
            text[:, :, :width] = chosen.view(np.uint8).reshape(*chosen.shape, width)
            text[text == 0] = _SPACE
            text[:, -1, -1] = _END
            out.write(text.tobytes())
