"""Training any model into a run folder, with checkpoints and exact resumption."""

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
from edgnn._words import one_line, short, with_article
from edgnn.errors import EstimatorError, RunError, TrainingError
from edgnn.models._data import Data
from edgnn.models._fingerprint import fingerprint
from edgnn.models._items import Items, numbered_by_appearance
from edgnn.models._model import Model, find_class, new_model, run_config, write_model
from edgnn.models._targets import class_weights, encoding_of
from edgnn.models.networks._base import Estimator
from edgnn.models.networks._fleet import OnEpoch, device_of, model_config, settings_of
from edgnn.models.networks._pipeline import Part, Pipeline
from edgnn.nn import NodeModel
from edgnn.training import CHECKPOINT, METRICS, Epoch, Group, RunFolder, fanouts, shared_state

_Array = np.ndarray[Any, Any]

_SECONDS_BETWEEN_CHECKPOINTS = 1.0
_SHARE_OF_TIME = 0.1
#: How labels are numbered; runs from before this was written down follow the vocabulary.
_LABEL_ORDER = "appearance"


@dataclass(frozen=True, eq=False)
class Answer:
    """What a trained model predicts for the items that it is evaluated on.

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
        ``"prediction"``; ``"probability"`` and ``"classes"``, ``None`` where there are none.
    seconds : float
        How long the training took, all its interrupted pieces together.
    """

    part: str
    items: _Array
    known: _Array
    train: _Array
    valid: _Array
    lacking: int
    values: dict[str, Any]
    seconds: float


def start_run(
    path: Path_,
    model: Model,
    X: Items,
    y: Any,
    split: Any = None,
    *,
    about: Mapping[str, Any] | None = None,
    class_names: Sequence[str] = (),
    overwrite: bool = False,
) -> RunFolder:
    """Make the folder of a run that :func:`train_run` fills, once model and targets are checked.

    Parameters
    ----------
    path : path
        A new or empty folder.
    model : Model
        Not fitted; its ``random_state``, if it has one, must be a number, so that the run can be
        repeated.
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
    _check(model, X, y, split, class_names)
    content = fingerprint(X, y, attributes=model.reads_attributes)
    config = run_config(model) | {"data_sha256": content, "label_order": _LABEL_ORDER}
    return RunFolder.create(path, config | dict(about or {}), overwrite=overwrite)


def estimator_of(run: RunFolder) -> Model:
    """Return the model of a run, as it was before training."""
    config = run.config
    name: Any = config.get("estimator")
    if find_class(name) is None or "data_sha256" not in config:
        raise RunError(f"{run.path} was not made by edgnn train, so there is nothing to resume")
    try:
        return new_model(name, config["parameters"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"{run.path} has no usable parameters of {with_article(name)}: "
            f"{type(error).__name__}: {one_line(error)}"
        ) from None


def finished(run: RunFolder) -> bool:
    """Return whether the training has ended and all its files are there."""
    return "fitted" in run.config and run.has(METRICS)


def checkpoint_epoch(run: RunFolder) -> int:
    """Return the epoch after which a run would be resumed; 0 is the beginning."""
    return len(_state(run)["losses"]) if run.has(CHECKPOINT) else 0


def _state(run: RunFolder) -> dict[str, torch.Tensor]:
    """Return the checkpoint of a run."""
    state = run.load_tensors(CHECKPOINT)
    if "losses" not in state or state["losses"].ndim == 0:
        raise RunError(
            f"{run.path / CHECKPOINT} is damaged: it does not say which epoch it is of; "
            "remove it to begin anew"
        )
    return state


def check_data(run: RunFolder, X: Items, y: Any) -> None:
    """Raise where the data is not what the run was started with."""
    kind = find_class(run.config.get("estimator"))
    attributes = kind is not None and kind.reads_attributes
    if fingerprint(X, y, attributes=attributes) != run.config.get("data_sha256"):
        raise RunError(
            f"the data is not what {run.path} was started with: graphs or targets have changed "
            "since; bring the old data back, or start a new run"
        )


def change_epochs(run: RunFolder, model: Model, number: Any) -> None:
    """Give a run that is to be resumed another number of epochs, as far as that is possible.

    No epoch depends on how many there will be, so the model has the bits of a training that was
    started with the new number; where more epochs than that are done, it is as if started with
    those.

    Parameters
    ----------
    run : RunFolder
        From :func:`start_run`, opened again.
    model : Model
        As of :func:`estimator_of`; its ``max_epochs`` is changed too.
    number : int
        How many. With as many done or more, the training ends at once, with the best of them.
    """
    if not isinstance(model, Estimator):
        kind = with_article(type(model).__name__)
        raise RunError(f"{kind} has no epochs; start a new run to change it")
    before, done = model._checked_parameters()["max_epochs"], checkpoint_epoch(run)
    model.max_epochs = number
    model.check_parameters()
    model.max_epochs = max(number, done)
    if finished(run) and not run.has(CHECKPOINT):
        model.max_epochs = before
        if number <= before or len(run.history()) < before:  # it has ended before, and would again
            return
        raise RunError(
            f"the run in {run.path} has done its {before} epochs, and its checkpoint is removed at "
            f"the end: start another run with max_epochs={number}"
        )
    if model.max_epochs != before:
        with run.lock():
            run.remove(METRICS)  # until the new number is reached, the run is not finished
            run.update_config(parameters=run_config(model)["parameters"])


def train_run(
    run: RunFolder,
    model: Model,
    X: Items,
    y: Any,
    split: Any = None,
    *,
    on_epoch: OnEpoch | None = None,
    group: Group | None = None,
) -> Answer | None:
    """Train a model, from where its run was interrupted, and keep it in the folder of the run.

    After every epoch the history grows, and about every second the checkpoint is replaced. A run
    that ended in any way is resumed after its last checkpoint, and its model has the same bits as
    without the interruption. A model without epochs is fitted at once; an interrupted run of it
    starts again. Call it within ``run.lock()``.

    Parameters
    ----------
    run : RunFolder
        From :func:`start_run`, or opened again.
    model : Model
        As of :func:`estimator_of`; it is fitted.
    X, y
        All items and their targets.
    split : object with ``train``, ``valid`` and ``test``, optional
        Positions; ``valid=None`` lets a network hold out its own fraction, and models without
        epochs learn from ``train`` and ``valid`` together. Without a split, everything is trained
        on.
    on_epoch : callable, optional
        Called after every epoch, when it is kept. A ``KeyboardInterrupt`` that it raises ends the
        training with a checkpoint of this epoch.
    group : Group, optional
        The ranks that train together, each of which makes this call. Rank 0 alone reads and writes
        the folder and calls ``on_epoch``; the others return ``None``.
    """
    if group is not None:
        check_ranks(model)
    with memory_errors():
        if isinstance(model, Estimator):
            answer = _train_by_epochs(run, model, X, y, split, on_epoch, group)
        else:
            answer = _fit_at_once(model, X, y, split)
    if answer is not None:
        write_model(run, model)
    return answer


def _train_by_epochs(
    run: RunFolder,
    estimator: Estimator,
    X: Items,
    y: Any,
    split: Any,
    on_epoch: OnEpoch | None,
    group: Group | None,
) -> Answer | None:
    first = group is None or group.first
    pipeline = Pipeline.of(estimator, X, y, group=group)
    train = None if split is None else np.asarray(split.train)
    valid = None if split is None or split.valid is None else np.asarray(split.valid)
    part = pipeline.part(train, valid, int(estimator.random_state))
    encoding = pipeline.encoding(part)
    keeper = _Keeper(run, on_epoch) if first else None
    state = None if keeper is None else keeper.last_state()
    if state is not None:
        _check_label_order(run, X)
    trained = pipeline.train(
        [part],
        encoding,
        on_epoch=keeper,
        resume=state if group is None else shared_state(state, group),
        group=group,
        verbose=estimator.verbose if first else 0,
    )
    outputs = pipeline.outputs(trained.model, group)
    if not first:
        return None
    estimator._keep(trained, pipeline, encoding, part)
    name, items, known = _evaluated_on(split, part)
    values = estimator._result(outputs, pipeline, encoding, part, items)
    usable = pipeline.data.usable
    validated = part.valid[usable[part.valid]]
    lacking = int((~usable).sum())
    seconds = sum(row["seconds"] for row in estimator.history_)
    learned = pipeline.learned_from(part)
    return Answer(name, items, known, learned, validated, lacking, values, seconds)


def _check_label_order(run: RunFolder, X: Items) -> None:
    """Raise where the weights of a checkpoint belong to labels in another order."""
    if run.config.get("label_order") != _LABEL_ORDER and numbered_by_appearance(X) is not X:
        raise RunError(
            f"{run.path} was started by an edgnn that numbered the labels of this data in another "
            "order, so it cannot be resumed: start a new run"
        )


def _evaluated_on(split: Any, part: Part) -> tuple[str, _Array, _Array]:
    """Return which set a network is evaluated on, its items, and those it has learned from."""
    if split is not None and len(split.test):
        return "test", np.asarray(split.test), part.known
    if len(part.valid):
        return "validation", part.valid, part.train
    return "training", part.train, part.train


def _fit_at_once(model: Model, X: Items, y: Any, split: Any) -> Answer:
    """Fit a model that has no epochs."""
    data = model.read_training(X, y)
    name, known = "training", np.arange(len(data))
    items = known
    if split is not None:
        sets = [split.train] if split.valid is None else [split.train, split.valid]
        name, known = "test", np.unique(np.concatenate(sets))
        items = np.asarray(split.test)
    begin = time.perf_counter()
    model.fit(data.items[known], data.y[known])
    seconds = time.perf_counter() - begin
    found = model.predictions(data.items[items])
    values = {
        "prediction": found.prediction,
        "probability": found.probability,
        "classes": model.encoding.classes if found.probability is not None else None,
    }
    learned = known[data.usable[known]]
    lacking = int((~data.usable).sum())
    return Answer(name, items, known, learned, known[:0], lacking, values, seconds)


class _Keeper:
    """A hook that keeps every epoch in the history and, about every second, a checkpoint."""

    def __init__(self, run: RunFolder, hook: OnEpoch | None) -> None:
        self.run, self.hook = run, hook
        self.due, self.saved = 0.0, 0

    def last_state(self) -> dict[str, torch.Tensor] | None:
        """Return the state to resume from, if any, and cut the history back to its epoch."""
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


# Checks before there is a folder


def check_ranks(model: Model) -> None:
    """Raise where several processes cannot train a model together."""
    if not model.trains_by_epochs:
        raise EstimatorError(
            f"{with_article(type(model).__name__)} has no epochs, so one process fits it: start it "
            "without torchrun"
        )


def _check(model: Model, X: Items, y: Any, split: Any, class_names: Sequence[str]) -> None:
    """Raise what training would raise, before there is a folder."""
    model.check_parameters()
    parameters = model.get_params(deep=False)
    seed = parameters.get("random_state", 0)
    if not isinstance(seed, int):
        raise EstimatorError(
            f"random_state={short(seed)}: a run needs a whole number, else it cannot be repeated"
        )
    data = model.read_training(X, y)
    train = np.arange(len(data)) if split is None else np.asarray(split.train)
    valid = train[:0] if split is None or split.valid is None else np.asarray(split.valid)
    learned = data.y[np.concatenate([train, valid])]
    if isinstance(model, Estimator):
        _check_network(model, data, Part(train, valid, 0), learned)
    if data.task == "classes":
        _check_classes(data.y, learned, class_names)


def _check_network(model: Estimator, data: Data, part: Part, learned: _Array) -> None:
    parameters = model.get_params(deep=False)
    device_of(model.device)
    held_out = part.valid if model.validation is None else part.train
    model._check_part(Part(part.train, held_out, 0))
    encoding = encoding_of(learned, data.task)
    class_weights(parameters.get("class_weight"), encoding)
    settings = settings_of(parameters).of(model.level)
    if isinstance(settings.fanout, tuple):
        # how many numbers it needs may depend on what is counted of the graphs
        pipeline = Pipeline.of(model, data.items, data.y)
        config = model_config(parameters, pipeline.coder, encoding, pipeline.inputs)
        fanouts(settings.fanout, NodeModel(**config), pipeline.inputs)


def _check_classes(y: _Array, learned: _Array, class_names: Sequence[str]) -> None:
    """Raise where all items are of one class; warn of classes that no training item has."""
    classes = np.unique(learned)
    every = np.unique(y)
    names = [repr(class_names[value] if class_names else value) for value in every.tolist()]
    lacking = [name for name, value in zip(names, every, strict=True) if value not in classes]
    if len(classes) == 1:
        (only,) = set(names) - set(lacking)
        raise EstimatorError(
            f"all {len(learned)} items to train on are of the class {only}: "
            "there is nothing to tell apart; give items of at least two classes"
        )
    if lacking:
        warnings.warn(
            f"no item to train on is of the class {', '.join(lacking)}, "
            "so the model never predicts that",
            stacklevel=4,
        )


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise a :class:`TrainingError` of the kind ``"memory"`` where memory runs out."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        first = str(error).partition("\n")[0] or "out of memory"
        raise TrainingError(
            "out of memory: lower batch_size, hidden or members, "
            f"or train on a machine with more of it ({first})",
            kind="memory",
        ) from None
