"""From an estimator's parameters to a trained fleet, and from a fleet to numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn._words import short
from edgnn.errors import EstimatorError
from edgnn.graphs import Graphs
from edgnn.models._coder import Coder
from edgnn.models._finite import check_outputs
from edgnn.models._items import Items, Level, positions_of
from edgnn.models._targets import Encoding, class_weights
from edgnn.models.networks._parameters import plain
from edgnn.nn import GraphModel, Inputs, LargeInputs, Model, NodeModel, input_bytes, input_options
from edgnn.training import Group, Settings, Targets, node_outputs, outputs

#: Inputs of nodes are counted once while they take at most so many bytes.
_LARGE = 2**30

_Array = np.ndarray[Any, Any]
OnEpoch = Callable[[Any], Any]

_OF_MODEL = (
    "layers",
    "hidden",
    "conv",
    "activation",
    "dropout",
    "input_dropout",
    "batch_norm",
    "bias",
    "embedding",
    "edge_embedding",
    "direction",
    "bases",
    "readout",
    "include_input",
    "head",
)
_OF_TRAINING = (
    "max_epochs",
    "batch_size",
    "fanout",
    "learning_rate",
    "weight_decay",
    "optimizer",
    "patience",
    "clip_norm",
    "precision",
)


def model_config(
    parameters: dict[str, Any],
    coder: Coder,
    encoding: Encoding,
    inputs: Inputs | LargeInputs | None = None,
) -> dict[str, Any]:
    """Return the arguments of the network, without ``members``."""
    chosen = {name: plain(parameters[name]) for name in _OF_MODEL if name in parameters}
    if chosen["bases"] == "relations":
        sides = 2 if chosen["direction"] == "both" else 1
        chosen["bases"] = max(1, len(coder.edge_vocabulary) * sides)
    one_hot = not chosen["bases"] and not chosen["embedding"]
    cells = None if inputs is None else inputs.cells
    if coder.identity and one_hot and cells is not None:
        chosen["cells"] = cells.keys.tolist()
    return chosen | {
        "node_labels": len(coder.node_vocabulary),
        "edge_labels": len(coder.edge_vocabulary),
        "node_features": coder.node_features,
        "edge_features": coder.edge_features,
        "outputs": encoding.outputs,
        "scaled": encoding.task == "values",
    }


def settings_of(parameters: dict[str, Any]) -> Settings:
    """Return how to train."""
    chosen = {name: plain(parameters[name]) for name in _OF_TRAINING if name in parameters}
    return Settings(**chosen, device=str(device_of(parameters["device"])))


def device_of(name: Any) -> torch.device:
    """Return the device that a parameter names; ``"auto"`` is CUDA where there is one."""
    has_cuda = torch.cuda.is_available()
    if name == "auto":
        name = "cuda" if has_cuda else "cpu"
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError, ValueError):
        device = torch.device("meta")
    if device.type not in ("cpu", "cuda"):
        raise EstimatorError(
            f"device={short(name)}: choose 'cpu', 'cuda', 'cuda:1' (and so on) or 'auto'"
        )
    if device.type == "cuda" and not has_cuda:
        raise EstimatorError(
            f"device={short(name)}: torch sees no CUDA device here; choose 'cpu' or 'auto'"
        )
    return device


def inputs_of(
    graphs: Graphs, choices: Mapping[str, Any], device: str | None = None
) -> Inputs | LargeInputs:
    """Count what a network with these parameters reads of encoded graphs.

    Of graphs whose nodes have too many inputs to keep, nothing is counted yet, where the model can
    do with some nodes at a time.
    """
    options: dict[str, Any] = {
        "multiplicity": choices["multiplicity"],
        "dtype": torch.float64 if choices["precision"] == "float64" else torch.float32,
        "device": device_of(device or choices["device"]),
        **input_options(choices),
    }
    if _some_nodes_at_a_time(choices) and input_bytes(graphs, options["dtype"]) > _LARGE:
        del options["cells"]
        return LargeInputs.of(graphs, **options)
    return Inputs.of(graphs, **options)


def _some_nodes_at_a_time(choices: Mapping[str, Any]) -> bool:
    """Return whether a network is for nodes, in batches, and knows more than their names."""
    if choices.get("cells") is not None or choices.get("node_labels") == "identity":
        return False
    return "head" in choices and choices.get("batch_size", 1) is not None


def targets_of(encoding: Encoding, y: _Array, weight: _Array | None, class_weight: Any) -> Targets:
    """Return targets as the training loop counts them."""
    numbers = encoding.encode(y)
    if encoding.task == "classes":
        return Targets.classes(
            numbers, encoding.outputs, weight, class_weights(class_weight, encoding)
        )
    if encoding.task == "labels":
        class_weights(class_weight, encoding)
        return Targets.labels(numbers, weight)
    return Targets.values(numbers, weight)


def raw_outputs(
    model: Model, inputs: Inputs | LargeInputs, items: Items, group: Group | None = None
) -> _Array:
    """Return every member's outputs for the items: logits, or values in the users' units.

    Shapes
    ------
    → (M, n, K)
    """
    if group is None and next(model.parameters()).device != inputs.device:
        model.to(inputs.device)
    found = outputs(model, inputs, positions=positions_of(items), group=group)
    result: _Array = found.detach().double().cpu().numpy()
    check_outputs(result, axis=1)
    return result


@torch.no_grad()
def embedded(model: Any, inputs: Inputs | LargeInputs, items: Items) -> _Array:
    """Return what the final linear map sees of the items, the members' side by side.

    Shapes
    ------
    → (n, M · d)
    """
    positions = positions_of(items)
    model.to(inputs.device).eval()
    if positions is None:
        chosen: Tensor = model.embed(inputs)
    else:
        chosen = node_outputs(model, inputs, positions, states=True)
    beside: _Array = torch.cat(list(chosen), dim=-1).cpu().numpy()
    check_outputs(beside)
    return beside


def rebuilt(
    level: Level, config: dict[str, Any], members: int | None, weights: Mapping[str, Tensor]
) -> Model:
    """Return the network with these arguments and a copy of these weights."""
    kind = GraphModel if level == "graph" else NodeModel
    # what a damaged file says about sizes takes no memory before it is known to fit the weights
    with torch.device("meta"):
        model = kind(**config, members=members)
    own = {}
    for name, value in weights.items():
        own[name] = value.clone(memory_format=torch.contiguous_format)
    model.load_state_dict(own, assign=True)
    return model.to(next(model.parameters()).dtype).eval()


class LastEpoch:
    """A hook that remembers the last epoch and passes it on."""

    def __init__(self, hook: OnEpoch | None) -> None:
        self.hook, self.epoch = hook, None

    def __call__(self, epoch: Any) -> Any:
        """Take note of an epoch."""
        self.epoch = epoch
        return None if self.hook is None else self.hook(epoch)


def reporting(hook: OnEpoch | None, verbose: int, epochs: int) -> OnEpoch | None:
    """Return a hook that also writes a line to stderr every ``verbose`` epochs."""
    if verbose == 0:
        return hook

    def report(epoch: Any) -> Any:
        if epoch.number % verbose == 0 or epoch.number == epochs:
            sys.stderr.write(f"epoch {epoch.number} of {epochs}: {_losses(epoch)}\n")
        return None if hook is None else hook(epoch)

    return report


def _losses(epoch: Any) -> str:
    losses = f"training loss {np.nanmean(epoch.train_loss):.4f}"
    if np.isnan(epoch.valid_loss).all():
        return losses
    return f"{losses}, validation loss {np.nanmean(epoch.valid_loss):.4f}"
