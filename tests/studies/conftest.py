"""Small tables, so that cells take a moment."""

from __future__ import annotations

import pytest

import small_tables
from edgnn.studies import Table


@pytest.fixture
def small(monkeypatch) -> Table:
    """The table ``graphs`` with three folds of MUTAG and rows of a second."""
    return small_tables.use(monkeypatch)
