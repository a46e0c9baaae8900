"""``edgnn doctor``: what is installed, where data is looked for, and whether it works."""

from __future__ import annotations

from edgnn.errors import EdgnnError


def doctor() -> None:
    """Not built yet."""
    raise EdgnnError("doctor is not built yet")
