"""A molecule as chemists draw it, through RDKit, with its atoms and bonds shaded by what they contribute."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn._optional import optional
from edgnn.errors import GraphError
from edgnn.graphs import UNKNOWN, Graphs
from edgnn.report.draw._shade import Shade, clean, document, headed, scores_of, signed

_Array = np.ndarray[Any, Any]
_PURPOSE = "drawing molecules"
_SYMBOLS = """
    * H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru
    Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn
    Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og
"""
_ELEMENTS = frozenset(_SYMBOLS.split())
#: Bond labels as our readers write them, and RDKit's names of what they are drawn as.
_BONDS = {
    name: name.upper()
    for name in (
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
}
_PIXELS = 30
_RADIUS, _BOND_WIDTH = 12.5, 15
#: Between fragments, in the units of the coordinates, in which a bond is 1.5 long.
_BETWEEN = 1.8
_MARGIN, _LEAST_WIDTH, _SCALE, _TOLD = 20, 240, 200, 8


def is_molecule(graph: Graphs) -> bool:
    """Return whether a graph reads as a molecule: chemical elements joined by known bonds, each stored both ways.

    Labels are those of :func:`edgnn.from_smiles` and of the molecule sets: ``"C"``, ``"aromatic"``,
    or tuples that begin with them. Labels that are missing are allowed beside others that are not.
    """
    if len(graph) != 1 or not graph.num_nodes:
        return False
    elements = {_first(value) for value in _used(graph.node_labels)}
    bonds = {_first(value) for value in _used(graph.edge_labels)}
    if (
        not elements
        or not elements <= _ELEMENTS
        or not bonds <= set(_BONDS)
        or (graph.num_edges and not bonds)
    ):
        return False
    ends = list(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True))
    labels = dict(zip(ends, graph.edge_label.tolist(), strict=True))
    both = all(labels.get((target, source)) == label for (source, target), label in labels.items())
    return both and len(labels) == len(ends) and all(source != target for source, target in ends)


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
    """Draw a molecule as SVG, atoms and bonds shaded red for what speaks for a prediction, blue (dashed) for what speaks against.

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
            f"{graph!r} is no molecule: a single graph whose node labels are chemical elements and whose edge labels are bonds "
            f"({', '.join(_BONDS)}), each stored both ways; draw_attribution draws any graph"
        )
    nodes, edges = (
        scores_of(node_score, graph.num_nodes, "node"),
        scores_of(edge_score, graph.num_edges, "edge"),
    )
    shade, bonds = Shade.over(nodes, edges), _bonds(graph, edges, marked_edges)
    lines, places, width, height = skeleton(graph, bonds, like, numbers)
    whole = max(_LEAST_WIDTH, width + 2 * _MARGIN)
    inside = [*_halos(places, nodes, bonds, shade), lines, *_marks(places, marked_nodes, bonds)]
    inside += _hovers(places, graph, nodes, bonds)
    parts = [f'<g transform="translate({(whole - width) / 2:.1f},{_MARGIN})">', *inside, "</g>"]
    if shade.largest:
        parts += shade.legend((whole - _SCALE) / 2, _MARGIN + height + 12, _SCALE)
    name = title or f"molecule of {graph.num_nodes} atoms"
    bottom = _MARGIN + height + (44 if shade.largest else _MARGIN)
    parts, above = headed(parts, title, whole)
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
    found: dict[tuple[int, int], _Bond] = {}
    chosen = {int(edge) for edge in marked}
    for edge, (source, target, label) in enumerate(
        zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_labels, strict=True)
    ):
        key = (min(source, target), max(source, target))
        other = found.get(key)
        score, ring = float(scores[edge]), edge in chosen
        if other is not None:
            score = max(
                (one for one in (other.score, score) if not math.isnan(one)),
                key=abs,
                default=math.nan,
            )
            ring = ring or other.marked
        found[key] = _Bond(*key, label, score, ring)
    return list(found.values())


def skeleton(
    graph: Graphs,
    bonds: list[_Bond] | None = None,
    like: Graphs | None = None,
    numbers: bool = False,
) -> tuple[str, _Array, float, float]:
    """Return bonds and letters of a molecule as RDKit draws them, where the atoms are, and the size of the whole.

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
    if bonds is None:
        bonds = _bonds(graph, np.full(graph.num_edges, np.nan), ())
    chem, draw = optional("rdkit.Chem", _PURPOSE), optional("rdkit.Chem.Draw.rdMolDraw2D", _PURPOSE)
    with optional("rdkit.rdBase", _PURPOSE).BlockLogs():
        mol = _mol(chem, graph.node_labels, bonds)
        _place(
            mol,
            mol
            if like is None
            else _mol(chem, like.node_labels, _bonds(like, np.zeros(like.num_edges), ())),
        )
        for atom in mol.GetAtoms() if numbers else ():
            atom.SetProp("atomNote", str(atom.GetIdx()))
        drawer = draw.MolDraw2DSVG(-1, -1)
        options = drawer.drawOptions()
        options.prepareMolsBeforeDrawing = options.clearBackground = options.includeRadicals = (
            options.includeMetadata
        ) = False
        options.useBWAtomPalette()
        options.scalingFactor, options.bondLineWidth, options.multipleBondOffset = (
            _PIXELS,
            1.8,
            0.16,
        )
        options.annotationFontScale = 0.55
        drawer.DrawMolecule(mol)
        drawer.FinishDrawing()
    places = np.array(
        [[point.x, point.y] for point in map(drawer.GetDrawCoords, range(graph.num_nodes))]
    )
    text = drawer.GetDrawingText().partition("<!-- END OF HEADER -->")[2].rpartition("</svg>")[0]
    lines = re.sub(r" class='[^']*'", "", text).replace("#000000", "currentColor").strip()
    return lines, places, float(drawer.Width()), float(drawer.Height())


def _mol(chem: Any, labels: list[Any], bonds: list[_Bond]) -> Any:
    """Return an RDKit molecule that takes the labels as they are, without the rules of chemistry."""
    mol = chem.RWMol()
    for label in labels:
        known = label is not None and label is not UNKNOWN
        atom = chem.Atom(_first(label) if known else "*")
        atom.SetNoImplicit(True)
        if not known:
            atom.SetProp("atomLabel", "?")
        mol.AddAtom(atom)
    for bond in bonds:
        kind = _BONDS.get(_first(bond.label), "ZERO")
        mol.AddBond(bond.first, bond.second, getattr(chem.BondType, kind))
        if kind == "AROMATIC":
            for part in (
                mol.GetBondBetweenAtoms(bond.first, bond.second),
                *map(mol.GetAtomWithIdx, (bond.first, bond.second)),
            ):
                part.SetIsAromatic(True)
    mol.UpdatePropertyCache(strict=False)
    chem.FastFindRings(mol)
    return mol


def _place(mol: Any, like: Any) -> None:
    """Give the atoms the places that those of ``like`` get; a molecule of another size keeps its own."""
    depict = optional("rdkit.Chem.rdDepictor", _PURPOSE)
    same = like.GetNumAtoms() == mol.GetNumAtoms()
    one = like if same else mol
    depict.Compute2DCoords(one)
    depict.StraightenDepiction(one)
    _spread(one)
    if one is not mol:
        mol.RemoveAllConformers()
        mol.AddConformer(one.GetConformer(), assignId=True)


def _spread(mol: Any) -> None:
    """Move the fragments of a salt apart, from left to right, so that the shades of their atoms do not touch."""
    places, edge = mol.GetConformer(), -math.inf
    fragments = optional("rdkit.Chem", _PURPOSE).GetMolFrags(mol)
    sides = [[places.GetAtomPosition(atom).x for atom in atoms] for atoms in fragments]
    for atoms, along in sorted(
        zip(fragments, sides, strict=True), key=lambda fragment: min(fragment[1])
    ):
        shift = max(0.0, edge + _BETWEEN - min(along))
        for atom in atoms:
            point = places.GetAtomPosition(atom)
            point.x += shift
            places.SetAtomPosition(atom, point)
        edge = max(along) + shift


def _halos(places: _Array, nodes: _Array, bonds: list[_Bond], shade: Shade) -> list[str]:
    """Return the shaded areas: a disk behind each atom, and between two disks a bar behind each bond."""
    parts = []
    for bond in bonds:
        start, end = places[bond.first], places[bond.second]
        if shade.opacity(bond.score) and np.linalg.norm(end - start) > 2 * _RADIUS:
            parts.append(
                f'<path d="{_bar(start, end, _RADIUS + 1, _BOND_WIDTH / 2)}" class="bond" {shade.halo(bond.score)}/>'
            )
    for (x, y), score in zip(places.tolist(), nodes.tolist(), strict=True):
        if shade.opacity(score):
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}" class="atom" {shade.halo(score)}/>'
            )
    return parts


def _bar(start: _Array, end: _Array, gap: float, half: float) -> str:
    along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    across = np.array([-along[1], along[0]]) * half
    a, b = start + along * gap, end - along * gap
    corners = " L".join(
        f"{x:.1f},{y:.1f}" for x, y in (a + across, b + across, b - across, a - across)
    )
    return f"M{corners}Z"


def _marks(places: _Array, marked: Sequence[int], bonds: list[_Bond]) -> list[str]:
    paint = 'fill="none" stroke="currentColor" stroke-width="1.6" class="mark"'
    parts = [
        f'<circle cx="{places[node][0]:.1f}" cy="{places[node][1]:.1f}" r="{_RADIUS + 2}" {paint}/>'
        for node in map(int, marked)
    ]
    for bond in bonds:
        if bond.marked:
            path = _bar(places[bond.first], places[bond.second], 5, _BOND_WIDTH / 2 + 1)
            parts.append(f'<path d="{path}" stroke-linejoin="round" {paint}/>')
    return parts


def _hovers(places: _Array, graph: Graphs, nodes: _Array, bonds: list[_Bond]) -> list[str]:
    """Return what is not seen but says, under the pointer, what an atom or bond is and contributes."""
    parts = ['<g fill="transparent" stroke="none">']
    for bond in bonds:
        path = _bar(places[bond.first], places[bond.second], 4, _BOND_WIDTH / 2)
        told = f"{_shown(bond.label)} bond between atoms {bond.first} and {bond.second}{_contributes(bond.score)}"
        parts.append(f'<path d="{path}" class="bond-text"><title>{clean(told)}</title></path>')
    for node, (label, score) in enumerate(zip(graph.node_labels, nodes.tolist(), strict=True)):
        x, y = places[node]
        told = f"{_shown(label)}, atom {node}{_contributes(score)}"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}" class="atom-text"><title>{clean(told)}</title></circle>'
        )
    return [*parts, "</g>"]


def _contributes(score: float) -> str:
    return "" if math.isnan(score) else f": {signed(score)}"


def _about(graph: Graphs, nodes: _Array) -> str:
    """Say which atoms contribute most, for readers who do not see the picture."""
    known = np.abs(np.nan_to_num(nodes))
    order = [node for node in np.argsort(-known, kind="stable").tolist() if known[node]][:_TOLD]
    labels = graph.node_labels
    told = ", ".join(
        f"{_shown(labels[node])} (atom {node}) {signed(nodes[node])}" for node in order
    )
    return f"A molecule of {graph.num_nodes} atoms." + (
        f" The strongest contributions: {told}." if told else ""
    )


def _used(labels: list[Any]) -> list[Any]:
    return [value for value in dict.fromkeys(labels) if value is not None and value is not UNKNOWN]


def _first(label: Any) -> Any:
    return label[0] if isinstance(label, tuple) and label else label


def _shown(label: Any) -> str:
    if label is None or label is UNKNOWN:
        return "unlabeled" if label is None else "unknown"
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
