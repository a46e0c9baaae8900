"""What a stranger's run folder says is shortened and cleaned in every message."""

import copy
import json

import pytest

import edgnn
from edgnn import Graphs
from edgnn.errors import EdgnnError
from edgnn.models import (
    BlendGraphClassifier,
    GraphClassifier,
    checkpoint_epoch,
    estimator_of,
    load_model,
    make_model,
    prediction_table,
    start_run,
    train_run,
)
from edgnn.training import RunFolder

HOSTILE = "\x1b[31mX\u202e\nline\r\x07" + "A" * 100_000
MOST = 700


def places(value, path=()):
    """Yield the place of every text in plain values, keys included."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from places(entry, (*path, number))
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield (*path, {"key": key})
            yield from places(entry, (*path, key))


def leaves(value, path=()):
    """Yield the place of everything in plain values that holds nothing else."""
    entries = enumerate(value) if isinstance(value, list) else ()
    entries = value.items() if isinstance(value, dict) else entries
    if not value or not isinstance(value, list | dict):
        yield path
    for key, entry in entries:
        yield from leaves(entry, (*path, key))


def changed(config, path, hostile=HOSTILE):
    """Return a copy of a configuration with something hostile at a place."""
    result = copy.deepcopy(config)
    *way, last = path
    entry = result
    for step in way:
        entry = entry[step]
    if isinstance(last, dict):
        entry[hostile] = entry.pop(last["key"])
    else:
        entry[last] = hostile
    return result


def letters():
    graphs = Graphs.from_edges(
        [(0, 1), (2, 3), (4, 5), (6, 7)],
        sizes=[2] * 4,
        node_labels=list("abacabac"),
        edge_labels=["x", "y", "x", "y"],
    )
    return graphs, ["one", "two", "one", "two"]


def models():
    yield GraphClassifier(
        max_epochs=1, hidden=4, random_state=0, class_weight={"one": 2.0}, unknown="error"
    )
    yield BlendGraphClassifier(trees=2, random_state=0)


def uses(folder, graphs, y):
    """Do everything that reads a run folder, one after the other."""
    run = RunFolder.open(folder)
    yield lambda: estimator_of(run)
    yield lambda: checkpoint_epoch(run)
    yield lambda: prediction_table(load_model(folder), graphs)
    yield lambda: load_model(folder).fit(graphs, y)
    yield lambda: load_model(folder, strange=1)


def assert_clean(error):
    text = str(error)
    assert len(text) < MOST, text[:200]
    assert all(letter.isprintable() for letter in text), ascii(text)[:200]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", list(models()), ids=lambda model: type(model).__name__)
def test_every_text_of_a_configuration_may_be_hostile(tmp_path, model):
    graphs, y = letters()
    folder = tmp_path / "run"
    run = start_run(folder, model, graphs, y, about={"source": {"data": "letters"}})
    train_run(run, model, graphs, y)
    config = json.loads((folder / "config.json").read_text())
    errors = 0
    for path in places(config):
        (folder / "config.json").write_text(json.dumps(changed(config, path)))
        try:
            several = list(uses(folder, graphs, y))
        except EdgnnError as error:
            assert_clean(error)
            continue
        for use in several:
            try:
                use()
            except EdgnnError as error:
                errors += 1
                assert_clean(error)
    assert errors > 10


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "model",
    [*models(), make_model("wl-subtree", random_state=0)],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize(
    "value", [10**400, -1, None, [[]], {"a": 1}, True], ids=lambda value: str(value)[:8]
)
def test_every_value_of_a_configuration_may_be_another(tmp_path, model, value):
    graphs, y = letters()
    folder = tmp_path / "run"
    run = start_run(folder, model, graphs, y, about={"source": {"data": "letters"}})
    train_run(run, model, graphs, y)
    config = json.loads((folder / "config.json").read_text())
    for path in leaves(config):
        (folder / "config.json").write_text(json.dumps(changed(config, path, value)))
        try:
            prediction_table(load_model(folder), graphs)
        except EdgnnError as error:
            assert_clean(error)


@pytest.mark.parametrize("version", [HOSTILE, [HOSTILE], None, 10**5])
def test_a_newer_folder_names_its_version_in_few_letters(tmp_path, version):
    graphs, y = letters()
    GraphClassifier(max_epochs=1, hidden=4).fit(graphs, y).save(tmp_path / "run")
    file = tmp_path / "run" / "config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps(config | {"format": 99, "edgnn": version}))
    with pytest.raises(edgnn.errors.RunError, match="upgrade edgnn") as raised:
        load_model(tmp_path / "run")
    assert_clean(raised.value)
