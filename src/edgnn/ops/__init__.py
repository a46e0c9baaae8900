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
    segment_sum,
    to_array,
    to_host,
    to_tensor,
    where,
)
from edgnn.ops._integers import mix

__all__ = [
    "Array",
    "add_at",
    "arange",
    "argsort",
    "concat",
    "count",
    "filled",
    "hash_order",
    "largest",
    "mix",
    "nonzero",
    "repeat",
    "segment_sum",
    "to_array",
    "to_host",
    "to_tensor",
    "where",
]
