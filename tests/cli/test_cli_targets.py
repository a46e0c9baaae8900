import json
import re

import pytest

QUICK = ("--max-epochs", 1, "--hidden", 4)


def config_of(run):
    return json.loads((run / "config.json").read_text())


def metrics_of(run):
    return json.loads((run / "metrics.json").read_text())


def molecules_with(values, path):
    path.write_text(
        "smiles;y\n" + "".join(f"{'C' * (n % 7 + 1)};{value}\n" for n, value in enumerate(values))
    )
    return path


@pytest.fixture
def graph(tmp_path):
    """Return an RDF file of twelve nodes with edges of two kinds, and a table of their targets."""

    def write(values, name="http://a.example/", kind="http://a.example/kind"):
        text = "".join(
            f"<{name}p{n}> <{kind}{n % 2}> <{name}p{(n + 1) % 12}> .\n" for n in range(12)
        )
        (tmp_path / "who.nt").write_text(text)
        (tmp_path / "who.csv").write_text(
            "node,y\n" + "".join(f"{name}p{n},{value}\n" for n, value in enumerate(values))
        )
        return tmp_path / "who.nt", "--target-file", tmp_path / "who.csv"

    return write


# Whole numbers written with a point


def test_whole_numbers_with_a_point_are_classes_where_they_are_few(command, tmp_path):
    data = molecules_with(["0.0", "1.0"] * 6, tmp_path / "a.csv")
    ended = command("train", data, "-t", "y", "--out", tmp_path / "a", *QUICK)
    assert (ended.code, "12 graphs, 2 classes" in ended.out, "warning" in ended.err) == (
        0,
        True,
        False,
    )
    assert config_of(tmp_path / "a")["class_names"] == ["0", "1"]
    assert (
        command("train", data, "-t", "y", "--out", tmp_path / "b", *QUICK, "--regression").code == 0
    )
    assert config_of(tmp_path / "b")["estimator"] == "GraphRegressor"
    assert {
        row.split(",")[2]
        for row in (tmp_path / "b" / "predictions.csv").read_text().splitlines()[1:]
    } <= {"0.0", "1.0"}


@pytest.mark.parametrize(
    "values",
    [
        [f"{n}.0" for n in range(12)],
        [f"{n % 21}.0" for n in range(63)],
        ["0.0", "1.0", "0.5"] * 4,
        ["1e300", "2e300"] * 6,
    ],
    ids=["different", "many", "halves", "huge"],
)
def test_other_numbers_with_a_point_are_values(command, tmp_path, values):
    data = molecules_with(values, tmp_path / "a.csv")
    ended = command("train", data, "-t", "y", "--out", tmp_path / "run", *QUICK)
    assert f"{len(values)} graphs, 1 target" in ended.out
    assert config_of(tmp_path / "run")["class_names"] == []


def test_the_rule_holds_for_nodes_and_for_every_format(command, graph, tmp_path):
    values = ["0.0", "1.0"] * 6
    assert command("train", *graph(values), "--out", tmp_path / "rdf", *QUICK).code == 0
    nodes = [{"id": n, "y": float(value)} for n, value in enumerate(values)]
    links = [{"source": n, "target": (n + 1) % 12} for n in range(12)]
    (tmp_path / "a.json").write_text(
        json.dumps({"directed": True, "graph": {}, "nodes": nodes, "edges": links})
    )
    assert (
        command("train", tmp_path / "a.json", "-t", "y", "--out", tmp_path / "json", *QUICK).code
        == 0
    )
    (tmp_path / "edges.csv").write_text(
        "source,target\n" + "".join(f"{n},{(n + 1) % 12}\n" for n in range(12))
    )
    (tmp_path / "nodes.csv").write_text(
        "node,y\n" + "".join(f"{n},{value}\n" for n, value in enumerate(values))
    )
    table = ("-o", f"nodes={tmp_path / 'nodes.csv'}", "-t", "y")
    assert (
        command("train", tmp_path / "edges.csv", *table, "--out", tmp_path / "tables", *QUICK).code
        == 0
    )
    for run in ("rdf", "json", "tables"):
        assert (
            config_of(tmp_path / run)["estimator"],
            config_of(tmp_path / run)["class_names"],
        ) == (
            "NodeClassifier",
            ["0", "1"],
        )


# Items without a target


def test_items_without_a_target_are_not_counted_as_learned_from(command, tmp_path):
    data = molecules_with(["0.5", "1.5", "", "2.5"] * 5, tmp_path / "a.csv")
    ended = command("train", data, "-t", "y", "--out", tmp_path / "a", *QUICK)
    found = metrics_of(tmp_path / "a")
    assert (found["trained_on"] + found["validated_on"], found["without_target"]) == (15, 5)
    assert (
        f"trained on {found['trained_on']}, validated on {found['validated_on']}; 5 have no target; kept epoch 1"
        in ended.out
    )
    ended = command("train", data, "-t", "y", "--out", tmp_path / "b", *QUICK, "--test", "0.2")
    found = metrics_of(tmp_path / "b")
    assert found["trained_on"] + found["validated_on"] + found["items"] == 15


def test_nodes_without_a_target_are_counted_apart(command, graph, tmp_path):
    ended = command(
        "train", *graph(["0.5", "1.5", "2.5"] * 3 + [""]), "--out", tmp_path / "run", *QUICK
    )
    assert re.search(
        r"trained on 8, validated on 1; 1 has no target; kept epoch 1 of 1, ", ended.out
    )
    assert metrics_of(tmp_path / "run")["trained_on"] == 8


def test_nothing_is_said_where_all_have_a_target(command, graph, tmp_path):
    ended = command(
        "train", *graph(["a", "b"] * 6), "--out", tmp_path / "run", *QUICK, "--layers", 1
    )
    assert "no target" not in ended.out
    assert metrics_of(tmp_path / "run")["without_target"] == 0
    assert "1 layer × 4, " in ended.out
    assert ", at most 1 epoch\n" in ended.out


# Decimal commas


@pytest.mark.parametrize("more", [(), ("--regression",), ("--classification",)])
def test_decimal_commas_are_one_error(command, tmp_path, more):
    data = molecules_with([f"{n - 5},405" for n in range(12)], tmp_path / "a.csv")
    ended = command("train", data, "-t", "y", "--out", tmp_path / "run", *QUICK, *more)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert (
        "a.csv, line 2: the target 'y' is '-5,405', a number with a decimal comma; write the numbers of the column"
        in ended.err
    )


def test_regression_on_classes_with_commas_says_why_not(command, tmp_path):
    data = molecules_with(["0,5", "1,5"] * 6, tmp_path / "a.csv")
    ended = command("train", data, "-t", "y", "--out", tmp_path / "run", *QUICK, "--regression")
    assert (
        "has the target '0,5' (graph 0, counted from 0), a number with a decimal comma; write"
        in ended.err
    )
    assert ended.err.endswith("with points, as 0.5\n")


# Columns


def test_a_mistyped_target_column_is_a_plain_question(command, tmp_path):
    data = molecules_with(["0.5"] * 3, tmp_path / "a.csv")
    data.write_text(data.read_text().replace(";y", ";active"))
    ended = command("train", data, "-t", "activ", "--out", tmp_path / "run")
    assert ended.err.endswith(
        "there is no column 'activ'; the columns are 'smiles', 'active'; did you mean 'active'?\n"
    )
    ended = command("train", data, "-t", "active", "-o", "smiles=smile", "--out", tmp_path / "run")
    assert ended.err.endswith("let its name end in .smi; did you mean 'smiles'?\n")


def test_a_column_of_nodes_by_another_word_is_suggested(command, people, tmp_path):
    ended = command("train", people, "-o", "node=id", "-t", "group", "--out", tmp_path / "run")
    assert (
        "nodes.csv, line 1: there is no column 'id'; the columns are 'node', 'label', 'group'"
        in ended.err
    )
    assert ended.err.endswith("did you mean 'node'?\n")


# Nodes to predict


def test_a_model_of_nodes_refuses_edges_of_other_kinds(command, graph, tmp_path):
    assert command("train", *graph(["a", "b"] * 6), "--out", tmp_path / "run", *QUICK).code == 0
    data, *_ = graph([], kind="http://else.where/")
    for verb in ("predict", "explain"):
        ended = command(verb, tmp_path / "run", data)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert (
            "the model has learned none of the labels of these 12 edges: they are 'http://else.where/0', "
            in ended.err
        )
        assert "those of the training were 'http://a.example/kind0'" in ended.err
    data.write_text(
        data.read_text()
        + "<http://a.example/p1> <http://a.example/kind0> <http://a.example/p5> .\n"
    )
    assert command("predict", tmp_path / "run", data).code == 0


def test_a_model_that_reads_no_edge_labels_takes_any(command, graph, tmp_path):
    assert (
        command(
            "train", *graph(["a", "b"] * 6), "--out", tmp_path / "run", *QUICK, "--conv", "gnn"
        ).code
        == 0
    )
    data, *_ = graph([], kind="http://else.where/")
    assert command("predict", tmp_path / "run", data).code == 0


def test_nodes_that_a_file_names_by_a_prefix_are_asked_for_in_full(command, graph, tmp_path):
    assert command("train", *graph(["a", "b"] * 6), "--out", tmp_path / "run", *QUICK).code == 0
    (tmp_path / "list.txt").write_text("d:p4\n")
    ended = command(
        "predict", tmp_path / "run", tmp_path / "who.nt", "--nodes", tmp_path / "list.txt"
    )
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith(
        "; give the whole IRI, not a prefix; did you mean 'http://a.example/p4'?\n"
    )


def test_names_that_are_not_in_the_graph_are_skipped_where_asked(command, graph, tmp_path):
    data, flag, table = graph(["a", "b"] * 6)
    table.write_text(table.read_text() + "http://a.example/p77,a\n")
    words = ("train", data, flag, table, "--out", tmp_path / "run", *QUICK)
    assert "line 14: 'http://a.example/p77' is no node of the data" in command(*words).err
    ended = command(*words, "--skip-unknown")
    assert (ended.code, "12 nodes of 12, 2 classes" in ended.out) == (0, True)
    assert "1 of the 13 names in column 1 name no node of the data and are skipped" in ended.err
    (tmp_path / "list.txt").write_text("http://a.example/p4\nhttp://a.example/p99\n")
    words = ("predict", tmp_path / "run", data, "--nodes", tmp_path / "list.txt")
    assert (command(*words).code, command(*words).out) == (2, "")
    ended = command(*words, "--skip-unknown")
    assert (ended.code, len(ended.out.splitlines())) == (0, 2)
    assert "1 of the 2 names in column 1 name no node" in ended.err


def test_several_columns_of_targets_in_one_word(command, tmp_path):
    rows = [
        f"{'C' * (n % 7 + 1)}O,{n},{n % 2},{n % 3 // 2 if n % 5 else ''},{n / 2}\n"
        for n in range(20)
    ]
    (tmp_path / "tox.csv").write_text("smiles,id,NR-A,NR-B,dose\n" + "".join(rows))
    words = ("train", tmp_path / "tox.csv", "--out")
    out = command(*words, tmp_path / "a", "-t", "NR-*", *QUICK).out
    assert "20 graphs, 2 targets" in out
    assert "columns not used: dose" in out
    assert config_of(tmp_path / "a")["target_names"] == ["NR-A", "NR-B"]
    out = command(*words, tmp_path / "b", "-t", "NR-B,dose", *QUICK).out
    assert config_of(tmp_path / "b")["target_names"] == ["NR-B", "dose"]
    header = command("predict", tmp_path / "b", tmp_path / "tox.csv").out.partition("\n")[0]
    assert "NR-B" in header
    ended = command(*words, tmp_path / "c", "-t", "SR-*", *QUICK)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "no column fits target='SR-*' (--target in a command)" in ended.err


def test_an_item_is_never_taken_for_a_blank_node(command, tmp_path):
    (tmp_path / "who.nt").write_text(
        "".join(f"_:b{n} <k:{n % 2}> <http://a.example/p{n}> .\n" for n in range(12))
    )
    (tmp_path / "who.csv").write_text(
        "node,y\n" + "".join(f"http://a.example/p{n},{'ab'[n % 2]}\n" for n in range(12))
    )
    words = (
        "train",
        tmp_path / "who.nt",
        "--target-file",
        tmp_path / "who.csv",
        "--out",
        tmp_path / "run",
        *QUICK,
    )
    assert command(*words).code == 0
    words = ("explain", tmp_path / "run", tmp_path / "who.nt", "--item")
    assert "there is no item 'd:b4'; give a number" in command(*words, "d:b4").err
    assert "did you mean '_:b4'?" in command(*words, "_:b44").err


@pytest.mark.parametrize("verb", ["predict", "explain"])
def test_help_says_which_nodes_are_taken(command, verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    told = " ".join(command(verb, "--help").out.split())
    assert (
        "default: those for which SOURCE itself has targets (AIFB, -o node_target=COLUMN), else all."
        in told
    )


# One of anything


def test_one_is_not_many(command, graph, tmp_path):
    data, *_ = graph([])
    assert "1 graph falls into 1 class under 'separate'\n" in command("wl", "classes", data).out
    assert "round 0: 1 color; most common: 12× " in command("wl", "color", data).out
    assert (
        "has one graph, number 0; there is no graph 3"
        in command("wl", "compare", f"{data}:3", data).err
    )
    single = molecules_with(["a", "b"] * 3, tmp_path / "a.csv")
    assert command("train", single, "-t", "y", "--out", tmp_path / "run", *QUICK).code == 0
    (tmp_path / "new.csv").write_text("smiles\nCC\n")
    ended = command("explain", tmp_path / "run", tmp_path / "new.csv", "--item", 3)
    assert ended.err.endswith("--item 3: there is 1 item, numbered from 0 to 0\n")


def test_an_edge_table_with_columns_of_other_names_takes_targets_from_a_file(command, tmp_path):
    (tmp_path / "edges.csv").write_text(
        "from,to\n" + "".join(f"p{n},p{(n + 1) % 12}\n" for n in range(12))
    )
    (tmp_path / "roles.csv").write_text(
        "id,role\n" + "".join(f"p{n},{'xy'[n % 2]}\n" for n in range(12))
    )
    options = [
        "-o",
        "source=from",
        "-o",
        "target=to",
        "--target-file",
        tmp_path / "roles.csv",
        "--target",
        "role",
    ]
    quick = ["--max-epochs", 1, "--quiet"]
    ended = command("train", tmp_path / "edges.csv", *options, "--out", tmp_path / "run", *quick)
    assert (ended.code, ended.err) == (0, "")
    ended = command("predict", tmp_path / "run", tmp_path / "edges.csv")
    assert (ended.code, ended.out.count("\n")) == (0, 13)


def test_several_targets_are_judged_one_by_one_as_well(command, tmp_path):
    rows = [f"{'C' * (n % 7 + 1)}O,{n / 10},{n * 13.5}\n" for n in range(40)]
    (tmp_path / "two.csv").write_text("smiles,logP,MW\n" + "".join(rows))
    targets = ("--target", "logP", "--target", "MW", "--seed", 0)
    out = command("train", tmp_path / "two.csv", *targets, "--out", tmp_path / "run", *QUICK).out
    told = metrics_of(tmp_path / "run")
    assert list(told["by_target"]) == ["logP", "MW"]
    each = [scores["rmse"] for scores in told["by_target"].values()]
    assert told["metrics"]["rmse"] == pytest.approx(sum(each) / 2)
    assert each[0] < each[1] / 10
    assert re.search(
        rf"rmse, mean of 2 targets +{told['metrics']['rmse']:.3f} .*\n  logP +{each[0]:.3f} .*\n  MW ",
        out,
    )
    out = command("evaluate", tmp_path / "two.csv", *targets, "--protocol", "cv2x1", *QUICK).out
    assert re.search(r"rmse, mean of 2 targets .*\n  logP .*\n  MW ", out)
