import shutil

import pytest

import edgnn
from edgnn.models import GraphClassifier
from edgnn.serve import create_app
from edgnn.training import RunFolder
from serve_runs import client_of


def test_without_data_there_is_nothing_to_pick(node_run, tmp_path):
    moved = tmp_path / "run"
    shutil.copytree(node_run, moved)
    config = RunFolder.open(moved).config["source"] | {"name": str(tmp_path / "gone")}
    RunFolder.open(moved).update_config(source=config)
    with pytest.warns(
        UserWarning,
        match=r"nothing can be picked by name: .*gone is not there any more\); name it with --source",
    ):
        client = client_of(moved)
    assert client.get("/model").json()["source"] is None
    assert client.get("/names").json() == {"source": None, "total": 0, "names": [], "texts": []}
    answer = client.post("/predict", json={"nodes": ["p1"]})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("no data is loaded to pick from")


def test_graphs_of_tables_are_loaded_by_what_the_model_is_of(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "graphs.csv").write_text(
        "graph,kind\n" + "".join(f"g{n},{'xy'[n % 2]}\n" for n in range(6))
    )
    (folder / "nodes.csv").write_text(
        "graph,node,label\n" + "".join(f"g{n},{v},a\n" for n in range(6) for v in range(2))
    )
    (folder / "edges.csv").write_text(
        "graph,source,target,label\n" + "".join(f"g{n},0,1,e\n" for n in range(6))
    )
    data = edgnn.load_dataset(folder, graph_target="kind")
    GraphClassifier(max_epochs=1, hidden=4, random_state=0).fit(data.graphs, data.targets).save(
        tmp_path / "run"
    )
    source = {
        "name": str(folder),
        "task": None,
        "target": ["kind"],
        "options": {},
        "format": "tables",
    }
    RunFolder.open(tmp_path / "run").update_config(
        source=source, class_names=list(data.class_names)
    )
    client = client_of(tmp_path / "run")
    assert client.get("/model").json()["source"] == "tables"
    assert client.get("/names").json()["names"] == [f"g{n}" for n in range(6)]
    assert client.post("/predict", json={"examples": ["g3"]}).status_code == 200


def test_data_of_the_training_that_does_not_fit_any_more_is_told_and_left(
    node_run, people, tmp_path
):
    shutil.copytree(node_run, tmp_path / "run")
    shutil.copytree(people, tmp_path / "people")
    (tmp_path / "people" / "edges.csv").write_text("source,target,label\np0,p1,other\n")
    (tmp_path / "people" / "nodes.csv").write_text("node,label,group\np0,robot,x\np1,robot,y\n")
    config = RunFolder.open(tmp_path / "run").config["source"] | {"name": str(tmp_path / "people")}
    RunFolder.open(tmp_path / "run").update_config(source=config)
    with pytest.warns(UserWarning, match="the model has learned none of the labels"):
        client = client_of(tmp_path / "run")
    assert client.get("/model").json()["source"] is None


def test_of_a_source_of_graphs_some_may_be_new(mutag_run, tmp_path):
    (tmp_path / "set.csv").write_text("smiles\n[Xe]\nCCO\n")
    client = client_of(mutag_run, source=tmp_path / "set.csv")
    assert client.get("/names").json()["names"] == ["[Xe]", "CCO"]


def test_a_source_that_does_not_fit_is_an_error_where_it_was_asked_for(node_run, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,label\na,b,other\n")
    with pytest.raises(edgnn.errors.UnknownLabelError, match="has learned none of the labels"):
        create_app(node_run, source=tmp_path / "edges.csv")


def test_a_guessed_name_is_not_fetched(mutag_run, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "edgnn.io.datasets._load.ensure", lambda *given, **options: asked.append(given)
    )
    with pytest.raises(edgnn.errors.DatasetError, match="ENZYMES-XY is not on this machine"):
        create_app(mutag_run, source="ENZYMES-XY")
    assert asked == []
