"""The paper's tables as data, and what fills them in: settings, cells, workers, study folders."""

from edgnn.studies._cells import Task
from edgnn.studies._measured_tables import compact_rows, full_rows, measured_document
from edgnn.studies._nested import Nested, search_table
from edgnn.studies._other_tables import statistics_rows
from edgnn.studies._plan import Plan, Request
from edgnn.studies._reproduce import Reproduction, failure_lines, reproduce
from edgnn.studies._runner import Expected
from edgnn.studies._settings import (
    Published,
    Recipe,
    is_of_paper,
    paper_row,
    published_accuracy,
    recipe,
    recipe_names,
    search_grid,
)
from edgnn.studies._study import Cell, CellResult, Study
from edgnn.studies._study_files import STUDY
from edgnn.studies._summaries import Entry, TableSummary, summarize
from edgnn.studies._tables import TABLES, Row, Table, find_table, select
from edgnn.studies._workers import Report
from edgnn.studies._write_tables import NOTABLE, ours

__all__ = [
    "NOTABLE",
    "STUDY",
    "TABLES",
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
    "Request",
    "Row",
    "Study",
    "Table",
    "TableSummary",
    "Task",
    "compact_rows",
    "failure_lines",
    "find_table",
    "full_rows",
    "is_of_paper",
    "measured_document",
    "ours",
    "paper_row",
    "published_accuracy",
    "recipe",
    "recipe_names",
    "reproduce",
    "search_grid",
    "search_table",
    "select",
    "statistics_rows",
    "summarize",
]
