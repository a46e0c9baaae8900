"""MUTAG for tests that need real molecules; skips a test file where the data set is not at hand."""

import numpy as np
import pytest

import edgnn
from edgnn.errors import EdgnnError


def load_mutag() -> edgnn.Dataset:
    try:
        return edgnn.load_dataset("MUTAG", download=False)
    except EdgnnError as error:
        pytest.skip(f"MUTAG is not at hand: {error}", allow_module_level=True)


def load_alike(count):
    """Return molecules whose labels appear in the same order, and their classes.

    Every training set of them numbers its labels alike, so models of all splits at once are those
    of single fits.
    """
    data = load_mutag()
    orders = [
        (*dict.fromkeys(graph.node_labels), *dict.fromkeys(graph.edge_labels))
        for graph in data.graphs
    ]
    chosen = [number for number, order in enumerate(orders) if order == orders[0]][:count]
    return data.graphs[chosen], np.asarray(data.targets)[chosen]
