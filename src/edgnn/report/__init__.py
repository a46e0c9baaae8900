"""One self-contained HTML page per study, evaluation, training run or explanations, with the numbers inside it as JSON."""

from edgnn.report._data import read_report
from edgnn.report._errors import ReportError
from edgnn.report._evaluation import write_evaluation_report
from edgnn.report._explanation import write_explanations
from edgnn.report._explanation_picture import draw_explanation
from edgnn.report._explanation_words import Explained
from edgnn.report._run import write_run_report
from edgnn.report._sources import write_report
from edgnn.report._study import write_study_report

__all__ = [
    "Explained",
    "ReportError",
    "draw_explanation",
    "read_report",
    "write_evaluation_report",
    "write_explanations",
    "write_report",
    "write_run_report",
    "write_study_report",
]
