import importlib.metadata
import json
import re
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings

import edgnn
from edgnn import GraphClassifier, GraphRegressor, Graphs, NodeClassifier, NodeRegressor
from edgnn.errors import EstimatorError, ModelError
from edgnn.graphs import Nodes, Vocabulary
from edgnn.models import GINGraphClassifier, RGCNGraphClassifier, RGCNNodeClassifier
from edgnn.models.networks import _export_predict as script
from edgnn.models.networks._export_check import check_program, inputs_for
from edgnn.models.networks._export_program import program_of
from strategies import graphs as random_graphs

QUICK = {"hidden": 8, "max_epochs": 2, "members": 2, "random_state": 0}
CPU = torch.device("cpu")
CONVS = ("edgnn", "gnn", "joint", "rgcn", "gine")


def molecules(features=False, labels=0):
    """Thirty graphs of MUTAG and their classes; with features, or with many labels, made up."""
    data = edgnn.load_dataset("MUTAG")
    graphs, generator = data.graphs[:30], torch.Generator().manual_seed(0)
    if features:
        graphs = graphs._with(
            node_features=torch.randn(graphs.num_nodes, 3, generator=generator),
            edge_features=torch.randn(graphs.num_edges, 2, generator=generator),
        )
    if labels:
        graphs = graphs.with_node_labels([number % labels for number in range(graphs.num_nodes)])
        of_edges = Vocabulary(f"e{number}" for number in range(labels))
        graphs = graphs._with(
            edge_label=torch.arange(graphs.num_edges) % labels, edge_vocabulary=of_edges
        )
    return graphs, np.asarray(data.targets[:30])


def checked(estimator):
    with torch.no_grad():
        found = check_program(estimator, program_of(estimator), CPU)
    assert found.graphs > 20
    return found


@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"direction": "in", "multiplicity": "per-edge", "bias": True, "readout": "mean"},
        {
            "degree_labels": "both",
            "multiplicity": "per-edge",
            "readout": "max",
            "include_input": False,
            "batch_norm": False,
        },
        {
            "degree_labels": "out",
            "calibrate": True,
            "activation": "tanh",
            "embedding": 4,
            "layers": 3,
        },
    ],
    ids=["plain", "in", "degrees", "embedded"],
)
def test_program_predicts_as_its_estimator(conv, options):
    checked(GraphClassifier(conv=conv, **QUICK, **options).fit(*molecules()))


@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize("direction", ["both", "in"])
def test_features_in_double_precision_agree_to_rounding(conv, direction):
    options = {"precision": "float64", "direction": direction, "bias": True}
    found = checked(GraphClassifier(conv=conv, **QUICK, **options).fit(*molecules(features=True)))
    assert found.tolerance == 1e-12


@pytest.mark.parametrize("conv", ["edgnn", "joint", "rgcn"])
@pytest.mark.parametrize("features", [False, True])
def test_many_labels_are_looked_up(conv, features):
    checked(
        GraphClassifier(conv=conv, readout="mean", **QUICK).fit(*molecules(features, labels=70))
    )


def test_edge_embeddings_and_bases():
    checked(GraphClassifier(edge_embedding=3, **QUICK).fit(*molecules(features=True)))
    checked(GraphClassifier(conv="rgcn", bases=2, **QUICK).fit(*molecules()))


def test_values_come_in_their_own_units_and_shapes():
    graphs, y = molecules()
    one = GraphRegressor(**QUICK).fit(graphs, 1000 + 50.0 * y)
    several = GraphRegressor(**QUICK).fit(graphs, np.stack([y, 100.0 * y], axis=1))
    for regressor, shape in ((one, (30,)), (several, (30, 2))):
        checked(regressor)
        found = program_of(regressor)(**inputs_for(regressor._encoded(graphs), torch.float32))
        assert found.shape == shape
        assert found.numpy() == pytest.approx(regressor.predict(graphs), rel=1e-5)


def test_several_labels_have_a_probability_each():
    graphs, y = molecules()
    classifier = GraphClassifier(**QUICK).fit(graphs, np.stack([y, 1 - y, y], axis=1))
    checked(classifier)
    found = program_of(classifier)(**inputs_for(classifier._encoded(graphs), torch.float32))
    assert found.numpy() == pytest.approx(classifier.predict_proba(graphs), abs=1e-5)


@pytest.mark.parametrize(
    ("conv", "head"), [*zip(CONVS, ["linear", "conv"] * 3, strict=False), ("edgnn", "conv")]
)
def test_programs_of_nodes(conv, head):
    graphs, _ = molecules()
    y = (graphs.node_label == 0).long().numpy()
    checked(NodeClassifier(conv=conv, head=head, degree_labels="in", **QUICK).fit(graphs.nodes, y))


def test_programs_of_rivals():
    graphs, y = molecules()
    of_nodes = (graphs.node_label == 0).long().numpy()
    rivals = [
        RGCNGraphClassifier(max_epochs=2, random_state=0),
        GINGraphClassifier(max_epochs=2, random_state=0),
    ]
    for rival in rivals:
        checked(rival.fit(graphs, y))
    for options in (
        {},
        {"bases": 2},
    ):  # every node a label of its own, with weights for the pairs that occur or for all
        checked(
            RGCNNodeClassifier(max_epochs=2, random_state=0, **options).fit(graphs.nodes, of_nodes)
        )
    checked(NodeRegressor(**QUICK).fit(graphs.nodes, 3.0 * of_nodes))


def test_training_without_any_edge():
    graphs = Graphs.from_edges([], sizes=[3] * 12, node_labels=["a", "b", "c"] * 12)
    for conv in CONVS:
        checked(GraphClassifier(conv=conv, **QUICK).fit(graphs, np.arange(12) % 2))


@pytest.mark.parametrize("conv", CONVS)
def test_drawn_multigraphs_of_users_labels(conv):
    graphs, y = molecules()
    graphs = graphs.with_node_labels(
        [("C", "N", "O")[number % 3] for number in range(graphs.num_nodes)]
    )
    classifier = GraphClassifier(conv=conv, **QUICK).fit(graphs, y)
    program = program_of(classifier)

    @settings(max_examples=20)
    @given(random_graphs(features=False, min_graphs=1))
    def agrees(drawn):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", edgnn.models.UnknownLabelWarning)
            expected, encoded = classifier.predict_proba(drawn), classifier._encoded(drawn)
        found = program(**inputs_for(encoded, torch.float32))
        assert found.numpy() == pytest.approx(expected, abs=1e-5)

    agrees()


def test_any_number_outside_the_range_is_an_unknown_label():
    for conv in CONVS:
        classifier = GraphClassifier(conv=conv, **QUICK).fit(*molecules())
        program = program_of(classifier)
        strange = Graphs.from_edges(
            [(0, 1), (1, 2), (2, 0)], node_labels=["C", "strange", "N"], edge_labels=["s", "?", "s"]
        )
        inputs = inputs_for(classifier._coder.encode(strange), torch.float32)
        labels = {
            "node_label": len(classifier._coder.node_vocabulary),
            "edge_label": len(classifier._coder.edge_vocabulary),
        }
        expected = program(**inputs)
        for number in (-1, 10**12):
            other = {
                name: torch.where(inputs[name] >= size, number, inputs[name])
                for name, size in labels.items()
            }
            assert not torch.equal(other["node_label"], inputs["node_label"])
            assert torch.equal(program(**(inputs | other)), expected)


def test_program_with_another_weight_is_refused():
    classifier = GraphClassifier(**QUICK).fit(*molecules())
    names = ("convs.0.W2", "convs.1.W4", "head.bias", "convs.1.norm.weight")
    for name in names:
        program = program_of(classifier)
        program.get_parameter(f"model.{name}")[..., 0].add_(0.5)
        with pytest.raises(
            ModelError, match=r"differs by .* from the estimator for \d+ random graphs"
        ):
            check_program(classifier, program, CPU)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A calibrated ensemble of graphs with features, and the folder that it was exported into."""
    classifier = GraphClassifier(conv="edgnn", calibrate=True, degree_labels=None, **QUICK).fit(
        *molecules(features=True)
    )
    folder = tmp_path_factory.mktemp("exported") / "model"
    classifier.export(folder)
    return classifier, folder


@pytest.mark.slow
def test_sizes_of_zero_and_one_run(exported):
    classifier, folder = exported
    program = torch.export.load(folder / "model.pt2").module()
    shapes = [
        ([], []),
        ([0], []),
        ([1], []),
        ([1], [(0, 0)]),
        ([3], []),
        ([0, 0], []),
        ([2, 1], [(0, 1)]),
        ([2] * 300, []),
    ]
    for sizes, edges in shapes:
        graphs = Graphs.from_edges(
            edges,
            sizes=sizes,
            node_features=torch.ones(sum(sizes), 3),
            edge_features=torch.ones(len(edges), 2),
        )
        encoded = classifier._coder.encode(graphs)
        found = program(**inputs_for(encoded, torch.float32))
        assert found.shape == (len(sizes), 2)
        if sizes:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", edgnn.models.UnknownLabelWarning)
                expected = classifier.predict_proba(graphs)
            assert found.detach().numpy() == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_folder_says_what_the_numbers_mean(exported):
    classifier, folder = exported
    assert sorted(path.name for path in folder.iterdir()) == [
        "check.json",
        "labels.json",
        "model.pt2",
        "predict.py",
    ]
    about = json.loads((folder / "labels.json").read_text())
    assert about["node_labels"] == list(classifier._coder.node_vocabulary)
    assert about["edge_labels"] == list(classifier._coder.edge_vocabulary)
    assert (about["classes"], about["names"]) == ([0, 1], ["0", "1"])
    names = [
        "node_label",
        "edge_source",
        "edge_target",
        "edge_label",
        "graph_offset",
        "node_features",
        "edge_features",
    ]
    assert list(about["inputs"]) == names
    assert about["inputs"]["edge_features"]["shape"] == ["edges", 2]
    assert (about["edgnn"], about["torch"]) == (edgnn.__version__, torch.__version__)


@pytest.mark.slow
def test_nothing_in_the_program_is_pickled(exported):
    with zipfile.ZipFile(exported[1] / "model.pt2") as archive:
        pickled = [
            info.filename
            for info in archive.infolist()
            if re.search(r"\.(pt|pkl)$", info.filename) and info.file_size
        ]
        assert pickled == []
        assert sum(".json" in name for name in archive.namelist()) >= 2


def bare_python(place, *words):
    """Run a script where there is torch, what torch says it needs, and nothing else: not edgnn, not numpy."""
    packages = Path(torch.__file__).parents[1]
    needed = {
        re.split(r"[ ;<>=!\[]", line)[0]
        for line in importlib.metadata.requires("torch")
        if "extra ==" not in line
    }
    needed |= {"torch", "torchgen", "functorch", "mpmath", "markupsafe"}
    place.mkdir()
    for name in needed:
        for found in (
            packages / name,
            packages / name.replace("-", "_"),
            packages / f"{name.replace('-', '_')}.py",
        ):
            if found.exists() and not (place / found.name).exists():
                (place / found.name).symlink_to(found)
    assert not {"edgnn", "numpy", "scipy", "sklearn"} & {path.name for path in place.iterdir()}
    start = "import runpy, sys; sys.path.append(sys.argv.pop(1)); del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
    quiet = (
        "-W",
        "error",
        "-W",
        "ignore:Failed to initialize NumPy:UserWarning",
    )  # torch tells that there is none
    command = [sys.executable, "-I", "-S", *quiet, "-c", start, str(place), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)


def as_json(graphs):
    return [
        {
            "node_labels": graph.node_labels,
            "edges": torch.stack([graph.edge_source, graph.edge_target], 1).tolist(),
            "edge_labels": graph.edge_labels,
        }
        for graph in graphs
    ]


@pytest.mark.slow
def test_fresh_graphs_in_a_process_that_has_only_torch(tmp_path):
    data = edgnn.load_dataset("MUTAG")
    classifier = GraphClassifier(**QUICK).fit(data.graphs[:30], data.targets[:30])
    classifier.export(tmp_path / "model")
    fresh = data.graphs[30:]
    (tmp_path / "graphs.json").write_text(json.dumps(as_json(fresh)))
    done = bare_python(
        tmp_path / "bare", tmp_path / "model" / "predict.py", tmp_path / "graphs.json"
    )
    unknown = 'node labels that the model does not know count for nothing: "Br"\n'
    assert (done.returncode, done.stderr) == (0, unknown)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", edgnn.models.UnknownLabelWarning)
        expected = classifier.predict_proba(fresh)
    assert [row["graph"] for row in rows] == list(range(len(fresh)))
    assert np.array([list(row["probability"].values()) for row in rows]) == pytest.approx(
        expected, abs=1e-5
    )
    assert [row["prediction"] for row in rows] == [
        str(value) for value in classifier.classes_[expected.argmax(1)]
    ]


@pytest.mark.slow
def test_nodes_in_a_process_that_has_only_torch(tmp_path):
    edges, labels = (
        [(node, (node + 1) % 12) for node in range(12)],
        [("x", node % 2) for node in range(12)],
    )
    graph = Graphs.from_edges(edges, node_labels=labels, edge_labels=["knows", "likes", "ß"] * 4)
    regressor = NodeRegressor(conv="rgcn", degree_labels=None, precision="float64", **QUICK).fit(
        graph.nodes, np.arange(12.0)
    )
    regressor.export(tmp_path / "model")
    (tmp_path / "graphs.json").write_text(json.dumps([as_json([graph])[0] | {"nodes": [7, 0]}]))
    done = bare_python(
        tmp_path / "bare", tmp_path / "model" / "predict.py", tmp_path / "graphs.json"
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["graph"], row["node"]) for row in rows] == [(0, 7), (0, 0)]
    assert [row["prediction"] for row in rows] == pytest.approx(
        regressor.predict(Nodes(graph, [7, 0])), abs=1e-12
    )


@pytest.mark.slow
def test_script_packs_what_the_program_takes(exported):
    classifier, folder = exported
    about = json.loads((folder / "labels.json").read_text())
    graphs, _ = molecules(features=True)
    plain = [
        given
        | {
            "node_features": graph.node_features.tolist(),
            "edge_features": graph.edge_features.tolist(),
        }
        for given, graph in zip(as_json(graphs), graphs, strict=True)
    ]
    inputs, items = script.pack(plain, about)
    for name, value in inputs_for(classifier._encoded(graphs), torch.float32).items():
        assert torch.equal(inputs[name], value), name
    assert items == [{"graph": number} for number in range(30)]
    for broken, rule in (
        (
            {"edges": [[0, 99]]},
            r"graph 0 has the edge \[0, 99\], but its nodes are \d+, numbered from 0",
        ),
        (
            {"node_features": [[1.0]]},
            r"graph 0 needs 3 features, all of them numbers, for each of its \d+ nodes",
        ),
    ):
        with pytest.raises(SystemExit, match=rule):
            script.pack([plain[0] | broken], about)


ABOUT = {
    "node_labels": ["C", "O", ["N", 1]],
    "edge_labels": ["single"],
    "node_features": 0,
    "edge_features": 0,
    "degree_labels": None,
    "level": "node",
    "number_type": "float32",
    "inputs": ["node_label", "nodes"],
}
CO = {"node_labels": ["C", "O"], "edges": [[0, 1]], "edge_labels": ["single"]}


@pytest.mark.parametrize(
    ("graph", "rule"),
    [
        (1, "graph 0 is 1: a graph is an object"),
        (
            CO | {"nodes_labels": []},
            "graph 0 has 'nodes_labels', which is none of node_labels, edges",
        ),
        (CO | {"node_labels": "CO"}, "graph 0 has \"CO\" for 'node_labels': a list is needed"),
        (CO | {"edges": 5}, "graph 0 has 5 for 'edges': a list is needed"),
        (
            CO | {"edges": [["0", 1]]},
            r'graph 0 has the edge \["0", 1\]: an edge is the numbers of two nodes',
        ),
        (CO | {"edges": [[0.5, 1]]}, r"the edge \[0.5, 1\]: an edge is the numbers of two nodes"),
        (CO | {"edges": [[0, 1, 1]]}, r"the edge \[0, 1, 1\]: an edge is the numbers of two nodes"),
        (
            CO | {"edges": [[0, -1]]},
            r"the edge \[0, -1\]: an edge is the numbers of two nodes, from 0 on",
        ),
        (CO | {"nodes": [2]}, "asks for the node 2, but its nodes are 2, numbered from 0"),
        (CO | {"nodes": [-1]}, "asks for the node -1, but"),
        (CO | {"nodes": ["C"]}, 'asks for the node "C", but'),
        (CO | {"edge_labels": []}, "0 edge_labels for its 1 edges: each needs one, or null"),
        (
            {"edges": [[0, 1]], "edge_labels": ["single"]},
            "0 node_labels for its 2 nodes: each needs one, or null",
        ),
        (
            CO | {"node_features": [[1.0], [2.0]]},
            "needs 0 features, all of them numbers, for each of its 2 nodes",
        ),
        ({"num_nodes": "x"}, "graph 0 has \"x\" for 'num_nodes': a whole number is needed"),
        ({"num_nodes": -3}, "graph 0 has -3 for 'num_nodes'"),
    ],
)
def test_script_tells_in_one_line_what_is_wrong_with_a_graph(graph, rule):
    with pytest.raises(SystemExit, match=rule) as ended:
        script.pack([graph], ABOUT)
    assert "\n" not in str(ended.value)


def test_script_takes_graphs_without_labels_where_the_model_has_none():
    for about in (
        ABOUT | {"node_labels": [None]},
        ABOUT | {"node_labels": [1, 2], "degree_labels": "in"},
    ):
        inputs, items = script.pack([{"edges": [[0, 2]], "edge_labels": ["single"]}], about)
        assert (len(inputs["node_label"]), items) == (
            3,
            [{"graph": 0, "node": node} for node in range(3)],
        )


def test_script_names_labels_that_the_model_does_not_know(capsys):
    script.warn_of_strangers([CO | {"node_labels": ["c", ["N", 1]]}], ABOUT)
    assert (
        capsys.readouterr().err
        == 'node labels that the model does not know count for nothing: "c"\n'
    )
    script.warn_of_strangers([CO], ABOUT)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (
            "{",
            r"graphs.json is no JSON \(.*\), and a list of graphs as JSON is needed; where edgnn is installed, .* --for RUN",
        ),
        (
            "smiles,name\nCCO,a\n",
            r"is no JSON .*: edgnn convert .*graphs.json graphs.json --for RUN \(the run folder that",
        ),
        (
            "{}",
            "holds no list of graphs; where edgnn is installed, this makes such a file: edgnn convert ",
        ),
        (None, r"^there is no file .*graphs.json$"),
    ],
)
def test_script_tells_in_one_line_what_is_wrong_with_a_file(tmp_path, text, rule):
    if text is not None:
        (tmp_path / "graphs.json").write_text(text)
    with pytest.raises(SystemExit, match=rule):
        script.read(str(tmp_path / "graphs.json"))


def test_script_names_what_it_answers_for():
    graph = CO | {"id": "methanol", "node_ids": ["c1", "o1"]}
    assert script.pack([graph, CO], ABOUT | {"level": "graph"})[1] == [
        {"graph": 0, "id": "methanol"},
        {"graph": 1},
    ]
    items = script.pack([graph | {"nodes": [1]}, CO], ABOUT)[1]
    assert items == [
        {"graph": 0, "node": 1, "id": "o1"},
        {"graph": 1, "node": 0},
        {"graph": 1, "node": 1},
    ]
    with pytest.raises(SystemExit, match="graph 0 has 1 node_ids for its 2 nodes"):
        script.pack([CO | {"node_ids": ["c1"]}], ABOUT)


def test_a_featureless_model_is_given_the_names_of_its_nodes(tmp_path):
    from edgnn.models import write_inputs

    graphs = Graphs.from_edges([(0, 1), (1, 2), (2, 0), (0, 2)], num_nodes=3)._with(
        node_names=np.array(["a", "b", "c"], object)
    )
    model = RGCNNodeClassifier(max_epochs=1, random_state=0).fit(graphs.nodes, [0, 1, 1])
    assert model._coder.identity
    write_inputs(model, graphs.nodes[[2, 0]], tmp_path / "graphs.json")
    (written,) = json.loads((tmp_path / "graphs.json").read_text())
    assert (written["node_labels"], written["node_ids"], written["nodes"]) == (
        ["a", "b", "c"],
        ["a", "b", "c"],
        [2, 0],
    )


@pytest.mark.slow
def test_script_refuses_a_device_that_is_not_there(exported, monkeypatch):
    monkeypatch.setattr(script, "HERE", exported[1])
    with pytest.raises(SystemExit, match="the device 'toaster' cannot be used here"):
        script.load({"device": "cpu"}, "toaster")


@pytest.mark.slow
def test_script_checks_itself_against_the_machine_of_the_export(exported, monkeypatch, capsys):
    monkeypatch.setattr(script, "HERE", exported[1])
    monkeypatch.setattr("sys.argv", ["predict.py", "--check"])
    script.main()
    assert re.match(
        r"3 predictions differ by at most \d\.\de-\d\d from those of the export",
        capsys.readouterr().out,
    )
    about = json.loads((exported[1] / "labels.json").read_text())
    with pytest.raises(SystemExit, match="this is not the same model"):
        script.check(about, lambda **inputs: torch.zeros(3, 2), "cpu")


def test_folder_that_is_no_exported_model_is_never_replaced(tmp_path):
    classifier = GraphClassifier(**QUICK).fit(*molecules())
    (tmp_path / "thesis.tex").write_text("years of work")
    for overwrite in (False, True):
        with pytest.raises(ModelError, match="exists and is no exported model"):
            classifier.export(tmp_path, overwrite=overwrite)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


@pytest.mark.slow
def test_exported_model_is_replaced_only_if_asked(exported, tmp_path, monkeypatch):
    classifier, _ = exported
    place = tmp_path / "model"
    place.mkdir()
    for name in ("model.pt2", "labels.json"):
        (place / name).write_text("old")
    with pytest.raises(ModelError, match="holds an exported model already"):
        classifier.export(place)
    assert (place / "labels.json").read_text() == "old"
    with monkeypatch.context() as patch:
        patch.setattr(
            torch.export,
            "export",
            lambda *_, **__: (_ for _ in ()).throw(ModelError("torch cannot")),
        )
        with pytest.raises(ModelError, match="torch cannot"):
            classifier.export(place, overwrite=True)
    assert (place / "labels.json").read_text() == "old"
    classifier.export(place, overwrite=True)
    assert json.loads((place / "labels.json").read_text())["format"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_unfitted_estimators_have_nothing_to_export(tmp_path):
    with pytest.raises(EstimatorError, match="call fit before export"):
        GraphClassifier().export(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.gpu
def test_program_for_cuda(tmp_path):
    classifier = GraphClassifier(device="cuda", **QUICK).fit(*molecules())
    assert classifier.export(tmp_path / "model").device == "cuda"


def test_several_labels_are_predicted_by_their_names():
    about = {"task": "labels", "names": ["soluble", "toxic", "odd"]}
    assert script.described([0.9, 0.5, 0.51], about)["prediction"] == ["soluble", "odd"]
