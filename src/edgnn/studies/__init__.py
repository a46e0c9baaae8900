"""The paper's tables as data, and what fills them in: settings, protocols, cells, studies."""

from edgnn.studies._ceiling import training_ceiling
from edgnn.studies._cells import Task
from edgnn.studies._estimators import NOT_PARAMETERS
from edgnn.studies._judge import judged
from edgnn.studies._nested import Nested, search_table
from edgnn.studies._paper import Published, paper_row, published_accuracy
from edgnn.studies._plan import Asked, Plan
from edgnn.studies._protocol import (
    default_protocol,
    is_of_paper,
    protocol_splits,
    protocol_title,
    training_split,
)
from edgnn.studies._reproduce import Reproduction, failure_lines, reproduce
from edgnn.studies._runner import Expected
from edgnn.studies._runs import called, finish_run, items_of, task_of_dataset
from edgnn.studies._selection import narrowed, select
from edgnn.studies._settings import Recipe, recipe, rows, search_grid
from edgnn.studies._statistics_tables import statistics_rows
from edgnn.studies._study import Cell, CellResult, Study
from edgnn.studies._study_files import STUDY
from edgnn.studies._summaries import Entry, TableSummary, summarize
from edgnn.studies._tables import TABLES, Row, Table, table
from edgnn.studies._workers import Report
from edgnn.studies._write_tables import NOTABLE, ours

__all__ = [
    "NOTABLE",
    "NOT_PARAMETERS",
    "STUDY",
    "TABLES",
    "Asked",
    "Cell",
    "CellResult",
    "Entry",
    "Expected",
    "Nested",
    "Plan",
    "Published",
    "Recipe",
    "Report",
    "Reproduction",
    "Row",
    "Study",
    "Table",
    "TableSummary",
    "Task",
    "called",
    "default_protocol",
    "failure_lines",
    "finish_run",
    "is_of_paper",
    "items_of",
    "judged",
    "narrowed",
    "ours",
    "paper_row",
    "protocol_splits",
    "protocol_title",
    "published_accuracy",
    "recipe",
    "reproduce",
    "rows",
    "search_grid",
    "search_table",
    "select",
    "statistics_rows",
    "summarize",
    "table",
    "task_of_dataset",
    "training_ceiling",
    "training_split",
]
