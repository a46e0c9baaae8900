"""Estimators under random orders of calls with odd parameters: they work, or tell what is wrong in one line."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from sklearn.base import clone

import edgnn
from edgnn.errors import EdgnnError
from edgnn.models import load_model
from fuzz.mutations import CAMPAIGN, check_line, no_longer_than, no_waiting_for_the_disk
from mutag import load_mutag

DATA = load_mutag()
GRAPHS, TARGETS = DATA.graphs[:12], DATA.targets[:12]
GOOD = {
    "layers": [1, 2],
    "hidden": [1, 3],
    "conv": ["edgnn", "gnn"],
    "activation": ["relu", "tanh"],
    "dropout": [0.0, 0.5],
    "batch_norm": [True],
    "batch_size": [None, 1, 5],
    "learning_rate": [0.01],
    "members": [1, 2],
    "direction": ["both", "in"],
    "validation": [None, 0.25],
    "warm_start": [True, False],
    "readout": ["sum", "mean"],
    "precision": ["float32", "float64"],
}
ODD = [
    None,
    -1,
    0,
    1.5,
    "",
    "x",
    [],
    {},
    float("nan"),
    float("inf"),
    10**30,
    True,
    "auto",
    (1, 2),
    b"x",
    np.float32(0.5),
    np.int64(2),
]
TARGET_KINDS = [
    TARGETS,
    TARGETS.tolist(),
    TARGETS.astype(str),
    TARGETS[:5],
    np.full(12, 7),
    TARGETS.astype(float),
    np.full(12, np.nan),
    None,
    "x",
    np.stack([TARGETS, TARGETS], 1),
    np.array([None] * 12),
    [[1], [2]],
    TARGETS.astype(object),
]


def tried(call):
    """Return what a call gives, or None where one of edgnn's errors says what is wrong with it."""
    with warnings.catch_warnings(), no_longer_than(60):
        warnings.simplefilter("ignore", UserWarning)
        try:
            return call()
        except (EdgnnError, ValueError) as error:
            if not isinstance(error, EdgnnError) and "fit" not in str(error):
                raise
            check_line(str(error))
            return None


class EstimatorMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.model, self.fitted = (
            edgnn.GraphClassifier(hidden=2, layers=1, max_epochs=2, random_state=0),
            None,
        )

    @rule(data=st.data())
    def set_good(self, data):
        name = data.draw(st.sampled_from(sorted(GOOD)))
        tried(lambda: self.model.set_params(**{name: data.draw(st.sampled_from(GOOD[name]))}))

    @rule(
        name=st.sampled_from(sorted(set(GOOD) - {"hidden", "layers", "members"})),
        value=st.sampled_from(ODD),
    )
    def try_odd(self, name, value):
        odd = clone(self.model).set_params(**{name: value})
        tried(lambda: odd.fit(GRAPHS, TARGETS))

    @rule(kind=st.integers(0, len(TARGET_KINDS) - 1))
    def fit(self, kind):
        found = tried(lambda: self.model.fit(GRAPHS, TARGET_KINDS[kind]))
        assert kind > 2 or found is self.model
        self.fitted = found and found.predict(GRAPHS)
        if found is None:
            self.model = clone(self.model)

    @rule(count=st.integers(0, 3))
    def predict(self, count):
        found = tried(lambda: self.model.predict(GRAPHS[:count]))
        if self.fitted is not None:
            assert np.array_equal(found, self.fitted[:count])
        else:
            assert found is None

    @rule(items=st.sampled_from([None, "x", [], [1], TARGETS, 7]))
    def predict_nonsense(self, items):
        tried(lambda: self.model.predict(items))

    @precondition(lambda self: self.fitted is not None)
    @rule()
    def save_and_load(self):
        with TemporaryDirectory() as folder, no_waiting_for_the_disk():
            place = Path(folder) / "run"
            self.model.save(place)
            assert tried(lambda: self.model.save(place)) is None
            self.model = load_model(place)
        assert np.array_equal(self.model.predict(GRAPHS), self.fitted)

    @rule()
    def pickle(self):
        self.model = pickle.loads(pickle.dumps(self.model))

    @rule()
    def clone(self):
        parameters = self.model.get_params()
        self.model, self.fitted = clone(self.model), None
        assert self.model.get_params() == parameters


TestEstimator = EstimatorMachine.TestCase
TestEstimator.settings = settings(
    max_examples=12 if not CAMPAIGN else int(100 * CAMPAIGN),
    stateful_step_count=10,
    derandomize=True,
    database=None,
    deadline=None,
)
