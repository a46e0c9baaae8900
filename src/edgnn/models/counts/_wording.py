"""Colors in words: the neighborhood that a color stands for, unfolded in one line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from edgnn._words import cut
from edgnn.graphs import Graphs
from edgnn.models.counts._labelings import Labeling, relabeled, values_of, with_cycles
from edgnn.models.counts._representation import View
from edgnn.wl import Coloring, refine, signatures

_Array = np.ndarray[Any, Any]

_BONDS = {"single": "-", "double": "=", "triple": "#", "aromatic": ":"}
_CHIRALITY, _STEREO = {1: "R", 2: "S"}, {1: "Z", 2: "E"}
#: As RDKit orders the bits of its feature invariants.
_FEATURES = ("donor", "acceptor", "aromatic", "halogen", "basic", "acidic")
_LONGEST = 160
_ONE_BY_ONE = 3  # neighbors of one kind that are written one after the other


@dataclass(frozen=True)
class Wording:
    """Graphs as a view sees them, with every color in words.

    Parameters
    ----------
    graphs : Graphs
        As the model numbers their labels.
    hashes : tuple of arrays
        The name of the color of each node, by round.
    coloring : Coloring
        The same colors, of graphs whose labels are words.
    symmetric : bool
        Whether every edge has its reverse.
    """

    graphs: Graphs
    hashes: tuple[_Array, ...]
    coloring: Coloring
    symmetric: bool

    @classmethod
    def of(cls, graphs: Graphs, view: View, rounds: int) -> Wording:
        """Color graphs as a view does."""
        names = signatures(relabeled(graphs, view.labeling), rounds, view.scheme)
        words = in_words(graphs, view.labeling)
        coloring = refine(words, rounds, view.scheme, features="ignore")
        hashes = tuple(hashes.cpu().numpy() for hashes in names)
        return cls(graphs, hashes, coloring, _is_symmetric(words))

    def nodes(self, round: int, name: int) -> _Array:
        """Return the nodes of a color."""
        return np.flatnonzero(self.hashes[round] == name)

    def text(self, round: int, node: int) -> str:
        """Return the color of a node in words."""
        color = int(self.coloring.at(round)[node])
        meaning = self.coloring.meaning(color, round, size=10 * _LONGEST)
        return cut(_unfolded(meaning.tree, self.symmetric, None), _LONGEST)


def in_words(graphs: Graphs, labeling: Labeling) -> Graphs:
    """Return graphs whose labels say in words what a labeling reads of nodes and edges."""
    cycles = with_cycles(graphs, labeling)
    columns = {
        what: {
            name: values_of(graphs, name, what, cycles).tolist() for name in getattr(labeling, what)
        }
        for what in ("node", "edge")
    }
    nodes = [
        _node_text(dict(zip(columns["node"], values, strict=True)), graphs)
        for values in _rows(columns["node"], graphs.num_nodes)
    ]
    edges = [
        _edge_text(dict(zip(columns["edge"], values, strict=True)), graphs)
        for values in _rows(columns["edge"], graphs.num_edges)
    ]
    return graphs.with_node_labels(nodes).with_edge_labels(edges)


def _rows(columns: dict[str, list[int]], count: int) -> list[tuple[int, ...]]:
    if not columns:
        return [()] * count
    return list(zip(*columns.values(), strict=True))


def _node_text(values: dict[str, int], graphs: Graphs) -> str:
    """Return what a node is, such as ``aromatic CH`` or ``N+[ring 5]``."""
    text = "atom" if "pharmacophore" in values else "node"
    vocabulary = graphs.node_vocabulary
    if "label" in values and not vocabulary.constant:
        text = _label(values["label"], vocabulary)
    hydrogens, charge = values.get("hydrogens", 0), values.get("charge", 0)
    if hydrogens:
        text += "H" if hydrogens == 1 else f"H{hydrogens}"
    if charge:
        text += "+" * charge if charge > 0 else "-" * -charge
    if values.get("aromatic"):
        text = f"aromatic {text}"
    notes = [_note(name, value) for name, value in values.items()]
    kept = ", ".join(note for note in notes if note)
    return f"{text}[{kept}]" if kept else text


def _note(name: str, value: int) -> str:
    """Return what an attribute adds to the label."""
    if not value or name in ("label", "hydrogens", "charge", "aromatic"):
        return ""
    if name in ("cycle", "ring_size"):
        return f"ring {value}"
    if name == "in_ring":
        return "ring"
    if name == "chirality":
        return _CHIRALITY.get(value, str(value))
    if name == "stereo":
        return _STEREO.get(value, str(value))
    if name == "pharmacophore":
        bits = [word for place, word in enumerate(_FEATURES) if value >> place & 1]
        return " ".join(bits)
    return f"{name.replace('_', ' ')} {value}"


def _edge_text(values: dict[str, int], graphs: Graphs) -> str:
    vocabulary = graphs.edge_vocabulary
    text = "-"
    if "label" in values and not vocabulary.constant:
        label = _label(values["label"], vocabulary)
        text = _BONDS.get(label, f" {label} ")
    notes = [_note(name, value) for name, value in values.items()]
    kept = ", ".join(note for note in notes if note)
    return f"{text}[{kept}]" if kept else text


def _label(number: int, vocabulary: Any) -> str:
    if number >= len(vocabulary):
        return "unknown"
    value = vocabulary[number]
    return "·" if value is None else str(value)


def _unfolded(tree: dict[str, Any], symmetric: bool, came: tuple[str, str] | None) -> str:
    """Write a color as its node with its neighbors behind it in parentheses.

    Where every edge has its reverse, one direction says all, and the neighbor that one came from is
    not named again.
    """
    label = str(tree["label"])
    kinds: Counter[str] = Counter()
    for entry in tree.get("neighbors", ()):
        direction, edge = entry.get("direction"), str(entry.get("edge", "~"))
        if symmetric and direction == "in":
            continue
        count = entry["count"]
        if came == (edge, str(entry["node"]["label"])):
            count, came = count - 1, None
        back = (edge, label) if symmetric else None
        inner = _unfolded(entry["node"], symmetric, back)
        arrow = "" if symmetric or direction is None else {"in": "←", "out": "→"}[direction]
        kinds[f"({arrow}{edge}{inner})"] += count
    texts = [
        text * count if count <= _ONE_BY_ONE else f"{count}×{text}" for text, count in kinds.items()
    ]
    return label + "".join(texts) + _counts(tree)


def _counts(tree: dict[str, Any]) -> str:
    """Write how many edges of each label enter and leave a node, where the scheme counts them."""
    texts = [
        f"{word} {', '.join(f'{count}×{str(label).strip()}' for label, count in tree[way].items())}"
        for way, word in (("in", "←"), ("out", "→"))
        if tree.get(way)
    ]
    return f"{{{'; '.join(texts)}}}" if texts else ""


def _is_symmetric(graphs: Graphs) -> bool:
    def keys(source: Tensor, target: Tensor) -> _Array:
        rows = np.stack([source.numpy(), target.numpy(), graphs.edge_label.cpu().numpy()])
        return rows[:, np.lexsort(rows)]

    source, target = graphs.edge_source.cpu(), graphs.edge_target.cpu()
    return np.array_equal(keys(source, target), keys(target, source))
