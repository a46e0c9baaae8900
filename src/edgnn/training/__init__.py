"""Fleets of models: training, early stopping, checkpoints, run folders; in one process or more."""

from edgnn.training._blocks import Blocks
from edgnn.training._environment import environment
from edgnn.training._fleet import Fleet
from edgnn.training._group import Group, launched, shared_state
from edgnn.training._layerwise import node_outputs, states_within
from edgnn.training._optimizer import Packed
from edgnn.training._outputs import outputs
from edgnn.training._run import Epoch, Trained
from edgnn.training._run_files import (
    CHECKPOINT,
    ENVIRONMENT,
    HISTORY,
    METRICS,
    PREDICTIONS,
    SPLITS,
)
from edgnn.training._run_folder import CONFIG, MODEL, UPDATE, RunFolder
from edgnn.training._sampled import fanouts
from edgnn.training._settings import Member, Settings
from edgnn.training._targets import Targets
from edgnn.training._train import new_fleet, train
from edgnn.training._values import (
    decode_value,
    decode_vocabulary,
    encode_value,
    encode_vocabulary,
)

__all__ = [
    "CHECKPOINT",
    "CONFIG",
    "ENVIRONMENT",
    "HISTORY",
    "METRICS",
    "MODEL",
    "PREDICTIONS",
    "SPLITS",
    "UPDATE",
    "Blocks",
    "Epoch",
    "Fleet",
    "Group",
    "Member",
    "Packed",
    "RunFolder",
    "Settings",
    "Targets",
    "Trained",
    "decode_value",
    "decode_vocabulary",
    "encode_value",
    "encode_vocabulary",
    "environment",
    "fanouts",
    "launched",
    "new_fleet",
    "node_outputs",
    "outputs",
    "shared_state",
    "states_within",
    "train",
]
