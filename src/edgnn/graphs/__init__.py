"""What a labeled digraph is: packed graphs, nodes, label vocabularies, derived structure."""

from edgnn.graphs._csr import CSR, Window, from_keys, pack
from edgnn.graphs._graphs import Direction, Graphs, Multiplicity, Names
from edgnn.graphs._halo import Halo, Traffic
from edgnn.graphs._label_values import decode_value, encode_value
from edgnn.graphs._nodes import Nodes
from edgnn.graphs._parts import Input, joined, joined_graphs, taken
from edgnn.graphs._relations import Cells, Relations
from edgnn.graphs._structure import (
    DENSE_ENTRIES_PER_EDGE,
    ListedBy,
    Structure,
    degrees,
    places,
    select_rows,
)
from edgnn.graphs._vocabulary import (
    UNKNOWN,
    Labels,
    OnUnknown,
    Vocabulary,
    factorize,
    known_labels,
    recode,
)

__all__ = [
    "CSR",
    "DENSE_ENTRIES_PER_EDGE",
    "UNKNOWN",
    "Cells",
    "Direction",
    "Graphs",
    "Halo",
    "Input",
    "Labels",
    "ListedBy",
    "Multiplicity",
    "Names",
    "Nodes",
    "OnUnknown",
    "Relations",
    "Structure",
    "Traffic",
    "Vocabulary",
    "Window",
    "decode_value",
    "degrees",
    "encode_value",
    "factorize",
    "from_keys",
    "joined",
    "joined_graphs",
    "known_labels",
    "pack",
    "places",
    "recode",
    "select_rows",
    "taken",
]
