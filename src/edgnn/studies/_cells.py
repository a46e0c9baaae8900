"""One cell: from a row, a data set and a run to predictions that depend on nothing else."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

from edgnn._json import plain
from edgnn._system import PeakMemory, one_thread
from edgnn.errors import EdgnnError, StudyError
from edgnn.evaluation import (
    Evaluation,
    Split,
    common_parameters,
    evaluate,
    run_splits,
    training_ceiling,
)
from edgnn.graphs import Nodes
from edgnn.io.datasets import Dataset, load_dataset
from edgnn.studies._nested import Nested
from edgnn.studies._settings import Recipe, recipe, search_grid
from edgnn.studies._study import Cell, CellResult
from edgnn.studies._tables import Row, Table

_DEFAULT_VALIDATION = 0.1
_METRICS = ("accuracy", "balanced_accuracy")
_NO_INFLUENCE = ("cache", "device", "n_jobs", "verbose")
# Parameters that older cells do not name, with the value that they were computed with.
_ADDED_LATER = (("fanout", None),)
# Parameters that models had when cells were stored, with the value they were computed with.
#: Models under another name than when the stored results were computed.
_FORMER_NAMES = {"ridge-network": "ridge"}
_FORMER = {"csm": {"backend": "edgnn"}, "wlsp": {"backend": "edgnn"}}
_DIGITS = 6


@dataclass(frozen=True)
class Task:
    """A cell to compute, and how.

    Attributes
    ----------
    cell : Cell
        Which one.
    table : Table
        Its table, for protocol and seed.
    row : Row
        Its row.
    device : str
        Where networks are trained.
    data_dir : str, optional
        Where data is looked for first.
    jobs : int
        Threads or processes that a method may use for itself.
    together : tuple of int
        Runs that are trained as one fleet, this one among them; none: this run alone.
    """

    cell: Cell
    table: Table
    row: Row
    device: str = "cpu"
    data_dir: str | None = None
    jobs: int = 1
    together: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.together:
            return str(self.cell)
        return f"{self.cell.row} on {self.cell.dataset}, {self.count} runs ({self.cell.table})"

    @property
    def count(self) -> int:
        """How many cells it computes."""
        return len(self.together) or 1

    def each(self) -> list[Task]:
        """Return a task per run."""
        runs = self.together or (self.cell.run,)
        return [replace(self, cell=replace(self.cell, run=run), together=()) for run in runs]

    @property
    def seed(self) -> int:
        """The seed of its run."""
        return self.table.seed + self.cell.run

    @property
    def nested(self) -> bool:
        """Whether its settings are chosen inside the training part."""
        return self.cell.protocol == "nested"


@lru_cache(maxsize=16)
def loaded(name: str, data_dir: str | None) -> Dataset:
    """Return a data set, loaded once per process."""
    return load_dataset(name, data_dir=data_dir)


@lru_cache(maxsize=16)
def transformed(name: str, data_dir: str | None, transform: str | None) -> Dataset:
    """Return a data set with its graphs transformed as a row says, made once per process."""
    data = loaded(name, data_dir)
    if transform is None:
        return data
    if transform == "ring-sizes":
        graphs = data.graphs.with_ring_sizes()
    elif transform == "turned":
        graphs = data.graphs.reverse()
    else:
        raise StudyError(
            f"tables.toml asks for the transform {transform!r}; there are ring-sizes and turned"
        )
    nodes = None if data.nodes is None else Nodes(graphs, data.nodes.index)
    return replace(data, graphs=graphs, nodes=nodes)


def compute(task: Task) -> CellResult:
    """Compute a cell by itself.

    The same cell has the same predictions in any process, beside any other: sums are added up in
    one thread, and everything random follows from the random seed of its run.
    """
    return compute_together([task])[0]


def compute_together(tasks: Sequence[Task]) -> list[CellResult]:
    """Compute several runs of a row on a data set at once: one fleet, one result per run.

    On a device a fleet of all runs takes about as long as that of one. In the last digits,
    predictions depend on what is trained together, so the same runs must always be.
    """
    first = tasks[0]
    data = transformed(first.cell.dataset, first.data_dir, first.row.transform)
    estimator = estimator_of(first, data)
    runs = [splits_of(task, data) for task in tasks]
    splits = [split for run in runs for split in run]
    history: list[dict[str, Any]] = []
    with one_thread():
        memory = PeakMemory(device_of(estimator))
        start = time.perf_counter()
        evaluation = _evaluated(first, estimator, data, splits, history)
        seconds = time.perf_counter() - start
        peak = memory.read()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    results: list[CellResult] = []
    for task, run in zip(tasks, runs, strict=True):
        settings = settings_of(task, data, estimator_of(task, data))
        result = CellResult(
            cell=task.cell,
            evaluation=_of_run(evaluation, task),
            seconds=seconds / len(tasks),
            memory=peak,
            history=[] if results else history,
            settings=settings | {"device": device_of(estimator)},
            environment=_environment() | {"date": now},
            ceiling=None if task.table.metrics else _ceiling(data, run, evaluation),
            fingerprint=fingerprint_of(settings),
        )
        results.append(result)
    return results


def _of_run(evaluation: Evaluation, task: Task) -> Evaluation:
    """Return the evaluation of the task's run, with the seed of that run."""
    parameters = evaluation.settings["parameters"]
    if "random_state" in parameters:
        parameters = parameters | {"random_state": task.seed}
    settings = {**evaluation.settings, "parameters": parameters}
    return replace(evaluation.of_repeats([task.cell.run]), settings=settings)


def splits_of(task: Task, data: Dataset) -> list[Split]:
    """Return the splits of the task's run."""
    protocol = task.table.protocol[data.level]
    return run_splits(
        data, protocol, run=task.cell.run, validation=_validation(task, data), seed=task.table.seed
    )


def estimator_of(task: Task, data: Dataset) -> Any:
    """Return the estimator of the task; of the nested protocol, one that chooses its settings."""
    from edgnn.models import model_parts

    stored = _recipe(task.row, data)
    parameters = ({} if stored is None else stored.estimator) | dict(task.row.estimator)
    assert task.row.model is not None
    assert data.task is not None
    common = common_parameters(_validation(task, data), task.seed)
    kind, chosen = model_parts(
        task.row.model,
        data.level,
        data.task,
        common=common | {"n_jobs": task.jobs, "device": task.device},
        **parameters,
    )
    if not task.nested:
        estimator = kind(**chosen)
        estimator.check_parameters()
        return estimator
    search = Nested.over(kind, chosen, search_grid(data.level))
    for candidate in search.candidates.values():
        candidate.check_parameters()
    return search


def settings_of(task: Task, data: Dataset, estimator: Any) -> dict[str, Any]:
    """Return all that the predictions of a cell depend on, as plain values."""
    given = plain(estimator.get_params(deep=False)) | _FORMER.get(str(task.row.model), {})
    parameters = {
        name: value
        for name, value in sorted(given.items())
        if name not in _NO_INFLUENCE and (name, value) not in _ADDED_LATER
    }
    content = dict(sorted(data.sha256.items())) or _content(data)
    settings = {
        "model": _FORMER_NAMES.get(str(task.row.model), task.row.model),
        "settings": task.row.settings,
        "parameters": parameters,
        "protocol": task.table.protocol[data.level],
        "nested": task.nested,
        "validation": _validation(task, data),
        "seed": task.seed,
        "data": {"name": data.name, "sha256": content},
    }
    if task.row.transform:
        settings["transform"] = task.row.transform
    return settings


def fingerprint_of(settings: dict[str, Any]) -> str:
    """Return a hash of the settings of a cell."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def device_of(estimator: Any) -> str:
    """Return where an estimator computes."""
    candidates = getattr(estimator, "candidates", {"": estimator})
    return str(getattr(next(iter(candidates.values())), "device", "cpu"))


def _evaluated(
    task: Task,
    estimator: Any,
    data: Dataset,
    splits: Sequence[Split],
    history: list[dict[str, Any]],
) -> Evaluation:
    from edgnn.models import memory_errors

    def keep_losses(now: Any) -> None:
        if now.epoch is not None and not task.nested:
            losses = {
                name: [_short(loss) for loss in getattr(now.epoch, name)]
                for name in ("train_loss", "valid_loss")
            }
            history.append({"epoch": now.done} | losses)

    models = getattr(estimator, "candidates", {"": estimator}).values()
    metrics = list(task.table.metrics.get(data.task or "", ()))
    if not metrics:
        metrics += _METRICS
        if all(hasattr(model, "predict_proba") for model in models):
            metrics.append("roc_auc")
    with memory_errors():
        return evaluate(
            estimator,
            data.items,
            data.targets,
            splits,
            metrics=metrics,
            class_names=data.class_names or None,
            subsets=data.subsets,
            on_progress=keep_losses,
        )


def _recipe(row: Row, data: Dataset) -> Recipe | None:
    return None if row.settings is None else recipe(row.settings, data.level, data.name)


def _validation(task: Task, data: Dataset) -> float | str | None:
    """Return the validation part: the row's, else that of its settings, else a tenth.

    The first fifth of a published training part becomes, in folds, as large a fraction of the
    training folds, drawn at random.
    """
    stored = _recipe(task.row, data)
    validation = task.row.validation
    if validation is None:
        validation = _DEFAULT_VALIDATION if stored is None else stored.validation
    folds = re.search(r"cv(\d+)", task.table.protocol[data.level])
    if isinstance(validation, str) and folds is not None:
        return 0.2 * (1 - 1 / int(folds[1]))
    return validation


def _ceiling(data: Dataset, splits: Sequence[Split], evaluation: Evaluation) -> float | None:
    part: Any = "train" if evaluation.settings["fleet"] else "known"
    try:
        return training_ceiling(data, splits, part=part)
    except EdgnnError:  # continuous features, for example, are not bounded by colors
        return None


def _content(data: Dataset) -> str:
    from edgnn.models import fingerprint

    return fingerprint(data.items, data.targets)


def _short(loss: float) -> float:
    return float(f"{loss:.{_DIGITS}g}") if math.isfinite(loss) else loss


@cache
def _environment() -> dict[str, Any]:
    from edgnn.training import environment

    return environment()
