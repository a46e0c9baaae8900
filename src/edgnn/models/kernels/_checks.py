"""Parameters of the closed forms and kernel methods, as the formulas take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs

Array = np.ndarray[Any, Any]

#: Most rounds of refinement.
DEEPEST = 1000


def refuse_features(graphs: Graphs, instead: str) -> None:
    """Raise where graphs have continuous features, which colors and subgraphs do not show."""
    if graphs.node_features is not None or graphs.edge_features is not None:
        raise EstimatorError(
            "these graphs have continuous features, which this model does not compare: "
            f"turn them into labels with edgnn.wl.Discretizer, or {instead}"
        )


def candidates(values: Any) -> list[int]:
    """Return one whole number, or several, as a rising list without repetition."""
    return sorted({int(value) for value in np.atleast_1d(values)})


def words(value: Any) -> tuple[Any, ...]:
    """Return one word, or several, as a tuple."""
    return (value,) if isinstance(value, str) else tuple(value)
