"""Before the first epoch: members and targets checked, initial weights drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from edgnn.errors import TrainingError
from edgnn.nn import Model
from edgnn.training._fleet import item_table
from edgnn.training._settings import Member
from edgnn.training._targets import Targets
from edgnn.training._tasks import MODELS, Kind, Task


def starting_model(
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


def checked_member(number: int, member: Member, items: int) -> Member:
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


def check_targets(targets: Targets, members: list[Member]) -> None:
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
