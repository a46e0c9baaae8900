import math
import re
import xml.etree.ElementTree as ET
from itertools import combinations

import numpy as np
import pytest

import edgnn
from edgnn import Graphs
from edgnn.errors import GraphError
from edgnn.explain import is_molecule
from edgnn.report.draw import AGAINST, FOR, draw_molecule

pytest.importorskip("rdkit")

SVG = "{http://www.w3.org/2000/svg}"
NITROBENZENE = "c1ccccc1[N+](=O)[O-]"


@pytest.fixture(scope="module")
def molecule():
    return edgnn.from_smiles(NITROBENZENE)


def parts(text, tag, kind):
    return [
        element
        for element in ET.fromstring(text).iter(f"{SVG}{tag}")
        if element.get("class") == kind
    ]


def titles(text):
    return [element.text for element in ET.fromstring(text).iter(f"{SVG}title")]


def test_molecules_are_told_from_other_graphs(molecule):
    assert is_molecule(molecule)
    assert is_molecule(edgnn.load_dataset("MUTAG").graphs[0])
    assert is_molecule(edgnn.from_smiles("CCO", hydrogens=True))
    assert is_molecule(edgnn.from_smiles("[Na+].[Cl-]"))
    assert is_molecule(
        edgnn.from_smiles("CC[O-]", atom_label=["symbol", "charge"], bond_label=["type", "in_ring"])
    )
    assert is_molecule(molecule.with_ring_sizes())
    one_way = Graphs.from_edges([(0, 1)], node_labels=["C", "O"], edge_labels=["single"])
    other_back = Graphs.from_edges(
        [(0, 1), (1, 0)], node_labels=["C", "O"], edge_labels=["single", "double"]
    )
    no_element = Graphs.from_edges(
        [(0, 1), (1, 0)], node_labels=["C", "Xx"], edge_labels=["single"] * 2
    )
    no_bond = Graphs.from_edges([(0, 1), (1, 0)], node_labels=["C", "O"], edge_labels=["knows"] * 2)
    no_labels = Graphs.from_edges([(0, 1), (1, 0)], node_labels=["C", "O"])
    loop = Graphs.from_edges([(0, 0)], node_labels=["C"], edge_labels=["single"])
    for graph in (
        one_way,
        other_back,
        no_element,
        no_bond,
        no_labels,
        loop,
        edgnn.load_dataset("MUTAG").graphs[:2],
    ):
        assert not is_molecule(graph)
        with pytest.raises(GraphError, match="is no molecule"):
            draw_molecule(graph)


def test_every_atom_and_bond_is_there_once(molecule):
    text = draw_molecule(molecule)
    assert len(parts(text, "circle", "atom-text")) == 9
    assert len(parts(text, "path", "bond-text")) == 9
    assert parts(text, "circle", "atom") == parts(text, "path", "bond") == []
    assert "N, atom 6" in titles(text)
    assert "double bond between atoms 6 and 7" in titles(text)


def test_the_sign_is_the_hue_and_the_size_the_opacity(molecule):
    scores = np.zeros(9)
    scores[[0, 1, 2]] = 2.0, 1.0, -2.0
    halos = parts(draw_molecule(molecule, scores), "circle", "atom")
    assert [halo.get("fill") for halo in halos] == [FOR, FOR, AGAINST]
    strong, weak, against = (float(halo.get("fill-opacity")) for halo in halos)
    assert strong == against == pytest.approx(2 * weak)
    assert [halo.get("stroke-dasharray") is not None for halo in halos] == [False, False, True]


def test_scores_change_the_shades_and_nothing_else(molecule):
    plain, shaded, more = (
        draw_molecule(molecule, scores) for scores in (np.zeros(9), [0] * 8 + [1], [0] * 8 + [-1])
    )
    assert len({plain, shaded, more}) == 3
    skeletons = [
        [line for line in text.splitlines() if "stroke:currentColor" in line]
        for text in (plain, shaded, more)
    ]
    assert skeletons[0] == skeletons[1] == skeletons[2]
    assert skeletons[0]


def test_a_bond_shows_the_stronger_of_its_edges(molecule):
    scores = np.full(molecule.num_edges, math.nan)
    scores[0], scores[1] = 0.5, -1.0
    text = draw_molecule(molecule, None, scores)
    (bond,) = parts(text, "path", "bond")
    assert bond.get("fill") == AGAINST
    assert "aromatic bond between atoms 0 and 1: −1.00" in titles(text)
    assert "N, atom 6" in titles(text)


def test_the_scale_is_symmetric_and_left_out_where_nothing_matters(molecule):
    assert "−3.00 against" in draw_molecule(molecule, [3.0, *[0] * 8])
    assert "for +3" in draw_molecule(molecule, [3.0, *[0] * 8])
    assert "against" not in draw_molecule(molecule)


def test_numbers_marks_and_places_of_another_picture(molecule):
    changed = molecule.with_node_labels([*molecule.node_labels[:8], "S"])
    before = draw_molecule(molecule, marked_nodes=[8], marked_edges=[0])
    after = draw_molecule(changed, marked_nodes=[8], like=molecule)
    assert [len(parts(text, "circle", "mark")) for text in (before, after)] == [1, 1]
    assert len(parts(before, "path", "mark")) == 1
    places = [
        np.array(
            [
                (float(dot.get("cx")), float(dot.get("cy")))
                for dot in parts(text, "circle", "atom-text")
            ]
        )
        for text in (before, after)
    ]
    apart = [np.linalg.norm(place - place[0], axis=1) for place in places]
    assert apart[0] == pytest.approx(apart[1], abs=0.3)
    assert draw_molecule(molecule, numbers=True) != draw_molecule(molecule)


def test_the_same_molecule_gets_the_same_picture(molecule, run_python):
    code = (
        "import edgnn, sys; from edgnn.report.draw import draw_molecule\n"
        f"sys.stdout.write(draw_molecule(edgnn.from_smiles({NITROBENZENE!r}), range(9)))"
    )
    assert run_python(code, PYTHONHASHSEED="1", PYTHONIOENCODING="utf-8") == draw_molecule(
        molecule, range(9)
    )


def test_pictures_can_stand_together_in_a_page(molecule):
    text = draw_molecule(molecule, range(9), title='<script>alert(1)</script> "x" & \x00 ü')
    assert not re.search(r"<script|href|<style|\sid=|<\?xml|url\(", text)
    root = ET.fromstring(text)
    assert (
        root.get("aria-label")
        == root.find(f"{SVG}title").text
        == '<script>alert(1)</script> "x" & \ufffd ü'
    )
    names = {element.tag for element in root.iter()}
    assert names <= {
        f"{SVG}{name}"
        for name in ("svg", "title", "desc", "rect", "g", "path", "circle", "ellipse", "text")
    }


def test_labels_that_are_missing_are_question_marks(molecule):
    unknown = edgnn.from_smiles("CC[Xe]", like=molecule, unknown="map")
    assert is_molecule(unknown)
    assert "unknown, atom 2" in titles(draw_molecule(unknown))


def test_scores_of_another_graph_are_refused(molecule):
    with pytest.raises(
        GraphError, match=r"node_score has the shape \(3,\), but the graph has 9 nodes"
    ):
        draw_molecule(molecule, [1, 2, 3])
    with pytest.raises(GraphError, match="edge_score"):
        draw_molecule(molecule, None, [[1.0]])


@pytest.mark.parametrize("name", ["MUTAG", "PTC_FM", "PTC_MR"])
def test_all_molecules_of_the_sets_are_drawn(data_dir, name):
    graphs = edgnn.load_dataset(name, data_dir=data_dir).graphs
    for graph in graphs[:: max(1, len(graphs) // 25)]:
        text = draw_molecule(
            graph, np.arange(graph.num_nodes) - 3.0, np.arange(graph.num_edges) - 3.0, numbers=True
        )
        assert len(parts(text, "circle", "atom-text")) == graph.num_nodes


def test_fragments_of_a_salt_stand_apart():
    graphs = edgnn.from_smiles(["[Na+].[Cl-].CC(=O)[O-].[K+]"])
    picture = ET.fromstring(draw_molecule(graphs, np.ones(graphs.num_nodes), None))
    disks = [one for one in picture.iter(f"{SVG}circle") if one.get("class") == "atom"]
    places = np.array([[float(one.get(side)) for side in ("cx", "cy")] for one in disks])
    fragment = np.array([0, 1, 2, 2, 2, 2, 3])
    for first, second in combinations(range(4), 2):
        apart = np.linalg.norm(
            places[fragment == first][:, None] - places[fragment == second][None], axis=2
        )
        assert apart.min() > 2 * float(disks[0].get("r")) + 10
