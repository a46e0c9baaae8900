"""The paper's tables as data, and what fills them in: settings, protocols, cells, studies."""

from edgnn.studies._ceiling import training_ceiling
from edgnn.studies._judge import judged
from edgnn.studies._models import MODELS, model_class
from edgnn.studies._nested import Nested, search_table
from edgnn.studies._paper import Published, paper_row, published_accuracy
from edgnn.studies._protocol import (
    default_protocol,
    is_of_paper,
    protocol_splits,
    protocol_title,
    training_split,
)
from edgnn.studies._runs import finish_run, items_of, task_of_dataset
from edgnn.studies._settings import Recipe, recipe, rows, search_grid
from edgnn.studies._study import Cell, CellResult, Study
from edgnn.studies._summaries import Entry, TableSummary
from edgnn.studies._tables import TABLES, Row, Table, table

__all__ = [
    "MODELS",
    "TABLES",
    "Cell",
    "CellResult",
    "Entry",
    "Nested",
    "Published",
    "Recipe",
    "Row",
    "Study",
    "Table",
    "TableSummary",
    "default_protocol",
    "finish_run",
    "is_of_paper",
    "items_of",
    "judged",
    "model_class",
    "paper_row",
    "protocol_splits",
    "protocol_title",
    "published_accuracy",
    "recipe",
    "rows",
    "search_grid",
    "search_table",
    "table",
    "task_of_dataset",
    "training_ceiling",
    "training_split",
]
