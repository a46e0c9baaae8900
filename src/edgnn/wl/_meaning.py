"""What a color means: the neighborhood it stands for, unfolded in the users' own labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

from edgnn.errors import GraphError
from edgnn.wl._coloring import Coloring

Tree = dict[str, Any]
_PREPOSITIONS = {"in": "from", "out": "to"}


@dataclass(frozen=True)
class Meaning:
    """A color in words.

    Parameters
    ----------
    text : str
        One line; ``…`` stands where the unfolding was cut to keep it readable.
    tree : dict
        The same as nested data: ``label``, and per kind of neighbor its count and its own tree.
    complete : bool
        Whether nothing was cut.
    """

    text: str
    tree: Tree
    complete: bool

    def __str__(self) -> str:
        return self.text


def meaning(coloring: Coloring, color: int, round: int, size: int) -> Meaning:
    """Unfold a color as deeply as fits into ``size`` characters, at least one step."""
    number = coloring.round_number(round)
    members = (coloring.at(number) == color).nonzero()
    if not len(members):
        raise GraphError(f"no node has the color {color} after round {number}")
    node = int(members[0])  # all members look alike to the refinement: the first stands for all
    unfolding = _Unfolding(coloring)
    depth = min(1, number)
    tree = unfolding.tree(node, number, depth)
    while depth < number:
        deeper = unfolding.tree(node, number, depth + 1)
        if len(render(deeper)) > size:
            break
        tree, depth = deeper, depth + 1
    return Meaning(render(tree), tree, depth == number)


class _Unfolding:
    """What the nodes of a coloring see, as trees."""

    def __init__(self, coloring: Coloring) -> None:
        self.graphs = coloring.graphs
        self.around = coloring.around
        self.colors = cache(lambda number: coloring.at(number).tolist())

    def tree(self, node: int, number: int, depth: int) -> Tree:
        """Return what the color of a node after round ``number`` means, ``depth`` steps deep."""
        label = self.graphs.node_vocabulary[int(self.graphs.node_label[node])]
        if number == 0:
            return {"label": label}
        if depth == 0:
            return {"label": label, "cut": True}
        neighbors = self._neighbors(node, number, depth)
        return {"label": label, "neighbors": neighbors} | self._label_counts(node)

    def _neighbors(self, node: int, number: int, depth: int) -> list[Tree]:
        """Return one entry per kind of neighbor: those of one code and one color alike."""
        before = self.colors(number - 1)
        kinds: dict[tuple[int, int], list[int]] = {}
        for code, other in self._row(node):
            kinds.setdefault((code, before[other]), []).append(other)
        entries = []
        for (code, _), members in kinds.items():
            inner = self.tree(members[0], number - 1, depth - 1)
            entry: Tree = {"count": len(members), "node": inner}
            if self.around.codes is not None:
                direction, label = self.around.decode(code)
                edge = self.graphs.edge_vocabulary[label]
                entry = {"direction": direction, "edge": edge} | entry
            entries.append(entry)
        return sorted(entries, key=_order)

    def _row(self, node: int) -> list[tuple[int, int]]:
        """Return the entries (code, neighbor) that a node sees."""
        begin, end = int(self.around.indptr[node]), int(self.around.indptr[node + 1])
        codes = [0] * (end - begin)
        if self.around.codes is not None:
            codes = self.around.codes[begin:end].tolist()
        return list(zip(codes, self.around.indices[begin:end].tolist(), strict=True))

    def _label_counts(self, node: int) -> Tree:
        """Return how many edges of each label enter and leave a node, if the scheme counts them."""
        indptr, codes = self.around.fixed_indptr, self.around.fixed_codes
        if indptr is None or codes is None:
            return {}
        counts: dict[str, dict[Any, int]] = {"in": {}, "out": {}}
        seen = Counter(
            map(self.around.decode, codes[int(indptr[node]) : int(indptr[node + 1])].tolist())
        )
        for (direction, label), count in sorted(seen.items()):
            counts[direction][self.graphs.edge_vocabulary[label]] = count
        return counts


def _order(entry: Tree) -> tuple[str, str, str]:
    return str(entry.get("direction")), str(entry.get("edge")), render(entry["node"])


def render(tree: Tree) -> str:
    """Write a tree as one line."""
    label = _shown(tree["label"])
    if tree.get("cut"):
        return f"{label}…"
    if "neighbors" not in tree:
        return label
    # Kinds of neighbors that differ only where the unfolding was cut are counted together.
    groups: dict[str, Counter[str]] = {name: Counter() for name in ("near", "in", "out")}
    for entry in tree["neighbors"]:
        direction, text = entry.get("direction", "near"), render(entry["node"])
        if "direction" in entry:
            text = f"{_shown(entry['edge'])} {_PREPOSITIONS[direction]} {text}"
        groups[direction][text] += entry["count"]
    for direction in _PREPOSITIONS:
        for value, count in tree.get(direction, {}).items():
            groups[direction][_shown(value)] += count
    texts = [f"{name}: {_counted(counts)}" for name, counts in groups.items() if counts]
    return f"{label}[{'; '.join(texts) or 'alone'}]"


def _counted(counts: Counter[str]) -> str:
    return ", ".join(text if count == 1 else f"{count}× {text}" for text, count in counts.items())


def _shown(value: Any) -> str:
    return "·" if value is None else str(value)
