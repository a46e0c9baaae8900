"""Protocols by name: which splits of a data set a model is judged on, or trained on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgnn._words import suggestion
from edgnn.errors import DatasetError
from edgnn.evaluation import Split, holdout, kfold, published, scaffold
from edgnn.io.datasets import Dataset

Validation = float | str | None

_CROSS_VALIDATION = re.compile(r"(train-)?cv(\d+)(?:x(\d+))?")
#: The protocols by name; ``cv10x10`` stands for all of cross-validation, ``train-cv10`` for that of
#: a published training part.
PROTOCOLS = ("cv10x10", "train-cv10", "holdout", "split", "scaffold")
_MOST_FOR_FOLDS = 2000
_RUNS = 10


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
    if wanted is not None and (wanted != "split" or data.split is not None):
        return wanted
    if data.split is not None:
        return "split"
    return "cv10x10" if len(data) <= _MOST_FOR_FOLDS else "holdout"


def protocol_splits(
    data: Dataset,
    protocol: str,
    *,
    validation: Validation = 0.1,
    test: float = 0.1,
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
        part), ``"holdout"`` (a random test part), ``"split"`` (the published one) or ``"scaffold"``
        (molecules by their ring framework).
    validation : float, "first-fifth" or None
        Share of all items that chooses the epoch; ``"first-fifth"`` of a published training part.
    test : float
        Share of the test part of ``"holdout"`` and ``"scaffold"``.
    runs : int, optional
        How often; default: as the protocol's name says, else 10.
    seed : int
        Of the first run; the next has ``seed + 1``.
    """
    folds = _CROSS_VALIDATION.fullmatch(protocol)
    if folds is None and protocol not in ("holdout", "split", "scaffold"):
        raise DatasetError(
            f"there is no protocol {protocol!r}; choose cv10x10 (or another number of folds and runs), holdout, split or scaffold"
            f"{suggestion(protocol, PROTOCOLS)}"
        )
    y = _targets(data)
    if protocol == "split":
        return published(
            _published(data),
            y,
            validation=validation,  # type: ignore[arg-type]
            repeats=runs or _RUNS,
            seed=seed,
        )
    share = _share(validation, protocol)
    if folds is not None:
        repeats = runs or int(folds[3] or 1)
        if folds[1]:
            return _training_folds(data, y, int(folds[2]), repeats, seed, share)
        return kfold(y, int(folds[2]), repeats, seed=seed, validation=share)
    if protocol == "holdout":
        return holdout(y, test, share, runs or _RUNS, seed=seed)
    if data.level == "node":
        raise DatasetError(
            f"{data.name} has targets for nodes; a scaffold split is for molecules: choose holdout or cv10x10"
        )
    return scaffold(data.graphs, y, test=test, validation=share, repeats=runs or _RUNS, seed=seed)


def run_splits(
    data: Dataset, protocol: str, *, run: int, validation: Validation, seed: int = 0
) -> list[Split]:
    """Return the splits of one run of a protocol: those of that repeat where :func:`protocol_splits` makes many."""
    alone = protocol_splits(data, protocol, validation=validation, runs=1, seed=seed + run)
    return [replace(split, repeat=run) for split in alone]


def training_split(
    data: Dataset, *, test: float | str | None, validation: Validation, seed: int
) -> Split | None:
    """Return what one model is trained, validated and judged on; ``None`` where no item is kept for judging.

    Parameters
    ----------
    data : Dataset
        With targets.
    test : float, "published" or None
        A share of all items drawn at random, the test part that is published with the set, or
        nothing.
    validation : float, "first-fifth" or None
        As in :func:`protocol_splits`.
    seed : int
        What the random parts follow from.
    """
    if test is None:
        _share(validation, "a training without a published split")
        return None
    if isinstance(test, str):
        if test != "published":
            raise DatasetError(
                f"test={test!r}: choose 'published', a share of all items such as 0.2, or none"
            )
        return protocol_splits(data, "split", validation=validation, runs=1, seed=seed)[0]
    return protocol_splits(data, "holdout", validation=validation, test=test, runs=1, seed=seed)[0]


def protocol_title(protocol: str, splits: Sequence[Split]) -> str:
    """Say in words what a protocol does."""
    runs = len({split.repeat for split in splits})
    folds = len(splits) // runs
    times = f"{runs} run{'s' * (runs != 1)}"
    if found := _CROSS_VALIDATION.fullmatch(protocol):
        return f"{folds}-fold cross-validation{' of the published training part' if found[1] else ''}, {times}"
    kinds = {
        "holdout": "random test part",
        "split": "published split",
        "scaffold": "scaffold split",
    }
    return f"{kinds[protocol]}, {times}"


def is_of_paper(data: Dataset, protocol: str, splits: Sequence[Split]) -> bool:
    """Return whether a protocol is the paper's: ten times ten folds for graphs, the published split for nodes."""
    if data.level == "node":
        return protocol == "split"
    folds = _CROSS_VALIDATION.fullmatch(protocol)
    return folds is not None and not folds[1] and int(folds[2]) == 10 and len(splits) == 100


def _training_folds(
    data: Dataset, y: object, folds: int, repeats: int, seed: int, share: float | None
) -> list[Split]:
    """Return folds of the published training part; shares are of that part."""
    known = np.asarray(_published(data)["train"])
    return [
        replace(
            split,
            train=known[split.train],
            test=known[split.test],
            valid=None if split.valid is None else known[split.valid],
        )
        for split in kfold(np.asarray(y)[known], folds, repeats, seed=seed, validation=share)
    ]


def _targets(data: Dataset) -> object:
    if data.targets is None:
        raise DatasetError(f"{data.name} has no targets, so there is nothing to learn")
    return data.targets


def _published(data: Dataset) -> dict[str, object]:
    if data.split is None:
        raise DatasetError(
            f"{data.name} has no published split; choose cv10x10, holdout or, for molecules, scaffold"
        )
    return dict(data.split)


def _share(validation: Validation, where: str) -> float | None:
    if isinstance(validation, str):
        raise DatasetError(
            f"validation={validation!r} is for a published split, not for {where}; give a share such as 0.1, or none"
        )
    return validation
