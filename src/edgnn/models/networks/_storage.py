"""Estimators in run folders: parameters, labels and classes as JSON, weights as safetensors; nothing is ever executed."""

from __future__ import annotations

from importlib import import_module
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from edgnn._files import Path_
from edgnn._words import one_line, short
from edgnn.errors import RunError
from edgnn.models.networks._coder import Coder, Seen
from edgnn.models.networks._errors import NotFitted
from edgnn.models.networks._familiarity import Colors
from edgnn.models.networks._fleet import rebuilt
from edgnn.models.networks._parameters import plain
from edgnn.models.networks._targets import Encoding
from edgnn.nn import LayerKind
from edgnn.registry import LAYERS
from edgnn.training import (
    MODEL,
    RunFolder,
    decode_value,
    decode_vocabulary,
    encode_value,
    encode_vocabulary,
)

if TYPE_CHECKING:
    from edgnn.models.networks._base import Estimator

_E = TypeVar("_E", bound="Estimator")
#: Where estimators are found by name; rooms above this one are only opened for a folder that asks
#: for them.
_HOMES = {
    "GraphClassifier": "edgnn.models.networks",
    "GraphRegressor": "edgnn.models.networks",
    "NodeClassifier": "edgnn.models.networks",
    "NodeRegressor": "edgnn.models.networks",
    "RGCNGraphClassifier": "edgnn.models.rivals",
    "RGCNNodeClassifier": "edgnn.models.rivals",
    "GINGraphClassifier": "edgnn.models.rivals",
    "GINNodeClassifier": "edgnn.models.rivals",
}
_SEEN = ("seen.nodes", "seen.edges")


def save(estimator: Estimator, path: Path_, *, overwrite: bool = False) -> None:
    """Write a fitted estimator into a folder of its own."""
    parameters = stored_parameters(estimator)
    if not estimator.__sklearn_is_fitted__():
        raise NotFitted(f"this {type(estimator).__name__} is not fitted yet: call fit before save")
    described(estimator)
    run = RunFolder.create(
        path, {"estimator": type(estimator).__name__, "parameters": parameters}, overwrite=overwrite
    )
    for row in estimator.history_:
        run.append_history(row)
    save_into(run, estimator)


def save_into(run: RunFolder, estimator: Estimator) -> None:
    """Write what ``fit`` has learned into a run whose configuration names the estimator and its parameters."""
    description = described(estimator)
    tensors: dict[str, Tensor] = {
        f"model.{name}": value for name, value in estimator._model.state_dict().items()
    }
    tensors |= dict(zip(_SEEN, (estimator._seen.nodes, estimator._seen.edges), strict=True))
    if estimator._colors is not None:
        tensors |= estimator._colors.tensors()
    run.save_tensors(MODEL, tensors)
    run.update_config(fitted=description)


def described(estimator: Estimator) -> dict[str, Any]:
    """Return what ``fit`` has learned besides weights, as plain values."""
    model, coder, encoding = estimator._model, estimator._coder, estimator._encoding
    return {
        "model": model.config,
        "members": model.members,
        "seed": encode_value(estimator._seed),
        "best_epoch": estimator.best_epoch_,
        "temperature": getattr(estimator, "temperature_", None),
        "node_labels": encode_vocabulary(coder.node_vocabulary),
        "edge_labels": encode_vocabulary(coder.edge_vocabulary),
        "node_features": coder.node_features,
        "edge_features": coder.edge_features,
        "degree_labels": coder.degree_labels,
        "multiplicity": coder.multiplicity,
        "identity": coder.identity,
        "task": encoding.task,
        "classes": [encode_value(value) for value in encoding.classes.tolist()],
        "class_type": encoding.classes.dtype.str,
        "flat": encoding.flat,
        "outputs": encoding.outputs,
    }


def stored_parameters(estimator: Estimator) -> dict[str, Any]:
    """Return the parameters as plain values; a ``RandomState`` becomes the seed that was drawn from it."""
    parameters = {name: plain(value) for name, value in estimator.get_params(deep=False).items()}
    if "conv" in parameters:
        parameters["conv"] = LayerKind.of(parameters["conv"]).stored_name
    if isinstance(parameters["random_state"], np.random.RandomState):
        parameters["random_state"] = getattr(estimator, "_seed", None)
    parameters["random_state"] = encode_value(parameters["random_state"])
    if isinstance(parameters.get("class_weight"), dict):
        pairs = parameters["class_weight"].items()
        parameters["class_weight"] = [[encode_value(name), float(weight)] for name, weight in pairs]
    return parameters


def load_estimator(path: Path_, **parameters: Any) -> Estimator:
    """Return the estimator, whichever it is, that ``save`` or ``edgnn train`` left in a folder.

    Parameters
    ----------
    path : path
        The folder.
    **parameters
        Parameters to change, such as ``device="cuda"``.
    """
    run = RunFolder.open(path)
    name = run.config.get("estimator")
    kind = estimator_class(name)
    if kind is None:
        raise RunError(
            f"{run.path} holds {'no estimator' if name is None else repr(name)}; known are {', '.join(_HOMES)}"
        )
    return restored(kind, run, parameters)


def estimator_class(name: Any) -> type[Estimator] | None:
    """Return the class of estimators with this name, if there is one that can be stored."""
    if not isinstance(name, str) or name not in _HOMES:
        return None
    kind: type[Estimator] = getattr(import_module(_HOMES[name]), name)
    return kind


def load(kind: type[_E], path: Path_, changes: dict[str, Any]) -> _E:
    """Return the estimator of class ``kind`` that a folder holds, with some parameters changed."""
    run = RunFolder.open(path)
    name = run.config.get("estimator")
    if name != kind.__name__:
        raise RunError(
            f"{run.path} holds {'no estimator' if name is None else f'a {name}'}, not a {kind.__name__}"
        )
    return restored(kind, run, changes)


def restored(kind: type[_E], run: RunFolder, changes: dict[str, Any] | None = None) -> _E:
    """Return the estimator that :func:`save_into` has written."""
    config = run.config
    if "fitted" not in config or not run.has(MODEL):
        resume = f"edgnn train --resume --out {quote(str(run.path))}"
        raise RunError(
            f"{run.path} holds a training that has not ended: there is no model to load; go on with it ({resume}), "
            f"or end it now, with the best epoch so far ({resume} --max-epochs 1)"
        )
    _check_layer(run, config["fitted"])
    try:
        estimator = kind(**(_parameters(config["parameters"]) | (changes or {})))
        _fill(estimator, config["fitted"], run.load_tensors(MODEL))
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        ArithmeticError,
        RuntimeError,
    ) as error:
        said = one_line(" ".join(str(error).split()))
        raise RunError(
            f"{run.path} cannot be loaded as a {kind.__name__}: {type(error).__name__}: {said}"
        ) from None
    estimator.history_ = run.history()
    return estimator


def _check_layer(run: RunFolder, fitted: Any) -> None:
    """Raise where a run names a layer that is not registered; nothing is imported for its sake."""
    model = fitted.get("model") if isinstance(fitted, dict) else None
    conv = model.get("conv") if isinstance(model, dict) else None
    if not isinstance(conv, str) or conv in LAYERS:
        return
    raise RunError(
        f"{run.path} was made with the layer {conv!r}, which is not known here: install the "
        "package that has it, or call edgnn.registry.LAYERS.register(LayerEntry(...)) before"
    )


def _parameters(stored: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(stored)
    parameters["random_state"] = decode_value(parameters["random_state"])
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = {
            decode_value(name): weight for name, weight in parameters["class_weight"]
        }
    if isinstance(parameters.get("fanout"), list):
        parameters["fanout"] = tuple(parameters["fanout"])
    return parameters


def _class_type(stored: Any, classes: np.ndarray[Any, Any]) -> np.dtype[Any]:
    """Return the type of the classes; one that would take much more memory than they need is refused."""
    found = np.dtype(stored) if isinstance(stored, str) else np.dtype("V")
    longest = 4 * max(8, *(len(value) for value in classes if isinstance(value, str | bytes)), 0)
    if found.kind not in "biufUSO" or found.itemsize > longest:
        raise ValueError(f"{short(stored)} is no type of classes")
    return found


def _fill(estimator: Estimator, fitted: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    estimator._coder = Coder(
        node_vocabulary=decode_vocabulary(fitted["node_labels"]),
        edge_vocabulary=decode_vocabulary(fitted["edge_labels"]),
        **{
            name: fitted[name]
            for name in ("node_features", "edge_features", "degree_labels", "multiplicity")
        },
        identity=fitted.get("identity", False),
    )
    classes = np.empty(len(fitted["classes"]), dtype=object)
    classes[:] = [decode_value(value) for value in fitted["classes"]]
    estimator._encoding = Encoding(
        fitted["task"],
        classes.astype(_class_type(fitted["class_type"], classes)),
        fitted["flat"],
        fitted["outputs"],
    )
    estimator._seen = Seen(*(tensors.pop(name).to(torch.bool) for name in _SEEN))
    estimator._colors = Colors.taken_from(tensors)
    estimator._seed, estimator.best_epoch_ = decode_value(fitted["seed"]), fitted["best_epoch"]
    weights = {name.removeprefix("model."): value for name, value in tensors.items()}
    estimator._model = rebuilt(estimator._level, fitted["model"], fitted["members"], weights)
    estimator._restore(fitted)
