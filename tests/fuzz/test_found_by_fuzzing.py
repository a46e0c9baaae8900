"""What fuzzing has found, each as the smallest input that shows it."""

from __future__ import annotations

import json
import re
import zipfile

import pytest

import edgnn
from edgnn._words import one_line
from edgnn.errors import EdgnnError, FormatError, StudyError
from edgnn.io._nesting import DEEPEST_BRACKET, refuse_deep_brackets
from edgnn.models import load_model
from edgnn.report import write_report
from edgnn.studies import Study
from fuzz import samples
from fuzz.mutations import check_line
from study_pages import change_cell, made_evaluation, make_study

LONG = "x" * 70_000


@pytest.mark.parametrize(
    ("name", "data", "options"),
    [
        ("x.nt", b"<http://x/\x1b> <http://x/b> <http://x/c> .\n", {}),
        ("x.nq", b"<http://x/a\n> <http://x/b> <http://x/c> .\n", {}),
        ("x.ttl", b"\x0b", {}),
        ("x.n3", "\u202e".encode(), {}),
        ("x.ttl", "\u2028".encode(), {}),
        ("x.rdf", samples.XML.replace(b"22-rdf", b"22\r\n-rdf", 1), {}),
        ("x.graphml", f'<?xml version="1.0" encoding="{LONG}"?><graphml/>'.encode(), {}),
        (
            "x.graphml",
            samples.GRAPHML.replace(b'"weight"', f'"{LONG}"'.encode()),
            {"node_features": ["weight"]},
        ),
        ("x.json", f'{{"{LONG}" 1}}'.encode(), {}),
        ("x.csv", f"{LONG},b\n1,2\n".encode(), {}),
        ("x.csv", f"source,target,{LONG},{LONG}\n1,2,3,4\n".encode(), {}),
        ("edges.csv", f"source,target,{LONG}\n1,2,3\n".encode(), {"edge_features": ["w"]}),
        ("m.csv", b'smiles\ty\n"C"C\t1\n', {}),
        ("m.csv", b'smiles,y\n"C"C,1\n', {"delimiter": "\x00"}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_message_is_one_short_line_without_what_a_terminal_obeys(tmp_path, name, data, options):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError) as told:
        edgnn.read(tmp_path / name, **options)
    check_line(str(told.value))


def test_a_strange_name_in_an_archive_is_shown_harmlessly(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("\x1b[31mS_A.txt", "1, 2\n")
    with pytest.raises(
        FormatError, match=r"\\x1b\[31mS_graph_indicator\.txt: the file is missing"
    ) as told:
        edgnn.read(tmp_path / "x.zip")
    check_line(str(told.value))


def test_a_long_id_of_a_graph_is_shortened(tmp_path):
    samples.put(tmp_path, samples.TABLES | {"nodes.csv": f"graph,node\n{LONG},a\n".encode()})
    with pytest.raises(FormatError, match=r"is not in graphs\.csv") as told:
        edgnn.read(tmp_path)
    check_line(str(told.value))


def test_words_of_other_libraries_become_one_line():
    assert one_line("a\nb\t\x1b[0m\u202e") == "a\\nb\\t\\x1b[0m\\u202e"
    assert one_line("ß" * 300) == "ß" * 200 + "…"


def test_brackets_in_texts_names_and_comments_do_not_nest():
    deep = DEEPEST_BRACKET + 1
    for harmless in (
        b'"%s"',
        b"'%s'",
        b'"""%s\n"x"\n"""',
        b"'''%s'''",
        b"# %s\n",
        b"<http://x/%s>",
    ):
        refuse_deep_brackets(harmless % (b"(" * deep), "x.ttl")
    refuse_deep_brackets(b"( )" * deep + rb"\(" * deep + b'"\\""', "x.ttl")
    for bomb in (b"(", b"[ ", b"{\n", b'[ <http://x/a> ")" '):
        with pytest.raises(FormatError, match="brackets nest more than 10,000 deep"):
            refuse_deep_brackets(bomb * deep, "x.ttl")


def test_many_brackets_side_by_side_are_read(tmp_path):
    (tmp_path / "x.ttl").write_text(
        "@prefix x: <http://x/> .\nx:a x:b " + " , ".join(["[ x:c x:d ]"] * 11_000) + " .\n"
    )
    assert edgnn.read(tmp_path / "x.ttl").num_edges == 22_000


def damaged_evaluation(change):
    document = json.loads(
        json.dumps(
            made_evaluation(0.8, items=20, folds=3).to_dict(), default=lambda array: array.tolist()
        )
    )
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["truth"].__setitem__(0, 10**30),
        lambda document: document["truth"].__setitem__(0, 2),
        lambda document: document["splits"][0]["test"].__setitem__(0, 2**40),
        lambda document: document["splits"][0]["prediction"].__setitem__(0, 7),
        lambda document: document["splits"][0]["prediction"].pop(),
        lambda document: document["splits"][0]["probability"].pop(),
        lambda document: document["splits"][0].__setitem__("training_accuracy", [1]),
        lambda document: document["splits"][0].__setitem__("repeat", "x"),
        lambda document: document["splits"].clear(),
        lambda document: document["class_names"].append("more"),
        lambda document: document.__setitem__("metrics", []),
        lambda document: document.__setitem__("format", ["x" * 5000]),
    ],
)
def test_an_evaluation_whose_parts_do_not_fit_is_told(tmp_path, change):
    (tmp_path / "x.json").write_text(damaged_evaluation(change))
    with pytest.raises(FormatError, match="what it holds is damaged") as told:
        write_report(tmp_path / "x.json")
    check_line(str(told.value))


def test_a_long_figure_of_a_paper_is_shortened(tmp_path):
    document = json.loads(damaged_evaluation(lambda _: None))
    whole = {"evaluation": document.get("evaluation", document), "model": "a", "data": "b"}
    whole["paper"] = {"row": "a", "mean": LONG, "spread": 0.1}
    (tmp_path / "x.json").write_text(json.dumps(whole))
    with pytest.raises(EdgnnError, match="give its mean and its spread") as told:
        write_report(tmp_path / "x.json")
    check_line(str(told.value))


def test_a_score_too_large_for_a_page_is_told(tmp_path):
    place = samples.put(
        tmp_path / "run",
        {
            "config.json": b'{"format": 1}',
            "metrics.json": b'{"metrics": {"accuracy": 1%s}}' % (b"0" * 400),
        },
    )
    with pytest.raises(FormatError, match=r"what it holds is damaged .OverflowError"):
        write_report(place)


@pytest.mark.parametrize(
    "field", ["seconds", "memory", "history", "settings", "environment", "ceiling"]
)
def test_a_signed_cell_with_a_field_of_another_type_is_left_out_and_named(tmp_path, field):
    study = make_study(tmp_path / "study", {"majority": 0.6}, ("MUTAG",), runs=2, items=20, folds=3)
    change_cell(study.path / study.cells()[0].path, **{field: [[1]]})
    page = write_report(study.path).read_text()
    assert "its fields are of other types" in page


@pytest.mark.parametrize(
    "source",
    [
        "x",
        {"name": 7, "options": {}},
        {"name": "a\0b", "options": {}},
        {"name": "x"},
        {"name": "x", "options": []},
    ],
)
def test_a_run_that_says_nonsense_about_its_data_still_predicts(source):
    from edgnn.io.datasets import origin_of

    assert origin_of({"source": source}) is None
    assert origin_of({"source": {"name": "x.csv", "options": {}, "format": "tables"}}) is not None


STRANGE = "\x1b[31m\u202e\n" * 500


@pytest.fixture
def saved(tmp_path):
    """The folder of a small model of two classes."""
    graphs = edgnn.Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2], node_labels=list("abac"))
    model = edgnn.RidgeGraphClassifier(parts=("wl",)).fit(graphs, [0, 1])
    model.save(tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize(
    "header",
    [
        {"x": {"dtype": STRANGE, "shape": [1], "data_offsets": [0, 4]}},
        {"x": STRANGE},
        {"x": {STRANGE: 1}},
    ],
    ids=["type", "tensor", "field"],
)
def test_words_of_a_damaged_header_of_tensors_are_shortened(saved, header):
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + bytes(64)
    (saved / "model.safetensors").write_bytes(data)
    with pytest.raises(EdgnnError, match="SafetensorError") as told:
        load_model(saved)
    assert len(str(told.value)) < 300 + len(str(saved))
    check_line(str(told.value))


@pytest.mark.parametrize("document", [{"edgnn": STRANGE, "format": 99}, {"format": 10**4000}])
def test_a_newer_study_names_its_version_in_few_letters(tmp_path, document):
    (tmp_path / "study.json").write_text(json.dumps(document | {"calls": []}))
    with pytest.raises(StudyError, match="upgrade edgnn") as told:
        Study.open(tmp_path)
    assert len(str(told.value)) < 300 + len(str(tmp_path))
    check_line(str(told.value))


@pytest.mark.parametrize("stored", ["a5", "a", "datetime64[s]", "i4,f4", "(2,3)f4", "T", "float"])
def test_a_type_of_classes_is_one_that_edgnn_writes(saved, stored):
    """Numpy reads other spellings too, some of them with a warning of its own."""
    config = (saved / "config.json").read_text()
    changed = config.replace('"<i8"', json.dumps(stored))
    assert changed != config
    (saved / "config.json").write_text(changed)
    with pytest.raises(EdgnnError, match="is no type of classes") as told:
        load_model(saved)
    check_line(str(told.value))


def test_a_temperature_that_divides_nothing_is_refused(saved):
    config = (saved / "config.json").read_text()
    changed = re.sub(r'"temperature": [^,}\s]+', '"temperature": 0.0', config)
    assert changed != config
    (saved / "config.json").write_text(changed)
    with pytest.raises(EdgnnError, match="stored temperature") as told:
        load_model(saved)
    check_line(str(told.value))


def test_a_base_iri_is_quoted_without_what_a_terminal_obeys(tmp_path):
    (tmp_path / "x.ttl").write_text("<a> <b> <c> .")
    with pytest.raises(EdgnnError, match="base_iri=") as told:
        edgnn.read(tmp_path / "x.ttl", base_iri="\x00" + LONG)
    check_line(str(told.value))
