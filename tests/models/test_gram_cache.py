import errno

import numpy as np
import pytest

import edgnn
from edgnn import Graphs
from edgnn.errors import EstimatorError
from edgnn.models.rivals._csm import SubgraphMatchingClassifier
from edgnn.models.rivals._grakel import matching_products
from edgnn.models.rivals._gram_cache import cache_folder, cached_blocks, content_key
from edgnn.models.rivals._subgraphs import subgraph_counts

SHAPES = [(2, 3), (2, 2), (2, 1)]


class Computation:
    """Yields block n filled with n, last one first, and keeps in mind what it was asked for; may be interrupted."""

    def __init__(self, interrupted_before=None):
        self.asked, self.interrupted_before = [], interrupted_before

    def __call__(self, missing):
        self.asked += missing
        for number in reversed(missing):
            if number == self.interrupted_before:
                raise KeyboardInterrupt
            yield number, np.full(SHAPES[number], float(number))


def check(blocks):
    for number, (block, shape) in enumerate(zip(blocks, SHAPES, strict=True)):
        np.testing.assert_array_equal(block, np.full(shape, number))


def test_blocks_are_computed_once(tmp_path):
    first, second = Computation(), Computation()
    check(cached_blocks(SHAPES, first, tmp_path / "new"))
    check(cached_blocks(SHAPES, second, tmp_path / "new"))
    assert (first.asked, second.asked) == ([0, 1, 2], [])
    assert sorted(place.name for place in (tmp_path / "new").iterdir()) == [
        f"block-0000{n}.npy" for n in range(3)
    ]


def test_a_block_is_an_npy_file(tmp_path):
    cached_blocks(SHAPES, Computation(), tmp_path)
    np.testing.assert_array_equal(
        np.load(tmp_path / "block-00001.npy", allow_pickle=False), np.ones((2, 2))
    )


def test_finished_blocks_outlive_an_interruption(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        cached_blocks(SHAPES, Computation(interrupted_before=0), tmp_path)
    again = Computation()
    check(cached_blocks(SHAPES, again, tmp_path))
    assert again.asked == [0]


def cut(place):
    place.write_bytes(place.read_bytes()[:-40])


def flip(place):
    data = bytearray(place.read_bytes())
    data[-33] ^= 1  # the last byte of the last number
    place.write_bytes(bytes(data))


def swap(place):
    place.write_bytes(place.with_name("block-00000.npy").read_bytes())


def pickled(place):
    np.save(place, np.array([{}], dtype=object), allow_pickle=True)


def emptied(place):
    place.write_bytes(b"")


@pytest.mark.parametrize("damage", [cut, flip, swap, pickled, emptied])
def test_a_damaged_block_is_computed_anew(tmp_path, damage):
    cached_blocks(SHAPES, Computation(), tmp_path)
    damage(tmp_path / "block-00001.npy")
    again, once_more = Computation(), Computation()
    check(cached_blocks(SHAPES, again, tmp_path))
    check(cached_blocks(SHAPES, once_more, tmp_path))
    assert (again.asked, once_more.asked) == ([1], [])


def test_a_full_disk_does_not_lose_the_result(tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("edgnn.models.rivals._gram_cache.atomic_file", full)
    with pytest.warns(RuntimeWarning, match="No space left on device") as told:
        check(cached_blocks(SHAPES, Computation(), tmp_path))
    assert len(told) == 1


def test_a_folder_that_cannot_be_made_does_not_lose_the_result(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        check(cached_blocks(SHAPES, Computation(), tmp_path / "file" / "kernels"))


def test_progress_counts_blocks_from_the_cache_as_done(tmp_path):
    cached_blocks(SHAPES[:1], Computation(), tmp_path)
    seen = []
    cached_blocks(SHAPES, Computation(), tmp_path, lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_the_key_follows_from_content_and_parameters():
    base = Graphs.from_edges(
        [(0, 1)], node_labels=["C", "N"], edge_labels=["x"], node_names=["a", "b"]
    )
    same = Graphs.from_edges([(0, 1)], node_labels=["C", "N"], edge_labels=["x"])
    key = content_key([base], {"k": 3})
    assert content_key([same], {"k": 3}) == key
    others = [
        Graphs.from_edges([(1, 0)], node_labels=["C", "N"], edge_labels=["x"]),
        Graphs.from_edges([(0, 1)], node_labels=["C", "O"], edge_labels=["x"]),
        Graphs.from_edges([(0, 1)], node_labels=["C", "N"], edge_labels=["y"]),
    ]
    keys = [content_key([other], {"k": 3}) for other in others] + [
        content_key([base], {"k": 4}),
        content_key([base, base], {"k": 3}),
    ]
    assert len({key, *keys}) == 6


def test_the_cache_lies_with_the_data_sets_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGNN_CACHE", str(tmp_path))
    assert cache_folder(True) == tmp_path / "kernels"
    assert cache_folder(False) is None
    assert cache_folder(str(tmp_path / "own")) == tmp_path / "own"
    with pytest.raises(EstimatorError, match="cache=3"):
        cache_folder(3)


def test_grakel_is_not_asked_again_for_known_graphs(tmp_path, monkeypatch):
    pytest.importorskip("grakel")
    X = edgnn.load_dataset("MUTAG").graphs[:10]
    seen = []
    first = matching_products(
        X, X, 2, n_jobs=1, folder=tmp_path, on_block=lambda done, total: seen.append((done, total))
    )
    assert seen == [(0, 2), (1, 2), (2, 2)]
    monkeypatch.setattr("edgnn.models.rivals._grakel._block", None)
    np.testing.assert_array_equal(matching_products(X, X, 2, n_jobs=1, folder=tmp_path), first)
    counts = subgraph_counts(X, 2)
    np.testing.assert_array_equal(first, [counts.products(counts, size) for size in (1, 2)])


def test_progress_is_told_where_asked_for(tmp_path, capsys):
    pytest.importorskip("grakel")
    data = edgnn.load_dataset("MUTAG")
    classifier = SubgraphMatchingClassifier(
        2, backend="grakel", cache=tmp_path, n_jobs=1, verbose=1, random_state=0
    )
    classifier.fit(data.graphs[:10], data.targets[:10])
    assert capsys.readouterr().err.splitlines() == [
        f"GraKeL: {done} of 2 blocks of rows" for done in (0, 1, 2)
    ]
