"""Tables of predictions, a piece at a time."""

import warnings
from itertools import chain

import numpy as np
import pytest

import edgnn
from edgnn.errors import EstimatorError, GraphError
from edgnn.io import read_pieces, smiles_pieces
from edgnn.models import (
    ClassifierModel,
    RidgeGraphClassifier,
    UnknownLabelWarning,
    predict_table,
    write_table,
)

TEXTS = [f"{'C' * length}{end}" for length in range(1, 9) for end in "ON"]


@pytest.fixture(scope="module")
def network():
    classes = np.array(["alcohol", "amine"] * 8)
    return edgnn.GraphClassifier(hidden=4, max_epochs=2, random_state=0).fit(TEXTS, classes)


@pytest.fixture
def table(tmp_path):
    rows = [f"m{number},{text}\n" for number, text in enumerate([*TEXTS, "C((", *TEXTS])]
    (tmp_path / "new.csv").write_text("id,smiles\n" + "".join(rows))
    return tmp_path / "new.csv"


def joined(pieces):
    tables = [piece.columns for piece in pieces]
    return {name: list(chain.from_iterable(table[name] for table in tables)) for name in tables[0]}


@pytest.mark.parametrize("atoms", [1, 20, 10**6])
def test_pieces_of_any_size_make_the_same_table(network, table, atoms):
    found = joined(predict_table(network, read_pieces(table, "smiles", atoms=atoms)))
    assert found["id"] == [f"m{number}" for number in range(33)]
    assert [place for place, reason in enumerate(found["error"]) if reason] == [16]
    assert found["error"][16].startswith("line 18: RDKit cannot read it")
    good = [place for place in range(33) if place != 16]
    expected = network.predict_proba([*TEXTS, *TEXTS]).astype(np.float32)
    probabilities = np.array([found["p(amine)"][place] for place in good], dtype=np.float32)
    np.testing.assert_allclose(probabilities, expected[:, 1], rtol=1e-6)
    familiar = network.familiarity(edgnn.from_smiles(TEXTS)).first_new
    rounds = [None if first < 0 else first for first in familiar.tolist()]
    assert found["first_new_round"][:16] == rounds


def test_closed_forms_predict_in_pieces(table):
    model = RidgeGraphClassifier(parts=("wl",)).fit(TEXTS, np.array(["o", "n"] * 8))
    found = joined(predict_table(model, read_pieces(table, "smiles", atoms=30)))
    expected = model.predict_proba(TEXTS)
    np.testing.assert_allclose(found["p(o)"][:16], expected[:, 1], rtol=1e-12)


def test_a_piece_of_nothing_readable_has_the_columns_of_the_others(network):
    texts = ["C((", "CX", "CCO", "CC>>C"]
    one_by_one = [piece for text in texts for piece in smiles_pieces([text])]
    tables = list(predict_table(network, one_by_one))
    assert [table.failed for table in tables] == [1, 1, 0, 1]
    assert len({tuple(table.columns) for table in tables}) == 1
    with pytest.raises(GraphError, match="none of the 2 molecules can be read"):
        list(predict_table(network, smiles_pieces(["C((", "CX"])))
    with pytest.raises(GraphError, match="there is nothing to predict"):
        list(predict_table(network, smiles_pieces([])))


def test_labels_never_seen_are_one_warning_for_all_pieces(network, tmp_path):
    (tmp_path / "a.smi").write_text("CS\nCC\nCBr\nCCS\n")
    with pytest.warns(UnknownLabelWarning) as caught:
        list(predict_table(network, read_pieces(tmp_path / "a.smi", "smiles", atoms=1)))
    (warning,) = caught
    assert "some labels of 3 of 4 graphs" in str(warning.message)


class BySize(ClassifierModel):
    """Gives NaN, or raises, for graphs of a certain size."""

    levels = ("graph",)

    def __init__(self, odd=3, raises=False):
        self.odd = odd
        self.raises = raises

    def fit(self, X, y):
        self.remember(self.read_training(X, y))
        return self

    def predict_proba(self, X):
        sizes = self.read_items(X).sizes.numpy()
        if self.raises and (sizes == self.odd).any():
            raise EstimatorError("infinite", kind="overflow")
        share = np.where(sizes == self.odd, np.nan, 0.25)
        return np.stack([share, 1 - share], axis=1)

    def predict(self, X):
        return self.classes_[np.zeros(len(self.read_items(X)), dtype=int)]

    def get_state(self):
        return {}, {}

    def set_state(self, facts, tensors):
        pass


@pytest.mark.parametrize("raises", [False, True])
def test_an_output_that_is_not_finite_is_an_error_of_its_row(raises):
    texts = ["CO", "CCO", "CCCO", "CCN"]
    model = BySize(raises=raises).fit(texts, [0, 1, 0, 1])
    found = joined(predict_table(model, edgnn.from_smiles(texts)))
    assert [bool(reason) for reason in found["error"]] == [False, True, False, True]
    assert found["p(0)"] == [0.25, None, 0.25, None]
    assert "not a finite number" in found["error"][1]


def test_other_errors_of_a_model_are_not_those_of_rows():
    class Broken(BySize):
        def predict_proba(self, X):
            raise EstimatorError("broken")

    model = Broken().fit(["CO", "CN"], [0, 1])
    with pytest.raises(EstimatorError, match="broken"):
        list(predict_table(model, edgnn.from_smiles(["CO"])))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_table_that_ends_with_an_error_leaves_no_file(network, tmp_path, name):
    def pieces():
        yield from smiles_pieces(["CCO"])
        raise GraphError("the disk is gone")

    with pytest.raises(GraphError, match="gone"):
        write_table(predict_table(network, pieces()), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_parquet_holds_what_csv_does(network, table, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    tables = list(predict_table(network, read_pieces(table, "smiles", atoms=10)))
    assert len(tables) > 1
    expected = joined(tables)
    write_table(tables, tmp_path / "a.parquet")
    assert parquet.read_table(tmp_path / "a.parquet").to_pydict() == expected


def test_predict_of_a_list_names_the_strings_that_cannot_be_read(network):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(GraphError, match=r"SMILES 1 \('C\(\('\): .*; nor can those at 3; "):
            network.predict(["CCO", "C((", "CCN", "CX"])


def test_intervals_and_sets_are_columns_where_a_coverage_is_asked_for(table):
    values = np.arange(16.0) % 7
    model = edgnn.AutoRegressor(learners="ridge", descriptors="none").fit(TEXTS, values)
    found = joined(predict_table(model, read_pieces(table, "smiles", atoms=30), coverage=0.8))
    ends = model.predict_interval(TEXTS, 0.8)
    np.testing.assert_allclose(found["lower"][:16], ends[:, 0])
    np.testing.assert_allclose(found["upper"][:16], ends[:, 1])
    np.testing.assert_allclose(found["novelty"][:16], model.novelty(TEXTS))
    assert (found["lower"][16], found["novelty"][16]) == (None, None)
    several = edgnn.AutoRegressor(learners="ridge", descriptors="none")
    several.fit(TEXTS, np.stack([values, -values], axis=1))
    names = ("a", "b")
    found = joined(
        predict_table(several, edgnn.from_smiles(TEXTS), target_names=names, coverage=0.8)
    )
    np.testing.assert_allclose(found["upper(b)"], several.predict_interval(TEXTS, 0.8)[:, 1, 1])
    classifier = edgnn.AutoClassifier(learners="ridge", descriptors="none")
    classifier.fit(TEXTS, np.array(["x", "y", "z", "z"] * 4))
    found = joined(predict_table(classifier, read_pieces(table, "smiles"), coverage=0.95))
    sets = classifier.predict_set(TEXTS, 0.95)
    expected = ["|".join(np.array(["x", "y", "z"])[row]) for row in sets]
    assert found["set"][:16] == expected
    assert any("|" in names for names in expected)
    assert "set" not in joined(predict_table(classifier, read_pieces(table, "smiles")))


def test_without_intervals_a_coverage_is_one_clear_error(network):
    labels = edgnn.AutoClassifier(learners="ridge", descriptors="none")
    labels.fit(TEXTS, np.array([[0, 1], [1, 0]] * 8))
    for model in (network, labels):
        with pytest.raises(EstimatorError, match="gives no intervals and no sets of classes"):
            list(predict_table(model, edgnn.from_smiles(TEXTS), coverage=0.9))
    model = edgnn.AutoClassifier(learners="ridge", descriptors="none")
    model.fit(TEXTS, np.array(["o", "n"] * 8))
    with pytest.raises(EstimatorError, match=r"coverage=1\.5: choose a number between 0 and 1"):
        list(predict_table(model, edgnn.from_smiles(TEXTS), coverage=1.5))
