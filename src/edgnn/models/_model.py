"""Model: what every model is and can do, from ``fit`` to a run folder and back."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from shlex import quote
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from torch import Tensor

from edgnn._files import Path_
from edgnn._rules import Rules
from edgnn._words import one_line, short, similar, with_article
from edgnn.errors import EstimatorError, RunError
from edgnn.graphs import Graphs, Nodes
from edgnn.models._coder import Coder, Seen
from edgnn.models._data import Data
from edgnn.models._familiarity import Colors, Familiarity, Refinement
from edgnn.models._finite import check_stored
from edgnn.models._items import (
    Items,
    Level,
    graphs_of,
    numbered_by_appearance,
    read_items,
    with_graphs,
)
from edgnn.models._predictions import Predictions
from edgnn.models._state import (
    coder_facts,
    coder_from,
    decode_parameters,
    encode_parameters,
    encoding_facts,
    encoding_from,
)
from edgnn.models._targets import Encoding, Task, read_classes, read_values, read_weight
from edgnn.registry import LAYERS, MODELS, load_target
from edgnn.training import MODEL, UPDATE, RunFolder
from edgnn.wl import Coloring, refine

_Array = np.ndarray[Any, Any]

_SEEN = ("seen.nodes", "seen.edges")
#: What damaged or foreign files make constructors and arithmetic raise.
_DAMAGE = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    IndexError,
    ArithmeticError,
    RuntimeError,
)


class NotFitted(EstimatorError, NotFittedError):  # type: ignore[misc]
    """A model that was asked for results before it was fitted."""


class Model(BaseEstimator, ABC):  # type: ignore[misc]
    """What every model shares: one life cycle, from ``fit`` to a run folder and back.

    A model of your own is a subclass with the scikit-learn constructor (parameters only), ``fit``
    and ``predict``, ``predict_proba`` where it has probabilities, and two hooks:
    :meth:`get_state` returns what ``fit`` has learned as plain values and tensors, and
    :meth:`set_state` sets that in a new object. With these it is saved, loaded, trained into run
    folders, evaluated, explained by leaving out elements, and served. Register it in
    :data:`edgnn.registry.MODELS`, or through an entry point of the group ``edgnn.models``, so that
    it has a name and :func:`load_model` finds its class.

    In ``fit``, :meth:`read_training` checks items and targets, and :meth:`remember` keeps what
    every model remembers of them: what the targets are, and the labels and colors that occur.

    Attributes
    ----------
    levels : tuple
        ``"graph"``, ``"node"`` or both: what a class of models learns about.
    tasks : tuple
        ``"classes"``, ``"labels"`` or ``"values"``: what targets it learns.
    trains_by_epochs : bool
        Whether training goes epoch by epoch, so that an interrupted one is resumed.
    transductive : bool
        Whether it predicts nothing but items of the very graph that it was fitted on, so that
        leaving out elements cannot explain it.
    reads_attributes : bool
        Whether it reads attributes of nodes and edges, so that a run notices when they change.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from edgnn.models import ClassifierModel
    >>> class BySize(ClassifierModel):
    ...     levels = ("graph",)
    ...     def fit(self, X, y):
    ...         data = self.read_training(X, y)
    ...         self.limit_ = float(np.median(data.items.sizes))
    ...         self.remember(data)
    ...         return self
    ...     def predict(self, X):
    ...         large = self.read_items(X).sizes.numpy() > self.limit_
    ...         return self.classes_[large.astype(int)]
    ...     def get_state(self):
    ...         return {"limit": self.limit_}, {}
    ...     def set_state(self, facts, tensors):
    ...         self.limit_ = facts["limit"]
    """

    levels: ClassVar[tuple[Level, ...]] = ("graph", "node")
    tasks: ClassVar[tuple[Task, ...]] = ("classes",)
    trains_by_epochs: ClassVar[bool] = False
    transductive: ClassVar[bool] = False
    reads_attributes: ClassVar[bool] = False
    #: Which values the parameters of a subclass may have.
    rules: ClassVar[Rules] = {}
    #: Which colors :meth:`familiarity` looks at.
    refinement: ClassVar[Refinement] = Refinement("joint", 3)

    _level: Level
    _encoding: Encoding
    _items: Items | None = None

    # To be written by a subclass

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from items and their targets."""

    @abstractmethod
    def predict(self, X: Any) -> _Array:
        """Return the target of each item."""

    @abstractmethod
    def get_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Return what ``fit`` has learned: values that JSON can hold, and tensors by name."""

    @abstractmethod
    def set_state(self, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Set what :meth:`get_state` returned, in an object that has its parameters only."""

    def check_parameters(self) -> None:
        """Raise where a parameter makes no sense; ``fit`` and the start of a run call it."""

    @classmethod
    def takes_several(cls, parameter: str) -> bool:
        """Return whether a tuple is one value of a parameter, not several candidates for it.

        Its rule says so; without a rule, its default does.
        """
        if parameter in cls.rules:
            return cls.rules[parameter].several
        default = inspect.signature(cls).parameters[parameter].default
        return isinstance(default, tuple | list)

    # What a subclass calls

    def read_training(self, X: Any, y: Any, sample_weight: Any = None) -> Data:
        """Check what ``fit`` was given; raise where the model does not learn from such items.

        Labels are numbered by their first appearance in the items, and others are left out.
        """
        items = self._numbered(read_items(X, self.levels))
        return Data.read(items, y, self.tasks, sample_weight)

    def _numbered(self, items: Items) -> Items:
        return numbered_by_appearance(items)

    def remember(self, data: Data) -> None:
        """Keep what every model remembers of its training set; it is fitted from here on."""
        for name in ("_coder", "_seen", "_colors"):  # found out again when asked for
            self.__dict__.pop(name, None)
        self._level, self._items = data.level, data.items
        self._set_encoding(data.encoding)

    def read_items(self, X: Any) -> Items:
        """Return new items as one collection; raise where the model is not fitted.

        Labels are numbered by their first appearance, as those of the training items.
        """
        return numbered_by_appearance(self._items_of_level(X))

    def _items_of_level(self, X: Any) -> Items:
        self._check_fitted()
        items = read_items(X, self.levels)
        given = "node" if isinstance(items, Nodes) else "graph"
        if given != self._level:
            raise EstimatorError(
                f"X holds {given}s, but this classifier was fitted on {self._level}s: "
                f"pass {self._level}s"
            )
        return items

    # What every model knows once it is fitted

    @property
    def level(self) -> Level:
        """What was learned about: ``"graph"`` or ``"node"``."""
        return self._level

    @property
    def task(self) -> Task:
        """What was learned: ``"classes"``, ``"labels"`` or ``"values"``."""
        return self._encoding.task

    @property
    def encoding(self) -> Encoding:
        """What the targets are, and the classes behind their numbers."""
        return self._encoding

    @property
    def coder(self) -> Coder:
        """How the labels of the training set are numbered."""
        return self._coder

    @property
    def seen(self) -> Seen:
        """Which of these labels the model has learned from."""
        return self._seen

    @cached_property
    def _coder(self) -> Coder:
        return Coder.of(graphs_of(self._training_items()), None, self.refinement.multiplicity)

    @cached_property
    def _seen(self) -> Seen:
        items = self._training_items()
        encoded = with_graphs(items, self._coder.encode(graphs_of(items)))
        return Seen.of(self._coder, encoded, np.arange(len(items)))

    @cached_property
    def _colors(self) -> Colors | None:
        items = self._training_items()
        encoded = with_graphs(items, self._coder.encode(graphs_of(items)))
        return Colors.of(encoded, self._refinement())

    @property
    def num_members(self) -> int:
        """How many models predict together."""
        return 1

    @property
    def _reads_edge_labels(self) -> bool:
        return True

    @property
    def _single_precision(self) -> bool:
        return False

    def _training_items(self) -> Items:
        assert self._items is not None, "a loaded model has its coder, labels and colors"
        return self._items

    def _refinement(self) -> Refinement:
        return self.refinement

    @property
    def has_familiarity(self) -> bool:
        """Whether :meth:`familiarity` has an answer."""
        return self._colors is not None

    def refine(self, graphs: Graphs, rounds: int | None = None) -> Coloring:
        """Return the color refinement that sees what the model sees; nodes of a color look alike.

        Parameters
        ----------
        graphs : Graphs
            In the users' own labels.
        rounds : int, optional
            Default: as many as :meth:`familiarity` looks at, of networks one per layer.
        """
        refinement = self._refinement()
        return refine(
            graphs if self._coder.identity else self._coder.relabeled(graphs),
            refinement.rounds if rounds is None else rounds,
            refinement.scheme,
            multiplicity=refinement.multiplicity,
            direction=refinement.direction,
            features="ignore",
        )

    # Predicting

    def predictions(self, X: Any) -> Predictions:
        """Return predictions, with probabilities and uncertainty where there are any."""
        items = self.read_items(X)
        probability = self.predict_proba(items) if hasattr(self, "predict_proba") else None
        return Predictions(self.predict(items), probability)

    @property
    def offers_coverage(self) -> bool:
        """Whether :meth:`covering_predictions` has an answer."""
        return False

    def covering_predictions(self, X: Any, coverage: float) -> Predictions:
        """Return predictions with intervals, or sets of classes, that hold the truth so often.

        Parameters
        ----------
        X : items
            As :meth:`predict` takes them.
        coverage : float
            How often, from 0 to 1.
        """
        raise EstimatorError(
            f"{with_article(type(self).__name__)} of {self.task} gives no intervals and no sets "
            "of classes (--coverage): these are given by auto and its learners, of classes and "
            "of values"
        )

    def familiarity(self, X: Any) -> Familiarity | None:
        """Say how much of each item the training set contained, by the colors of its nodes.

        ``None`` where that is not known: the model reads no labels, was trained on more than five
        million nodes, or was stored before colors were kept.
        """
        items = self.read_items(X)
        if self._colors is None:
            return None
        encoded = with_graphs(items, self._coder.encode(graphs_of(items)))
        return self._colors.familiarity(encoded, self._refinement())

    # Keeping

    def save(self, path: Path_, *, overwrite: bool = False) -> None:
        """Write the fitted model into a run folder: ``config.json`` and ``model.safetensors``.

        Parameters
        ----------
        path : path
            A new or empty folder.
        overwrite : bool
            Whether a run that is there is replaced.
        """
        self._check_fitted("save")
        config = run_config(self)
        facts, tensors = _stored(self)
        run = RunFolder.create(path, config, overwrite=overwrite)
        for row in getattr(self, "history_", ()):
            run.append_history(row)
        _write(run, facts, tensors)

    @classmethod
    def load(cls, path: Path_, **parameters: Any) -> Self:
        """Return the model that :meth:`save` or ``edgnn train`` left in a folder.

        Nothing from the files is executed.

        Parameters
        ----------
        path : path
            The folder.
        **parameters
            Parameters to change, such as ``device="cuda"``.
        """
        run = RunFolder.open(path)
        name = run.config.get("estimator")
        if name != class_name(cls):
            held = "no estimator" if name is None else f"a {one_line(name, 60)}"
            raise RunError(f"{run.path} holds {held}, not a {cls.__name__}")
        model: Self = _restored(cls, run, parameters)
        return model

    # What scikit-learn asks

    def _check_fitted(self, before: str = "") -> None:
        if not self.__sklearn_is_fitted__():
            call = f"call fit before {before}" if before else "call fit first"
            raise NotFitted(f"this {type(self).__name__} is not fitted yet: {call}")

    def _checked_parameters(self) -> dict[str, Any]:
        self.check_parameters()
        parameters: dict[str, Any] = self.get_params(deep=False)
        return parameters

    def _set_encoding(self, encoding: Encoding) -> None:
        self._encoding = encoding

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_encoding")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        tags.target_tags.multi_output = "labels" in self.tasks or "values" in self.tasks
        return tags


class ClassifierModel(ClassifierMixin, Model):  # type: ignore[misc]
    """A model of classes, or of several labels per item.

    Attributes
    ----------
    classes_ : array
        The classes, sorted; of several labels their numbers.
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; of several labels, that of items with every known label right."""
        predicted = self.predict(X)
        target, task = read_classes(y, len(predicted), self._level)
        if task != self._encoding.task:
            raise EstimatorError(
                f"y has the shape {target.shape}, "
                "but the estimator was fitted on another kind of targets"
            )
        weight = read_weight(sample_weight, len(predicted), self._level)
        if task == "classes":
            return float(accuracy_score(target, predicted, sample_weight=weight))
        right = ((target == predicted) | np.isnan(target)).all(axis=1)
        return float(np.average(right, weights=weight))

    def _set_encoding(self, encoding: Encoding) -> None:
        super()._set_encoding(encoding)
        self.classes_ = encoding.classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = "labels" in self.tasks
        return tags


class RegressorModel(RegressorMixin, Model):  # type: ignore[misc]
    """A model of real values."""

    tasks: ClassVar[tuple[Task, ...]] = ("values",)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², its mean over the targets of which two or more values are known."""
        predicted = self.predict(X)
        target, _ = read_values(y, len(predicted), self._level)
        if target.shape != predicted.shape:
            raise EstimatorError(
                f"y has the shape {target.shape}, but the predictions have {predicted.shape}"
            )
        weight = read_weight(sample_weight, len(predicted), self._level)
        columns = target.reshape(len(target), -1).T
        guesses = predicted.reshape(len(target), -1).T
        known = ~np.isnan(columns)
        if not known.any():
            raise EstimatorError(
                f"none of the {len(target)} {self._level}s has a known target: "
                "there is nothing to score"
            )
        counts = known.sum(axis=1)
        scores = []
        for column in np.flatnonzero(counts >= min(2, counts.max())):
            use = known[column]
            weights = None if weight is None else weight[use]
            scores.append(
                r2_score(columns[column, use], guesses[column, use], sample_weight=weights)
            )
        return float(np.mean(scores))


# Run folders


def load_model(path: Path_, **parameters: Any) -> Model:
    """Return the model, whichever it is, that ``save`` or ``edgnn train`` left in a folder.

    Nothing from the files is executed; a model of another package is found by its class among those
    of :data:`edgnn.registry.MODELS`.

    Parameters
    ----------
    path : path
        The folder.
    **parameters
        Parameters to change, such as ``device="cuda"``.
    """
    run = RunFolder.open(path)
    name = run.config.get("estimator")
    kind = find_class(name)
    if kind is None:
        held = "no estimator" if name is None else short(name)
        raise RunError(f"{run.path} holds {held}; known are {', '.join(_classes())}")
    model: Model = _restored(kind, run, parameters)
    return model


def check_names(kind: type[Model], parameters: Mapping[str, Any]) -> None:
    """Raise where a class of models does not have a parameter."""
    known = kind._get_param_names()
    for name in parameters:
        if name not in known:
            raise EstimatorError(
                f"{with_article(kind.__name__)} has no parameter {short(name)}"
                f"{similar(name, known)}"
            )


def new_model(name: str, parameters: Mapping[str, Any]) -> Model:
    """Return a model that is not fitted, from what a run folder says of it."""
    kind = find_class(name)
    if kind is None:
        raise ValueError(f"there is no model of the class {short(name)}")
    return kind(**decode_parameters(parameters, new_model))


def run_config(model: Model) -> dict[str, Any]:
    """Return what the configuration of a run says about its model."""
    return {"estimator": class_name(type(model)), "parameters": encode_parameters(model)}


def write_model(run: RunFolder, model: Model) -> None:
    """Write what ``fit`` has learned into a run whose configuration names the model."""
    _write(run, *_stored(model))


def replace_model(run: RunFolder, model: Model, **about: Any) -> None:
    """Put a model into a trained run, whose configuration then says more; call it when locked.

    The configuration names the file of the tensors, so an interruption leaves the old model or the
    new one.
    """
    facts, tensors = _stored(model)
    if run.config.get("tensors") == UPDATE:  # an earlier one was interrupted
        _put_in_place(run, run.load_tensors(UPDATE))
    run.save_tensors(UPDATE, tensors)
    run.update_config(fitted=facts, tensors=UPDATE, **about)
    _put_in_place(run, tensors)
    run.remove(UPDATE)


def _put_in_place(run: RunFolder, tensors: dict[str, Tensor]) -> None:
    run.save_tensors(MODEL, tensors)
    run.update_config(tensors=MODEL)


def _tensors_of(run: RunFolder) -> dict[str, Tensor]:
    """Return the tensors of a run's model."""
    return run.load_tensors(UPDATE if run.config.get("tensors") == UPDATE else MODEL)


def class_name(kind: type) -> str:
    """Return what run folders call a class: its name, or for those of others ``module:name``."""
    for name, target in _classes().items():
        if target.endswith(f":{kind.__name__}") and load_target(target) is kind:
            return name
    return f"{kind.__module__}:{kind.__name__}"


def find_class(name: Any) -> type[Model] | None:
    """Return the class that run folders call by a name, if a registered model has it.

    A folder cannot make anything else be imported.
    """
    target = _classes().get(name) if isinstance(name, str) else None
    return None if target is None else load_target(target)


def _classes() -> dict[str, str]:
    """Return where the classes of all registered models are, by the names of run folders."""
    targets = (
        target
        for entry in MODELS.values()
        for tasks in entry.classes.values()
        for target in tasks.values()
    )
    return {target.removeprefix("edgnn.models:"): target for target in targets}


def _stored(model: Model) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return everything that is known once a model is fitted, as JSON and tensors."""
    facts, tensors = model.get_state()
    common = {
        "level": model._level,
        **coder_facts(model._coder),
        **encoding_facts(model._encoding),
    }
    labels = dict(zip(_SEEN, (model._seen.nodes, model._seen.edges), strict=True))
    colors = {} if model._colors is None else model._colors.tensors()
    return common | facts, labels | colors | tensors


def _write(run: RunFolder, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    run.save_tensors(MODEL, tensors)
    run.update_config(fitted=facts)


def _restored(kind: type[Any], run: RunFolder, changes: Mapping[str, Any]) -> Any:
    """Return the model that was written into a run, with some parameters changed."""
    config = run.config
    check_names(kind, changes)
    if "fitted" not in config or not run.has(MODEL):
        resume = f"edgnn train --resume --out {quote(str(run.path))}"
        advice = f"resume it ({resume})"
        if kind.trains_by_epochs:
            advice += f", or end it now, with the best epoch so far ({resume} --max-epochs 1)"
        raise RunError(
            f"{run.path} holds a training that has not ended: there is no model to load; {advice}"
        )
    _check_layer(run, config["fitted"])
    try:
        model = kind(**(decode_parameters(config["parameters"], new_model) | dict(changes)))
        tensors = _tensors_of(run)
        check_stored(run.path, MODEL, config["fitted"], tensors)
        _fill(model, config["fitted"], tensors)
    except _DAMAGE as error:
        reason = one_line(" ".join(str(error).split()))
        raise RunError(
            f"{run.path} cannot be loaded as {with_article(kind.__name__)}: "
            f"{type(error).__name__}: {reason}"
        ) from None
    model.check_parameters()
    if model.trains_by_epochs:
        model.history_ = run.history()
    return model


def _check_layer(run: RunFolder, facts: Any) -> None:
    """Raise where a run names a layer that is not registered; nothing is imported for its sake."""
    network = facts.get("model") if isinstance(facts, dict) else None
    conv = network.get("conv") if isinstance(network, dict) else None
    if not isinstance(conv, str) or conv in LAYERS:
        return
    raise RunError(
        f"{run.path} was made with the layer {short(conv)}, which is not known here: install the "
        "package that has it, or call edgnn.registry.LAYERS.register(LayerEntry(...)) before"
    )


def _fill(model: Model, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Set what :func:`_stored` returned."""
    attributes = model.__dict__  # cached properties are set here, so that nothing computes them
    attributes["_coder"] = coder_from(facts)
    attributes["_seen"] = Seen(*(tensors.pop(name).to(torch.bool) for name in _SEEN))
    attributes["_colors"] = Colors.taken_from(tensors)
    if not hasattr(model, "_level"):  # a model of graphs and nodes
        if facts["level"] not in model.levels:
            raise ValueError(f"{short(facts['level'])} is no level of this model")
        model._level = facts["level"]
    model._set_encoding(encoding_from(facts))
    model.set_state(facts, tensors)
