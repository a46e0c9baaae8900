"""Sums over neighbors and segments, on CPU and CUDA: the only package that knows about kernels.

Modules that need Triton are imported when one of their functions is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgnn.nn.ops._grouped import relational_product
from edgnn.nn.ops._halo import (
    lost_ranks_as_errors,
    raise_if_differentiated_again,
    with_halo,
)
from edgnn.nn.ops._layer import fits_layer, layer_sum
from edgnn.nn.ops._noise import keep_mask, keys, random_order
from edgnn.nn.ops._row_sum import (
    constant_product,
    launching,
    neighbor_sum,
    row_sum,
    sparse_product,
)
from edgnn.nn.ops._sampling import Sampler, check_lists, check_nodes

if TYPE_CHECKING:
    from edgnn.nn.ops._adam_triton import adam_step
    from edgnn.nn.ops._layout_triton import layout

_LAZY = {"adam_step": "edgnn.nn.ops._adam_triton", "layout": "edgnn.nn.ops._layout_triton"}

__all__ = [
    "Sampler",
    "adam_step",
    "check_lists",
    "check_nodes",
    "constant_product",
    "fits_layer",
    "keep_mask",
    "keys",
    "launching",
    "layer_sum",
    "layout",
    "lost_ranks_as_errors",
    "neighbor_sum",
    "raise_if_differentiated_again",
    "random_order",
    "relational_product",
    "row_sum",
    "sparse_product",
    "with_halo",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
