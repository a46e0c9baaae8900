"""Where kernels are launched."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor


def launching(x: Tensor) -> AbstractContextManager[Any]:
    """Make the device of ``x`` the current one: Triton launches there, wherever the arguments are."""
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()
