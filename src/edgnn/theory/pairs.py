"""Pairs of graphs that are not isomorphic, each beyond the sight of some refinement."""

from __future__ import annotations

from edgnn.graphs import Graphs

__all__ = [
    "directed_cycles",
    "directed_triangles",
    "hexagon_and_triangles",
    "labeled_squares",
    "swapped_loops",
]


def directed_triangles() -> tuple[Graphs, Graphs]:
    r"""Return the directed triangle on A, B, C and its reverse.

    ``separate`` merges them, ``joint`` splits them.

    ::

          A              A
         ↗ ↘            ↙ ↖
        C ← B          C → B

    Every node has one edge in, one out, and both others as neighbors; that the edge out of A leads
    to B takes a refinement that joins direction and neighbor.
    """
    return _graph("ABC", [(0, 1), (1, 2), (2, 0)]), _graph("ABC", [(0, 2), (2, 1), (1, 0)])


def labeled_squares() -> tuple[Graphs, Graphs]:
    r"""Return two squares whose undirected edges swap labels.

    ``separate`` merges them, ``joint`` splits them.

    ::

        X —1— A          X —2— A
        2     2          1     1
        B —1— Y          B —2— Y

    Every node has one edge with label 1 and one with label 2.
    """
    sides = [(0, 1), (0, 3), (2, 1), (2, 3)]
    return _undirected("XAYB", sides, [1, 2, 2, 1]), _undirected("XAYB", sides, [2, 1, 1, 2])


def hexagon_and_triangles() -> tuple[Graphs, Graphs]:
    r"""Return an undirected hexagon and two triangles, without labels: ``joint`` merges them too.

    ::

          o—o            o     o
         /   \          / \   / \
        o     o        o—o   o—o
         \   /
          o—o

    Every node has two neighbors like itself.
    """
    hexagon = [(node, (node + 1) % 6) for node in range(6)]
    triangles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
    return _undirected(None, hexagon), _undirected(None, triangles)


def directed_cycles() -> tuple[Graphs, Graphs]:
    r"""Return a directed cycle of four nodes and two of two nodes.

    ``node`` and ``separate`` split them, ``joint`` merges them.

    ::

        o → o          o ⇄ o
        ↑   ↓
        o ← o          o ⇄ o

    Every node has one edge in and one out; but as the paper's N(v) is a set, it has two members on
    the left and one on the right. ``joint`` counts edges, and so does ``separate`` with
    ``multiplicity="per-edge"``, which merges them too.
    """
    one_cycle = [(0, 1), (1, 2), (2, 3), (3, 0)]
    two_cycles = [(0, 1), (1, 0), (2, 3), (3, 2)]
    return _graph(None, one_cycle), _graph(None, two_cycles)


def swapped_loops() -> tuple[Graphs, Graphs]:
    r"""Return two nodes with loops and a two-cycle, labels swapped.

    ``separate`` merges them, ``joint`` splits them.

    ::

        1↻A ⇄ B↺1       2↻A ⇄ B↺2
            2               1

    Every node has one edge of each label in and out; only ``joint`` sees which one leads to itself.
    """
    edges = [(0, 0), (1, 1), (0, 1), (1, 0)]
    return _graph("AB", edges, [1, 1, 2, 2]), _graph("AB", edges, [2, 2, 1, 1])


def _graph(
    nodes: str | None, edges: list[tuple[int, int]], labels: list[int] | None = None
) -> Graphs:
    return Graphs.from_edges(edges, node_labels=nodes, edge_labels=labels)


def _undirected(
    nodes: str | None, edges: list[tuple[int, int]], labels: list[int] | None = None
) -> Graphs:
    back = [(target, source) for source, target in edges]
    return _graph(nodes, edges + back, None if labels is None else labels + labels)
