"""The table ``graphs`` made small: three folds of MUTAG, rows of a second. As a program: ``edgnn`` with that table."""

from __future__ import annotations

from typing import Any

import pytest

from edgnn.studies import Table, _tables, find_table

_ROWS: dict[str, Any] = {
    "majority": {"title": "majority", "model": "majority", "says": "the most frequent class"},
    "edgnn": {
        "title": "edGNN (avg)",
        "model": "edgnn",
        "settings": "closest",
        "paper": "edGNN (avg)",
        "search": True,
        "says": "few epochs",
        "estimator": {"max_epochs": 3, "hidden": 8, "layers": 1},
    },
    "edgnn-max": {
        "title": "edGNN (max)",
        "best_of": "edgnn",
        "paper": "edGNN (max)",
        "says": "the best run",
    },
    "wl-subtree": {"title": "WL subtree", "model": "wl-subtree", "says": "color counts"},
    "broken": {"title": "broken", "model": "rdf2vec", "says": "classifies nodes, not graphs"},
}
_TABLE = {
    "title": "Small",
    "says": "a small table",
    "datasets": ["MUTAG"],
    "protocol": "cv3",
    "rows": ["majority", "edgnn", "edgnn-max", "wl-subtree", "broken"],
}
GOOD = "majority,edgnn,edgnn-max,wl-subtree"


def stored() -> dict[str, Any]:
    """Return the tables as the file has them, with the small one."""
    real = _REAL()
    return {"tables": real["tables"] | {"graphs": _TABLE}, "rows": real["rows"] | _ROWS}


_REAL = _tables._stored


def use(patch: pytest.MonkeyPatch) -> Table:
    """Put the small table in the place of the paper's, and return it."""
    patch.setattr(_tables, "_stored", stored)
    return find_table("graphs")


if __name__ == "__main__":
    from edgnn.cli import run

    use(pytest.MonkeyPatch())
    run()
