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
from edgnn.training._fleet import Fleet
from edgnn.training._group import Group
from edgnn.training._prepare import check_targets, checked_member, starting_model
from edgnn.training._run import Epoch, Run, Trained
from edgnn.training._sampled import SampledTask
from edgnn.training._settings import Member, Settings
from edgnn.training._shard import ShardTask
from edgnn.training._targets import Targets
from edgnn.training._tasks import Kind, Task, node_positions, task_of


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
    chosen = [checked_member(number, member, task.items) for number, member in enumerate(members)]
    if not chosen:
        raise TrainingError("a fleet needs at least one member")
    check_targets(targets, chosen)
    usable = targets.usable.cpu().numpy()
    chosen = [
        replace(member, train=np.asarray(member.train)[usable[member.train]]) for member in chosen
    ]
    model = starting_model(kind, model_config, task, targets, chosen, initial)
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
