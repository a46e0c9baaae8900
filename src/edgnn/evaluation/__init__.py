"""One harness for every model: splits, metrics, and what the scores of many splits say."""

from edgnn.errors import EvaluationError
from edgnn.evaluation._answers import outcome_of
from edgnn.evaluation._evaluate import Progress, evaluate
from edgnn.evaluation._evaluation import Evaluation, Outcome
from edgnn.evaluation._metrics import METRICS, Metric, find_metric, score
from edgnn.evaluation._same import difference_of
from edgnn.evaluation._scaffold import scaffold, scaffold_groups
from edgnn.evaluation._splits import Split, holdout, kfold, published
from edgnn.evaluation._stored import evaluation_of, is_number, stored_document, stored_evaluation
from edgnn.evaluation._summary import Comparison, Summary
from edgnn.evaluation._targets import Array, Task, classes_of, encode, target_array, task_of

__all__ = [
    "METRICS",
    "Array",
    "Comparison",
    "Evaluation",
    "EvaluationError",
    "Metric",
    "Outcome",
    "Progress",
    "Split",
    "Summary",
    "Task",
    "classes_of",
    "difference_of",
    "encode",
    "evaluate",
    "evaluation_of",
    "find_metric",
    "holdout",
    "is_number",
    "kfold",
    "outcome_of",
    "published",
    "scaffold",
    "scaffold_groups",
    "score",
    "stored_document",
    "stored_evaluation",
    "target_array",
    "task_of",
]
