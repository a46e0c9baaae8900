"""The error of this package."""

from __future__ import annotations

from edgnn.errors import EdgnnError


class ReportError(EdgnnError, ValueError):
    """What a report is to be made of does not fit together."""
