"""Explanations drawn: the graph with its parts shaded, and a counter-example before and after."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np
import torch

from edgnn.errors import EstimatorError
from edgnn.explain import CounterExample, Explained, Explanation
from edgnn.graphs import Graphs
from edgnn.report.draw import draw_attribution, draw_molecule, strengths, strongest_part

_Array = np.ndarray[Any, Any]
By = Literal["score", "removal", "label", "gradient"]
_LARGEST_MOLECULE, _LARGEST_DRAWN, _LARGEST_CHANGED = 300, 24, 12


def draw_explanation(
    explanation: Explanation | Explained,
    *,
    by: By = "score",
    title: str | None = None,
) -> str:
    """Draw an explanation as SVG: a molecule as chemists draw it (with RDKit), others with arrows.

    Of a large graph that is no molecule, those nodes are drawn that contribute most, and what
    connects them.

    Parameters
    ----------
    explanation : Explanation or Explained
        From :func:`edgnn.explain.explain`.
    by : {"score", "removal", "label", "gradient"}
        What to shade by: the explanation's own scores, what nodes and links are worth, what their
        labels are, integrated gradients.
    title : str, optional
        What stands above the picture.
    """
    item = explanation if isinstance(explanation, Explained) else Explained(explanation)
    told = item.explanation
    nodes, edges = _scores(told, by)
    if drawn_as_molecule(item):
        return draw_molecule(told.graph, nodes, edges, title=title, numbers=True)
    return draw_attribution(
        _named(told.graph, item),
        nodes,
        edges,
        node=told.node,
        title=title,
        largest=_LARGEST_DRAWN,
        names=item.texts,
    )


def _scores(explanation: Explanation, by: str) -> tuple[_Array, _Array | None]:
    """Return what nodes and edges are shaded by; the edges of a link share one number."""
    if by not in get_args(By):
        raise EstimatorError(f"by={by!r}: choose {', '.join(get_args(By))}")
    links = explanation.links
    if by == "score":
        return explanation.node_score, explanation.edge_score
    if by == "removal":
        return explanation.node_removal, explanation.link_removal[links]
    if by == "label":
        return explanation.node_label_removal, explanation.link_label_removal[links]
    if explanation.node_gradient is None:
        raise EstimatorError("the explanation has no integrated gradients: choose by='score'")
    edges = explanation.edge_gradient
    return explanation.node_gradient, None if edges is None else np.bincount(links, edges)[links]


def _named(graph: Graphs, item: Explained) -> Graphs:
    """Return a graph whose nodes have names, by default their numbers in the whole graph."""
    if graph.node_names is not None:
        return graph
    return graph._with(node_names=np.array(item.texts, dtype=object))


def drawn_as_molecule(item: Explained) -> bool:
    """Return whether the item is a molecule, not too large, and RDKit is there to draw it."""
    small = item.explanation.graph.num_nodes <= _LARGEST_MOLECULE
    return item.molecule and small and find_spec("rdkit") is not None


def draw_counter_example(item: Explained, example: CounterExample) -> tuple[str, str]:
    """Return the pictures before and after, changed parts outlined, at the same places in both."""
    changed: dict[str, list[int]] = {"node label": [], "link label": [], "link out": []}
    for change in example.changes:
        changed[change.kind] += change.elements
    nodes, out = changed["node label"], sorted(changed["link out"])
    # Edges behind those that are taken out have lower numbers afterwards.
    relabeled = changed["link label"]
    after = [edge - int(np.searchsorted(out, edge)) for edge in relabeled]
    marked = (relabeled + out, after)
    titles = (
        f"before: {item.prediction_text(example.before)}",
        f"after: {item.prediction_text(example.prediction)}",
    )
    if not drawn_as_molecule(item):
        return _cut_out(item, example, titles, nodes, marked)
    first, second = (
        draw_molecule(
            graph, title=title, marked_nodes=nodes, marked_edges=edges, like=example.original
        )
        for graph, title, edges in zip(
            (example.original, example.graph), titles, marked, strict=True
        )
    )
    return first, second


def _cut_out(
    item: Explained,
    example: CounterExample,
    titles: tuple[str, str],
    nodes: list[int],
    marked: tuple[list[int], list[int]],
) -> tuple[str, str]:
    """Return both pictures of the part around what was changed."""
    before, explanation = _named(example.original, item), item.explanation
    strength = strengths(before, explanation.node_score, explanation.edge_score)
    ends = torch.cat([before.edge_source[marked[0]], before.edge_target[marked[0]]]).tolist()
    strength[[*nodes, *ends]] = np.inf
    strongest = strongest_part(before, strength, example.node, _LARGEST_CHANGED)
    chosen = sorted({*strongest, *nodes, *ends})
    place = {old: new for new, old in enumerate(chosen)}
    pictures = []
    graphs = (before, _named(example.graph, item))
    for graph, title, edges in zip(graphs, titles, marked, strict=True):
        ends_kept = [
            np.isin(end.cpu().numpy(), chosen) for end in (graph.edge_source, graph.edge_target)
        ]
        position = np.cumsum(ends_kept[0] & ends_kept[1]) - 1
        pictures.append(
            draw_attribution(
                graph.induced(chosen),
                None,
                None,
                node=None if example.node is None else place[example.node],
                title=title,
                names=[item.texts[node] for node in chosen],
                marked_nodes=[place[node] for node in nodes],
                marked_edges=position[edges].tolist(),
                like=before.induced(chosen),
            )
        )
    return pictures[0], pictures[1]
