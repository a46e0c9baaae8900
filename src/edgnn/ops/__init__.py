"""Sums over neighbors and segments, on CPU and CUDA: the only room that knows about kernels and devices."""

from edgnn.ops._arrays import (
    Array,
    add_at,
    arange,
    argsort,
    concat,
    count,
    filled,
    hash_order,
    largest,
    nonzero,
    repeat,
    running,
    segment_sum,
    to_array,
    to_host,
    to_tensor,
    where,
)
from edgnn.ops._grouped import relational_product
from edgnn.ops._halo import with_halo
from edgnn.ops._integers import mix
from edgnn.ops._launch import launching
from edgnn.ops._layer import fits_layer, layer_sum
from edgnn.ops._noise import keep_mask, keys, random_order
from edgnn.ops._row_sum import constant_product, neighbor_sum, row_sum, sparse_product
from edgnn.ops._sampling import Sampler

__all__ = [
    "Array",
    "Sampler",
    "add_at",
    "arange",
    "argsort",
    "concat",
    "constant_product",
    "count",
    "filled",
    "fits_layer",
    "hash_order",
    "keep_mask",
    "keys",
    "largest",
    "launching",
    "layer_sum",
    "mix",
    "neighbor_sum",
    "nonzero",
    "random_order",
    "relational_product",
    "repeat",
    "row_sum",
    "running",
    "segment_sum",
    "sparse_product",
    "to_array",
    "to_host",
    "to_tensor",
    "where",
    "with_halo",
]
