"""One self-contained HTML page per study, evaluation, comparison, run or explanation."""

from edgnn.report._comparison import Compared, compare_files, comparison_page
from edgnn.report._evaluation import write_evaluation_report
from edgnn.report._explanation import values_of, write_explanations
from edgnn.report._explanation_picture import draw_counter_example, draw_explanation
from edgnn.report._method import shape_of
from edgnn.report._numbers import p_text
from edgnn.report._page import STYLE, ReportError, read_report
from edgnn.report._paired import Pair, comparison_note
from edgnn.report._run import write_run_report
from edgnn.report._sources import write_report
from edgnn.report._study import study_page, write_study_report

__all__ = [
    "STYLE",
    "Compared",
    "Pair",
    "ReportError",
    "compare_files",
    "comparison_note",
    "comparison_page",
    "draw_counter_example",
    "draw_explanation",
    "p_text",
    "read_report",
    "shape_of",
    "study_page",
    "values_of",
    "write_evaluation_report",
    "write_explanations",
    "write_report",
    "write_run_report",
    "write_study_report",
]
