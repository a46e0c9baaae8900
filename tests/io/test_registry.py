import re
import sys

import pytest

from edgnn.errors import DatasetError
from edgnn.io.datasets import find, find_or_tu, names

OF_THE_PAPER = ("MUTAG", "PTC_FM", "PTC_FR", "PTC_MM", "PTC_MR", "AIFB", "MUTAG-RDF")
OF_MOLECULENET = ("ESOL", "FreeSolv", "Lipophilicity", "BBBP", "BACE", "ClinTox", "Tox21", "SIDER")


def test_the_seven_sets_of_the_paper_are_registered_and_come_first():
    assert names()[:7] == OF_THE_PAPER
    assert names()[-9:] == ("ogbg-molhiv", *OF_MOLECULENET)


@pytest.mark.parametrize("spelling", ["MUTAG-RDF", "mutag_rdf", "Mutag-Rdf"])
def test_case_and_dashes_do_not_matter(spelling):
    assert find(spelling) is find("MUTAG-RDF")


def test_every_registered_file_has_a_hash_and_several_mirrors():
    for name in names():
        entry = find(name)
        assert entry.sha256
        assert all(re.fullmatch("[0-9a-f]{64}", value) for value in entry.sha256.values())
        assert all(
            len(part.urls) >= 2 and all(url.startswith("https://") for url in part.urls)
            for part in entry.parts
        )
        assert entry.citation
        assert entry.description
        assert (entry.license == "MIT") == (name.startswith(("MoleculeACE/", "ogbg")))
        assert bool(entry.paper) == (name in OF_THE_PAPER)


def test_no_two_sets_share_a_file_or_a_folder_of_the_cache():
    entries = [find(name) for name in names()]
    files = [(entry.folder, file) for entry in entries for file in entry.sha256]
    assert len(set(files)) == len(files)
    assert len({entry.cache_folder for entry in entries}) == len(entries)


def test_other_names_are_taken_from_the_tu_collection():
    entry = find_or_tu("ENZYMES")
    assert entry.folder == "TUDataset/ENZYMES"
    assert entry.parts[0].urls[0].endswith("/ENZYMES.zip")
    assert not entry.sha256


@pytest.mark.parametrize("name", ["../etc", "a/b", "", "my data.csv", "edges.csv", ".hidden"])
def test_a_name_that_could_be_a_path_is_refused(name):
    with pytest.raises(DatasetError, match="neither a data set's name nor an existing file"):
        find_or_tu(name)


@pytest.mark.parametrize("word", ["C", "1CC1", "C-", "CC(=O)O", "C#N", "a b", "Ünique"])
def test_a_word_that_no_tu_set_could_have_is_no_name(word):
    with pytest.raises(DatasetError, match="neither a data set's name nor an existing file"):
        find_or_tu(word)


def test_a_smiles_that_no_tu_set_could_be_called_is_told_where_molecules_belong():
    with pytest.raises(
        DatasetError,
        match=r"'CC\(=O\)O' is neither .*; if 'CC\(=O\)O' is a SMILES, put it into a file",
    ):
        find_or_tu("CC(=O)O")


def test_without_rdkit_nothing_is_said_of_smiles(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    with pytest.raises(DatasetError, match=r"lists the names$"):
        find_or_tu("CC(=O)O")
