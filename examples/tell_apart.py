"""Which graphs can edGNN tell apart? Three small pairs, the verdict of each refinement, and a drawing of each pair.

Run with a folder to draw into:  python examples/tell_apart.py docs/images
"""

import sys
from pathlib import Path

from edgnn import Graphs, wl
from edgnn.report.draw import draw_coloring

triangle = [(0, 1), (1, 2), (2, 0)]
square = [(0, 2), (0, 3), (1, 2), (1, 3)]
pairs = {
    "directed-triangles": (
        Graphs.from_edges(triangle, node_labels=list("ABC")),
        Graphs.from_edges([(b, a) for a, b in triangle], node_labels=list("ABC")),
    ),
    "labeled-squares": (
        Graphs.from_edges(square, node_labels=list("XYAB"), edge_labels=[1, 2, 2, 1]),
        Graphs.from_edges(square, node_labels=list("XYAB"), edge_labels=[2, 1, 1, 2]),
    ),
    "hexagon-and-triangles": (
        Graphs.from_edges([(node, (node + 1) % 6) for node in range(6)]),
        Graphs.from_edges(triangle + [(3 + a, 3 + b) for a, b in triangle]),
    ),
}

for name, (g, h) in pairs.items():
    print(name)
    for scheme in ("node", "separate", "joint"):
        print("   ", str(wl.compare(g, h, scheme)).splitlines()[0])
    print("    isomorphic:", wl.isomorphic(g, h))
    if len(sys.argv) > 1:
        both = wl.refine(Graphs.concat([g, h]), 1, "joint")
        for number in (0, 1):
            path = Path(sys.argv[1]) / f"{name}-{number + 1}.svg"
            path.write_text(draw_coloring(both, number), encoding="utf-8")
