"""``edgnn export``: a trained model as a program that needs torch alone."""

from __future__ import annotations

from edgnn.errors import EdgnnError


def export() -> None:
    """Not built yet."""
    raise EdgnnError("export is not built yet")
