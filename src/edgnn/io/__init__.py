"""Foreign formats to Graphs and back."""

from edgnn.io._labeled import Labeled
from edgnn.io._networkx import from_networkx, to_networkx
from edgnn.io._tu import read_tu, write_tu

__all__ = ["Labeled", "from_networkx", "read_tu", "to_networkx", "write_tu"]
