"""The colors of a graph round by round, drawn and in words, and which the training data lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from edgnn._words import short_iri
from edgnn.errors import GraphError
from edgnn.explain import node_texts
from edgnn.graphs import Graphs, Nodes
from edgnn.report.draw import Fills
from edgnn.serve._color_pictures import LARGEST, NeighborhoodPicture, drawer
from edgnn.wl import Coloring

if TYPE_CHECKING:
    from edgnn.serve._model import Served

_LEGEND = 40


def color_rounds(served: Served, item: Graphs | Nodes, rounds: int | None) -> dict[str, Any]:
    """Return the refinement and its rounds, ready for JSON.

    Parameters
    ----------
    served : Served
        The model, which says how it refines, and which colors it has seen.
    item : Graphs or Nodes
        One graph, or one node.
    rounds : int, optional
        How many rounds; default: as many as the model sees.
    """
    graphs = item.graphs if isinstance(item, Nodes) else item
    if not graphs.num_nodes:
        raise GraphError("the graph has no nodes, so there is nothing to color")
    coloring = served.coloring(graphs, rounds)
    familiarity = served.model.familiarity(item)
    seen = [] if familiarity is None else [values.tolist() for values in familiarity.known]
    if isinstance(item, Nodes):
        drawn = _rounds_of_node(coloring, item, seen, served.texts(item.graphs))
    else:
        drawn = _rounds_of_graph(coloring, item, seen)
    return {"scheme": coloring.scheme, "rounds": drawn}


def _rounds_of_graph(
    coloring: Coloring, graph: Graphs, seen: list[list[bool]]
) -> list[dict[str, Any]]:
    draw = drawer(graph)
    fills = Fills()
    rounds: list[dict[str, Any]] = []
    for round in range(coloring.rounds + 1):
        colors = coloring.at(round).tolist()
        is_seen = seen[round] if round < len(seen) else [None] * len(colors)
        unfamiliar = [node for node, value in enumerate(is_seen) if value is False]
        filled = fills.of(colors)
        legend = _legend(coloring, round, colors, filled, is_seen, LARGEST + 1)
        entry = _round(round, colors, legend)
        if round < len(seen):
            entry |= {"seen": not unfamiliar, "new_nodes": len(unfamiliar)}
        if draw is not None:
            titles = _titles(legend, colors, unfamiliar)
            entry["picture"] = draw(filled, titles, unfamiliar, None)
        rounds.append(entry)
    return rounds


def _round(round: int, colors: list[int], legend: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return what is known of a round in any case, with places for the rest."""
    return {
        "round": round,
        "colors": len(set(colors)),
        "legend": list(legend.values())[:_LEGEND],
        **dict.fromkeys(("seen", "new_nodes", "meaning", "drawn", "picture")),
    }


def _legend(
    coloring: Coloring,
    round: int,
    colors: list[int],
    fills: list[str],
    is_seen: Sequence[bool | None],
    most: int,
) -> dict[int, dict[str, Any]]:
    """Return what each color means, the most frequent first, and at most so many."""
    node_of = dict(zip(colors, range(len(colors)), strict=True))
    legend = {}
    for color, count in Counter(colors).most_common(most):
        node = node_of[color]
        legend[color] = {
            "fill": fills[node],
            "count": count,
            "meaning": short_iri(coloring.meaning(color, round, size=200).text),
            "seen": is_seen[node],
        }
    return legend


def _titles(
    legend: dict[int, dict[str, Any]], colors: list[int], unfamiliar: list[int]
) -> list[str]:
    titles = [legend[color]["meaning"] for color in colors]
    for node in unfamiliar:
        titles[node] += "; never seen in training"
    return titles


def _rounds_of_node(
    coloring: Coloring, item: Nodes, seen: list[list[bool]], texts: Sequence[str]
) -> list[dict[str, Any]]:
    node = int(item.index[0])
    around = _around(item.graphs, node)
    center = int((around == node).nonzero()[0])
    neighborhood = item.graphs.induced(around)[int(item.graphs.graph_of_node[node])]
    names = [texts[number] for number in around.tolist()] if texts else node_texts(neighborhood)
    drawing = NeighborhoodPicture(neighborhood, center, names)
    fills = Fills()
    rounds: list[dict[str, Any]] = []
    for round in range(coloring.rounds + 1):
        every = coloring.at(round)
        colors = every[around].tolist()
        filled = fills.of(colors)
        own = seen[round][0] if round < len(seen) else None
        is_seen = [own if color == colors[center] else None for color in colors]
        entry = _round(round, colors, _legend(coloring, round, colors, filled, is_seen, _LEGEND))
        meaning = coloring.meaning(int(every[node]), round, size=600).text
        picture, drawn = drawing.draw(colors, filled, unfamiliar=own is False)
        entry |= {"seen": own, "meaning": short_iri(meaning), "drawn": drawn, "picture": picture}
        rounds.append(entry)
    return rounds


def _around(graphs: Graphs, node: int) -> torch.Tensor:
    """Return the numbers of a node and its neighbors, in order."""
    touching = (graphs.edge_source == node) | (graphs.edge_target == node)
    ends = torch.cat(
        [graphs.edge_source[touching], graphs.edge_target[touching], torch.tensor([node])]
    )
    return torch.from_numpy(np.unique(ends.numpy()))
