import html
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import edgnn
from edgnn.graphs import Graphs
from edgnn.report import read_report

pytest.importorskip("rdkit")

QUICK = ("--max-epochs", 3, "--hidden", 8, "--quiet")


@pytest.fixture
def run(command, molecules, tmp_path):
    assert command("train", molecules, "--out", tmp_path / "run", *QUICK).code == 0
    return tmp_path / "run"


@pytest.fixture
def smiles_run(command, smiles, tmp_path):
    assert command("train", smiles, "--out", tmp_path / "run", "--target", "kind", *QUICK).code == 0
    return tmp_path / "run"


@pytest.fixture
def node_run(command, people, tmp_path):
    assert (
        command("train", people, "--out", tmp_path / "run", "--target", "group", *QUICK).code == 0
    )
    return tmp_path / "run"


def test_the_first_item_is_explained_and_others_are_pointed_to(command, run, molecules):
    ended = command("explain", run, molecules)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("SMALL 0: ")
    assert "without the label of" in ended.out
    assert "without as many at random" in ended.out
    assert "1 makes the odds 2.7 times as high" in ended.out
    assert "The first of 40 graphs; others with --item NAME, --item 3-7 or --item all." in ended.out
    assert ended.out.endswith(f"With pictures: {run / 'explanation.html'}\n")
    assert len(read_report(run / "explanation.html")["items"]) == 1


def test_items_are_named_by_number_range_or_name(command, smiles_run, smiles, tmp_path):
    words = ("--no-counter-example", "--out", tmp_path / "a.html", "--json")
    told = json.loads(
        command(
            "explain", smiles_run, smiles, "--item", "CCCO", "--item", "2-3", "-i", 0, *words
        ).out
    )
    assert [item["name"] for item in told["items"]] == ["CCCO", "CCO", "CCN", "CO"]
    assert told["page"] == str(tmp_path / "a.html")
    assert {item["explanation"]["classes"][0] for item in told["items"]} == {0}
    assert told["items"][0]["class_names"] == ["alcohol", "amine"]
    assert told["items"][0]["counter_example"] is None
    ended = command("explain", smiles_run, smiles, "--item", "all", *words[:-1])
    assert ended.code == 0
    assert len(read_report(tmp_path / "a.html")["items"]) == 20
    assert "others with" not in ended.out


def test_the_class_is_named_in_the_users_words(command, smiles_run, smiles):
    ended = command("explain", smiles_run, smiles, "--target", "Amine")
    assert "log-odds fall by" in ended.out
    assert "In log-odds of amine: " in ended.out
    assert "amine" in (smiles_run / "explanation.html").read_text()


def test_the_picture_is_a_file_of_its_own(command, run, molecules, tmp_path):
    for by in ("score", "removal", "label", "gradient"):
        assert (
            command("explain", run, molecules, "--picture", tmp_path / f"{by}.svg", "--by", by).code
            == 0
        )
        assert ET.parse(tmp_path / f"{by}.svg").getroot().get("aria-label").startswith("SMALL 0: ")
    assert (tmp_path / "score.svg").read_text() != (tmp_path / "gradient.svg").read_text()


def test_nodes_are_explained_by_relations(command, node_run, people):
    ended = command("explain", node_run, people, "--item", "p4", "--nodes", "all")
    assert ended.code == 0
    assert ended.out.startswith("p4")
    page = (node_run / "explanation.html").read_text()
    assert "Relations and neighbors that matter" in page
    assert "knows" in page


def explained(command, graph, words, folder, targets, nodes=None):
    """Train on a graph's nodes, or on some, and explain items of it."""
    chosen = graph.nodes if nodes is None else graph.nodes[nodes]
    model = edgnn.NodeClassifier(max_epochs=3, hidden=4, random_state=0, validation=None)
    model.fit(chosen, targets).save(folder / "run")
    edgnn.write(graph, folder / "g.graphs", targets=np.array(targets, object), nodes=chosen)
    return command("explain", folder / "run", folder / "g.graphs", "--no-counter-example", *words)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], ["5"]),
        (["-i", "9", "-i", "5-6", "-i", "all"], ["9", "5", "6", "0"]),
    ],
)
def test_nodes_without_names_are_chosen_by_their_own_numbers(command, tmp_path, words, names):
    graph = Graphs.from_edges([(number, number + 1) for number in range(12)])
    words = (*words, "--json")
    ended = explained(command, graph, words, tmp_path, ["a", "b", "a", "b"], [5, 9, 0, 6])
    titles = [item["name"] for item in json.loads(ended.out)["items"]]
    assert [title.split()[-1] for title in titles] == names


def test_a_node_without_a_target_is_refused_by_its_number(command, tmp_path):
    graph = Graphs.from_edges([(number, number + 1) for number in range(12)])
    ended = explained(command, graph, ["-i", 2], tmp_path, ["a", "b", "a", "b"], [5, 9, 0, 6])
    rule = "--item 2: node 2 is none of the 4 nodes with targets; --nodes all"
    assert (ended.code, rule in ended.err) == (2, True)


def test_names_can_hold_anything_and_the_terminal_obeys_none_of_it(command, tmp_path):
    odd = "[/b] \x1b[2J\n[red]"
    graph = Graphs.from_edges(
        [(0, 1), (2, 1), (2, 3)], node_names=[f"{odd}{n}" for n in range(4)], edge_labels=[odd] * 3
    )
    ended = explained(command, graph, ["-i", "all"], tmp_path, [odd, "b", odd, "b"])
    assert (ended.code, "\x1b" in ended.out) == (0, False)
    assert ended.out.count(r"[/b] \x1b[2J\n[red]") >= 4


def test_labels_never_seen_are_one_warning(command, smiles_run, tmp_path):
    (tmp_path / "new.csv").write_text("smiles\nC[Xe]C\nCBr\nCO\n")
    ended = command("explain", smiles_run, tmp_path / "new.csv", "--item", "all")
    assert (ended.code, ended.err.count("\n")) == (0, 1)
    assert ended.err.startswith(
        "edgnn: warning: the training set did not contain the labels of 2 nodes"
    )
    assert "e−" not in ended.out


def test_regressors_are_explained(command, smiles, tmp_path):
    words = ("--target", "value", "--regression", *QUICK)
    assert command("train", smiles, "--out", tmp_path / "run", *words).code == 0
    ended = command("explain", tmp_path / "run", smiles)
    assert (ended.code, ended.err) == (0, "")
    assert re.match(r"CO: value = [−\d.]+\n", ended.out)
    assert "predicted value falls by" in ended.out
    assert "In units of value; " in ended.out
    assert "--target" not in ended.out
    assert "the model would say" not in ended.out


def test_a_regressor_with_several_targets_says_which_is_explained_and_how_to_choose(
    command, tmp_path
):
    rows = [f"{'C' * length}O,{length}.5,{length}.25,{length}.75\n" for length in range(1, 21)]
    (tmp_path / "three.csv").write_text("smiles,logD,logP,melting point\n" + "".join(rows))
    source, run = tmp_path / "three.csv", tmp_path / "run"
    targets = ("--target", "logD", "--target", "logP", "--target", "melting point")
    assert command("train", source, "--out", run, *targets, *QUICK).code == 0
    ended = command("explain", run, source, "--item", "0-6")
    page = (run / "explanation.html").read_text()
    choice = (
        "logD is explained, one of 3 targets; --target chooses another: 'logP', 'melting point'."
    )
    assert re.match(r"CO: logD = [−\d.]+\n", ended.out)
    assert ended.out.count(" logD = ") == 7
    assert ended.out.count(choice) == 1
    assert choice in html.unescape(page)
    assert ">predicted logD</dt>" in page
    assert page.count(">melting point</th>") == 7
    other = command("explain", run, source, "--target", "Melting Point")
    assert re.match(r"CO: melting point = [−\d.]+\n", other.out)
    assert "the predicted melting point changes by" in other.out
    assert "predicted value" not in other.out
    assert (
        "there is no target 'logPP'; did you mean 'logP'?"
        in command("explain", run, source, "-t", "logPP").err
    )


@pytest.mark.parametrize("words", [(), ("-o", "smiles=structure", "-o", "id=compound")])
def test_a_molecule_with_a_name_has_its_smiles_beside_it(command, tmp_path, words):
    smiles, name = ("structure", "compound") if words else ("smiles", "id")
    rows = [
        f"CMP-{length:04},{'C' * length}{end},{end}\n" for length in range(1, 11) for end in "ON"
    ]
    (tmp_path / "named.csv").write_text(f"{name},{smiles},kind\n" + "".join(rows))
    source, run = tmp_path / "named.csv", tmp_path / "run"
    assert command("train", source, "--out", run, "--target", "kind", *words, *QUICK).code == 0
    ended = command("explain", run, source, "--item", "0-6")
    assert ended.out.startswith("CMP-0001 CO: ")
    assert "\nCMP-0004 CCCCO: " in ended.out
    page = (run / "explanation.html").read_text()
    assert "<code>CO</code>" in page
    assert [item["smiles"] for item in read_report(run / "explanation.html")["items"]][:2] == [
        "CO",
        "CN",
    ]
    for wrong, hint in (
        ("CMP-9999", "; give a number from 0 to 19"),
        ("cmp-0011", "; did you mean 'CMP-00"),
    ):
        assert (
            f"there is no item '{wrong}'{hint}"
            in command("explain", run, source, "--item", wrong).err
        )


def test_no_smiles_stands_beside_a_smiles_or_beside_the_wrong_molecule(
    command, smiles_run, smiles, tmp_path
):
    assert command("explain", smiles_run, smiles).out.startswith("CO: ")
    (tmp_path / "new.csv").write_text("id,smiles\na,C(\nb,CO\n")
    ended = command("explain", smiles_run, tmp_path / "new.csv", "-o", "bad=skip")
    assert ended.out.startswith("b CO: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--item", "CCCX"), "there is no item 'CCCX'; did you mean 'CCC"),
        (
            ("--item", "zzz"),
            "there is no item 'zzz'; give a number from 0 to 19, or a name; they are 'CO', 'CN', 'CCO', …",
        ),
        (("--item", "20"), "--item 20: there are 20 items, numbered from 0 to 19"),
        (
            ("--item", "7-3"),
            "--item 7-3: a range goes from the smaller number to the larger, as in --item 3-7",
        ),
        (("--item", "9" * 5000), "there is no item '999"),
        (("--item", "0-99999999999"), "there are 20 items, numbered from 0 to 19"),
        (("--target", "amino"), "there is no class 'amino'; did you mean 'amine'?"),
        (("--by", "gradients"), "there is no score 'gradients' for --by; did you mean 'gradient'?"),
        (("--nodes", "all"), "--nodes is for models of nodes; this one is of graphs"),
        (
            ("--out", "nowhere/a.html"),
            "--out nowhere/a.html: there is no folder nowhere; make it first",
        ),
        (
            ("--picture", "nowhere/a.svg"),
            "--picture nowhere/a.svg: there is no folder nowhere; make it first",
        ),
        (
            ("--picture", "why.png"),
            "--picture why.png: the file will be SVG; let its name end in .svg",
        ),
        (("--out", "why.svg"), "--out why.svg: the file will be HTML; let its name end in .html"),
    ],
)
def test_mistakes_are_one_line(command, smiles_run, smiles, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = command("explain", smiles_run, smiles, *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert message in ended.err
    assert not (smiles_run / "explanation.html").exists()


def test_what_is_no_run_is_refused(command, molecules, tmp_path):
    ended = command("explain", tmp_path, molecules)
    assert (ended.code, ended.err.count("\n")) == (2, 1)


@pytest.mark.slow
def test_the_nitro_group_surfaces_on_mutag(command, tmp_path):
    network = ("--model", "edgnn", "--out", tmp_path / "run", "--quiet")
    assert command("train", "MUTAG", *network).code == 0
    words = ("--item", "0-19", "--target", "mutagenic", "--no-counter-example", "--json")
    told = json.loads(command("explain", tmp_path / "run", "MUTAG", *words).out)
    graphs, first, expected = edgnn.load_dataset("MUTAG").graphs, [], []
    for place, item in enumerate(told["items"]):
        graph, explanation = graphs[place], item["explanation"]
        nitro = nitro_atoms(graph)
        if explanation["prediction"] != 1 or not nitro:
            continue
        ends = list(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True))
        best = explanation["reasons"][0]
        first.append(
            not nitro.isdisjoint(
                best["elements"] if best["kind"] == "node" else ends[best["elements"][0]]
            )
        )
        inside = len(nitro) + sum(not nitro.isdisjoint(pair) for pair in ends) / 2
        expected.append(inside / (graph.num_nodes + graph.num_edges / 2))
    assert len(first) >= 10
    assert sum(first) / len(first) > 0.7
    assert sum(expected) / len(expected) < 0.45


def nitro_atoms(graph):
    labels, near = graph.node_labels, {node: [] for node in range(graph.num_nodes)}
    for source, target in zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True):
        near[source].append(target)
    found = set()
    for node, label in enumerate(labels):
        ends = [other for other in near[node] if labels[other] == "O" and len(near[other]) == 1]
        if label == "N" and len(ends) == 2:
            found.update((node, *ends))
    return found
