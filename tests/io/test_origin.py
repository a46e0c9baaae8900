import pytest

from edgnn.errors import RunError
from edgnn.io.datasets import (
    loadable_origin,
    molecule_options,
    reading_options,
    stored_texts,
)


def config(name, kind=None, **options):
    return {"source": {"name": str(name), "format": kind, "options": options}}


@pytest.fixture
def molecules(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("smiles\nCCO\n")
    return path


def test_molecules_of_another_format_keep_what_labels_are_and_nothing_else(molecules):
    stored = config("old.sdf", "sdf", atom_label="symbol,charge", target="toxic", like=None)
    assert reading_options(stored, molecules) == {"atom_label": "symbol,charge"}


def test_molecules_for_a_ptc_model_get_its_aromaticity(molecules):
    assert (
        reading_options(config("PTC_MR"), molecules)
        == {"aromaticity": "cdk"}
        == molecule_options(config("PTC_MR"))
    )
    assert reading_options(config("MUTAG"), molecules) == {}


def test_targets_are_left_out_but_not_the_column_of_edge_ends(molecules, tmp_path):
    edges = tmp_path / "edges.csv"
    edges.write_text("source,target\na,b\n")
    stored = config("old.csv", "tables", target="to", node_target="group", nodes="nodes.csv")
    assert reading_options(stored, edges) == {"target": "to"}
    assert reading_options(
        config("old.csv", "smiles", target="toxic", smiles="smiles"), molecules
    ) == {"smiles": "smiles"}


#: What a stranger's folder could ask for: files, names, limits, targets.
HOSTILE = {
    "target_file": "/etc/shadow",
    "target_column": "x",
    "level": "graph",
    "task": "values",
    "data_dir": "/",
    "download": True,
    "progress": True,
    "name": "x",
    "path": "/etc/shadow",
    "nodes": "/etc/shadow",
    "graphs": "/etc/shadow",
    "like": "x",
    "unknown": "map",
    "max_bytes": 10**30,
    "max_atoms": 10**9,
    "target": "x",
    "graph_target": "x",
    "node_target": "x",
    "nosuch": 1,
}


@pytest.mark.parametrize("kind", ["smiles", "tables", "sdf", "rdf", "graphml", "tu", "arrows"])
def test_a_run_folder_names_no_file_and_raises_no_limit(tmp_path, kind):
    new = tmp_path / "new.csv"
    new.write_text("smiles\nCCO\n")
    hostile = HOSTILE | {"format": kind}
    stored = {"source": {"name": str(new), "format": kind, "options": hostile}}
    edges_end = {"target"} if kind == "tables" else set()
    assert reading_options(stored, new).keys() <= {"format"} | edges_end
    assert molecule_options(stored) == {}
    loaded = loadable_origin(stored)["options"]
    assert not loaded.keys() & {"max_bytes", "max_atoms", "path", "name", "data_dir", "like"}


@pytest.mark.parametrize("value", [{"a": 1}, [1], [["a"]], 1.5, "x" * 501, ["x" * 501]])
def test_an_option_that_no_reader_takes_is_damage(molecules, value):
    stored = config("old.csv", "smiles", atom_label=value)
    for call in (lambda: reading_options(stored, molecules), lambda: molecule_options(stored)):
        with pytest.raises(RunError, match=r"source\.options\.atom_label in the config\.json"):
            call()


def test_a_format_of_another_package_carries_what_it_lists(tmp_path):
    from edgnn.io import FORMATS, Format, Labeled

    def read_arrows(path, *, ends: str = "a", place: str = "b") -> Labeled:
        raise AssertionError

    new = tmp_path / "new.arrows"
    new.write_text("x")
    stored = config("old.arrows", "arrows", ends="x", place="y")
    for carried in ((), ("ends",)):
        made = Format("arrows", "x", read_arrows, suffixes=(".arrows",), carried_options=carried)
        FORMATS.register(made)
        try:
            assert reading_options(stored, new) == ({"ends": "x"} if carried else {})
        finally:
            FORMATS.unregister("arrows")


def test_each_format_carries_options_of_its_reader_only():
    from edgnn.io import FORMATS

    for one in FORMATS.values():
        assert set(one.carried_options) <= set(one.read_options)
        assert not set(one.carried_options) & {*one.path_options, "max_bytes", "max_atoms", "like"}


@pytest.mark.parametrize(
    "source", [None, "x", {"name": 7, "options": {}}, {"name": "a\0b", "options": {}}]
)
def test_nonsense_gives_no_options(molecules, source):
    assert (
        reading_options({"source": source}, molecules) == {} == molecule_options({"source": source})
    )


def test_names_that_are_no_texts_are_damage():
    assert stored_texts({"class_names": ["a"]}, "class_names") == ["a"]
    with pytest.raises(
        RunError, match=r"class_names in the config\.json of the run is not a list of texts"
    ):
        stored_texts({"class_names": "ab"}, "class_names")


def test_what_a_new_file_need_not_have_is_not_asked_of_it(molecules, tmp_path):
    triples = tmp_path / "new.nt"
    triples.write_text("<a:a> <a:p> <a:b> .\n")
    stored = config("old.nt", "rdf", drop_predicates="a:leak")
    assert reading_options(stored, triples) == {
        "drop_predicates": "a:leak",
        "missing_predicates": "ignore",
    }
    assert reading_options(stored, triples, {"drop_predicates": "a:leak"}) == {
        "drop_predicates": "a:leak"
    }
    assert reading_options(config("old.csv", "smiles", id="code"), molecules) == {}
    assert reading_options(config("old.csv", "smiles", id="SMILES"), molecules) == {"id": "SMILES"}
    assert reading_options(config("old.csv", "smiles", id=7), molecules) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("task", 3),
        ("target_file", []),
        ("data_dir", True),
        ("regression", "yes"),
        ("target", True),
        ("target", [1]),
    ],
)
def test_what_cannot_be_loaded_again_is_not_offered(field, value):
    sound = {
        "name": "x.csv",
        "options": {},
        "format": "smiles",
        "task": None,
        "target": ["y"],
        "regression": None,
    }
    assert loadable_origin({"source": sound}) == sound
    assert loadable_origin({"source": sound | {field: value}}) is None
