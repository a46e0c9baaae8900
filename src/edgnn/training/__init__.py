"""Fleets of models: training, early stopping, history, checkpoints, run folders; by one process or by several."""

from edgnn.training._cost import ShardCosts, ShardSize, shard_costs
from edgnn.training._environment import environment
from edgnn.training._group import Group, launched
from edgnn.training._outputs import outputs
from edgnn.training._run import Epoch, Trained
from edgnn.training._run_folder import RunFolder
from edgnn.training._settings import Member, Settings
from edgnn.training._targets import Targets
from edgnn.training._train import train

__all__ = [
    "Epoch",
    "Group",
    "Member",
    "RunFolder",
    "Settings",
    "ShardCosts",
    "ShardSize",
    "Targets",
    "Trained",
    "environment",
    "launched",
    "outputs",
    "shard_costs",
    "train",
]
