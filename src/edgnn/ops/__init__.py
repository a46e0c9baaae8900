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
from edgnn.ops._integers import mix
from edgnn.ops._noise import keep_mask, keys, random_order
from edgnn.ops._row_sum import constant_product, neighbor_sum, row_sum, sparse_product

__all__ = [
    "Array",
    "add_at",
    "arange",
    "argsort",
    "concat",
    "constant_product",
    "count",
    "filled",
    "hash_order",
    "keep_mask",
    "keys",
    "largest",
    "mix",
    "neighbor_sum",
    "nonzero",
    "random_order",
    "repeat",
    "row_sum",
    "running",
    "segment_sum",
    "sparse_product",
    "to_array",
    "to_host",
    "to_tensor",
    "where",
]
