"""Another number of epochs for a run that is to be resumed: more of them, or an end now."""

from __future__ import annotations

from typing import Any

from edgnn.errors import RunError
from edgnn.models.networks._base import Estimator
from edgnn.models.networks._session import checkpoint_epoch, finished
from edgnn.models.networks._storage import stored_parameters
from edgnn.training import CHECKPOINT, METRICS, RunFolder


def change_epochs(run: RunFolder, estimator: Estimator, number: Any) -> None:
    """Give a run that is to be resumed another number of epochs, as far as that can still be done.

    No epoch depends on how many there will be, so the model has the bits of a training that was
    started with the new number; where more epochs than that are done, it is as if started with
    those.

    Parameters
    ----------
    run : RunFolder
        From :func:`start_run`, opened again.
    estimator : Estimator
        As of :func:`estimator_of`; its ``max_epochs`` is changed too.
    number : int
        How many. With as many done or more, the training ends at once, with the best of them.
    """
    before, done = estimator._checked_parameters()["max_epochs"], checkpoint_epoch(run)
    estimator.max_epochs = number
    estimator._checked_parameters()
    estimator.max_epochs = max(number, done)
    if finished(run) and not run.has(CHECKPOINT):
        estimator.max_epochs = before
        if number <= before or len(run.history()) < before:  # it has ended before, and would again
            return
        raise RunError(
            f"the run in {run.path} has done its {before} epochs, and what it would go on from is removed at the end: "
            f"start another run with max_epochs={number}"
        )
    if estimator.max_epochs != before:
        with run.lock():
            run.remove(METRICS)  # until the new number is reached, the run is not finished
            run.update_config(parameters=stored_parameters(estimator))
