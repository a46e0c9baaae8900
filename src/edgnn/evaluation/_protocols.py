"""Protocols by name: on which splits of a data set a model is trained and evaluated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgnn._words import counted, suggestion
from edgnn.errors import DatasetError
from edgnn.evaluation._scaffold import scaffold
from edgnn.evaluation._splits import Split, holdout, kfold, published
from edgnn.io.datasets import Dataset

#: The protocols by name; ``cv10x10`` stands for all of cross-validation, ``train-cv10`` for that of
#: a published training part.
PROTOCOLS = ("cv10x10", "train-cv10", "holdout", "split", "scaffold", "scaffold-fixed")
_CROSS_VALIDATION = re.compile(r"(train-)?cv(\d+)(?:x(\d+))?")
_TITLES = {
    "holdout": "random test part",
    "split": "published split",
    "scaffold": "scaffold split",
    "scaffold-fixed": "fixed scaffold split",
}
#: The test part of one training: a protocol, perhaps with a fraction behind it.
_TEST_PART = re.compile(r"(scaffold(?:-fixed)?)(?::(0?\.\d+))?")
_MOST_FOR_FOLDS = 2000
_RUNS = 10
_TEST = 0.1


def default_protocol(data: Dataset, wanted: str | None = None) -> str:
    """Return the name of the protocol for a data set.

    Parameters
    ----------
    data : Dataset
        What is to be split.
    wanted : str, optional
        The protocol that stored settings ask for; a ``"split"`` that the set does not have is
        passed over.

    Returns
    -------
    str
        ``"split"`` where the set has a published one, else ``"cv10x10"`` for up to 2,000 items,
        else ``"holdout"``.
    """
    if wanted is not None and wanted != "split":
        return wanted
    if data.split is not None:
        return "split"
    return "cv10x10" if len(data) <= _MOST_FOR_FOLDS else "holdout"


def protocol_splits(
    data: Dataset,
    protocol: str,
    *,
    validation: float | str | None = 0.1,
    test: float = _TEST,
    runs: int | None = None,
    seed: int = 0,
) -> list[Split]:
    """Return the splits of a protocol.

    Parameters
    ----------
    data : Dataset
        With targets.
    protocol : str
        ``"cv10x10"`` (10 folds, 10 times; likewise any ``cvKxR``, and ``cvK`` for once),
        ``"train-cv10"`` (folds of the published training part alone: its test items are in no
        part), ``"holdout"`` (a random test part), ``"split"`` (the published one),
        ``"scaffold"`` (molecules by their ring framework, drawn anew for each run) or
        ``"scaffold-fixed"`` (always the same split, with the rare frameworks in the test part).
    validation : float, "first-fifth" or None
        Fraction of all items that chooses the epoch; ``"first-fifth"`` of a published training
        part.
    test : float
        Fraction of the test part of ``"holdout"`` and of scaffold splits.
    runs : int, optional
        How often; default: as the protocol's name says, else 10.
    seed : int
        Of the first run; the next has ``seed + 1``.
    """
    folds = _CROSS_VALIDATION.fullmatch(protocol)
    if folds is None and protocol not in _TITLES:
        raise DatasetError(
            f"there is no protocol {protocol!r}; choose cv10x10 (or another number of folds and "
            f"runs), holdout, split, scaffold or scaffold-fixed{suggestion(protocol, PROTOCOLS)}"
        )
    if data.targets is None:
        raise DatasetError(f"{data.name} has no targets, so there is nothing to learn")
    y = data.targets
    if folds is not None:
        repeats = runs or int(folds[3] or 1)
        fraction = _fraction(validation, protocol)
        if folds[1]:
            return _training_folds(data, int(folds[2]), repeats, seed, fraction)
        return kfold(y, int(folds[2]), repeats, seed=seed, validation=fraction)
    repeats = runs or _RUNS
    if protocol == "split":
        parts = _published(data)
        return published(parts, y, validation=validation, repeats=repeats, seed=seed)
    fraction = _fraction(validation, protocol)
    if protocol == "holdout":
        return holdout(y, test, fraction, repeats, seed=seed)
    if data.level == "node":
        raise DatasetError(
            f"{data.name} has targets for nodes; a scaffold split is for molecules: "
            "choose holdout or cv10x10"
        )
    return scaffold(
        data.graphs,
        y,
        test=test,
        validation=fraction,
        repeats=repeats,
        seed=seed,
        balanced=protocol == "scaffold",
    )


def run_splits(
    data: Dataset, protocol: str, *, run: int, validation: float | str | None, seed: int = 0
) -> list[Split]:
    """Return the splits of one run of a protocol: that repeat of :func:`protocol_splits`."""
    alone = protocol_splits(data, protocol, validation=validation, runs=1, seed=seed + run)
    return [replace(split, repeat=run) for split in alone]


def training_split(
    data: Dataset, *, test: float | str | None, validation: float | str | None, seed: int
) -> Split | None:
    """Return what one model is trained, validated and tested on; ``None`` without a test part.

    Parameters
    ----------
    data : Dataset
        With targets.
    test : float, "published", "scaffold", "scaffold-fixed" or None
        A fraction of all items drawn at random; the test part that is published or given with the
        set; a scaffold split with a tenth, or as much as ``"scaffold:0.2"`` says; or nothing.
    validation : float, "first-fifth" or None
        As in :func:`protocol_splits`.
    seed : int
        Random seed of the random parts.
    """
    if test is None:
        _fraction(validation, "a training without a published split")
        return None
    options: dict[str, Any] = {"validation": validation, "runs": 1, "seed": seed}
    if not isinstance(test, str):
        return protocol_splits(data, "holdout", test=test, **options)[0]
    if test == "published":
        return only_split(protocol_splits(data, "split", **options))
    scaffold_part = _TEST_PART.fullmatch(test)
    if scaffold_part is None:
        raise DatasetError(
            f"test={test!r}: choose 'published', a fraction of all items such as 0.2, "
            "'scaffold', 'scaffold:0.2' or 'scaffold-fixed', or none"
        )
    fraction = float(scaffold_part[2] or _TEST)
    return protocol_splits(data, scaffold_part[1], test=fraction, **options)[0]


def only_split(splits: Sequence[Split]) -> Split:
    """Return the one split that a model can be trained on."""
    if len(splits) > 1:
        raise DatasetError(
            f"there are {len(splits)} folds, and one model is trained on one split: evaluate takes "
            "them all; for train give the parts train, validation and test"
        )
    return splits[0]


def protocol_title(protocol: str, splits: Sequence[Split]) -> str:
    """Return in words what a protocol does."""
    runs = len({split.repeat for split in splits})
    title = _TITLES.get(protocol)
    if title is None:
        title = f"{len(splits) // runs}-fold cross-validation"
        if protocol.startswith("train-"):
            title += " of the published training part"
    return f"{title}, {counted(runs, 'run')}"


def _training_folds(
    data: Dataset, folds: int, repeats: int, seed: int, fraction: float | None
) -> list[Split]:
    """Return folds of the published training part; fractions are of that part."""
    known = np.asarray(_published(data)["train"])
    y = np.asarray(data.targets)[known]
    folded = kfold(y, folds, repeats, seed=seed, validation=fraction)
    return [split.of_items(known) for split in folded]


def _published(data: Dataset) -> dict[str, Any]:
    if data.split is None:
        raise DatasetError(
            f"{data.name} has no published split; "
            "choose cv10x10, holdout or, for molecules, scaffold"
        )
    return dict(data.split)


def _fraction(validation: float | str | None, where: str) -> float | None:
    if isinstance(validation, str):
        raise DatasetError(
            f"validation={validation!r} is for a published split, not for {where}; "
            "give a fraction such as 0.1, or none"
        )
    return validation
