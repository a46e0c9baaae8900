"""Foreign formats to Graphs and back: files by `read` and `write`, objects by `from_*`, `to_*`."""

from edgnn._deadline import Deadline
from edgnn.io._arrays import read_arrays, write_arrays
from edgnn.io._column_uses import ColumnUse
from edgnn.io._descriptors import ecfp_counts, rdkit_descriptors
from edgnn.io._format import Candidate, Format
from edgnn.io._frames import column_values
from edgnn.io._graph_writer import GraphWriter
from edgnn.io._graphml import read_graphml, write_graphml
from edgnn.io._labeled import Labeled
from edgnn.io._molecule_files import (
    MoleculeRecord,
    MoleculeRecords,
    SkippedWarning,
    molecule_records,
    none_readable,
)
from edgnn.io._molecules import (
    MoleculeOptions,
    from_mols,
    from_sdf,
    from_smiles,
    read_sdf,
    read_smiles_table,
)
from edgnn.io._networkx import from_networkx, to_networkx
from edgnn.io._node_link import read_node_link, write_node_link
from edgnn.io._pieces import Piece, Unread, distinct, listed, pieces_of, read_pieces, smiles_pieces
from edgnn.io._pyg import from_pyg, to_pyg
from edgnn.io._rdf import read_rdf, write_rdf
from edgnn.io._rdkit import Collector, chem, read_smiles
from edgnn.io._read import FORMATS, format_to_write, read, read_labeled, recognize, write
from edgnn.io._scaffolds import divide_by_frequency, framework
from edgnn.io._separated import read_rows, refuse_spreadsheet
from edgnn.io._structure_files import open_structure, write_structure
from edgnn.io._tables import read_tables, write_tables
from edgnn.io._to_mols import holds_molecules, to_mols
from edgnn.io._tu import read_tu, write_tu
from edgnn.io.datasets import Dataset, load_dataset

__all__ = [
    "FORMATS",
    "Candidate",
    "Collector",
    "ColumnUse",
    "Dataset",
    "Deadline",
    "Format",
    "GraphWriter",
    "Labeled",
    "MoleculeOptions",
    "MoleculeRecord",
    "MoleculeRecords",
    "Piece",
    "SkippedWarning",
    "Unread",
    "chem",
    "column_values",
    "distinct",
    "divide_by_frequency",
    "ecfp_counts",
    "format_to_write",
    "framework",
    "from_mols",
    "from_networkx",
    "from_pyg",
    "from_sdf",
    "from_smiles",
    "holds_molecules",
    "listed",
    "load_dataset",
    "molecule_records",
    "none_readable",
    "open_structure",
    "pieces_of",
    "rdkit_descriptors",
    "read",
    "read_arrays",
    "read_graphml",
    "read_labeled",
    "read_node_link",
    "read_pieces",
    "read_rdf",
    "read_rows",
    "read_sdf",
    "read_smiles",
    "read_smiles_table",
    "read_tables",
    "read_tu",
    "recognize",
    "refuse_spreadsheet",
    "smiles_pieces",
    "to_mols",
    "to_networkx",
    "to_pyg",
    "write",
    "write_arrays",
    "write_graphml",
    "write_node_link",
    "write_rdf",
    "write_structure",
    "write_tables",
    "write_tu",
]
