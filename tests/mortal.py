"""A model whose process is killed while it is trained, as often as there are files in a folder.

The deaths are counted by what happens, not by a clock: each training takes one file away and dies.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from edgnn.models import MajorityClassifier
from edgnn.registry import MODELS, ModelEntry
from edgnn.studies import Row

_FOLDER = "EDGNN_TEST_DEATHS"


class MortalClassifier(MajorityClassifier):
    """Predict the most frequent class, unless the process dies before."""

    def fit(self, X: Any, y: Any) -> Self:
        """Die if a death is left, else count the classes."""
        for death in Path(os.environ[_FOLDER]).iterdir():
            death.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


ENTRY = ModelEntry("mortal", "dies", {"graph": {"classes": "mortal:MortalClassifier"}})


class Deaths:
    """The deaths that are left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def plan(self, count: int) -> None:
        """Have the next so many trainings die."""
        for number in range(count):
            (self._folder / str(number)).touch()

    @property
    def left(self) -> int:
        """How many have not happened."""
        return len(list(self._folder.iterdir()))

    @staticmethod
    def row(like: Row) -> Row:
        """Return a row with this model in the place of its own."""
        return replace(like, model=ENTRY.name)


@contextmanager
def known(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Deaths]:
    """Have this process and those that it starts know the model, through an installed package."""
    package, deaths = folder / "mortal-1.dist-info", folder / "deaths"
    for made in (package, deaths):
        made.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: mortal\nVersion: 1\n")
    (package / "entry_points.txt").write_text("[edgnn.models]\nmortal = mortal:ENTRY\n")
    patch.syspath_prepend(str(folder))
    patch.setenv(_FOLDER, str(deaths))
    MODELS.register(ENTRY)
    try:
        yield Deaths(deaths)
    finally:
        MODELS.unregister(ENTRY.name)
