import jsonschema
import pytest

import edgnn
from edgnn.models import GraphClassifier, NodeClassifier, RGCNNodeClassifier
from edgnn.serve import Limits, create_app
from serve_runs import client_of


def description(client):
    return client.get("/openapi.json").json()


def request_schema(client, name):
    return {"$ref": f"#/components/schemas/{name}", "components": description(client)["components"]}


def is_described(client, body, name="PredictRequest"):
    return jsonschema.Draft202012Validator(request_schema(client, name)).is_valid(body)


GRAPH = {"node_labels": ["C"], "edges": []}


@pytest.mark.parametrize(
    ("body", "described"),
    [
        ({}, False),
        ({"smiles": None}, False),
        ({"smiles": ["C"], "graphs": [GRAPH], "nodes": ["a"], "examples": ["1"]}, False),
        ({"smiles": ["C"], "examples": ["1"]}, False),
        ({"smiles": ["C"]}, True),
        ({"smiles": ["C"], "graphs": None, "bad": "skip"}, True),
        ({"smiles": ["C"] * 4}, False),
        ({"smiles": []}, False),
        ({"graphs": [GRAPH]}, True),
        ({"graphs": [{"node_labels": ["C"], "edges": [["a", "b"]]}]}, False),
        ({"graphs": [{"node_labels": ["C", "O"], "edges": [[0.0, 1.0, "single"]]}]}, True),
        ({"examples": ["1"]}, True),
        ({"nodes": ["1"]}, False),
        ({"graphs": [GRAPH], "nodes": ["1"]}, False),
        ({"bad": "skip"}, False),
    ],
)
def test_a_request_is_described_where_it_is_answered(mutag_run, body, described):
    client = client_of(mutag_run, limits=Limits(items=3))
    assert is_described(client, body) is described
    assert (client.post("/predict", json=body).status_code == 200) is described


@pytest.mark.parametrize(
    ("body", "described"),
    [
        ({}, False),
        ({"smiles": "C"}, False),
        ({"node": "p1"}, True),
        (
            {"node": "a", "graph": {"node_labels": ["person"], "edges": [], "node_names": ["a"]}},
            True,
        ),
        ({"graph": {"node_labels": ["person"], "edges": []}}, False),
        ({"example": "p1"}, False),
    ],
)
def test_of_one_item_a_model_of_nodes_takes_what_it_describes(nodes, body, described):
    for path, name in (("/explain", "ExplainRequest"), ("/colors", "ColorsRequest")):
        assert is_described(nodes, body, name) is described
        assert (nodes.post(path, json=body).status_code == 200) is described


def test_limits_are_described(mutag_run):
    parts = description(client_of(mutag_run, limits=Limits(items=3, nodes=5, edges=7, files=2)))[
        "components"
    ]["schemas"]
    assert parts["PredictRequest"]["properties"]["smiles"]["anyOf"][0]["maxItems"] == 3
    assert parts["GraphIn"]["properties"]["node_labels"]["anyOf"][0]["maxItems"] == 5
    assert parts["GraphIn"]["properties"]["edges"]["maxItems"] == 7
    forms = [part["properties"] for part in parts.values() if "files" in part.get("properties", {})]
    assert [
        (form["files"]["minItems"], form["files"]["maxItems"], form["bad"]["enum"])
        for form in forms
    ] == [(1, 2, ["error", "skip"])] * 3


def saved(estimator, path):
    estimator.save(path)
    return path


@pytest.fixture(scope="module")
def digraphs():
    return edgnn.Graphs.from_edges(
        [(0, 1), (2, 3)],
        sizes=[2, 2],
        node_labels=["a", "b", "a", "a"],
        edge_labels=[(1, "x"), (2, "y")],
    )


@pytest.fixture(scope="module")
def runs(digraphs, mutag_run, node_run, value_run, tmp_path_factory):
    """Run folders of models that take different things."""
    place, options = (
        tmp_path_factory.mktemp("kinds"),
        {"max_epochs": 1, "hidden": 4, "random_state": 0},
    )
    bare = edgnn.Graphs.from_edges([(0, 1), (2, 3)], sizes=[2, 2])
    featured = edgnn.Graphs.from_edges(
        [(0, 1), (2, 3)], sizes=[2, 2], node_features=[[1.0, 2.0]] * 4, edge_features=[[1.0]] * 2
    )
    named = edgnn.Graphs.from_edges(
        [(0, 1), (1, 2)], edge_labels=["x", "y"], node_names=["n0", "n1", "n2"]
    )
    return {
        "molecules": mutag_run,
        "values": value_run,
        "nodes": node_run,
        "digraphs": saved(GraphClassifier(**options).fit(digraphs, [0, 1]), place / "digraphs"),
        "bare": saved(GraphClassifier(**options).fit(bare, [0, 1]), place / "bare"),
        "featured": saved(GraphClassifier(**options).fit(featured, [0, 1]), place / "featured"),
        "named": saved(NodeClassifier(**options).fit(named.nodes, [0, 1, 0]), place / "named"),
        "featureless": saved(
            RGCNNodeClassifier(**options).fit(named.nodes, [0, 1, 0]), place / "featureless"
        ),
    }


NODES = {"node_names": ["a", "b"]}
FEATURES = {"node_features": [[0.0, 0.0]] * 2, "edge_features": [[0.0]]}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("molecules", {"smiles": ["CCO"]}),
        ("values", {"smiles": ["CCO"]}),
        ("nodes", {"nodes": ["p1", "p2"]}),
        ("digraphs", {"graphs": [{"node_labels": ["a", "b"], "edges": [[0, 1, [1, "x"]]]}]}),
        ("bare", {"graphs": [{"num_nodes": 2, "edges": [[0, 1]]}]}),
        ("featured", {"graphs": [{"num_nodes": 2, "edges": [[0, 1]], **FEATURES}]}),
        ("named", {"graphs": [{"edges": [[0, 1, "x"]], **NODES}], "nodes": ["a"]}),
        ("featureless", {"graphs": [{"edges": [[0, 1, "x"]], "node_names": ["n0", "n1"]}]}),
    ],
)
def test_every_kind_of_model_answers_what_it_describes(runs, kind, body):
    client = client_of(runs[kind])
    assert is_described(client, body)
    answer = client.post("/predict", json=body)
    assert answer.status_code == 200, answer.text
    one = {
        name if name == "smiles" else name.removesuffix("s"): values[0]
        for name, values in body.items()
    }
    if kind == "featureless":
        one["node"] = "n0"
    for path, name in (("/explain", "ExplainRequest"), ("/colors", "ColorsRequest")):
        assert is_described(client, one, name)
        answer = client.post(path, json=one)
        assert answer.status_code == 200, answer.text


def test_the_description_is_made_once(mutag_run):
    app = create_app(mutag_run)
    assert app.openapi() is app.openapi()
