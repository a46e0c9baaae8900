"""Graphs, molecules, colors, contributions and scores as pictures: data in, figure out."""

from edgnn.report.draw._attribution import draw_attribution
from edgnn.report.draw._charts import (
    Band,
    Estimate,
    Strip,
    draw_bands,
    draw_estimates,
    draw_points,
    draw_strips,
)
from edgnn.report.draw._coloring import coloring_page, draw_coloring
from edgnn.report.draw._curves import draw_growth
from edgnn.report.draw._growths import draw_growths
from edgnn.report.draw._layout import layout
from edgnn.report.draw._molecule import draw_molecule, is_molecule, skeleton
from edgnn.report.draw._names import node_texts
from edgnn.report.draw._panels import (
    Series,
    Swarm,
    draw_costs,
    draw_reliability,
    draw_series,
    draw_swarms,
)
from edgnn.report.draw._shade import clean, signed
from edgnn.report.draw._svg import MARGIN, edge_length, fill, panel

__all__ = [
    "MARGIN",
    "Band",
    "Estimate",
    "Series",
    "Strip",
    "Swarm",
    "clean",
    "coloring_page",
    "draw_attribution",
    "draw_bands",
    "draw_coloring",
    "draw_costs",
    "draw_estimates",
    "draw_growth",
    "draw_growths",
    "draw_molecule",
    "draw_points",
    "draw_reliability",
    "draw_series",
    "draw_strips",
    "draw_swarms",
    "edge_length",
    "fill",
    "is_molecule",
    "layout",
    "node_texts",
    "panel",
    "signed",
    "skeleton",
]
