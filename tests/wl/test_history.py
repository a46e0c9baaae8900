from __future__ import annotations

import numpy as np
import pytest
import torch

from edgnn.wl._history import History

ROUNDS = [([0, 1], [2, 2], 3), ([3], [3], 4), ([1], [4], 5), ([0, 3], [5, 6], 7)]
COLORS = [[0, 0, 0, 1], [2, 2, 0, 1], [2, 2, 0, 3], [2, 4, 0, 3], [5, 4, 0, 6]]


def recorded(few: str) -> History:
    """Return a history in which the rounds marked ``f`` came as lists and those marked ``m`` as arrays."""
    history = History(torch.tensor(COLORS[0]))
    for (nodes, colors, count), kind in zip(ROUNDS, few, strict=True):
        if kind == "f":
            history.record_few(nodes, colors, count)
        else:
            history.record(np.array(nodes), np.array(colors), count)
    return history


@pytest.mark.parametrize("few", ["ffff", "mmmm", "mffm", "fmfm", "mmff", "ffmm"])
def test_rounds_can_be_rebuilt_and_listed_however_they_came(few):
    history = recorded(few)
    assert (history.rounds, history.highest_color) == (4, 6)
    assert [history.at(round).tolist() for round in range(5)] == COLORS
    assert list(history.each()) == [(nodes, colors) for nodes, colors, _ in ROUNDS]
    assert list(history.counts) == [count for _, _, count in ROUNDS]
    assert history.initial.tolist() == COLORS[0]


def test_rounds_without_changes_are_rounds():
    history = History(torch.tensor([0, 1]))
    history.record_few([], [], 2)
    history.record(np.array([1]), np.array([2]), 2)
    assert [history.at(round).tolist() for round in range(3)] == [[0, 1], [0, 1], [0, 2]]
    assert list(history.each()) == [([], []), ([1], [2])]


def test_the_history_of_no_nodes_has_no_color():
    assert History(torch.zeros(0, dtype=torch.int64)).highest_color == -1
