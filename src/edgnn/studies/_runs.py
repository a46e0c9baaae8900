"""The end of a training: predictions and metrics of the test set, into the run folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from edgnn.evaluation import Evaluation, evaluate_predictions, target_array
from edgnn.io.datasets import Dataset
from edgnn.training import CHECKPOINT, METRICS, PREDICTIONS, RunFolder

if TYPE_CHECKING:
    from edgnn.models import Answer, Model


def finish_run(run: RunFolder, model: Model, data: Dataset, answer: Answer) -> Evaluation:
    """Write ``predictions.csv`` and ``metrics.json`` of a trained model: the run is finished.

    Parameters
    ----------
    run : RunFolder
        Of the training, locked.
    model : Model
        Fitted.
    data : Dataset
        All items.
    answer : Answer
        What ``train_run`` returned.
    """
    assert data.task is not None
    y = target_array(data.targets)
    evaluation = evaluate_predictions(
        data.task, y[answer.known], y[answer.items], answer.values, data.class_names
    )
    run.write_rows(PREDICTIONS, _columns(run, model, data, answer))
    run.write_json(METRICS, _metrics(model, answer, evaluation, run.config.get("target_names", ())))
    run.remove(CHECKPOINT)
    return evaluation


def called(names: Sequence[str], place: int) -> str:
    """Return the name of one of several targets; its number where it has none."""
    return str(names[place]) if place < len(names) else str(place)


def _columns(run: RunFolder, model: Model, data: Dataset, answer: Answer) -> dict[str, list[Any]]:
    from edgnn.models import Predictions, identities, prediction_table

    assert data.targets is not None
    items = data.items
    columns = prediction_table(
        model,
        items[answer.items],
        Predictions(answer.values["prediction"], answer.values["probability"]),
        part=answer.part,
        targets=data.targets[answer.items],
        class_names=data.class_names,
        target_names=run.config.get("target_names", ()),
    )
    # items without names are called by their numbers among all, not among those of the test set
    for name, values in identities(items).items():
        columns[name] = [values[position] for position in answer.items.tolist()]
    return columns


def _metrics(
    model: Model, answer: Answer, evaluation: Evaluation, names: Sequence[str]
) -> dict[str, Any]:
    summaries = {name: evaluation[name] for name in evaluation.metrics}
    each = {
        called(names, place): {name: one[name].mean for name in one.metrics}
        for place, one in enumerate(evaluation.by_target)
    }
    return {
        "part": answer.part,
        "items": len(answer.items),
        "trained_on": len(answer.train),
        "validated_on": len(answer.valid),
        "without_target": answer.lacking,
        "metrics": {name: summary.mean for name, summary in summaries.items()},
        "majority": {name: summary.majority for name, summary in summaries.items()},
        **({"by_target": each} if each else {}),
        "classes": list(evaluation.class_names),
        "confusion": evaluation.confusion,
        **_epochs(model),
    }


def _epochs(model: Model) -> dict[str, Any]:
    """Return how long a model was trained, if it has epochs."""
    if not model.trains_by_epochs:
        return {}
    history = model.history_
    return {
        "epochs": len(history),
        "best_epoch": model.best_epoch_,
        "seconds": sum(row["seconds"] for row in history),
    }
