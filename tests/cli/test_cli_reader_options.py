"""Options of a reader on the command line: what is for others is refused in a line."""

import pytest

from edgnn.io import load_dataset, read
from fuzz import samples

PLACES = {
    "train": ("--out", "run", "--max-epochs", "1", "-q"),
    "convert": ("out.graphs",),
    "wl color": (),
}


@pytest.fixture
def two_sets(tmp_path, monkeypatch):
    """A zip of two TU sets, of which the second has one more edge."""
    monkeypatch.chdir(tmp_path)
    other = {name.replace("S_", "T_"): data for name, data in samples.TU.items()}
    (tmp_path / "two.zip").write_bytes(samples.zipped(samples.TU | other))
    return "two.zip"


@pytest.mark.parametrize("option", ["path=x", "data_dir=x", "like=S", "level=graph", "host=x"])
@pytest.mark.parametrize("words", PLACES)
def test_what_is_not_the_readers_is_one_line(command, two_sets, words, option):
    ended = command(*words.split(), two_sets, *PLACES[words], "-o", option)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert f"-o {option.partition('=')[0]}= is no option of a file's reader" in ended.err


def test_the_advice_to_choose_a_set_by_name_can_be_followed(command, two_sets):
    refused = command("convert", two_sets, "one.graphs")
    assert (
        "several TU data sets are here (S, T); choose one with name= (-o name=NAME" in refused.err
    )
    ended = command("convert", two_sets, "one.graphs", "-o", "name=T")
    assert (ended.code, ended.err) == (0, "")
    chosen = read("one.graphs")
    assert chosen.equals(read(two_sets, name="T"))
    assert load_dataset(two_sets, name="T").graphs.equals(read(two_sets, name="T"))
    assert load_dataset(two_sets, name="T").targets.tolist() == [1, 0]


def test_a_limit_is_not_remembered_but_can_be_given_again_to_resume(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'C' * n}O,{n % 2}\n" for n in range(1, 13))
    (tmp_path / "mol.csv").write_text("smiles,active\n" + rows)
    words = ("train", "mol.csv", *PLACES["train"], "-t", "active", "-o", "max_atoms=13")
    assert command(*words).code == 0
    (tmp_path / "new.csv").write_text("smiles\nCCCCCCCCCCCCCCCCC\n")
    assert command("predict", "run", "new.csv").code == 0
    resume = ("train", "--out", "run", "--resume")
    assert command(*resume).code == 0
    assert "max_atoms=5" in command(*resume, "-o", "max_atoms=5").err


@pytest.mark.parametrize("name", ["name=S", "name=nosuch"])
def test_other_formats_have_no_option_called_name(command, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_bytes(samples.SMILES)
    ended = command("convert", "p.csv", "out.graphs", "-o", name)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "the format 'smiles' has no option 'name'" in ended.err


def test_other_graphs_are_not_named_by_a_text():
    from edgnn.errors import GraphError

    with pytest.raises(
        GraphError, match="like='S': this option of the format 'graphml' takes Graphs"
    ):
        read("x.zip", format="graphml", like="S")
