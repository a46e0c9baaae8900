"""Activations by name."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from edgnn._words import short, suggestion
from edgnn.errors import ModelError

Activation = Callable[[Tensor], Tensor]


def identity(x: Tensor) -> Tensor:
    """Return ``x``."""
    return x


ACTIVATIONS: dict[str, Activation] = {
    "relu": torch.relu,
    "cosine": torch.cos,
    "elu": functional.elu,
    "gelu": functional.gelu,
    "identity": identity,
    "leaky_relu": functional.leaky_relu,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "silu": functional.silu,
    "softplus": functional.softplus,
    "tanh": torch.tanh,
}


def activation_of(name: str | Activation) -> Activation:
    """Return the activation with this name; a function stands for itself."""
    if callable(name):
        return name
    if name not in ACTIVATIONS:
        raise ModelError(
            f"activation={short(name)}: choose a function or one of "
            f"{', '.join(map(repr, ACTIVATIONS))}{suggestion(name, ACTIVATIONS)}"
        )
    return ACTIVATIONS[name]
