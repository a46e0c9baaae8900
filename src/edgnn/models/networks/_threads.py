"""How many threads a training is worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

_WORTH_A_THREAD = 2**17  # numbers per step and layer


def is_small(nodes: int, items: int, batch_size: int | None, width: int) -> bool:
    """Return whether a step on a batch, of so many numbers per node, is over before a second thread has woken up."""
    share = 1.0 if batch_size is None else min(1.0, batch_size / max(items, 1))
    return share * nodes * width < _WORTH_A_THREAD


@contextmanager
def one_thread(small: bool) -> Iterator[None]:
    """Let torch use a single thread meanwhile, where the work is small; on a busy machine others would keep it waiting."""
    before = torch.get_num_threads()
    if not small or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
