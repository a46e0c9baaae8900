"""Foreign formats to Graphs and back: files by `read` and `write`, objects by `from_*` and `to_*`."""

from edgnn.io._arrays import read_arrays, write_arrays
from edgnn.io._decimal_commas import has_decimal_comma, write_points
from edgnn.io._graph_writer import GraphWriter
from edgnn.io._graphml import read_graphml, write_graphml
from edgnn.io._labeled import Labeled
from edgnn.io._molecule_files import column_of, id_column, records, refuse_spreadsheet, table
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
from edgnn.io._option_types import fitting
from edgnn.io._pyg import from_pyg, to_pyg
from edgnn.io._rdf import read_rdf, write_rdf
from edgnn.io._rdkit import Collector, chem, read_mol_block, read_smiles
from edgnn.io._read import format_to_write, read, read_labeled, recognize, write
from edgnn.io._structure_files import open_structure, write_structure
from edgnn.io._tables import read_tables, write_tables
from edgnn.io._tables_columns import ColumnUse, column_uses
from edgnn.io._tu import read_tu, write_tu
from edgnn.io.datasets import Dataset, load_dataset

__all__ = [
    "Collector",
    "ColumnUse",
    "Dataset",
    "GraphWriter",
    "Labeled",
    "MoleculeOptions",
    "chem",
    "column_of",
    "column_uses",
    "fitting",
    "format_to_write",
    "from_mols",
    "from_networkx",
    "from_pyg",
    "from_sdf",
    "from_smiles",
    "has_decimal_comma",
    "id_column",
    "load_dataset",
    "open_structure",
    "read",
    "read_arrays",
    "read_graphml",
    "read_labeled",
    "read_mol_block",
    "read_node_link",
    "read_rdf",
    "read_sdf",
    "read_smiles",
    "read_smiles_table",
    "read_tables",
    "read_tu",
    "recognize",
    "records",
    "refuse_spreadsheet",
    "table",
    "to_networkx",
    "to_pyg",
    "write",
    "write_arrays",
    "write_graphml",
    "write_node_link",
    "write_points",
    "write_rdf",
    "write_structure",
    "write_tables",
    "write_tu",
]
