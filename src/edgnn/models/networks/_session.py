"""Training into a run folder: checkpoints while it lasts, exact resumption after any end, the model when it is done."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from edgnn._files import Path_
from edgnn._system import is_out_of_memory
from edgnn._words import one_line
from edgnn.errors import EstimatorError, RunError, TrainingError
from edgnn.models.networks._base import Estimator
from edgnn.models.networks._fingerprint import fingerprint
from edgnn.models.networks._fleet import OnEpoch, device_of, model_config, raw_outputs, settings_of
from edgnn.models.networks._inputs import Items, graphs_of
from edgnn.models.networks._problem import Part, Problem
from edgnn.models.networks._storage import (
    _parameters,
    estimator_class,
    save_into,
    stored_parameters,
)
from edgnn.models.networks._targets import Encoding, class_weights, encoding_of
from edgnn.nn import NodeModel
from edgnn.training import CHECKPOINT, METRICS, Epoch, Group, RunFolder, fanouts, shared_state

_Array = np.ndarray[Any, Any]

_SECONDS_BETWEEN_CHECKPOINTS = 1.0
_SHARE_OF_TIME = 0.1


@dataclass(frozen=True, eq=False)
class Answer:
    """What a trained model says about the items that it is judged on.

    Attributes
    ----------
    part : {"test", "validation", "training"}
        Which items these are.
    items, known : array of int
        Their positions, and those of the items that the model has learned from.
    train, valid : array of int
        The items that the model was trained and validated on; those without a target are among
        neither.
    lacking : int
        How many items of the data have no target.
    values : dict
        ``"prediction"``; ``"probability"`` and ``"classes"`` from classifiers.
    """

    part: str
    items: _Array
    known: _Array
    train: _Array
    valid: _Array
    lacking: int
    values: dict[str, Any]


def start_run(
    path: Path_,
    estimator: Estimator,
    X: Items,
    y: Any,
    split: Any = None,
    *,
    about: Mapping[str, Any] | None = None,
    class_names: Sequence[str] = (),
    overwrite: bool = False,
) -> RunFolder:
    """Make the folder of a run that :func:`train_run` fills; the estimator and the targets are checked first.

    Parameters
    ----------
    path : path
        A new or empty folder.
    estimator : Estimator
        Not fitted; its ``random_state`` must be a number, so that the run can be repeated.
    X, y
        All items and their targets; a hash of both is kept.
    split
        As in :func:`train_run`.
    about : mapping, optional
        What else the configuration is to say, as plain values.
    class_names : sequence of str
        What class numbers mean, for errors.
    overwrite : bool
        Whether a run that is there is thrown away.
    """
    _check(estimator, X, y, split, class_names)
    config = {
        "estimator": type(estimator).__name__,
        "parameters": stored_parameters(estimator),
        "data_sha256": fingerprint(X, y),
    }
    return RunFolder.create(path, config | dict(about or {}), overwrite=overwrite)


def estimator_of(run: RunFolder) -> Estimator:
    """Return the estimator of a run, as it was before training."""
    name = run.config.get("estimator")
    kind = estimator_class(name)
    if kind is None or "data_sha256" not in run.config:
        raise RunError(f"{run.path} was not made by edgnn train, so there is nothing to resume")
    try:
        estimator: Estimator = kind(**_parameters(run.config["parameters"]))
    except (KeyError, TypeError, ValueError) as error:
        said = one_line(error)
        raise RunError(
            f"{run.path} has no usable parameters of a {name}: {type(error).__name__}: {said}"
        ) from None
    return estimator


def finished(run: RunFolder) -> bool:
    """Return whether the training has ended and all its files are there."""
    return "fitted" in run.config and run.has(METRICS)


def checkpoint_epoch(run: RunFolder) -> int:
    """Return the epoch after which a run would go on; 0 is the beginning."""
    return len(_state(run)["losses"]) if run.has(CHECKPOINT) else 0


def _state(run: RunFolder) -> dict[str, torch.Tensor]:
    """Return the checkpoint of a run."""
    state = run.load_tensors(CHECKPOINT)
    if "losses" not in state or state["losses"].ndim == 0:
        raise RunError(
            f"{run.path / CHECKPOINT} is damaged: it does not say which epoch it is of; remove it to begin anew"
        )
    return state


def check_data(run: RunFolder, X: Items, y: Any) -> None:
    """Raise where the data is not what the run was started with."""
    if fingerprint(X, y) != run.config.get("data_sha256"):
        raise RunError(
            f"the data is not what {run.path} was started with: graphs or targets have changed since; "
            "bring the old data back, or start a new run"
        )


def train_run(
    run: RunFolder,
    estimator: Estimator,
    X: Items,
    y: Any,
    split: Any = None,
    *,
    on_epoch: OnEpoch | None = None,
    group: Group | None = None,
) -> Answer | None:
    """Train the estimator, from where the run stands, and keep the model in its folder.

    After every epoch the history grows, and about every second the checkpoint is replaced. A run
    that ended in any way goes on after its last checkpoint, and its model has the same bits as
    without the interruption. Call it within ``run.lock()``.

    Parameters
    ----------
    run : RunFolder
        From :func:`start_run`, or opened again.
    estimator : Estimator
        As of :func:`estimator_of`; it is fitted.
    X, y
        All items and their targets.
    split : object with ``train``, ``valid`` and ``test``, optional
        Positions; ``valid=None`` lets the estimator hold out its own share. Without a split,
        everything is trained on.
    on_epoch : callable, optional
        Called after every epoch, when it is kept. A ``KeyboardInterrupt`` that it raises ends the
        training with a checkpoint of this epoch.
    group : Group, optional
        The ranks that train together, each of which makes this call. Rank 0 alone reads and writes
        the folder and calls ``on_epoch``; the others return ``None``.
    """
    first = group is None or group.first
    with told_memory():
        parameters = estimator._checked_parameters()
        data = estimator._data(X, y, None)
        coder = estimator._coder_of(graphs_of(data.items))
        problem = Problem.of(data, coder, parameters, group)
        part = _part(estimator, problem, split)
        encoding = encoding_of(data.y[part.known] if data.task == "classes" else data.y, data.task)
        estimator._check_part(part)
        keeper = _Keeper(run, on_epoch) if first else None
        parameters["verbose"] = parameters["verbose"] if first else 0
        state = None if keeper is None else keeper.last_state()
        trained = problem.train(
            estimator._level,
            parameters,
            encoding,
            [part],
            on_epoch=keeper,
            resume=state if group is None else shared_state(state, group),
            group=group,
        )
        outputs = raw_outputs(trained.model, problem.inputs, problem.items, group)
        if not first:
            return None
        estimator._keep(trained, problem, encoding, part)
        answer = _answer(estimator, problem, encoding, part, split, outputs)
    save_into(run, estimator)
    return answer


class _Keeper:
    """A hook that keeps every epoch in the history and, about every second, all that is needed to go on."""

    def __init__(self, run: RunFolder, hook: OnEpoch | None) -> None:
        self.run, self.hook, self.due, self.saved = run, hook, 0.0, 0

    def last_state(self) -> dict[str, torch.Tensor] | None:
        """Return the state to go on from, if there is one, and bring the history back to its epoch."""
        if not self.run.has(CHECKPOINT):
            self.run.truncate_history(0)
            return None
        state = _state(self.run)
        self.run.truncate_history(len(state["losses"]))
        return state

    def __call__(self, epoch: Epoch) -> Any:
        self.run.append_history(
            {
                "epoch": epoch.number,
                "train_loss": epoch.train_loss,
                "valid_loss": epoch.valid_loss,
                "seconds": epoch.seconds,
            }
        )
        start = time.monotonic()
        if start >= self.due:
            self._save(epoch)
            end = time.monotonic()
            self.due = end + max(_SECONDS_BETWEEN_CHECKPOINTS, (end - start) / _SHARE_OF_TIME)
        try:
            return None if self.hook is None else self.hook(epoch)
        except KeyboardInterrupt:
            if self.saved != epoch.number:
                self._save(epoch)
            raise

    def _save(self, epoch: Epoch) -> None:
        self.run.save_tensors(CHECKPOINT, epoch.state())
        self.saved = epoch.number


def _part(estimator: Estimator, problem: Problem, split: Any) -> Part:
    seed = int(estimator.random_state)
    if split is not None and split.valid is not None:
        return Part(np.asarray(split.train), np.asarray(split.valid), seed)
    train = np.arange(len(problem.data)) if split is None else np.asarray(split.train)
    return problem.part(train, estimator.validation, seed)


def _answer(
    estimator: Estimator,
    problem: Problem,
    encoding: Encoding,
    part: Part,
    split: Any,
    outputs: _Array,
) -> Answer:
    if split is not None:
        name, items, known = "test", np.asarray(split.test), part.known
    elif len(part.valid):
        name, items, known = "validation", part.valid, part.train
    else:
        name, items, known = "training", part.train, part.train
    values = estimator._result(outputs, problem, encoding, part, items)
    usable = problem.data.usable
    learned, checked = problem.learned_from(part), part.valid[usable[part.valid]]
    return Answer(name, items, known, learned, checked, int((~usable).sum()), values)


def _check(estimator: Estimator, X: Items, y: Any, split: Any, class_names: Sequence[str]) -> None:
    """Raise what training would raise, before there is a folder."""
    parameters = estimator._checked_parameters()
    if not isinstance(estimator.random_state, int):
        raise EstimatorError(
            f"random_state={estimator.random_state!r}: a run needs a whole number, else it cannot be repeated"
        )
    device_of(estimator.device)
    data = estimator._data(X, y, None)
    train = np.arange(len(data)) if split is None else np.asarray(split.train)
    valid = train[:0] if split is None or split.valid is None else np.asarray(split.valid)
    estimator._check_part(Part(train, valid if estimator.validation is None else train, 0))
    learned = data.y[np.concatenate([train, valid])]
    encoding = encoding_of(learned, data.task)
    class_weights(parameters.get("class_weight"), encoding)
    settings = settings_of(parameters).of(estimator._level)
    if isinstance(
        settings.fanout, tuple
    ):  # how many it needs may depend on what is counted of the graphs
        problem = Problem.of(data, estimator._coder_of(graphs_of(data.items)), parameters)
        model = NodeModel(**model_config(parameters, problem.coder, encoding, problem.inputs))
        fanouts(settings.fanout, model, problem.inputs)
    if data.task == "classes":
        _check_classes(data.y, learned, class_names)


def _check_classes(y: _Array, learned: _Array, class_names: Sequence[str]) -> None:
    """Raise where there is nothing to tell apart, and warn of classes that have no item to learn from."""
    classes = np.unique(learned)
    names = [repr(class_names[value] if class_names else value) for value in np.unique(y).tolist()]
    lacking = [
        name for name, value in zip(names, np.unique(y), strict=True) if value not in classes
    ]
    if len(classes) == 1:
        (only,) = set(names) - set(lacking)
        raise EstimatorError(
            f"all {len(learned)} items to train on are of the class {only}: there is nothing to tell apart; "
            "give items of at least two classes"
        )
    if lacking:
        warnings.warn(
            f"no item to train on is of the class {', '.join(lacking)}, so the model never predicts that",
            stacklevel=4,
        )


@contextmanager
def told_memory() -> Iterator[None]:
    """Say what helps where memory runs out, on the CPU or on a device."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        first = (str(error).splitlines() or ["out of memory"])[0]
        raise TrainingError(
            "out of memory: lower batch_size, hidden or members, or train on a machine with more "
            f"of it ({first})",
            kind="memory",
        ) from None
