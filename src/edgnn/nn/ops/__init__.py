"""Sums over neighbors and segments, on CPU and CUDA: the only room that knows about kernels and devices."""

from edgnn._arrays import (
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
from edgnn._hashing import mix
from edgnn.nn.ops._grouped import relational_product
from edgnn.nn.ops._halo import told_of_lost_ranks, with_halo
from edgnn.nn.ops._launch import launching
from edgnn.nn.ops._layer import fits_layer, layer_sum
from edgnn.nn.ops._noise import keep_mask, keys, random_order
from edgnn.nn.ops._row_sum import constant_product, neighbor_sum, row_sum, sparse_product
from edgnn.nn.ops._sampling import Sampler, check_lists

__all__ = [
    "Array",
    "Sampler",
    "add_at",
    "arange",
    "argsort",
    "check_lists",
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
    "told_of_lost_ranks",
    "where",
    "with_halo",
]
