import json

import numpy as np
import pytest

import rank_cases
from edgnn.training import outputs, train
from rank_cases import CASES, case_of, losses

#: How far losses may be from those of one process, relatively, over 20 epochs: sums are taken in another order, no more.
FURTHEST = {"float32": 1e-5, "float64": 1e-10}

SOME = [
    "nodes: gnn in with dropout, norm, members",
    "nodes: edgnn both with dropout, norm, members",
    "nodes: edgnn in",
    "nodes: joint both with dropout, norm, members",
    "nodes: rgcn in",
    "nodes: gine both",
    "graphs: norm, clipped, members",
]
FEW = [
    ("nodes: edgnn both with dropout, norm, members", "float32"),
    ("nodes: rgcn in", "float32"),
    ("nodes: joint in with dropout, norm, members", "float64"),
    ("nodes: gine both with dropout, norm, members", "float64"),
    ("nodes: several graphs", "float64"),
    ("nodes: in batches", "float64"),
    ("graphs: norm, clipped, members", "float32"),
    ("graphs: one a step", "float64"),
]


def trained_by(ranks, chosen, tmp_path):
    out = tmp_path / "found.json"
    ended = rank_cases.run([rank_cases.__file__], ranks, json.dumps(chosen), out)
    assert ended.returncode == 0, ended.stderr
    return json.loads(out.read_text())


def furthest(found, expected):
    """Return the largest relative difference of losses; infinite where there are more of the ones than of the others."""
    found, expected = np.array(found), np.array(expected)
    if found.shape != expected.shape or not (np.isnan(found) == np.isnan(expected)).all():
        return np.inf
    return np.nanmax(np.abs(found - expected) / np.abs(expected))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "chosen"),
    [
        pytest.param(2, [(name, "float64") for name in CASES], id="all by 2"),
        pytest.param(2, [(name, "float32") for name in SOME], id="some by 2"),
        pytest.param(4, FEW, id="few by 4"),
    ],
)
def test_ranks_train_what_one_process_trains(ranks, chosen, tmp_path):
    wrong = {}
    for (name, precision), found in zip(chosen, trained_by(ranks, chosen, tmp_path), strict=True):
        case = case_of(name, precision)
        alone = train(*case)
        assert found["ranks_agree"], name
        assert found["best_epoch"] == alone.best_epoch, name
        expected = outputs(alone, case[2]).numpy()
        assert np.allclose(found["outputs"], expected, rtol=1e-3, atol=1e-4), name
        difference = furthest(found["losses"], losses(alone))
        if not difference < FURTHEST[precision]:
            wrong[name, precision] = difference
    assert not wrong


def test_furthest_tells_other_losses():
    assert furthest([[1.0]], [[1.0], [2.0]]) == np.inf
    assert furthest([[np.nan]], [[1.0]]) == np.inf
    assert furthest([[1.0, np.nan]], [[2.0, np.nan]]) == 0.5
