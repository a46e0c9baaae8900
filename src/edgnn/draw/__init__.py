"""Graphs, colors and scores as pictures: data in, figure out."""

from edgnn.draw._charts import Band, Estimate, Strip, draw_bands, draw_estimates, draw_points, draw_strips
from edgnn.draw._coloring import coloring_page, draw_coloring
from edgnn.draw._curves import draw_growth
from edgnn.draw._layout import layout

__all__ = [
    "Band",
    "Estimate",
    "Strip",
    "coloring_page",
    "draw_bands",
    "draw_coloring",
    "draw_estimates",
    "draw_growth",
    "draw_points",
    "draw_strips",
    "layout",
]
