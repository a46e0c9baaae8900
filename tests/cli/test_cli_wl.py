import json

import pytest
from typer.testing import CliRunner

import edgnn
from edgnn.cli import app, main


def run(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def triangles(tmp_path):
    for name, edges in (("one", [(0, 1), (1, 2), (2, 0)]), ("other", [(0, 2), (2, 1), (1, 0)])):
        edgnn.write(
            edgnn.Graphs.from_edges(edges, node_labels=list("ABC")), tmp_path / f"{name}.json"
        )
    return tmp_path / "one.json", tmp_path / "other.json"


def test_compare_answers_for_files_and_for_graphs_of_a_set(triangles):
    assert "not distinguished by 'separate'" in run("wl", "compare", *triangles)
    told = json.loads(run("wl", "compare", *triangles, "--scheme", "joint", "--json"))
    assert (told["distinguished"], told["round"], told["isomorphic"]) == (True, 1, False)
    assert json.loads(run("wl", "compare", "MUTAG:3", "mutag:3", "--json"))["isomorphic"]


def test_nodes_that_see_entering_edges_alone_are_told_apart_by_less_or_by_more(triangles, tmp_path):
    assert json.loads(run("wl", "compare", *triangles, "--direction", "in", "--json"))["round"] == 1
    fork = edgnn.Graphs.from_edges([(0, 1), (0, 2), (3, 4)], sizes=[3, 2])
    edgnn.write(fork, tmp_path / "fork", format="tu")
    told = {
        way: run("wl", "color", tmp_path / "fork", "--scheme", "joint", "--direction", way)
        for way in ("both", "in")
    }
    assert "Coloring(4 colors" in told["both"]
    assert "Coloring(2 colors" in told["in"]
    paths = edgnn.Graphs.from_edges([(0, 1), (3, 2)], sizes=[2, 2], node_labels=list("abab"))
    edgnn.write(paths, tmp_path / "paths", format="tu")
    assert "into 2 classes" in run(
        "wl", "classes", tmp_path / "paths", "--direction", "in", "--rounds", 1
    )
    assert "into 1 class " in run(
        "wl",
        "classes",
        tmp_path / "paths",
        "--direction",
        "both",
        "--rounds",
        1,
        "--scheme",
        "node",
    )


def test_color_prints_rounds_and_draws_them(tmp_path):
    text = run(
        "wl",
        "color",
        "MUTAG:0",
        "--rounds",
        2,
        "--svg",
        tmp_path / "a.svg",
        "--html",
        tmp_path / "a.html",
    )
    assert "round 2: " in text
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert "<input" in (tmp_path / "a.html").read_text()
    told = json.loads(run("wl", "color", "MUTAG:0", "--rounds", 2, "--json"))
    assert [row["round"] for row in told["rounds"]] == [0, 1, 2]


def test_classes_list_what_cannot_be_told_apart(tmp_path):
    graphs = edgnn.Graphs.from_edges(
        [(0, 1), (2, 3), (4, 5)], sizes=[2, 2, 2], node_labels=[0, 1, 0, 1, 1, 1]
    )
    edgnn.write(graphs, tmp_path / "set", format="tu")
    assert "cannot be told apart: 0, 1" in run("wl", "classes", tmp_path / "set")
    assert json.loads(run("wl", "classes", tmp_path / "set", "--json"))["groups"] == [[0, 1], [2]]


def test_power_gives_the_ceiling_of_mutag():
    rows = json.loads(run("wl", "power", "MUTAG", "--json"))["rounds"]
    assert rows[-1]["distinct"] == 188
    assert rows[-1]["best_accuracy"] == 1.0
    assert rows[0]["distinct"] < 188
    assert "100.00 %" in run("wl", "power", "MUTAG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wl", "compare", "MUTAG", "MUTAG:0"], "name one as MUTAG:0"),
        (["wl", "compare", "MUTAG:0", "MUTAG:188"], "there is no graph 188"),
        (["wl", "color", "MUTAG", "--graph", "500", "--svg", "x.svg"], "there is no graph 500"),
    ],
)
def test_mistakes_are_explained(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["edgnn", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_power_needs_targets(triangles, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["edgnn", "wl", "power", str(triangles[0])])
    with pytest.raises(SystemExit):
        main()
    assert (
        "has no targets: name its column with --target, or a table with --target-file"
        in capsys.readouterr().err
    )


def test_power_takes_targets_as_training_does(tmp_path):
    molecules, edges, roles = tmp_path / "mol.csv", tmp_path / "edges.csv", tmp_path / "roles.csv"
    molecules.write_text("smiles,toxic,weight\nCC,0,1.5\nCO,1,2.5\nCC,1,3.5\n")
    ceilings = json.loads(run("wl", "power", molecules, "--target", "toxic", "--json"))["rounds"]
    assert ceilings[-1]["best_accuracy"] == pytest.approx(2 / 3)
    assert (
        "best_rmse"
        in json.loads(run("wl", "power", molecules, "--target", "weight", "--json"))["rounds"][0]
    )
    edges.write_text("source,target\na,b\nc,d\n")
    roles.write_text("node,role\na,x\nb,y\nc,x\n")
    told = json.loads(
        run("wl", "power", edges, "--target-file", roles, "--direction", "in", "--json")
    )
    assert (told["level"], told["items"], told["rounds"][-1]["best_accuracy"]) == ("node", 3, 1.0)
    edges.write_text("source,target\na,b\na,c\nd,e\n")
    roles.write_text("node,role\na,x\nb,y\nc,y\nd,x\ne,y\n")
    distinct = {
        way: json.loads(
            run("wl", "power", edges, "--target-file", roles, "--direction", way, "--json")
        )["rounds"][-1]["distinct"]
        for way in ("both", "in")
    }
    assert distinct == {"both": 4, "in": 2}


def test_reader_options_reach_the_reader(tmp_path):
    (tmp_path / "people.csv").write_text("from,to,kind\na,b,likes\nb,a,knows\n")
    options = ["-o", "source=from", "-o", "target=to", "-o", "edge_label=kind"]
    told = json.loads(run("datasets", "show", tmp_path / "people.csv", *options, "--json"))
    assert told["statistics"]["edge_labels"] == 2
    (tmp_path / "mol.csv").write_text("smiles,toxic\nCC,0\nCO,1\n")
    rows = json.loads(run("wl", "power", tmp_path / "mol.csv", "-o", "target=toxic", "--json"))[
        "rounds"
    ]
    assert rows[-1]["best_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("sorce=from", "has no option 'sorce'; it has nodes, graphs, source"),
        ("source", "NAME=VALUE"),
    ],
)
def test_wrong_reader_options_are_explained(option, message, tmp_path, monkeypatch, capsys):
    (tmp_path / "people.csv").write_text("from,to\na,b\n")
    monkeypatch.setattr(
        "sys.argv", ["edgnn", "datasets", "show", str(tmp_path / "people.csv"), "-o", option]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_rounds_that_change_nothing_are_printed_once():
    lines = run("wl", "power", "MUTAG").splitlines()
    shown = [line.split()[0] for line in lines if line.strip()[:1].isdigit()]
    assert shown[-1] == "13"
    assert len(shown) < 10
