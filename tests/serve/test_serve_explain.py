import re
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree as ET

import pytest

import edgnn
from edgnn.errors import DeadlineError
from edgnn.io import Deadline
from edgnn.models import load_model
from edgnn.serve import Limits, Served
from edgnn.serve._work import Work
from serve_runs import client_of

TOLUENE = "Cc1ccccc1[N+](=O)[O-]"


def test_reasons_are_those_of_the_explanation(molecules, mutag_run):
    found = molecules.post("/explain", json={"smiles": TOLUENE}).json()
    expected = edgnn.explain.explain(load_model(mutag_run), edgnn.from_smiles(TOLUENE))
    assert found["value"] == expected.value
    assert [reason["contribution"] for reason in found["reasons"]] == [
        r.contribution for r in expected.reasons(12)
    ]
    assert found["target"] == found["prediction"]
    assert found["counter_example"] is None
    assert not found["searched"]


def test_the_other_class_is_explained_on_request(molecules):
    one, two = (
        molecules.post("/explain", json={"smiles": TOLUENE, "target": name}).json()
        for name in ("mutagenic", "not mutagenic")
    )
    assert (one["target"], two["target"]) == ("mutagenic", "not mutagenic")
    assert one["value"] == pytest.approx(-two["value"])
    answer = molecules.post("/explain", json={"smiles": TOLUENE, "target": "maybe"})
    assert answer.status_code == 422
    assert answer.json()["error"] == "target 'maybe' is none of not mutagenic, mutagenic"


def test_a_counter_example_has_another_prediction(molecules):
    found = molecules.post("/explain", json={"smiles": TOLUENE, "counter_example": True}).json()
    change = found["counter_example"]
    assert found["searched"]
    assert change["prediction"] != found["prediction"]
    assert change["words"]
    assert [picture[:4] for picture in change["pictures"]] == ["<svg", "<svg"]


@pytest.mark.parametrize("where", ["molecules", "nodes"])
def test_pictures_are_drawings_without_scripts_and_links(where, request):
    client = request.getfixturevalue(where)
    body = {"smiles": TOLUENE} if where == "molecules" else {"node": "p12"}
    pictures = [client.post("/explain", json=body).json()["picture"]]
    pictures += [part["picture"] for part in client.post("/colors", json=body).json()["rounds"]]
    for text in pictures:
        ET.fromstring(text)
        assert not re.search(r"<script|<a[ >]|href|\son\w+=", text)


def test_a_node_is_explained_with_its_neighbors(nodes):
    found = nodes.post("/explain", json={"node": "p12"}).json()
    assert any("p12" in reason["words"] for reason in found["reasons"])
    assert any(
        "likes" in reason["words"] or "knows" in reason["words"] for reason in found["reasons"]
    )


def test_values_are_explained_too(values):
    found = values.post("/explain", json={"smiles": "CCO"}).json()
    assert found["target"] == "0"
    assert len(found["reasons"]) > 0
    assert (
        values.post("/explain", json={"smiles": "CCO", "counter_example": True}).status_code == 422
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"smiles": ""}, "the SMILES is empty; write it, or leave it out"),
        (
            {"smiles": "C" * 5_001},
            "the SMILES ('CCCCCCCCCCCCCCCCCCCC…') has 5,001 characters, but 5,000 are the most; "
            "leave it out, or shorten it",
        ),
        (
            {"smiles": 5},
            "the SMILES: Input should be a valid string; see /openapi.json for what is asked",
        ),
    ],
)
def test_what_is_wrong_with_the_one_item_is_told_in_words(molecules, body, said):
    answer = molecules.post("/explain", json=body)
    assert (answer.status_code, answer.json()) == (422, {"error": said})


def test_an_item_of_a_file_is_explained(molecules):
    files = [("files", ("set.csv", f"smiles\nCCO\n{TOLUENE}\n"))]
    found = molecules.post("/explain/file", files=files, data={"item": "1"}).json()
    assert found == molecules.post("/explain", json={"smiles": TOLUENE}).json()
    answer = molecules.post("/explain/file", files=files, data={"item": "2"})
    assert answer.json() == {
        "error": "item 2 was asked for, but there are 2 graphs, counted from 0"
    }


def test_a_graph_too_large_to_explain_is_refused(mutag_run):
    answer = client_of(mutag_run, limits=Limits(explained=3)).post(
        "/explain", json={"smiles": "CCCC"}
    )
    assert answer.status_code == 413
    assert answer.json()["error"].startswith(
        "the graph has 4 nodes; explanations are made for graphs of up to 3"
    )


class Ending(Deadline):
    """A time that is over at its n-th look."""

    def __init__(self, last):
        super().__init__(1_000)
        self.last, self.looks = last, 0

    def check(self):
        self.looks += 1
        if self.looks == self.last:
            self.end()
        super().check()


@pytest.mark.parametrize("change", [False, True])
def test_an_explanation_ends_at_the_first_look_after_its_time(mutag_run, change):
    work, item = Work(Served.load(mutag_run), Limits()), edgnn.from_smiles("Cc1ccccc1O")
    whole = Ending(None)
    work.explain_item(item, None, whole, change=change)
    assert whole.looks > 2 + change  # while it works, and not only when all is done
    for last in range(1, whole.looks + 1):
        deadline = Ending(last)
        with pytest.raises(DeadlineError):
            work.explain_item(item, None, deadline, change=change)
        assert deadline.looks == last


# Colors


def test_colors_are_those_of_the_refinement(molecules):
    found = molecules.post("/colors", json={"smiles": TOLUENE, "rounds": 3}).json()
    coloring = edgnn.wl.refine(edgnn.from_smiles(TOLUENE), 3)
    assert found["scheme"] == "separate"
    assert [part["colors"] for part in found["rounds"]] == [
        coloring.num_colors(round) for round in range(4)
    ]
    for part in found["rounds"]:
        assert sum(entry["count"] for entry in part["legend"]) == 10
        assert part["picture"].startswith("<svg")
    assert found["rounds"][3]["seen"] is None


def test_colors_are_those_of_entering_edges_where_the_model_sees_no_others(tmp_path):
    graphs = edgnn.Graphs.from_edges([(0, 1), (0, 2), (3, 4)], sizes=[3, 2])
    for direction, colors in (("both", 4), ("in", 2)):
        model = edgnn.GraphClassifier(
            direction=direction, layers=2, max_epochs=1, hidden=4, random_state=0
        )
        model.fit(graphs, [0, 1]).save(tmp_path / direction)
        asked = {"graph": {"num_nodes": 5, "edges": [[0, 1], [0, 2], [3, 4]]}}
        rounds = client_of(tmp_path / direction).post("/colors", json=asked).json()["rounds"]
        assert rounds[-1]["colors"] == colors


def test_colors_never_seen_are_marked(molecules):
    rounds = molecules.post("/colors", json={"smiles": "CCO"}).json()["rounds"]
    share = molecules.post("/predict", json={"smiles": ["CCO"]}).json()["predictions"][0][
        "familiarity"
    ]["seen_share"]
    assert [part["new_nodes"] for part in rounds] == [round(3 * (1 - one)) for one in share]
    last = rounds[-1]
    assert last["new_nodes"] > 0
    assert last["seen"] is False
    assert last["picture"].count('class="new"') == last["new_nodes"]
    assert rounds[0]["seen"] is True
    assert 'class="new"' not in rounds[0]["picture"]
    assert (
        sum(entry["count"] for entry in last["legend"] if entry["seen"] is False)
        == last["new_nodes"]
    )


def test_the_color_of_a_node_is_told_in_words(nodes):
    rounds = nodes.post("/colors", json={"node": "p12"}).json()["rounds"]
    assert len(rounds) == 3
    assert rounds[0]["meaning"] == "person"
    assert "likes" in rounds[1]["meaning"]
    assert all(part["seen"] for part in rounds)
    assert "p12" in rounds[2]["picture"]


def test_large_graphs_are_told_of_but_not_drawn(molecules):
    found = molecules.post("/colors", json={"smiles": "C" * 200}).json()
    assert [part["picture"] for part in found["rounds"]] == [None] * 3
    assert found["rounds"][0]["legend"][0]["count"] == 200


def test_colors_of_a_digraph_have_arrows_and_rings(nodes):
    graph = {
        "node_labels": ["person", "robot"],
        "edges": [[0, 1, "knows"]],
        "node_names": ["a", "b"],
    }
    found = nodes.post("/colors", json={"graph": graph, "node": "b"}).json()["rounds"]
    assert found[0]["seen"] is False
    assert "marker-end" in found[0]["picture"]
    assert found[0]["picture"].count('class="new"') == 1


def test_of_many_neighbors_those_that_look_alike_are_drawn_as_one(nodes):
    """The hub knows 60 people, of whom 20 know somebody else, and two robots know the hub."""
    edges = [[0, person, "knows"] for person in range(1, 61)]
    edges += [[person, person + 63, "knows"] for person in range(1, 21)]
    edges += [[61, 0, "knows"], [62, 0, "knows"], [62, 0, "knows"]]
    labels = ["person"] * 61 + ["robot"] * 2 + ["person"] * 21
    graph = {"node_labels": labels, "edges": edges, "node_names": [f"n{k}" for k in range(84)]}
    rounds = nodes.post("/colors", json={"graph": graph, "node": "n0"}).json()["rounds"]
    for entry, groups in zip(rounds[:2], (["60×", "n61", "n62"], ["40×", "20×"]), strict=True):
        assert entry["drawn"].startswith("this node and its 62 neighbors, those that look alike")
        for name in ("n0", *groups):
            assert f">{name}</text>" in entry["picture"]
        assert entry["picture"].count("<circle") < 10
    counts = [color["count"] for color in rounds[0]["legend"]]
    assert counts == [61, 2]
    assert "60× person" in rounds[1]["meaning"]


def test_of_very_many_kinds_of_neighbors_the_most_frequent_are_drawn(nodes):
    edges = [[0, other, f"relation {other}"] for other in range(1, 100)]
    graph = {
        "node_labels": ["person"] * 100,
        "edges": edges,
        "node_names": list(map(str, range(100))),
    }
    rounds = nodes.post("/colors", json={"graph": graph, "node": "0"}).json()["rounds"]
    assert rounds[0]["drawn"].endswith("(without 59 less frequent kinds)")
    assert rounds[0]["picture"].count('class="edge"') == 40


def test_what_a_model_of_nodes_explains_is_one_node(nodes):
    graph = {"node_labels": ["person"], "edges": []}
    answer = nodes.post("/explain", json={"graph": graph})
    assert answer.status_code == 422
    assert (
        answer.json()["error"] == "this is a model of nodes: name the node of the graph with `node`"
    )


@pytest.mark.parametrize("path", ["/predict", "/explain"])
def test_answers_do_not_depend_on_who_asks_at_the_same_time(molecules, path):
    requests = [{"smiles": smiles} for smiles in ("C" * n + "N(=O)=O" for n in range(1, 9))]
    if path == "/predict":
        requests = [{"smiles": [request["smiles"]]} for request in requests]

    def ask(request):
        return molecules.post(path, json=request).json()

    alone = list(map(ask, requests))
    with ThreadPoolExecutor(8) as pool:
        for _ in range(2):
            assert list(pool.map(ask, requests)) == alone


def test_a_graph_without_nodes_has_no_colors(molecules):
    answer = molecules.post("/colors", json={"graph": {"num_nodes": 0, "edges": []}})
    assert (answer.status_code, answer.json()["error"]) == (
        422,
        "the graph has no nodes, so there is nothing to color",
    )


def test_a_graph_of_very_many_edges_is_colored_in_words_only(molecules):
    graph = {"node_labels": ["C", "C"], "edges": [[0, 1, "single"]] * 1_001}
    rounds = molecules.post("/colors", json={"graph": graph}).json()["rounds"]
    assert [entry["picture"] for entry in rounds] == [None] * len(rounds)
    assert rounds[0]["legend"]


def test_of_a_large_graph_fewer_changes_are_tried(molecules, monkeypatch):
    tried = []
    monkeypatch.setattr(
        "edgnn.serve._work.counter_example",
        lambda estimator, item, *, most, **_: tried.append(most),
    )
    for length in (3, 600):
        assert (
            molecules.post(
                "/explain", json={"smiles": "C" * length, "counter_example": True}
            ).status_code
            == 200
        )
    assert tried[0] == 5_000 > tried[1]
