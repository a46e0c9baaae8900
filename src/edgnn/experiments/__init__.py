"""The paper's rows as data: settings, protocols, and where they come from."""

from edgnn.experiments._settings import Recipe, recipe, rows

__all__ = ["Recipe", "recipe", "rows"]
