"""Small tables, so that cells take a moment."""

from __future__ import annotations

import pytest

import small_tables
from edgnn.studies import Table, _tables, find_table


@pytest.fixture
def small(monkeypatch) -> Table:
    """The table ``graphs`` with three folds of MUTAG and rows of a second."""
    monkeypatch.setattr(_tables, "_stored", small_tables.stored)
    _tables._row.cache_clear()
    yield find_table("graphs")
    _tables._row.cache_clear()
