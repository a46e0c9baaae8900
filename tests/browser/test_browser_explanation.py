import io

import numpy as np
import pytest
from PIL import Image

import edgnn
from edgnn import Graphs
from edgnn.explain import Explained, counter_example, explain, fidelity
from edgnn.report import write_explanations

pytest.importorskip("rdkit")

PHONE = {"width": 390, "height": 844}
QUICK = {"hidden": 8, "max_epochs": 6, "random_state": 0}
HOSTILE = '</script><script>console.log("x")</script><img src=x onerror=alert(2)>'


@pytest.fixture(scope="session")
def explanation_page(tmp_path_factory):
    """A molecule and a person whose names would like to be more than names."""
    data = edgnn.load_dataset("MUTAG")
    model = edgnn.GraphClassifier(**QUICK).fit(data.graphs[:60], data.targets[:60])
    names = [f"http://example.org/p{number}" for number in range(10)] + [HOSTILE]
    graph = Graphs.from_edges(
        [(number, 10) for number in range(10)] + [(3, 4)],
        node_names=names,
        edge_labels=["works", HOSTILE] * 5 + ["x"],
    )
    nodes = edgnn.NodeClassifier(**QUICK).fit(graph.nodes[:10], ["a", HOSTILE] * 5)
    items = []
    for estimator, item, classes in (
        (model, data.graphs[0], data.class_names),
        (nodes, graph.nodes[3], ()),
    ):
        found = explain(estimator, item)
        faith = fidelity(estimator, found, random_sets=2)
        items.append(
            Explained(found, "", faith, counter_example(estimator, item), True, tuple(classes))
        )
    return write_explanations(
        tmp_path_factory.mktemp("pages") / "page.html", items, command="edgnn explain RUN SOURCE"
    )


def faults(page):
    return page.evaluate(
        """() => {
        const faults = [];
        for (const part of document.querySelectorAll('svg'))
          if (!part.closest('[aria-hidden="true"]') && !(part.getAttribute('aria-label') && part.querySelector(':scope > title')))
            faults.push('picture without a name');
        for (const part of document.querySelectorAll('th')) if (!part.textContent.trim()) faults.push('empty heading');
        const ids = [...document.querySelectorAll('[id]')].map((part) => part.id);
        if (new Set(ids).size !== ids.length) faults.push('id twice');
        for (const part of document.querySelectorAll('a[href^="#"]'))
          if (!document.getElementById(part.hash.slice(1))) faults.push('leads nowhere: ' + part.hash);
        let level = 0;
        for (const part of document.querySelectorAll('h1, h2, h3, h4')) {
          if (+part.tagName[1] > level + 1) faults.push('heading out of order: ' + part.textContent);
          level = +part.tagName[1];
        }
        return faults;
        }"""
    )


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["wide", "phone"])
def test_the_page_is_in_order_and_fits(explanation_page, visit, viewport):
    page = visit(explanation_page)
    if viewport:
        page.set_viewport_size(viewport)
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("img").count() == 0
    assert page.locator("section svg[role=img]:visible").count() >= 3


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["wide", "phone"])
def test_titles_of_pictures_are_inside_and_whole(explanation_page, visit, viewport):
    page = visit(explanation_page)
    if viewport:
        page.set_viewport_size(viewport)
    titles = page.evaluate(
        """() => [...document.querySelectorAll('figure svg .title')].map((title) => {
          const [inside, whole] = [title.getBoundingClientRect(), title.ownerSVGElement.getBoundingClientRect()];
          return [title.firstChild.data, inside.left >= whole.left && inside.right <= whole.right, inside.top >= whole.top];
        })"""
    )
    assert ["What each label is worth", True, True] in titles
    assert ["Integrated gradients", True, True] in titles
    assert all(inside and below for _, inside, below in titles)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_take_the_colors_of_the_page(explanation_page, visit, scheme):
    page = visit(explanation_page, color_scheme=scheme)
    drawing = page.locator("figure svg").first
    image = (
        np.asarray(Image.open(io.BytesIO(drawing.screenshot())).convert("RGB"))
        .reshape(-1, 3)
        .astype(int)
    )
    colors, counts = np.unique(image, axis=0, return_counts=True)
    ground = colors[counts.argmax()]
    assert (ground.mean() > 128) == (scheme == "light")
    assert np.abs(image - ground).sum(axis=1).max() > 300
    red = image[(image[:, 0] - image[:, 2]) > 60]
    blue = image[(image[:, 2] - image[:, 0]) > 60]
    assert len(red) > 50
    assert len(blue) > 50


def test_the_pointer_learns_what_an_atom_contributes(explanation_page, visit):
    page = visit(explanation_page)
    atom = page.locator("figure svg").first.locator(".atom-text").first
    assert atom.locator("title").text_content().startswith("C, atom 0: ")


def test_the_page_can_be_printed(explanation_page, visit):
    assert visit(explanation_page).pdf(format="A4").startswith(b"%PDF")
