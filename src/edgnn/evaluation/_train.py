"""Training one model into a run folder, and evaluating it on the items that were held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgnn._files import Path_
from edgnn.errors import DatasetError, RunError
from edgnn.evaluation._evaluation import Evaluation
from edgnn.evaluation._predictions import evaluate_predictions
from edgnn.evaluation._protocols import training_split
from edgnn.evaluation._splits import Split
from edgnn.evaluation._targets import target_array
from edgnn.io.datasets import Dataset
from edgnn.training import CHECKPOINT, CONFIG, METRICS, PREDICTIONS, RunFolder

if TYPE_CHECKING:  # models take a while to import, and splits and metrics need none
    from edgnn.models import Answer, Model


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A trained model and the run folder that holds it.

    Attributes
    ----------
    model : Model
        Fitted.
    run : RunFolder
        The folder: the model, ``predictions.csv``, ``metrics.json``.
    """

    model: Model
    run: RunFolder

    @property
    def path(self) -> Path:
        """Where the folder is."""
        return self.run.path

    @property
    def metrics(self) -> dict[str, float]:
        """The scores on the test set, or on the set that :attr:`evaluated_on` names."""
        scores: dict[str, float] = self.run.read_json(METRICS)["metrics"]
        return scores

    @property
    def evaluated_on(self) -> str:
        """``"test"``, ``"validation"`` (networks without a test set) or ``"training"``."""
        return str(self.run.read_json(METRICS)["part"])

    def __repr__(self) -> str:
        return f"TrainedRun({str(self.path)!r}, {self.model!r})"


def train(
    data: Dataset,
    model: str | Model = "edgnn",
    *,
    out: Path_,
    test: float | str | None = "auto",
    validation: float | str | None = 0.1,
    seed: int = 0,
    target_names: Sequence[str] = (),
    resume: bool = False,
    overwrite: bool = False,
    on_epoch: Callable[[Any], Any] | None = None,
    **parameters: Any,
) -> TrainedRun:
    """Train a model into a run folder and evaluate it, as the command ``edgnn train`` does.

    Parameters
    ----------
    data : Dataset
        From :func:`edgnn.load_dataset`, with targets.
    model : str or Model
        A name in :data:`edgnn.registry.MODELS`, or a model that is not fitted.
    out : path
        The run folder to make.
    test : float, "published", "auto" or None
        The test set: a fraction of all items, the published one, or none; ``"auto"`` is the
        published one if the data has one, else none.
    validation : float, "first-fifth" or None
        The fraction of all items that chooses the epoch of a network. A model without epochs has
        nothing to choose and learns from these too; where there is no test set, such a fraction
        is its test set. ``None``: no validation set.
    seed : int
        Random seed of the split and of the model.
    target_names : sequence of str
        Names of several targets, for tables; default: those of the data.
    resume : bool
        Whether a run that is in the folder is resumed. What it was started with holds, and the data
        must be the same.
    overwrite : bool
        Whether a run that is in the folder is thrown away.
    on_epoch : callable, optional
        Called after every epoch of a network.
    **parameters
        Parameters of the model.

    Examples
    --------
    >>> import edgnn, tempfile
    >>> data = edgnn.load_dataset("MUTAG")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trained = edgnn.train(data, "ridge", out=f"{folder}/run", test=0.2)
    ...     trained.evaluated_on, trained.metrics["accuracy"] > 0.8
    ('test', True)
    """
    from edgnn.models import (
        check_data,
        estimator_of,
        finished,
        load_model,
        start_run,
        train_run,
    )

    if data.targets is None:
        raise DatasetError(f"{data.name} has no targets, so there is nothing to learn")
    folder = Path(out)
    if resume and (folder / CONFIG).exists():
        run = RunFolder.open(folder)
        check_data(run, data.items, data.targets)
        if finished(run):
            return TrainedRun(load_model(folder), run)
        chosen = estimator_of(run)
        split = split_for(chosen, data, stored_sets(run))
    else:
        sets = {"test": find_test_set(test, data), "validation": validation, "seed": seed}
        chosen = _unfitted(model, data, sets, parameters)
        split = split_for(chosen, data, sets)
        run = start_run(
            folder,
            chosen,
            data.items,
            data.targets,
            split,
            about=run_facts(data, sets, target_names),
            class_names=data.class_names,
            overwrite=overwrite,
        )
    with run.lock():
        answer = train_run(run, chosen, data.items, data.targets, split, on_epoch=on_epoch)
        assert answer is not None, "one process alone has all results"
        finish_run(run, chosen, data, answer)
    return TrainedRun(chosen, run)


# The steps, which the command line takes one by one


def find_test_set(chosen: float | str | None, data: Dataset) -> float | str | None:
    """Return the test set of a data set, where ``"auto"`` is the published one, if any."""
    if chosen != "auto":
        return chosen
    return None if data.split is None else "published"


def common_parameters(validation: float | str | None, seed: int) -> dict[str, Any]:
    """Return the parameters that a training gives to every model that has them."""
    common: dict[str, Any] = {"random_state": seed, "n_jobs": -1}
    if not isinstance(validation, str):
        common["validation"] = validation
    return common


def split_for(model: Model, data: Dataset, sets: Mapping[str, Any]) -> Split | None:
    """Return what a model is trained and tested on; ``None`` where it holds out its own fraction.

    Parameters
    ----------
    model : Model
        What is trained.
    data : Dataset
        With targets.
    sets : mapping
        ``"test"``, ``"validation"`` and ``"seed"``, as :func:`train` takes them.
    """
    test, validation = sets["test"], sets["validation"]
    if test is None and not model.trains_by_epochs and isinstance(validation, float):
        # nothing is chosen by the held-out items, so they are as good as a test set
        test, validation = validation, None
    return training_split(data, test=test, validation=validation, seed=sets["seed"])


def stored_sets(run: RunFolder) -> dict[str, Any]:
    """Return the test set, the validation set and the random seed that a run was started with."""
    config = run.config
    sets = config.get("parts")
    if not isinstance(sets, dict) or not {"test", "validation"} <= set(sets):
        raise RunError(
            f"{run.path / CONFIG} does not say which items the run was started with; "
            "the file is damaged"
        )
    # older runs say the seed as a parameter of their network only
    seed = config.get("seed", config["parameters"].get("random_state", 0))
    if type(seed) is not int:
        raise RunError(f"{run.path / CONFIG} has no usable random seed; the file is damaged")
    return {"test": sets["test"], "validation": sets["validation"], "seed": seed}


def run_facts(
    data: Dataset, sets: Mapping[str, Any], target_names: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what a run folder says about the data beside the model, as plain values."""
    return {
        "seed": sets["seed"],
        "parts": {"test": sets["test"], "validation": sets["validation"]},
        "level": data.level,
        "task": data.task,
        "class_names": list(data.class_names),
        "target_names": list(target_names or data.target_names),
    }


def finish_run(run: RunFolder, model: Model, data: Dataset, answer: Answer) -> Evaluation:
    """Write ``predictions.csv`` and ``metrics.json`` of a trained model: its run is finished.

    Parameters
    ----------
    run : RunFolder
        Of the training, locked.
    model : Model
        Fitted.
    data : Dataset
        All items.
    answer : Answer
        What :func:`edgnn.models.train_run` returned.
    """
    from edgnn.models import Predictions, identities, prediction_table

    assert data.targets is not None
    assert data.task is not None
    y = target_array(data.targets)
    names = run.config.get("target_names", ())
    evaluation = evaluate_predictions(
        data.task, y[answer.known], y[answer.items], answer.values, data.class_names
    )
    table = prediction_table(
        model,
        data.items[answer.items],
        Predictions(answer.values["prediction"], answer.values["probability"]),
        part=answer.part,
        targets=data.targets[answer.items],
        class_names=data.class_names,
        target_names=names,
    )
    # graphs without names are known by their numbers in the whole data set
    for column, names_of_all in identities(data.items).items():
        table[column] = [names_of_all[position] for position in answer.items]
    run.write_rows(PREDICTIONS, table)
    run.write_json(METRICS, _metrics(model, answer, evaluation, names))
    run.remove(CHECKPOINT)
    return evaluation


def target_name(names: Sequence[str], number: int) -> str:
    """Return the name of one of several targets; its number where it has none."""
    return str(names[number]) if number < len(names) else str(number)


def _unfitted(
    model: str | Model, data: Dataset, sets: Mapping[str, Any], parameters: Mapping[str, Any]
) -> Model:
    """Return the model to train; one that is given keeps its own parameters."""
    from edgnn.models import make_model

    common = common_parameters(sets["validation"], sets["seed"])
    if isinstance(model, str):
        assert data.task is not None
        return make_model(model, level=data.level, task=data.task, common=common, **parameters)
    from sklearn.base import clone

    known = model.get_params(deep=False)
    unset = {name: common[name] for name in ("random_state",) if known.get(name, 0) is None}
    chosen: Model = clone(model).set_params(**unset, **parameters)
    return chosen


def _metrics(
    model: Model, answer: Answer, evaluation: Evaluation, names: Sequence[str]
) -> dict[str, Any]:
    summaries = {name: evaluation[name] for name in evaluation.metrics}
    document: dict[str, Any] = {
        "part": answer.part,
        "items": len(answer.items),
        "trained_on": len(answer.train),
        "validated_on": len(answer.valid),
        "without_target": answer.lacking,
        "metrics": {name: summary.mean for name, summary in summaries.items()},
        "majority": {name: summary.majority for name, summary in summaries.items()},
    }
    if evaluation.by_target:
        document["by_target"] = {
            target_name(names, number): {name: one[name].mean for name in one.metrics}
            for number, one in enumerate(evaluation.by_target)
        }
    document |= {"classes": list(evaluation.class_names), "confusion": evaluation.confusion}
    if model.trains_by_epochs:
        document |= {"epochs": len(model.history_), "best_epoch": model.best_epoch_}
    return document | {"seconds": answer.seconds}
