"""One harness for every model: splits, protocols, metrics, and the statistics of many splits."""

from edgnn.errors import EvaluationError
from edgnn.evaluation._ceiling import training_ceiling
from edgnn.evaluation._evaluate import Progress, evaluate
from edgnn.evaluation._evaluation import Evaluation, Outcome, difference_of
from edgnn.evaluation._given import join_sets, read_splits
from edgnn.evaluation._metrics import METRICS, Metric, find_metric, score
from edgnn.evaluation._predictions import evaluate_predictions
from edgnn.evaluation._protocols import (
    PROTOCOLS,
    default_protocol,
    protocol_splits,
    protocol_title,
    run_splits,
    training_split,
)
from edgnn.evaluation._scaffold import scaffold, scaffold_groups
from edgnn.evaluation._search import Search, Selection, selection_rows
from edgnn.evaluation._splits import Split, holdout, kfold, published
from edgnn.evaluation._statistics import (
    Comparison,
    Summary,
    holm,
    single_test_comparison,
    single_test_interval,
    t_test,
    wilson_interval,
)
from edgnn.evaluation._stored import evaluation_of, is_number, stored_document, stored_evaluation
from edgnn.evaluation._targets import Array, Task, encode, target_array, task_of
from edgnn.evaluation._train import (
    TrainedRun,
    choose_parameters,
    common_parameters,
    find_test_set,
    finish_run,
    model_and_candidates,
    run_facts,
    split_for,
    store_split,
    stored_sets,
    stored_split,
    target_name,
    train,
)

__all__ = [
    "METRICS",
    "PROTOCOLS",
    "Array",
    "Comparison",
    "Evaluation",
    "EvaluationError",
    "Metric",
    "Outcome",
    "Progress",
    "Search",
    "Selection",
    "Split",
    "Summary",
    "Task",
    "TrainedRun",
    "choose_parameters",
    "common_parameters",
    "default_protocol",
    "difference_of",
    "encode",
    "evaluate",
    "evaluate_predictions",
    "evaluation_of",
    "find_metric",
    "find_test_set",
    "finish_run",
    "holdout",
    "holm",
    "is_number",
    "join_sets",
    "kfold",
    "model_and_candidates",
    "protocol_splits",
    "protocol_title",
    "published",
    "read_splits",
    "run_facts",
    "run_splits",
    "scaffold",
    "scaffold_groups",
    "score",
    "selection_rows",
    "single_test_comparison",
    "single_test_interval",
    "split_for",
    "store_split",
    "stored_document",
    "stored_evaluation",
    "stored_sets",
    "stored_split",
    "t_test",
    "target_array",
    "target_name",
    "task_of",
    "train",
    "training_ceiling",
    "training_split",
    "wilson_interval",
]
