"""The paper's rows as data: settings, protocols, and where they come from."""

from edgnn.experiments._judge import judged
from edgnn.experiments._models import MODELS, model_class
from edgnn.experiments._paper import Published, paper_row, published_accuracy
from edgnn.experiments._protocol import default_protocol, is_of_paper, protocol_splits, protocol_title, training_split
from edgnn.experiments._runs import finish_run, items_of, task_of_dataset
from edgnn.experiments._settings import Recipe, recipe, rows

__all__ = [
    "MODELS",
    "Published",
    "Recipe",
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
    "task_of_dataset",
    "training_split",
]
