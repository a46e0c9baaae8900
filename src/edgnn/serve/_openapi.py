"""The description of the interface, fitted to the model that is served: what it takes, how much, and examples of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from edgnn.graphs import encode_value

if TYPE_CHECKING:
    from edgnn.graphs import Vocabulary
    from edgnn.serve._limits import Limits
    from edgnn.serve._model import Served

_MOLECULES = ["CCO", "c1ccccc1[N+](=O)[O-]"]
_MANY = {"smiles": "array", "graphs": "array", "nodes": "array", "examples": "array"}
_ONE = {"smiles": "string", "graph": "object", "node": "string", "example": "string"}
_LONGEST_EXAMPLE = 200


def fitted(description: dict[str, Any], served: Served, limits: Limits) -> dict[str, Any]:
    """Return an OpenAPI document, changed in place, that says what this model takes.

    Parameters
    ----------
    description : dict
        The document that holds for any model.
    served : Served
        The model.
    limits : Limits
        How much one request may have.
    """
    parts = description["components"]["schemas"]
    _count(parts, limits)
    graph, names = _graph(served), _names(served)
    many, one = _examples(served, graph, names)
    parts["PredictRequest"] |= {"oneOf": _ways(served, _MANY), "examples": many}
    for name in ("ExplainRequest", "ColorsRequest"):
        parts[name] |= {"oneOf": _ways(served, _ONE), "examples": one}
    return description


def _count(parts: dict[str, Any], limits: Limits) -> None:
    """Say how much there may be."""
    for name in _MANY:
        _list(parts["PredictRequest"], name)["maxItems"] = limits.items
    for name in ("node_labels", "node_features", "node_names"):
        _list(parts["GraphIn"], name)["maxItems"] = limits.nodes
    for name in ("edges", "edge_features"):
        _list(parts["GraphIn"], name)["maxItems"] = limits.edges
    for part in parts.values():
        if "files" in part.get("properties", {}):
            part["properties"]["files"] |= {"minItems": 1, "maxItems": limits.files}
            part["properties"] = {
                name: _without_null(field) for name, field in part["properties"].items()
            }


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    """Return a field as forms have it: there is no null in them."""
    kinds = [kind for kind in field.get("anyOf", []) if kind != {"type": "null"}]
    return (
        {name: value for name, value in field.items() if name != "anyOf"} | kinds[0]
        if len(kinds) == 1
        else field
    )


def _list(part: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the schema of a list that need not be there."""
    field: dict[str, Any] = part["properties"][name]
    chosen: dict[str, Any] = field["anyOf"][0] if "anyOf" in field else field
    return chosen


def _ways(served: Served, kinds: dict[str, str]) -> list[dict[str, Any]]:
    """Return the ways to name items, of which a request goes one: a field that it does not use is not there, or null."""
    smiles, graph, node, example = kinds
    ways: list[Sequence[str]] = []
    if served.level == "node":
        ways += [
            [graph, node],
            *([[graph]] if kinds is _MANY else []),
            *([[node]] if served.catalog else []),
        ]
    else:
        ways += [
            [graph],
            *([[smiles]] if served.smiles else []),
            *([[example]] if served.catalog else []),
        ]
    return [
        {
            "required": list(way),
            "properties": {
                name: {"type": kind if name in way else "null"} for name, kind in kinds.items()
            },
        }
        for way in ways
    ]


def _examples(
    served: Served, graph: dict[str, Any], names: list[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return requests for several items and for one that this model answers."""
    if served.smiles:
        return [{"smiles": _MOLECULES}], [{"smiles": _MOLECULES[1]}]
    if served.level == "graph":
        named = ([{"examples": names}], [{"example": names[0]}]) if names else ([], [])
        return [{"graphs": [graph]}, *named[0]], [{"graph": graph}, *named[1]]
    if names:
        return [{"nodes": names}], [{"node": names[0]}]
    return [{"graphs": [graph]}], [{"graph": graph, "node": graph["node_names"][0]}]


def _names(served: Served) -> list[str]:
    """Return names of two loaded items; nothing where they are too long to show."""
    if served.catalog is None:
        return []
    chosen = list(served.catalog.first[:2]) or list(range(min(2, len(served.catalog))))
    names = [served.catalog.names[place] for place in chosen]
    return names if all(0 < len(name) <= _LONGEST_EXAMPLE for name in names) else []


def _graph(served: Served) -> dict[str, Any]:
    """Return a graph of two nodes and an edge, with labels and features of the kind that the model has learned."""
    coder = served.estimator._coder
    nodes, edges = _labels(coder.node_vocabulary), _labels(coder.edge_vocabulary)
    graph: dict[str, Any] = {"num_nodes": 2, "edges": [[0, 1, *edges[:1]]]}
    if nodes and not coder.identity and coder.degree_labels is None:
        graph = {"node_labels": [nodes[0], nodes[-1]], "edges": graph["edges"]}
    if served.level == "node":
        graph["node_names"] = (
            [str(name) for name in list(coder.node_vocabulary)[:2]]
            if coder.identity
            else ["a", "b"]
        )
    if coder.node_features:
        graph["node_features"] = [[0.0] * coder.node_features] * 2
    if coder.edge_features:
        graph["edge_features"] = [[0.0] * coder.edge_features]
    return graph


def _labels(vocabulary: Vocabulary) -> list[Any]:
    """Return some labels that can be written in JSON as they are."""
    found = [] if vocabulary.constant else [encode_value(value) for value in list(vocabulary)[:2]]
    return [
        value
        for value in found
        if not isinstance(value, dict) and len(str(value)) <= _LONGEST_EXAMPLE
    ]
