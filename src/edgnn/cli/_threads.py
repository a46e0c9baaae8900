"""What a training takes of the machine: how many threads, and whether freed memory stays at hand."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from edgnn.errors import RunError

if TYPE_CHECKING:
    from edgnn.io.datasets import Dataset
    from edgnn.models import Estimator
    from edgnn.training import RunFolder

_MOST_THREADS = 4096
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as glibc numbers its settings
_KEPT, _LARGEST = 2**30, 2**25  # bytes; glibc takes no larger threshold than the second


def reuse_memory() -> None:
    """Have freed memory kept for the next step, and large arrays put into huge pages: fresh pages can cost as much as the work.

    Only before torch is imported, with glibc, and where the user has not set the same by
    ``THP_MEM_ALLOC_ENABLE`` or ``MALLOC_…``.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    if any(name.startswith("MALLOC_") for name in os.environ):
        return
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)


def use_few_threads(estimator: Estimator, data: Dataset, ensembles: int = 1) -> None:
    """Use one thread for small models from here on, also for what comes before and after training."""
    import torch

    from edgnn.models import is_small

    graphs = data.graphs
    of_all = len(graphs) if data.level == "graph" else graphs.num_nodes
    if is_small(
        graphs.num_nodes,
        of_all,
        estimator.batch_size,
        estimator.hidden * estimator.members * ensembles,
    ):
        torch.set_num_threads(1)


def use_threads_of(run: RunFolder) -> None:
    """Use as many threads as a run began with: sums in another order could have other last bits."""
    import torch

    if run.has("environment.json"):
        stored = run.read_json("environment.json")
        threads = stored.get("threads") if isinstance(stored, dict) else None
        if type(threads) is not int or not 1 <= threads <= _MOST_THREADS:
            raise RunError(
                f"{run.path / 'environment.json'} does not say how many threads the run began with; it is damaged"
            )
        torch.set_num_threads(threads)
