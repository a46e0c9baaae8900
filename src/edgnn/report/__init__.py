"""One self-contained HTML page per study, evaluation or training run; the numbers are inside it as JSON as well."""

from edgnn.report._data import read_report
from edgnn.report._errors import ReportError
from edgnn.report._evaluation import write_evaluation_report
from edgnn.report._run import write_run_report
from edgnn.report._sources import write_report
from edgnn.report._study import write_study_report

__all__ = [
    "ReportError",
    "read_report",
    "write_evaluation_report",
    "write_report",
    "write_run_report",
    "write_study_report",
]
