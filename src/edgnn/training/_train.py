"""Training: one loop for one model and for hundreds, with early stopping and exact resumption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgnn.errors import TrainingError
from edgnn.nn import Inputs, LargeInputs, Model
from edgnn.nn.ops import launching
from edgnn.training._fleet import Fleet, item_table
from edgnn.training._group import Group
from edgnn.training._run import Epoch, Run, Trained
from edgnn.training._sampled import SampledTask
from edgnn.training._settings import Member, Settings
from edgnn.training._shard import ShardTask
from edgnn.training._targets import Targets
from edgnn.training._tasks import MODELS, Kind, Task, node_positions, task_of


def train(
    kind: Kind,
    model_config: dict[str, Any],
    inputs: Inputs | LargeInputs,
    targets: Targets,
    members: Sequence[Member],
    settings: Settings | None = None,
    *,
    positions: Any = None,
    initial: Model | None = None,
    resume: dict[str, Tensor] | None = None,
    on_epoch: Callable[[Epoch], bool | None] | None = None,
    group: Group | None = None,
) -> Trained:
    """Train many models at once: folds, seeds, settings.

    A member comes out the same whether it is trained alone or among any others: its initial
    weights, shuffles and dropout depend on its own seed only, and nothing is shared but the
    constants. The same call gives the same bits. Training items without a target, or with the
    weight 0, are left out of everything.

    Parameters
    ----------
    kind : {"graph", "node"}
        What the items are.
    model_config : dict
        Arguments of :class:`~edgnn.nn.GraphModel` or :class:`~edgnn.nn.NodeModel`.
    inputs : Inputs or LargeInputs
        Of all graphs; ``LargeInputs`` for node tasks in batches.
    targets : Targets
        One per item.
    members : sequence of Member
        The models to train.
    settings : Settings, optional
        What they share.
    positions : sequence of int, optional
        Node tasks: the node of each item (``nodes.index``); all nodes by default.
    initial : Model, optional
        Start from the weights of a model with as many members.
    resume : dict, optional
        What ``epoch.state()`` gave: go on after that epoch. The result is the same as without the
        interruption.
    on_epoch : callable, optional
        Called after every epoch; training ends when it returns true. Of several ranks, rank 0's
        decides.
    group : Group, optional
        The ranks that train together, each of which makes this call: graphs of a batch are divided
        among them, the nodes of a graph are spread over them. All return the same.
    """
    fleet = new_fleet(
        kind,
        model_config,
        inputs,
        targets,
        members,
        settings,
        positions=positions,
        initial=initial,
        group=group,
    )
    run = Run(fleet)
    if resume is not None:
        run.load(resume)
    try:
        with launching(run.best):
            run.go(on_epoch)
    except torch.OutOfMemoryError as error:
        chosen = fleet.settings
        whole = kind == "node" and chosen.batch_size is None
        size = "" if whole else f" of {chosen.batch_size or 'all'} {kind}s each"
        raise TrainingError(
            f"out of memory on {chosen.device} with {len(members)} members and batches{size}: "
            "lower batch_size, train fewer members at once, or use device='cpu' "
            f"({str(error).splitlines()[0]})",
            kind="memory",
        ) from None
    return run.result(kind)


def new_fleet(
    kind: Kind,
    model_config: dict[str, Any],
    inputs: Inputs | LargeInputs,
    targets: Targets,
    members: Sequence[Member],
    settings: Settings | None = None,
    *,
    positions: Any = None,
    initial: Model | None = None,
    group: Group | None = None,
) -> Fleet:
    """Return what :func:`train` trains, before the first epoch: to take and time epochs one by one.

    Everything is checked, and initial weights are drawn. Parameters are those of :func:`train`.
    """
    settings = (settings or Settings()).of(kind)
    device = torch.device(settings.device) if group is None else group.device(settings.device)
    task = _task(kind, inputs, positions, settings, device, group)
    if len(targets) != task.items:
        raise TrainingError(f"there are {len(targets)} targets for {task.items} items")
    targets = targets.to(device, settings.dtype)
    chosen = [_checked_member(number, member, task.items) for number, member in enumerate(members)]
    if not chosen:
        raise TrainingError("a fleet needs at least one member")
    _check_targets(targets, chosen)
    usable = targets.usable.cpu().numpy()
    chosen = [
        replace(member, train=np.asarray(member.train)[usable[member.train]]) for member in chosen
    ]
    model = _starting_model(kind, model_config, task, targets, chosen, initial)
    task.check(model)
    return Fleet(model, task, targets, chosen, settings, group)


def _task(
    kind: Kind,
    inputs: Inputs | LargeInputs,
    positions: Any,
    settings: Settings,
    device: torch.device,
    group: Group | None,
) -> Task:
    if kind == "node" and settings.batch_size is not None:
        return SampledTask(
            inputs.to(device, settings.dtype), node_positions(inputs, positions), settings.fanout
        )
    if group is not None and kind == "node":
        return ShardTask(inputs, node_positions(inputs, positions), group, device, settings.dtype)
    if isinstance(inputs, LargeInputs):
        raise TrainingError(
            "LargeInputs are for node tasks in batches: set batch_size, or count everything with "
            "Inputs.of"
        )
    return task_of(kind, inputs.to(device, settings.dtype), positions)


# Before the first epoch: initial weights are drawn, members and targets checked


def _starting_model(
    kind: Kind,
    config: dict[str, Any],
    task: Task,
    targets: Targets,
    members: list[Member],
    initial: Model | None,
) -> Model:
    """Return the model with every member's initial weights."""
    model = MODELS[kind](
        **{**config, "outputs": targets.outputs, "scaled": targets.kind == "values"},
        members=len(members),
    )
    if initial is not None:
        try:
            model.to(next(initial.parameters()).dtype).load_state_dict(initial.state_dict())
        except RuntimeError as error:
            raise TrainingError(
                f"the initial model has another shape: {str(error).splitlines()[-1].strip()}"
            ) from None
        return model
    model.seed([member.seed % 2**63 for member in members])
    node, edge = task.seen([np.asarray(member.train) for member in members], model.node_labels)
    model.forget(~node, ~edge)
    if model.scaled:
        mean, std = targets.scale(
            item_table([member.train for member in members], targets.y.device)
        )
        model.output_mean.copy_(mean)
        model.output_std.copy_(std)
    return model


def _checked_member(number: int, member: Member, items: int) -> Member:
    """Return the member with its items as arrays; what is wrong with it is an error."""
    for name, bound in (("learning_rate", np.inf), ("weight_decay", np.inf), ("dropout", 1)):
        rate = getattr(member, name)
        if rate is not None and not 0 <= rate < bound:
            raise TrainingError(
                f"member {number} has {name}={rate}: at least 0 and below {bound} is needed"
            )
    train = _item_array(number, "train", member.train, items)
    valid = _item_array(number, "valid", member.valid, items)
    if not len(train):
        raise TrainingError(f"member {number} has nothing to train on: its training part is empty")
    return replace(member, train=train, valid=valid)


def _item_array(number: int, name: str, chosen: Any, items: int) -> np.ndarray[Any, Any]:
    """Return a member's items, given by numbers or by a mask, as an array of numbers."""
    array = np.zeros(0, np.int64) if chosen is None else np.asarray(chosen)
    if array.dtype == bool:
        array = np.flatnonzero(array)
    if len(array) and array.dtype.kind not in "iu":
        raise TrainingError(
            f"the {name} items of member {number} must be whole numbers, got {array.dtype}"
        )
    array = array.astype(np.int64)
    if len(array) and not (array.min() >= 0 and array.max() < items):
        raise TrainingError(f"member {number} has a {name} item {_outside(array)} of {items} items")
    return array


def _outside(array: np.ndarray[Any, Any]) -> int:
    """Return a number that is out of range: the least, if that is below zero, else the largest."""
    return int(array.min() if array.min() < 0 else array.max())


def _check_targets(targets: Targets, members: list[Member]) -> None:
    """Raise where a member has no known target, or no weight, to learn from or validate on."""
    device = targets.y.device
    weights = targets.item_weights(item_table([member.train for member in members], device))
    for part in ("train", "valid"):
        table = item_table([getattr(member, part) for member in members], device)
        there, name = (table >= 0).any(1), {"train": "training", "valid": "validation"}[part]
        for number in (there & (targets.counts(table) == 0)).nonzero().flatten().tolist():
            raise TrainingError(f"all {name} targets of member {number} are missing")
        if weights is None or not table.shape[1]:
            continue
        heaviest = torch.where(table >= 0, weights.gather(1, table.clamp(min=0)), 0.0).amax(1)
        for number in (there & (heaviest == 0)).nonzero().flatten().tolist():
            raise TrainingError(
                f"all {name} items of member {number} have the weight 0: give some of them one, "
                "by item or by class"
            )
