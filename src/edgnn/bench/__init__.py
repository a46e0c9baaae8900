"""One file per question; every figure a ratio in the same run."""
