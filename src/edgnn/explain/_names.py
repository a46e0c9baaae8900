"""What labels, nodes and links are called, in the users' own terms; which graphs are molecules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from edgnn._words import short_iri
from edgnn.graphs import UNKNOWN, Graphs, Nodes

#: Bond labels as our readers write them.
BOND_LABELS = (
    "single",
    "double",
    "triple",
    "quadruple",
    "aromatic",
    "dative",
    "zero",
    "hydrogen",
    "ionic",
)
_SYMBOLS = """
* H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br
Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er
Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md
No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og
"""
_ELEMENTS = frozenset(re.findall(r"\S+", _SYMBOLS))
#: Relations whose literal says what people call a thing, best first.
_NAMING = ("preflabel", "label", "name", "title", "fullname")
_LITERAL = re.compile(r'"(.*)"(?:@[\w-]+|\^\^\S+)?', re.DOTALL)
#: Of larger graphs, names are looked for in the part that is explained alone.
_MOST_EDGES = 500_000


def label_text(label: Any) -> str:
    """Return a label as people read it."""
    if label is None:
        return "no label"
    if label is UNKNOWN:
        return "unknown label"
    return short_iri(", ".join(map(str, label)) if isinstance(label, tuple) else str(label))


def node_texts(graph: Graphs) -> list[str]:
    """Return what to call every node; a graph without names gives empty texts.

    That is the literal that a relation such as ``name`` or ``label`` leads to, else the node's own
    name, without what IRIs begin with.
    """
    if graph.node_names is None:
        return [""] * graph.num_nodes
    names = [str(name) for name in graph.node_names.tolist()]
    texts = [_plain_name(name) for name in names]
    ranks: dict[int, int] = {}
    rank_of = {value: _naming_rank(value) for value in graph.edge_vocabulary}
    ends = zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True)
    for (source, target), label in zip(ends, graph.edge_labels, strict=True):
        rank = rank_of[label]
        if rank >= ranks.get(source, len(_NAMING)):
            continue
        literal = _LITERAL.fullmatch(names[target])
        text = "" if literal is None else literal[1].strip()
        if text:
            ranks[source], texts[source] = rank, text
    return texts


def texts_of_item(item: Graphs | Nodes, graph: Graphs, nodes: Tensor | None) -> list[str]:
    """Return what to call the nodes of an explained graph; without names, by their numbers.

    Parameters
    ----------
    item : Graphs or Nodes
        The item as given.
    graph : Graphs
        Its graph, or the part of it that is explained.
    nodes : Tensor, optional
        Of a part: the numbers of its nodes in the whole graph.
    """
    whole = item if isinstance(item, Graphs) else item.graphs
    if whole.node_names is None:
        numbers = range(graph.num_nodes) if nodes is None else nodes.tolist()
        return [f"node {number}" for number in numbers]
    if nodes is None or whole.num_edges > _MOST_EDGES:
        return node_texts(graph)
    texts = node_texts(whole)
    return [texts[node] for node in nodes.tolist()]


def node_words(graph: Graphs, texts: Sequence[str], node: int, note: str = "") -> str:
    """Return ``node 3 (N)``: what a node is called, with its label and a note in brackets."""
    notes = [note] if note else []
    label = label_text(label_of(graph, "node", node))
    if label != texts[node] and not graph.node_vocabulary.constant:
        notes.insert(0, label)
    return f"{texts[node]} ({'; '.join(notes)})" if notes else texts[node]


def link_words(graph: Graphs, texts: Sequence[str], edges: Sequence[int]) -> str:
    """Return ``node 0 (C) – node 3 (N): double``; with an arrow where the edge goes one way."""
    ends = [node_words(graph, texts, node) for node in link_ends(graph, edges)]
    words = f"{ends[0]} {'–' if len(edges) > 1 else '→'} {ends[1]}"
    if graph.edge_vocabulary.constant:
        return words
    return f"{words}: {label_text(label_of(graph, 'edge', edges[0]))}"


def link_ends(graph: Graphs, edges: Sequence[int]) -> list[int]:
    """Return the two nodes of a link: source and target, or where it goes both ways, by number."""
    edge = int(edges[0])
    ends = [int(graph.edge_source[edge]), int(graph.edge_target[edge])]
    return sorted(ends) if len(edges) > 1 else ends


def label_of(graph: Graphs, kind: str, element: int) -> Any:
    """Return the users' label of a ``"node"`` or an ``"edge"``."""
    if kind == "node":
        return graph.node_vocabulary[int(graph.node_label[element])]
    return graph.edge_vocabulary[int(graph.edge_label[element])]


def is_molecule(graph: Graphs) -> bool:
    """Return whether a graph reads as a molecule: elements and bonds, each bond stored both ways.

    Labels are those of :func:`edgnn.from_smiles` and of the molecule sets: ``"C"``, ``"aromatic"``,
    or tuples that begin with them. Labels that are missing are allowed beside others that are not.
    """
    if len(graph) != 1 or not graph.num_nodes:
        return False
    elements, bonds = _first_labels(graph.node_labels), _first_labels(graph.edge_labels)
    if not elements or (graph.num_edges and not bonds):
        return False
    if not elements <= _ELEMENTS or not bonds <= set(BOND_LABELS):
        return False
    source, target = graph.edge_source.tolist(), graph.edge_target.tolist()
    label = graph.edge_label.tolist()
    is_simple = len(set(zip(source, target, strict=True))) == graph.num_edges
    has_loops = bool((graph.edge_source == graph.edge_target).any())
    edges = set(zip(source, target, label, strict=True))
    both_ways = edges == set(zip(target, source, label, strict=True))
    return is_simple and both_ways and not has_loops


def _first_labels(labels: Sequence[Any]) -> set[Any]:
    """Return the labels that occur, of tuples the first entry; missing ones are left out."""
    used = set()
    for label in set(labels) - {None, UNKNOWN}:
        used.add(label[0] if isinstance(label, tuple) and label else label)
    return used


def _plain_name(name: str) -> str:
    """Return a literal without its quotes and type, an IRI without its beginning."""
    literal = _LITERAL.fullmatch(name)
    if literal:
        return f"“{literal[1]}”" if literal[1].strip() else "empty text"
    return short_iri(name)


def _naming_rank(label: Any) -> int:
    word = short_iri(str(label)).lower().rpartition(":")[2]
    return _NAMING.index(word) if word in _NAMING else len(_NAMING)
