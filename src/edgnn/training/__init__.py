"""Fleets of models: training, early stopping, history, checkpoints, run folders."""

from edgnn.training._environment import environment
from edgnn.training._outputs import outputs
from edgnn.training._run_folder import RunFolder
from edgnn.training._settings import Member, Settings
from edgnn.training._targets import Targets
from edgnn.training._train import Epoch, Trained, train

__all__ = ["Epoch", "Member", "RunFolder", "Settings", "Targets", "Trained", "environment", "outputs", "train"]
