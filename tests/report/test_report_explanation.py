import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import edgnn
from edgnn import Graphs
from edgnn.explain import (
    Change,
    CounterExample,
    Explained,
    counter_example,
    counter_text,
    explain,
    fidelity,
    fidelity_text,
    relations_of,
)
from edgnn.report import (
    STYLE,
    ReportError,
    draw_counter_example,
    draw_explanation,
    read_report,
    write_explanations,
)
from edgnn.report.draw import draw_attribution, signed

pytest.importorskip("rdkit")

IRI = "http://example.org/"
QUICK = {"hidden": 8, "max_epochs": 8, "random_state": 0}


@pytest.fixture(scope="module")
def mutag():
    return edgnn.load_dataset("MUTAG")


@pytest.fixture(scope="module")
def molecule_item(mutag):
    model = edgnn.GraphClassifier(**QUICK).fit(mutag.graphs[:80], mutag.targets[:80])
    graph = mutag.graphs[0]
    found = explain(model, graph)
    faith = fidelity(model, found, take="label", random_sets=3)
    return Explained(
        found, "first", faith, counter_example(model, graph), True, tuple(mutag.class_names)
    )


def knowledge(hostile=""):
    """Twelve people, of whom those that work at the lab are of group x, with names where the literals say so."""
    names = [f"{IRI}p{number}" for number in range(12)] + [
        f"{IRI}lab",
        f"{IRI}shop",
        f'"Ada{hostile}"',
    ]
    edges = [(number, 12 + number % 2) for number in range(12)] + [(12, 13), (0, 14)]
    labels = [f"{IRI}worksAt"] * 12 + [f"{IRI}sells{hostile}", f"{IRI}name"]
    return Graphs.from_edges(edges, node_names=names, edge_labels=labels)


def node_item(hostile=""):
    graph = knowledge(hostile)
    model = edgnn.NodeClassifier(**QUICK).fit(graph.nodes[:12], ["x", "y"] * 6)
    found = explain(model, graph.nodes[0])
    return Explained(
        found,
        "",
        fidelity(model, found, random_sets=3),
        counter_example(model, graph.nodes[0]),
        True,
    )


@pytest.fixture(scope="module")
def person():
    return node_item()


def test_a_molecule_is_drawn_as_one_and_shaded_by_what_is_asked_for(molecule_item):
    kinds = ("score", "removal", "label", "gradient")
    pictures = {by: draw_explanation(molecule_item, by=by) for by in kinds}
    assert len(set(pictures.values())) >= 3
    for picture in pictures.values():
        assert picture.count('class="atom-text"') == molecule_item.explanation.graph.num_nodes
    assert draw_explanation(molecule_item.explanation) == draw_explanation(molecule_item)
    with pytest.raises(
        edgnn.errors.EdgnnError, match="by='size': choose score, removal, label, gradient"
    ):
        draw_explanation(molecule_item, by="size")


def test_without_rdkit_molecules_are_drawn_as_graphs(molecule_item, monkeypatch):
    monkeypatch.setattr("edgnn.report._explanation_picture.find_spec", lambda name: None)
    assert 'class="node"' in draw_explanation(molecule_item)


def test_the_page_tells_of_everything(molecule_item, tmp_path):
    path = write_explanations(
        tmp_path / "page.html", [molecule_item], command="edgnn explain RUN MUTAG"
    )
    text = path.read_text()
    for heading in (
        "first",
        "What it rests on",
        "Labels",
        "Is it true to the model?",
        "What would change the prediction",
    ):
        assert f">{heading}</h" in text
    assert "edgnn explain RUN MUTAG" in text
    assert text.count('role="img"') == 2 + 2 * (molecule_item.counter_example is not None)
    assert "Relations and neighbors" not in text
    assert molecule_item.prediction_text(molecule_item.explanation.prediction) in (
        "mutagenic",
        "not mutagenic",
    )
    assert not re.search(
        r"https?://(?!www\.w3\.org)", text.partition('<script type="application/json"')[0]
    )


def test_the_numbers_are_in_the_page(molecule_item, tmp_path):
    data = read_report(
        write_explanations(tmp_path / "page.html", [molecule_item, molecule_item.explanation])
    )
    first, second = data["items"]
    assert data["kind"] == "explanations"
    assert first["complete"]
    assert first["explanation"]["value"] == pytest.approx(molecule_item.explanation.value)
    assert first["fidelity"]["random_sets"] == 3
    assert (second["name"], second["fidelity"], second["counter_example"]) == (
        "molecule",
        None,
        None,
    )
    json.dumps(data, allow_nan=False)


def test_several_items_have_a_list_of_contents(molecule_item, person, tmp_path):
    text = write_explanations(tmp_path / "page.html", [molecule_item, person]).read_text()
    links = re.findall(r'href="#(item-\d)"', text)
    assert links == ["item-0", "item-1"]
    assert all(f'id="{link}"' in text for link in links)


def test_nothing_is_no_page(tmp_path):
    with pytest.raises(ReportError, match="no explanations"):
        write_explanations(tmp_path / "page.html", [])
    assert not (tmp_path / "page.html").exists()


def test_a_person_is_explained_by_relations_and_neighbors(person, tmp_path):
    assert person.title == "Ada"
    relations = {(relation.name, relation.direction): relation for relation in relations_of(person)}
    assert ("worksAt", "out") in relations
    assert [name for name, _ in relations["worksAt", "out"].neighbors] == ["lab"]
    assert all(name.endswith("→ lab") for name, _ in relations["worksAt", "beyond"].neighbors)
    text = write_explanations(tmp_path / "page.html", [person]).read_text()
    assert "Relations and neighbors that matter" in text
    assert "→ to" in text
    assert "further away" in text


def test_nodes_without_names_keep_their_own_numbers(tmp_path):
    ends = [(0, 1), (1, 0)] + [(2 + number, 14 + number % 2) for number in range(12)]
    graph = Graphs.from_edges(ends, edge_labels=["knows"] * 2 + ["at"] * 12)
    model = edgnn.NodeClassifier(**QUICK | {"layers": 1}).fit(graph.nodes[2:14], ["x", "y"] * 6)
    found = explain(model, graph.nodes[7])
    assert found.node != 7
    item = Explained(
        found,
        "",
        fidelity(model, found, random_sets=3),
        counter_example(model, graph.nodes[7]),
        True,
    )
    assert item.title == "node 7"
    assert item.node_text(found.node) == "node 7"
    own = {str(node) for node in found.original_nodes.tolist()}
    assert set(re.findall(r"<title>node (\d+)", draw_explanation(item))) == own
    write_explanations(tmp_path / "page.html", [item])
    shown = re.sub(
        r"<script.*?</script>", "", (tmp_path / "page.html").read_text(), flags=re.DOTALL
    )
    assert set(re.findall(r"node (\d+)", shown)) == own


def test_nodes_of_graphs_without_names_have_their_numbers_in_the_picture(tmp_path):
    ring = [(place, (place + 1) % 4) for place in range(4)]
    data = Graphs.concat(
        [
            Graphs.from_edges(ring, edge_labels=list(labels))
            for labels in ("aaab", "abab", "aabb", "bbbb")
        ]
    )
    model = edgnn.GraphClassifier(**QUICK, validation=None).fit(data, [0, 1, 0, 1])
    item = Explained(explain(model, data[0]), "", None, counter_example(model, data[0]), True)
    shown = {f"node {place}" for place in range(4)}
    beside = r'class="name"[^>]*>([^<]*)</text>'
    assert set(re.findall(beside, draw_explanation(item))) == shown
    assert item.counter_example is not None
    for picture in draw_counter_example(item, item.counter_example):
        assert set(re.findall(beside, picture)) == shown
    told = re.findall(r"node \d", " ".join(map(item.reason_text, item.explanation.reasons(20))))
    assert told
    assert set(told) <= shown


def test_what_the_page_styles_is_none_of_the_pictures(molecule_item, person):
    chain = Graphs.from_edges(
        [(place, place + 1) for place in range(30)],
        node_labels=["person", "paper", "place"] * 10 + ["bot"],
    )
    pictures = [
        draw_explanation(molecule_item),
        draw_explanation(person),
        draw_attribution(chain, [1.0] * 31, None, largest=5),
    ]
    used = {
        name
        for text in pictures
        for names in re.findall(r'class="([^"]*)"', text)
        for name in names.split()
    }
    assert {"node", "edge", "label-row", "remark"} <= used
    assert not used & set(re.findall(r"\.([a-z][a-z-]*)", STYLE))


def test_changed_links_are_named_by_their_ends():
    graph = Graphs.from_edges(
        [(0, 1), (1, 2), (2, 1)], node_names=list("abc"), edge_labels=["knows", "likes", "likes"]
    )
    model = edgnn.NodeClassifier(**QUICK, validation=None).fit(graph.nodes, ["x", "y", "x"])
    item = Explained(explain(model, graph.nodes[1]))
    out = Change("link out", (0,), "knows", None, "")
    assert item.change_text(out) == "the knows link from a to b were gone"
    assert (
        item.change_text(Change("link out", (1, 2), "likes", None, ""))
        == "the likes link between b and c were gone"
    )
    changed = Change("link label", (0,), "knows", "likes", "")
    assert item.change_text(changed) == "the link from a to b were likes instead of knows"


def test_links_both_ways_have_no_direction():
    graph = Graphs.from_edges(
        [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3)],
        node_names=list("abcd"),
        edge_labels=["knows"] * 4 + ["likes"],
    )
    model = edgnn.NodeClassifier(**QUICK, validation=None).fit(graph.nodes, ["x", "y"] * 2)
    found = {
        (one.name, one.direction): one.neighbors[0][0]
        for one in relations_of(Explained(explain(model, graph.nodes[2])))
    }
    assert found == {("knows", "both"): "b", ("likes", "out"): "d", ("knows", "beyond"): "a – b"}


def test_neighbors_are_told_with_the_way_to_them():
    ends = [(0, 1), (1, 2), (2, 1), (3, 1), (3, 1), (1, 3), (1, 3), (0, 4), (4, 5)]
    labels = ["knows", "likes", "likes", "knows", "knows", "pays", "owes", "knows", "knows"]
    graph = Graphs.from_edges(ends, node_names=list("abcdef"), edge_labels=labels)
    model = edgnn.NodeClassifier(**QUICK | {"layers": 3}, validation=None).fit(
        graph.nodes, ["x", "y"] * 3
    )
    item = Explained(explain(model, graph.nodes[1]))
    ways = {
        item.texts[node]: item.path_text(node) for node in range(6) if node != item.explanation.node
    }
    assert ways == {
        "a": "knows → this",
        "c": "likes ↔ this",
        "d": "knows → this, pays ← this and 1 more",
        "e": "2 edges away",
        "f": "3 edges away",
    }
    told = {item.reason_text(reason) for reason in item.explanation.reasons(99)}
    assert "a (knows → this)" in told
    assert "e (2 edges away)" in told
    plain = Graphs.from_edges(ends[:2], node_names=list("abc"))
    item = Explained(
        explain(
            edgnn.NodeClassifier(**QUICK, validation=None).fit(plain.nodes, list("xyx")),
            plain.nodes[1],
        )
    )
    assert [item.path_text(node) for node in (0, 2)] == ["→ this", "← this"]


def test_the_picture_in_the_documentation_has_its_numbers_as_they_are_written_now():
    text = (Path(__file__).parents[2] / "docs/images/nitro.svg").read_text()
    numbers = re.findall(r"[+−]\d+(?:\.\d+)?", text)
    assert len(numbers) > 30
    assert [number for number in numbers if signed(float(number.replace("−", "-"))) != number] == []


def test_labels_of_edges_are_told_apart_from_the_edges(person):
    reason = next(one for one in person.explanation.reasons(99) if one.kind == "edge label")
    assert re.fullmatch(r"the label \w+ of (all \d+ edges|1 edge)", person.reason_text(reason))
    single = next(
        one
        for one in person.explanation.reasons(99)
        if one.kind == "edge label" and len(one.elements) == 1
    )
    assert re.fullmatch(r"the label \w+ of 1 edge", person.reason_text(single))


def test_relations_go_by_the_strength_of_their_strongest_link(person):
    strongest = [abs(relation.neighbors[0][1]) for relation in relations_of(person)]
    assert strongest == sorted(strongest, reverse=True)
    for relation in relations_of(person):
        amounts = [abs(amount) for _, amount in relation.neighbors]
        assert amounts == sorted(amounts, reverse=True)


def test_fidelity_is_told_beside_chance(molecule_item, person):
    text = fidelity_text(molecule_item)
    assert text.startswith("Without the labels of the 2 strongest atoms, the probability of ")
    assert "points; without as many at random, by " in text
    assert fidelity_text(person).startswith("Without the strongest node, ")
    assert fidelity_text(Explained(molecule_item.explanation)) == ""


def test_a_counter_example_is_told_and_outlined_before_and_after(person):
    found = person.counter_example
    assert found is not None
    now, then = found.before, found.prediction
    assert {now, then} == {"x", "y"}
    assert re.match(
        rf"If the (\w+ )?link (from|between) .*, the model would say {then} \(\d+\.\d %\)\.",
        counter_text(person),
    )
    before, after = draw_counter_example(person, found)
    assert 'class="mark"' in before
    assert f"before: {now}" in before
    assert f"after: {then}" in after
    assert counter_text(Explained(person.explanation, searched=True)).startswith(
        "No change of a few"
    )
    assert counter_text(Explained(person.explanation)) == ""


def test_a_changed_molecule_is_drawn_twice(molecule_item):
    assert molecule_item.counter_example is not None
    before, after = draw_counter_example(molecule_item, molecule_item.counter_example)
    assert before != after
    assert 'class="mark"' in before


def test_regressors_have_values_and_no_odds(mutag, tmp_path):
    sizes = mutag.graphs.sizes.numpy().astype(float)
    model = edgnn.GraphRegressor(**QUICK).fit(mutag.graphs[:60], sizes[:60])
    found = explain(model, mutag.graphs[0])
    item = Explained(found, "size", fidelity(model, found, random_sets=2))
    text = write_explanations(tmp_path / "page.html", [item]).read_text()
    assert item.prediction_text(found.prediction) in text
    assert "predicted value" in text
    assert "log-odds" not in text.partition("<script")[0]
    assert "odds" not in fidelity_text(item)
    assert ", the predicted value changes by " in fidelity_text(item)
    assert ">prediction</dt>" in text
    named = Explained(
        found, "size", fidelity(model, found, random_sets=2), class_names=("number of atoms",)
    )
    text = write_explanations(tmp_path / "page.html", [named, named]).read_text()
    assert re.search(r">size: number of atoms = [−\d.]+</a>", text)
    assert ">predicted number of atoms</dt>" in text
    assert "predicted value" not in text


def test_outputs_without_names_have_their_numbers(mutag, tmp_path):
    sizes = mutag.graphs.sizes.numpy().astype(float)[:60]
    model = edgnn.GraphRegressor(**QUICK).fit(mutag.graphs[:60], np.stack([sizes, -sizes], 1))
    item = Explained(explain(model, mutag.graphs[0], target=1), "both")
    assert item.said.startswith("output 1 = −")
    assert item.others == "output 1 is explained, one of 2 targets; --target chooses another: '0'."
    assert "predicted output 1" in write_explanations(tmp_path / "page.html", [item]).read_text()


def test_several_labels_are_named(mutag, tmp_path):
    labels = np.stack([mutag.targets[:60], 1 - mutag.targets[:60]], 1)
    model = edgnn.GraphClassifier(**QUICK).fit(mutag.graphs[:60], labels)
    found = explain(model, mutag.graphs[0])
    item = Explained(found, "both", class_names=("harmful", "harmless"))
    assert item.prediction_text(np.array([1, 0])) == "harmful"
    assert item.prediction_text(np.array([0, 0])) == "no label"
    text = write_explanations(tmp_path / "page.html", [item]).read_text()
    assert "harmless" in text


def test_pictures_of_hostile_names_are_well_formed(tmp_path):
    hostile = "</script><script>alert(1)</script>'&"
    item = node_item(hostile)
    ET.fromstring(draw_explanation(item, title=hostile))
    text = write_explanations(
        tmp_path / "page.html", [item], title=hostile, lead=hostile, command=hostile
    ).read_text()
    assert "<script>alert" not in text
    assert text.count("</script>") == 1


def test_all_that_a_counter_example_changes_is_drawn_and_outlined():
    """Changes far apart in a long path: the picture shows the ends of each, whatever else it leaves out."""
    ends = [pair for place in range(39) for pair in ((place, place + 1), (place + 1, place))]
    graph = Graphs.from_edges(ends, node_labels=["C", "N"] * 20)
    model = edgnn.GraphClassifier(**QUICK, validation=None).fit(
        Graphs.concat([graph, graph.reverse()]), ["x", "y"]
    )
    item = Explained(explain(model, graph, steps=2))
    changes = (
        Change("node label", (4,), "C", "N", ""),
        Change("link out", (54, 55), None, None, ""),
        Change("node label", (36,), "C", "N", ""),
    )
    kept = [edge for edge in range(len(ends)) if edge not in (54, 55)]
    changed = Graphs.from_edges([ends[edge] for edge in kept], node_labels=["C", "N"] * 20)
    found = CounterExample(
        changes, graph, changed, None, changed, "x", "y", np.array([0.4, 0.6]), True, 3
    )
    before, after = draw_counter_example(item, found)
    for picture, outlined in ((before, 3), (after, 2)):
        assert picture.count('class="mark"') == outlined
        for node in (4, 27, 28, 36):
            assert f"node {node}<" in picture


def test_numbers_of_links_without_labels_are_not_said_to_be_of_labels(tmp_path):
    graph = Graphs.from_edges([(0, 1), (1, 2), (2, 0)], node_labels=["a", "b", "b"])
    model = edgnn.GraphClassifier(**QUICK, validation=None).fit(
        Graphs.concat([graph, graph.reverse()]), ["x", "y"]
    )
    item = Explained(explain(model, graph, steps=2))
    assert item.labels_of_nodes_alone
    assert item.without == "without"
    told = {reason.kind: item.reason_text(reason) for reason in item.explanation.reasons()}
    assert told["node"].startswith("the label of node")
    assert told["link"].startswith("node")
    page = write_explanations(tmp_path / "a.html", [item]).read_text(encoding="utf-8")
    assert "What each label and edge is worth" in page
    caption = "when the label of this node is hidden from the model, or this edge taken out"
    assert caption in " ".join(page.split())
    labeled = graph.with_edge_labels(["s", "d", "s"])
    model = edgnn.GraphClassifier(**QUICK, validation=None).fit(
        Graphs.concat([labeled, labeled.reverse()]), ["x", "y"]
    )
    assert Explained(explain(model, labeled, steps=2)).without == "without the label of"


def test_relations_that_end_alike_are_kept_apart():
    labels = ["http://a.org/ns#type", "http://b.org/other#type", "http://a.org/ns#knows"]
    graph = Graphs.from_edges([(0, 1), (0, 2), (0, 3)], node_names=list("abcd"), edge_labels=labels)
    model = edgnn.NodeClassifier(**QUICK, validation=None).fit(graph.nodes, ["x", "y"] * 2)
    found = relations_of(Explained(explain(model, graph.nodes[0])))
    assert {relation.name for relation in found} == {
        "http://a.org/ns#type",
        "http://b.org/other#type",
        "knows",
    }


def test_links_beyond_the_part_are_told(tmp_path):
    graph = Graphs.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)])
    model = edgnn.NodeClassifier(**QUICK, layers=1, degree_labels="both", validation=None).fit(
        graph.nodes, list("xyxyx")
    )
    short = Graphs.from_edges([(0, 1)])
    for node, beyond in ((graph.nodes[0], True), (short.nodes[0], False)):
        page = write_explanations(tmp_path / "a.html", [Explained(explain(model, node, steps=2))])
        assert (
            "Links further away count for degrees as well" in page.read_text(encoding="utf-8")
        ) == beyond
