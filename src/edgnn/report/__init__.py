"""One self-contained HTML page per study, evaluation, training run or explanations, with the numbers inside it as JSON."""

from edgnn.report._compared import Compared, compare_files
from edgnn.report._compared_page import comparison_page
from edgnn.report._comparisons import Pair, how_judged, told_gap, told_limits
from edgnn.report._data import read_report
from edgnn.report._errors import ReportError
from edgnn.report._evaluation import write_evaluation_report
from edgnn.report._explain import shape_of
from edgnn.report._explanation import values_of, write_explanations
from edgnn.report._explanation_picture import draw_counter_example, draw_explanation
from edgnn.report._explanation_words import Explained, counter_text, fidelity_text
from edgnn.report._numbers import p_text
from edgnn.report._run import write_run_report
from edgnn.report._sources import write_report
from edgnn.report._study import write_study_report
from edgnn.report._style import STYLE

__all__ = [
    "STYLE",
    "Compared",
    "Explained",
    "Pair",
    "ReportError",
    "compare_files",
    "comparison_page",
    "counter_text",
    "draw_counter_example",
    "draw_explanation",
    "fidelity_text",
    "how_judged",
    "p_text",
    "read_report",
    "shape_of",
    "told_gap",
    "told_limits",
    "values_of",
    "write_evaluation_report",
    "write_explanations",
    "write_report",
    "write_run_report",
    "write_study_report",
]
