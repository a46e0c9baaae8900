"""Graphs, molecules, colors, contributions and scores as pictures: data in, figure out."""

from edgnn.report.draw._attribution import draw_attribution
from edgnn.report.draw._charts import (
    FIRST,
    Dots,
    Estimate,
    Series,
    draw_costs,
    draw_dots,
    draw_estimates,
    draw_points,
    draw_reliability,
    draw_series,
    series_color,
    series_key,
    series_mark,
)
from edgnn.report.draw._coloring import coloring_page, draw_coloring
from edgnn.report.draw._digraph import strengths, strongest_part
from edgnn.report.draw._layout import layout
from edgnn.report.draw._molecule import draw_molecule, skeleton
from edgnn.report.draw._shade import AGAINST, FOR, clean, signed
from edgnn.report.draw._svg import MARGIN, Fills, arrow, edge_length, panel

__all__ = [
    "AGAINST",
    "FIRST",
    "FOR",
    "MARGIN",
    "Dots",
    "Estimate",
    "Fills",
    "Series",
    "arrow",
    "clean",
    "coloring_page",
    "draw_attribution",
    "draw_coloring",
    "draw_costs",
    "draw_dots",
    "draw_estimates",
    "draw_molecule",
    "draw_points",
    "draw_reliability",
    "draw_series",
    "edge_length",
    "layout",
    "panel",
    "series_color",
    "series_key",
    "series_mark",
    "signed",
    "skeleton",
    "strengths",
    "strongest_part",
]
