"""Explanations drawn: the graph with its parts shaded, and a counter-example before and after."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.explain import CounterExample, Explained, Explanation
from edgnn.graphs import Graphs
from edgnn.report.draw import draw_attribution, draw_molecule, strengths, strongest_part

_Array = np.ndarray[Any, Any]
By = Literal["score", "removal", "label", "gradient"]
_LARGEST_MOLECULE, _LARGEST_CHANGED = 300, 12


def draw_explanation(
    explanation: Explanation | Explained,
    *,
    by: By = "score",
    title: str | None = None,
    largest: int = 24,
) -> str:
    """Draw what a prediction rests on as SVG: a molecule as chemists draw it (with RDKit), any other graph with arrows.

    Parameters
    ----------
    explanation : Explanation or Explained
        From :func:`edgnn.explain.explain`.
    by : {"score", "removal", "label", "gradient"}
        What to shade by: the explanation's own scores, what nodes and links are worth, what their
        labels are, integrated gradients.
    title : str, optional
        What stands above the picture.
    largest : int
        Of a larger graph that is no molecule, so many nodes are drawn: those that contribute most,
        and what connects them.
    """
    item = explanation if isinstance(explanation, Explained) else Explained(explanation)
    told = item.explanation
    nodes, edges = scores(told, by)
    if drawn_as_molecule(item):
        return draw_molecule(told.graph, nodes, edges, title=title, numbers=True)
    return draw_attribution(
        _named(told.graph, item),
        nodes,
        edges,
        node=told.node,
        title=title,
        largest=largest,
        names=item.texts,
    )


def scores(explanation: Explanation, by: str) -> tuple[_Array, _Array | None]:
    """Return what nodes and edges are shaded by; the edges of a link share one number."""
    if by not in get_args(By):
        raise EstimatorError(f"by={by!r}: choose {', '.join(get_args(By))}")
    if by == "score":
        return explanation.node_score, explanation.edge_score
    links = explanation.links
    if by == "removal":
        return explanation.node_removal, explanation.link_removal[links]
    if by == "label":
        return explanation.node_label_removal, explanation.link_label_removal[links]
    if explanation.node_gradient is None:
        raise EstimatorError("the explanation has no integrated gradients: choose by='score'")
    edges = explanation.edge_gradient
    return explanation.node_gradient, None if edges is None else np.bincount(links, edges)[links]


def _named(graph: Graphs, item: Explained) -> Graphs:
    """Return a graph without names with the numbers that its nodes have in the whole graph for names."""
    if graph.node_names is not None:
        return graph
    return graph._with(node_names=np.array(item.texts, dtype=object))


def drawn_as_molecule(item: Explained) -> bool:
    """Return whether the item is a molecule that can be drawn as one: not too large, and RDKit is there."""
    return (
        item.molecule
        and item.explanation.graph.num_nodes <= _LARGEST_MOLECULE
        and find_spec("rdkit") is not None
    )


def draw_counter_example(item: Explained, found: CounterExample) -> tuple[str, str]:
    """Return the pictures before and after, changed parts outlined, at the same places in both."""
    nodes = [
        node for change in found.changes if change.kind == "node label" for node in change.elements
    ]
    edges = [
        edge for change in found.changes if change.kind != "node label" for edge in change.elements
    ]
    out = sorted(
        edge for change in found.changes if change.kind == "link out" for edge in change.elements
    )
    after = [edge - int(np.searchsorted(out, edge)) for edge in edges if edge not in out]
    names = (
        f"before: {item.prediction_text(found.before)}",
        f"after: {item.prediction_text(found.prediction)}",
    )
    if drawn_as_molecule(item):
        return (
            draw_molecule(found.original, title=names[0], marked_nodes=nodes, marked_edges=edges),
            draw_molecule(
                found.graph,
                title=names[1],
                marked_nodes=nodes,
                marked_edges=after,
                like=found.original,
            ),
        )
    return _cut_out(item, found, names, nodes, edges, after)


def _cut_out(
    item: Explained,
    found: CounterExample,
    names: tuple[str, str],
    nodes: list[int],
    edges: list[int],
    after: list[int],
) -> tuple[str, str]:
    """Return both pictures of the part around what was changed."""
    before, told = _named(found.original, item), item.explanation
    strength = strengths(before, told.node_score, told.edge_score)
    ends = [int(end[edge]) for edge in edges for end in (before.edge_source, before.edge_target)]
    strength[[*nodes, *ends]] = np.inf
    chosen = sorted(
        {*strongest_part(before, strength, found.node, _LARGEST_CHANGED), *nodes, *ends}
    )
    texts = [item.texts[node] for node in chosen]
    place = {old: new for new, old in enumerate(chosen)}
    pictures = []
    for graph, title, marked in (
        (before, names[0], edges),
        (_named(found.graph, item), names[1], after),
    ):
        kept = np.isin(graph.edge_source.cpu().numpy(), chosen) & np.isin(
            graph.edge_target.cpu().numpy(), chosen
        )
        position = np.cumsum(kept) - 1
        pictures.append(
            draw_attribution(
                graph.induced(chosen),
                None,
                None,
                node=None if found.node is None else place[found.node],
                title=title,
                names=texts,
                marked_nodes=[place[node] for node in nodes],
                marked_edges=[int(position[edge]) for edge in marked],
                like=before.induced(chosen),
            )
        )
    return pictures[0], pictures[1]
