"""``python -m edgnn``: the same as the command ``edgnn``."""

from edgnn.cli import run

run()
