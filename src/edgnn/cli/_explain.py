"""``edgnn explain``: why a trained model says what it says."""

from __future__ import annotations

from edgnn.errors import EdgnnError


def explain() -> None:
    """Not built yet."""
    raise EdgnnError("explain is not built yet")
