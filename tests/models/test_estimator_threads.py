import pytest
import torch

import edgnn
from edgnn.models import is_small
from mutag import load_mutag

DATA = load_mutag()


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Watched(torch.nn.Module):
    """A layer that notes how many threads there are, and may fail."""

    scheme, seen, fails = "joint", [], False

    def __init__(self, in_dim, out_dim, num_relations):
        super().__init__()
        self.map = torch.nn.Linear(in_dim, out_dim)

    def forward(self, x, edges):
        self.seen.append(torch.get_num_threads())
        if self.fails:
            raise ValueError(f"{torch.get_num_threads()} thread")
        return self.map(x)


def threads_while_fitting(**parameters):
    Watched.seen.clear()
    model = edgnn.GraphClassifier(conv=Watched, max_epochs=1, random_state=0, **parameters)
    model.fit(DATA.graphs[:40], DATA.targets[:40])
    return set(Watched.seen), torch.get_num_threads()


def test_small_models_are_trained_in_one_thread_and_the_rest_of_the_program_keeps_its_own(
    two_threads,
):
    assert threads_while_fitting() == ({1}, 2)


def test_large_models_take_what_there_is(two_threads):
    assert threads_while_fitting(batch_size=None, hidden=512) == ({2}, 2)


def test_threads_come_back_after_an_error(two_threads, monkeypatch):
    monkeypatch.setattr(Watched, "fails", True)
    with pytest.raises(ValueError, match="1 thread"):
        threads_while_fitting()
    assert torch.get_num_threads() == 2


def test_the_size_is_that_of_a_batch():
    assert is_small(nodes=1_000_000, items=100_000, batch_size=8, width=64)
    assert not is_small(nodes=1_000_000, items=100_000, batch_size=None, width=64)
    assert not is_small(nodes=3_000, items=5, batch_size=8, width=64)
    assert is_small(nodes=0, items=0, batch_size=8, width=64)
