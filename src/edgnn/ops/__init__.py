"""Sums over neighbors and segments, on CPU and CUDA: the only room that knows about kernels and devices."""

from edgnn.ops._integers import mix, segment_sum

__all__ = ["mix", "segment_sum"]
