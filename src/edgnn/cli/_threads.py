"""How many threads a training uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgnn.datasets import Dataset
    from edgnn.estimators import Estimator
    from edgnn.training import RunFolder

_WORTH_A_THREAD = 2**17  # numbers per step and layer


def use_few_threads(estimator: Estimator, data: Dataset, ensembles: int = 1) -> None:
    """Train small models in one thread: a step is over before a second one has woken up, the more so on a busy machine."""
    import torch

    size, of_all = estimator.batch_size, len(data.graphs) if data.level == "graph" else data.graphs.num_nodes
    share = 1.0 if size is None else min(1.0, size / max(of_all, 1))
    if share * data.graphs.num_nodes * estimator.hidden * estimator.members * ensembles < _WORTH_A_THREAD:
        torch.set_num_threads(1)


def use_threads_of(run: RunFolder) -> None:
    """Use as many threads as a run began with: sums in another order could have other last bits."""
    import torch

    if run.has("environment.json"):
        torch.set_num_threads(run.read_json("environment.json")["threads"])
