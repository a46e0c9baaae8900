"""How good the predictions of one trained model are: every metric that fits the targets, beside the majority's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgnn.evaluation import METRICS, Array, Evaluation, Split, Task, classes_of, encode, outcome_of


def judged(
    task: Task,
    learned: Array,
    truth: Array,
    answer: Mapping[str, Any],
    class_names: Sequence[str] = (),
) -> Evaluation:
    """Return an evaluation by all metrics of one model on one part.

    Parameters
    ----------
    task : {"classes", "labels", "values"}
        What the targets are.
    learned, truth : array
        Targets of the items the model has learned from (the majority is theirs), and of those it is
        judged on.
    answer : mapping
        ``"prediction"``, ``"probability"`` and ``"classes"`` for the latter, as estimators give
        them.
    class_names : sequence of str
        How to print the classes, by class number; default: as they are.
    """
    y = np.concatenate([learned, truth])
    split = Split(np.arange(len(learned)), np.arange(len(learned), len(y)))
    classes = classes_of(y) if task == "classes" else ()
    return Evaluation(
        task=task,
        metrics=tuple(name for name, metric in METRICS.items() if task in metric.tasks),
        splits=(split,),
        truth=encode(y, classes) if task == "classes" else y.astype(np.float64),
        outcomes=(outcome_of(answer, split, task, y.shape[1:], classes),),
        classes=classes,
        class_names=tuple(class_names[value] for value in classes)
        if class_names
        else tuple(map(str, classes)),
    )
