"""Graphs and colors as pictures: data in, figure out."""

from edgnn.draw._coloring import coloring_page, draw_coloring
from edgnn.draw._curves import draw_growth
from edgnn.draw._layout import layout

__all__ = ["coloring_page", "draw_coloring", "draw_growth", "layout"]
