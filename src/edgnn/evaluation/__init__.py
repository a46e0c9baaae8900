"""One harness for every model: splits, metrics, and what the scores of many splits say."""

from edgnn.errors import EvaluationError
from edgnn.evaluation._evaluate import Progress, evaluate
from edgnn.evaluation._evaluation import Evaluation, Outcome
from edgnn.evaluation._metrics import METRICS, Metric, find_metric, score
from edgnn.evaluation._scaffold import scaffold, scaffold_groups
from edgnn.evaluation._splits import Split, holdout, kfold, published
from edgnn.evaluation._summary import Comparison, Summary

__all__ = [
    "METRICS",
    "Comparison",
    "Evaluation",
    "EvaluationError",
    "Metric",
    "Outcome",
    "Progress",
    "Split",
    "Summary",
    "evaluate",
    "find_metric",
    "holdout",
    "kfold",
    "published",
    "scaffold",
    "scaffold_groups",
    "score",
]
