"""Sums over neighbors and segments, on CPU and CUDA: the only room that knows about kernels and devices."""

from edgnn.ops._arrays import (
    Array,
    arange,
    argsort,
    concat,
    count,
    cumsum,
    filled,
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
    "arange",
    "argsort",
    "concat",
    "count",
    "cumsum",
    "filled",
    "mix",
    "nonzero",
    "repeat",
    "segment_sum",
    "to_array",
    "to_host",
    "to_tensor",
    "where",
]
