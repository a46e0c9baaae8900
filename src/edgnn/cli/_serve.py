"""``edgnn serve``: a local page to try a trained model on."""

from __future__ import annotations

from edgnn.errors import EdgnnError


def serve() -> None:
    """Not built yet."""
    raise EdgnnError("serve is not built yet")
