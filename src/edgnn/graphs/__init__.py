"""What a labeled digraph is: packed graphs, their nodes, label vocabularies, and the structure derived from them."""

from edgnn.graphs._csr import CSR
from edgnn.graphs._graphs import Graphs
from edgnn.graphs._nodes import Nodes
from edgnn.graphs._structure import Structure
from edgnn.graphs._vocabulary import UNKNOWN, Vocabulary

__all__ = ["CSR", "UNKNOWN", "Graphs", "Nodes", "Structure", "Vocabulary"]
