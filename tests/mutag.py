"""MUTAG for tests that need real molecules; skips a test file where the data set is not at hand."""

import pytest

import edgnn
from edgnn.errors import EdgnnError


def load_mutag() -> edgnn.Dataset:
    try:
        return edgnn.load_dataset("MUTAG", download=False)
    except EdgnnError as error:
        pytest.skip(f"MUTAG is not at hand: {error}", allow_module_level=True)
