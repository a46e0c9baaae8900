"""What a color means: the neighborhood it stands for, unfolded in the users' own labels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

from edgnn.errors import GraphError
from edgnn.wl._coloring import Coloring

Tree = dict[str, Any]


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
    number = coloring._number(round)
    members = (coloring.at(number) == color).nonzero()
    if not len(members):
        raise GraphError(f"no node has the color {color} after round {number}")
    node, found = int(members[0]), None
    describe = _describer(coloring)
    for depth in range(min(1, number), number + 1):
        tree = describe(node, number, depth)
        text = render(tree)
        if found is not None and len(text) > size:
            break
        found = Meaning(text, tree, depth == number)
    assert found is not None
    return found


def _describer(coloring: Coloring) -> Any:
    colors = cache(lambda number: coloring.at(number).tolist())
    around, graphs = coloring.around, coloring.graphs

    def row(node: int) -> list[tuple[int, int]]:
        begin, end = int(around.indptr[node]), int(around.indptr[node + 1])
        codes = [0] * (end - begin) if around.codes is None else around.codes[begin:end].tolist()
        return list(zip(codes, around.indices[begin:end].tolist(), strict=True))

    def describe(node: int, number: int, depth: int) -> Tree:
        tree: Tree = {"label": graphs.node_vocabulary[int(graphs.node_label[node])]}
        if number == 0:
            return tree
        if depth == 0:
            return tree | {"cut": True}
        before = colors(number - 1)
        kinds: Counter[tuple[int, int]] = Counter()
        example: dict[tuple[int, int], int] = {}
        for code, other in row(node):
            kinds[code, before[other]] += 1
            example.setdefault((code, before[other]), other)
        neighbors = []
        for kind, count in kinds.items():
            entry: Tree = {"count": count, "node": describe(example[kind], number - 1, depth - 1)}
            if around.codes is not None:
                direction, label = around.decode(kind[0])
                entry = {"direction": direction, "edge": graphs.edge_vocabulary[label]} | entry
            neighbors.append(entry)
        tree["neighbors"] = sorted(
            neighbors,
            key=lambda entry: (
                str(entry.get("direction")),
                str(entry.get("edge")),
                render(entry["node"]),
            ),
        )
        if around.fixed_codes is not None and around.fixed_indptr is not None:
            begin, end = int(around.fixed_indptr[node]), int(around.fixed_indptr[node + 1])
            counted = Counter(
                around.decode(code) for code in around.fixed_codes[begin:end].tolist()
            )
            for direction in ("in", "out"):
                tree[direction] = {
                    graphs.edge_vocabulary[label]: count
                    for (side, label), count in sorted(counted.items())
                    if side == direction
                }
        return tree

    return describe


def render(tree: Tree) -> str:
    """Write a tree as one line."""
    label = _shown(tree["label"])
    if tree.get("cut"):
        return f"{label}…"
    if "neighbors" not in tree:
        return label
    parts = []
    if any("direction" in entry for entry in tree["neighbors"]):
        for direction, word in (("in", "from"), ("out", "to")):
            seen = [
                f"{_times(entry['count'])}{_shown(entry['edge'])} {word} {render(entry['node'])}"
                for entry in tree["neighbors"]
                if entry["direction"] == direction
            ]
            parts += [f"{direction}: {', '.join(seen)}"] if seen else []
    elif tree["neighbors"]:
        parts.append(
            "near: "
            + ", ".join(
                f"{_times(entry['count'])}{render(entry['node'])}" for entry in tree["neighbors"]
            )
        )
    for direction in ("in", "out"):
        if tree.get(direction):
            parts.append(
                f"{direction}: "
                + ", ".join(
                    f"{_times(count)}{_shown(value)}" for value, count in tree[direction].items()
                )
            )
    return f"{label}[{'; '.join(parts) if parts else 'alone'}]"


def _times(count: int) -> str:
    return "" if count == 1 else f"{count}× "


def _shown(value: Any) -> str:
    return "·" if value is None else str(value)
