"""Limits between dense and sparse storage, set so that small graphs take either branch."""

from __future__ import annotations

import pytest


def dense_labels(patch: pytest.MonkeyPatch, most: int) -> None:
    """Have one-hot labels stored densely up to so many labels; -1: never."""
    patch.setattr("edgnn.nn._inputs.DENSE_LABELS", most)
    patch.setattr("edgnn.nn._large_inputs.DENSE_LABELS", most)


def dense_entries(patch: pytest.MonkeyPatch, per_edge: int) -> None:
    """Have counts of edge labels stored densely up to so many entries per edge; -1: never."""
    patch.setattr("edgnn.graphs._structure.DENSE_ENTRIES_PER_EDGE", per_edge)
