"""A molecule as chemists draw it, through RDKit, its atoms and bonds shaded by contributions."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn._optional import optional
from edgnn.errors import GraphError
from edgnn.explain import BOND_LABELS, is_molecule
from edgnn.graphs import UNKNOWN, Graphs
from edgnn.report.draw._shade import (
    Shade,
    clean,
    document,
    headed,
    scores_of,
    signed,
    stronger,
    strongest,
)

_Array = np.ndarray[Any, Any]
_PURPOSE = "drawing molecules"
_PIXELS = 30
_RADIUS, _BOND_WIDTH = 12.5, 15
#: Between fragments, in the units of the coordinates, in which a bond is 1.5 long.
_BETWEEN = 1.8
_MARGIN, _LEAST_WIDTH, _SCALE = 20, 240, 200
_OPTIONS = {
    "prepareMolsBeforeDrawing": False,
    "clearBackground": False,
    "includeRadicals": False,
    "includeMetadata": False,
    "scalingFactor": _PIXELS,
    "bondLineWidth": 1.8,
    "multipleBondOffset": 0.16,
    "annotationFontScale": 0.55,
}


def draw_molecule(
    graph: Graphs,
    node_score: Any = None,
    edge_score: Any = None,
    *,
    title: str | None = None,
    numbers: bool = False,
    marked_nodes: Sequence[int] = (),
    marked_edges: Sequence[int] = (),
    like: Graphs | None = None,
) -> str:
    """Draw a molecule as SVG, shaded red for what speaks for a prediction, blue (dashed) against.

    Atoms have no more hydrogens and charges than their labels say: what is drawn is what a model
    sees.

    Parameters
    ----------
    graph : Graphs
        One graph for which :func:`is_molecule` holds.
    node_score, edge_score : sequence of float, optional
        Contribution of every atom, and of every edge: a bond shows the stronger of its two. NaN is
        not shaded.
    title : str, optional
        What stands above the picture.
    numbers : bool
        Write the number of every atom beside it.
    marked_nodes, marked_edges : sequence of int
        Atoms and edges to draw a ring around.
    like : Graphs, optional
        A molecule of as many atoms, which then have the same places in both pictures.

    Returns
    -------
    str
        The picture, complete in itself and safe to stand in a page: no script, no link, no id.

    Examples
    --------
    >>> import edgnn
    >>> from edgnn.report.draw import draw_molecule
    >>> nitrobenzene = edgnn.from_smiles("c1ccccc1[N+](=O)[O-]")
    >>> draw_molecule(nitrobenzene, [0, 0, 0, 0, 0, 0.1, 1.2, 0.9, 0.8])[:4]
    '<svg'
    """
    if not is_molecule(graph):
        raise GraphError(
            f"{graph!r} is no molecule: a single graph whose node labels are chemical elements and "
            f"whose edge labels are bonds ({', '.join(BOND_LABELS)}), each stored both ways; "
            "draw_attribution draws any graph"
        )
    nodes = scores_of(node_score, graph.num_nodes, "node")
    edges = scores_of(edge_score, graph.num_edges, "edge")
    shade, bonds = Shade.over(nodes, edges), _bonds(graph, edges, marked_edges)
    lines, places, width, height = skeleton(graph, bonds, like, numbers)
    whole = max(_LEAST_WIDTH, width + 2 * _MARGIN)
    parts = [f'<g transform="translate({(whole - width) / 2:.1f},{_MARGIN})">']
    parts += _halos(places, nodes, bonds, shade)
    parts.append(lines)
    parts += _marks(places, marked_nodes, bonds)
    parts += _hovers(places, graph, nodes, bonds)
    parts.append("</g>")
    bottom = 2 * _MARGIN + height
    if shade.largest:
        parts += shade.legend((whole - _SCALE) / 2, _MARGIN + height + 12, _SCALE)
        bottom += 24
    parts, above = headed(parts, title, whole)
    name = title or f"molecule of {graph.num_nodes} atoms"
    return document(parts, whole, bottom + above, name, _about(graph, nodes))


@dataclass(frozen=True)
class _Bond:
    first: int
    second: int
    label: Hashable
    score: float
    marked: bool


def _bonds(graph: Graphs, scores: _Array, marked: Sequence[int]) -> list[_Bond]:
    """Return each bond once, with the stronger contribution of its two edges."""
    bonds: dict[tuple[int, int], _Bond] = {}
    chosen = set(map(int, marked))
    ends = zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True)
    for edge, ((source, target), label) in enumerate(zip(ends, graph.edge_labels, strict=True)):
        key = (min(source, target), max(source, target))
        score, ring = float(scores[edge]), edge in chosen
        if key in bonds:
            score = stronger(bonds[key].score, score)
            ring = ring or bonds[key].marked
        bonds[key] = _Bond(*key, label, score, ring)
    return list(bonds.values())


def skeleton(
    graph: Graphs,
    bonds: list[_Bond] | None = None,
    like: Graphs | None = None,
    numbers: bool = False,
) -> tuple[str, _Array, float, float]:
    """Return bonds and letters of a molecule as RDKit draws them, and where its atoms are.

    Parameters
    ----------
    graph : Graphs
        One graph for which :func:`is_molecule` holds.
    bonds : list, optional
        Its bonds, where they are known already.
    like, numbers
        As of :func:`draw_molecule`.

    Returns
    -------
    lines : str
        Elements of an SVG.
    places : array, shape (n, 2)
        Of the atoms.
    width, height : float
        Of the whole.
    """
    draw = optional("rdkit.Chem.Draw.rdMolDraw2D", _PURPOSE)
    with optional("rdkit.rdBase", _PURPOSE).BlockLogs():
        mol = _mol(graph, bonds)
        _place(mol, mol if like is None else _mol(like))
        if numbers:
            for atom in mol.GetAtoms():
                atom.SetProp("atomNote", str(atom.GetIdx()))
        drawer = draw.MolDraw2DSVG(-1, -1)
        options = drawer.drawOptions()
        options.useBWAtomPalette()
        for name, value in _OPTIONS.items():
            setattr(options, name, value)
        drawer.DrawMolecule(mol)
        drawer.FinishDrawing()
    places = np.array(
        [[point.x, point.y] for point in map(drawer.GetDrawCoords, range(graph.num_nodes))]
    )
    text = drawer.GetDrawingText().partition("<!-- END OF HEADER -->")[2].rpartition("</svg>")[0]
    lines = re.sub(r" class='[^']*'", "", text).replace("#000000", "currentColor").strip()
    return lines, places, float(drawer.Width()), float(drawer.Height())


def _mol(graph: Graphs, bonds: list[_Bond] | None = None) -> Any:
    """Return an RDKit molecule that takes the labels as they are, without chemistry's rules."""
    chem = optional("rdkit.Chem", _PURPOSE)
    if bonds is None:
        bonds = _bonds(graph, np.full(graph.num_edges, np.nan), ())
    mol = chem.RWMol()
    for label in graph.node_labels:
        known = label is not None and label is not UNKNOWN
        atom = chem.Atom(_first(label) if known else "*")
        atom.SetNoImplicit(True)
        if not known:
            atom.SetProp("atomLabel", "?")
        mol.AddAtom(atom)
    for bond in bonds:
        label = _first(bond.label)
        kind = label.upper() if label in BOND_LABELS else "ZERO"
        mol.AddBond(bond.first, bond.second, getattr(chem.BondType, kind))
        if kind == "AROMATIC":
            mol.GetBondBetweenAtoms(bond.first, bond.second).SetIsAromatic(True)
            for atom in (bond.first, bond.second):
                mol.GetAtomWithIdx(atom).SetIsAromatic(True)
    mol.UpdatePropertyCache(strict=False)
    chem.FastFindRings(mol)
    return mol


def _place(mol: Any, like: Any) -> None:
    """Give the atoms the places of those of ``like``; a molecule of another size keeps its own."""
    depict = optional("rdkit.Chem.rdDepictor", _PURPOSE)
    one = like if like.GetNumAtoms() == mol.GetNumAtoms() else mol
    depict.Compute2DCoords(one)
    depict.StraightenDepiction(one)
    _spread(one)
    if one is not mol:
        mol.RemoveAllConformers()
        mol.AddConformer(one.GetConformer(), assignId=True)


def _spread(mol: Any) -> None:
    """Move the fragments of a salt apart, so that the shades of their atoms do not touch."""
    places, edge = mol.GetConformer(), -math.inf
    fragments = []
    for atoms in optional("rdkit.Chem", _PURPOSE).GetMolFrags(mol):
        along = [places.GetAtomPosition(atom).x for atom in atoms]
        fragments.append((min(along), max(along), atoms))
    for left, right, atoms in sorted(fragments, key=lambda fragment: fragment[0]):
        shift = max(0.0, edge + _BETWEEN - left)
        for atom in atoms:
            point = places.GetAtomPosition(atom)
            point.x += shift
            places.SetAtomPosition(atom, point)
        edge = right + shift


def _halos(places: _Array, nodes: _Array, bonds: list[_Bond], shade: Shade) -> list[str]:
    """Return the shaded areas: a disk behind each atom, a bar behind each bond."""
    parts = []
    for bond in bonds:
        start, end = places[bond.first], places[bond.second]
        if shade.opacity(bond.score) and np.linalg.norm(end - start) > 2 * _RADIUS:
            bar = _bar(start, end, _RADIUS + 1, _BOND_WIDTH / 2)
            parts.append(f'<path d="{bar}" class="bond" {shade.halo(bond.score)}/>')
    for place, score in zip(places, nodes.tolist(), strict=True):
        if shade.opacity(score):
            parts.append(f'{_disk(place, _RADIUS)} class="atom" {shade.halo(score)}/>')
    return parts


def _disk(place: _Array, radius: float) -> str:
    return f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius}"'


def _bar(start: _Array, end: _Array, gap: float, half: float) -> str:
    along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    across = np.array([-along[1], along[0]]) * half
    a, b = start + along * gap, end - along * gap
    corners = (a + across, b + across, b - across, a - across)
    return f"M{' L'.join(f'{x:.1f},{y:.1f}' for x, y in corners)}Z"


def _marks(places: _Array, marked: Sequence[int], bonds: list[_Bond]) -> list[str]:
    paint = 'fill="none" stroke="currentColor" stroke-width="1.6" class="mark"'
    parts = [f"{_disk(places[int(node)], _RADIUS + 2)} {paint}/>" for node in marked]
    for bond in bonds:
        if bond.marked:
            path = _bar(places[bond.first], places[bond.second], 5, _BOND_WIDTH / 2 + 1)
            parts.append(f'<path d="{path}" stroke-linejoin="round" {paint}/>')
    return parts


def _hovers(places: _Array, graph: Graphs, nodes: _Array, bonds: list[_Bond]) -> list[str]:
    """Return what is not seen but says, under the pointer, what an atom or bond contributes."""
    parts = ['<g fill="transparent" stroke="none">']
    for bond in bonds:
        path = _bar(places[bond.first], places[bond.second], 4, _BOND_WIDTH / 2)
        text = f"{_shown(bond.label)} bond between atoms {bond.first} and {bond.second}"
        title = _title(text, bond.score)
        parts.append(f'<path d="{path}" class="bond-text">{title}</path>')
    for node, (label, score) in enumerate(zip(graph.node_labels, nodes.tolist(), strict=True)):
        title = _title(f"{_shown(label)}, atom {node}", score)
        parts.append(f'{_disk(places[node], _RADIUS)} class="atom-text">{title}</circle>')
    return [*parts, "</g>"]


def _title(text: str, score: float) -> str:
    contribution = "" if math.isnan(score) else f": {signed(score)}"
    return f"<title>{clean(text + contribution)}</title>"


def _about(graph: Graphs, nodes: _Array) -> str:
    """Return which atoms contribute most, for readers who do not see the picture."""
    labels = graph.node_labels
    texts = [
        f"{_shown(labels[node])} (atom {node}) {signed(nodes[node])}" for node in strongest(nodes)
    ]
    size = f"A molecule of {graph.num_nodes} atoms."
    return f"{size} The strongest contributions: {', '.join(texts)}." if texts else size


def _first(label: Any) -> Any:
    return label[0] if isinstance(label, tuple) and label else label


def _shown(label: Any) -> str:
    if label is None:
        return "unlabeled"
    if label is UNKNOWN:
        return "unknown"
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
