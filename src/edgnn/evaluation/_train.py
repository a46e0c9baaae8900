"""Training one model into a run folder, and evaluating it on the items that were held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgnn._files import Path_
from edgnn.errors import DatasetError, EvaluationError, RunError
from edgnn.evaluation._evaluation import Evaluation
from edgnn.evaluation._given import join_sets, read_layouts, read_splits, written_layout
from edgnn.evaluation._predictions import evaluate_predictions
from edgnn.evaluation._protocols import only_split, training_split
from edgnn.evaluation._search import Search, Selection, divide_parameters
from edgnn.evaluation._splits import Split, published
from edgnn.evaluation._targets import target_array
from edgnn.io.datasets import Dataset
from edgnn.training import CHECKPOINT, CONFIG, METRICS, PREDICTIONS, SPLITS, RunFolder

#: How often the intervals and sets that are measured on the test set shall hold the truth.
_COVERAGE = 0.9

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
    model: str | Model | None = None,
    *,
    out: Path_,
    test: float | str | Dataset | None = "auto",
    validation: float | str | Dataset | None = 0.1,
    split: Split | Path_ | None = None,
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
    model : str or Model, optional
        A name in :data:`edgnn.registry.MODELS`, or a model that is not fitted. Default: ``"auto"``,
        the best of several learners; the network ``"edgnn"`` for nodes, and where parameters of
        networks are given.
    out : path
        The run folder to make.
    test : float, "published", "scaffold", "scaffold-fixed", Dataset, "auto" or None
        The test set: a fraction of all items; the part of :attr:`edgnn.Dataset.split`; molecules
        of other scaffolds, a tenth of all, or as many as ``"scaffold:0.2"`` says; another data set;
        or none. ``"auto"`` is ``"published"`` if the data has a split, else none.
    validation : float, "first-fifth", Dataset or None
        What chooses the epoch of a network: a fraction of all items, or another data set. A model
        without epochs has nothing to choose and learns from these too; where there is no test set,
        they are its test set. ``None``: no validation set.
    split : Split or path, optional
        A split of your own, or the file of one for :func:`read_splits`, in the place of ``test``.
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
        Parameters of the model. Of a tuple or list where the parameter has one value, one is chosen
        by :class:`Search` among the items to learn from.

    Examples
    --------
    >>> import edgnn, tempfile
    >>> data = edgnn.load_dataset("MUTAG")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trained = edgnn.train(data, learners="ridge", out=f"{folder}/run", test=0.2)
    ...     trained.evaluated_on, trained.metrics["accuracy"] > 0.8
    ('test', True)
    """
    from edgnn.models import check_data, estimator_of, finished, load_model, start_run, train_run

    data, test, validation = _with_other_sets(data, test, validation)
    if target_names:
        data = replace(data, target_names=tuple(target_names))
    if data.targets is None:
        raise DatasetError(f"{data.name} has no targets, so there is nothing to learn")
    folder = Path(out)
    if resume and (folder / CONFIG).exists():
        run = RunFolder.open(folder)
        check_data(run, data.items, data.targets)
        if finished(run):
            return TrainedRun(load_model(folder), run)
        chosen = estimator_of(run)
        where = stored_split(run, chosen, data)
    else:
        sets = {"test": find_test_set(test, data), "validation": validation, "seed": seed}
        if split is not None:
            sets["test"] = "given"
        unfitted, grid = _unfitted(model, data, sets, parameters)
        where = split_for(unfitted, data, sets, split)
        chosen, selection = choose_parameters(unfitted, grid, data, where, sets)
        run = start_run(
            folder,
            chosen,
            data.items,
            data.targets,
            where,
            about=run_facts(data, sets, selection),
            class_names=data.class_names,
            overwrite=overwrite,
        )
        store_split(run, where)
    with run.lock():
        answer = train_run(run, chosen, data.items, data.targets, where, on_epoch=on_epoch)
        assert answer is not None, "one process alone has all results"
        finish_run(run, chosen, data, answer)
    return TrainedRun(chosen, run)


def _with_other_sets(
    data: Dataset, test: float | str | Dataset | None, validation: float | str | Dataset | None
) -> tuple[Dataset, float | str | None, float | str | None]:
    """Return one data set of all, with a split, where others were given for some parts."""
    others: dict[str, Any] = {}
    if isinstance(test, Dataset):
        others["test"], test = test, "published"
    if isinstance(validation, Dataset):
        others["validation"], validation = validation, 0.1
        test = "published" if test in ("auto", None) else test
    if not others:
        return data, test, validation
    if test != "published":
        raise DatasetError(
            f"test={test!r}: with a data set for validation, give one for testing or None"
        )
    return join_sets(data, **others), test, validation


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


def split_for(
    model: Model, data: Dataset, sets: Mapping[str, Any], given: Split | Path_ | None = None
) -> Split | None:
    """Return what a model is trained and tested on; ``None`` where it holds out its own fraction.

    Parameters
    ----------
    model : Model
        What is trained.
    data : Dataset
        With targets.
    sets : mapping
        ``"test"``, ``"validation"`` and ``"seed"``, as :func:`train` takes them.
    given : Split or path, optional
        A split, or the file of one.
    """
    test, validation = sets["test"], sets["validation"]
    has_epochs = model.trains_by_epochs
    if test is None and not has_epochs and isinstance(validation, float):
        # nothing is chosen by the held-out items, so they are as good as a test set
        test, validation = validation, None
    if given is None:
        split = training_split(data, test=test, validation=validation, seed=sets["seed"])
    elif isinstance(given, Split):
        split = given
    else:
        fraction = None if isinstance(validation, str) else validation
        split = only_split(read_splits(given, data, validation=fraction, seed=sets["seed"]))
    if split is None or len(split.test) or has_epochs:
        return split
    assert split.valid is not None, "a split holds something out"
    return replace(split, test=split.valid, valid=None)


def choose_parameters(
    model: Model,
    grid: Mapping[str, Sequence[Any]],
    data: Dataset,
    split: Split | None,
    sets: Mapping[str, Any],
    on_progress: Callable[[Any], Any] | None = None,
) -> tuple[Model, Selection | None]:
    """Return the model with the best of the candidates for its parameters, and the choice.

    Parameters
    ----------
    model : Model
        Not fitted.
    grid : mapping
        The candidates for each parameter; without any, the model is returned as it is.
    data : Dataset
        All items.
    split : Split, optional
        Its test items are not looked at; default: all items are learned from.
    sets : mapping
        ``"validation"`` and ``"seed"``, as :func:`train` takes them.
    on_progress : callable, optional
        As in :func:`evaluate`.
    """
    from sklearn.base import clone

    if not grid:
        return model, None
    known, validation = np.arange(len(data)), sets["validation"]
    if split is not None:
        known, validation = split.known, split.validation_fraction
    selection = Search(model, grid).select(
        data.items, data.targets, known, validation, seed=sets["seed"], on_progress=on_progress
    )
    chosen: Model = clone(model).set_params(**selection.parameters)
    return chosen, selection


def store_split(run: RunFolder, split: Split | None) -> None:
    """Write the positions of a split into a run folder, as :func:`read_splits` reads them."""
    if split is not None:
        nothing = split.train[:0] if split.valid is None else split.valid
        run.write_json(SPLITS, written_layout(split.train, nothing, split.test))


def stored_split(run: RunFolder, model: Model, data: Dataset) -> Split | None:
    """Return the split that a run was started with."""
    sets = stored_sets(run)
    if not run.has(SPLITS):  # a run of an earlier version, or one that holds out its own fraction
        return split_for(model, data, sets)
    try:
        (layout,) = read_layouts(run.read_json(SPLITS), len(data.items))
        options: dict[str, Any] = {"validation": None, "repeats": 1, "seed": sets["seed"]}
        return published(layout, data.targets, **options)[0]
    except (EvaluationError, ValueError) as error:
        raise RunError(f"{run.path / SPLITS} is damaged: {error}") from None


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
    data: Dataset, sets: Mapping[str, Any], selection: Selection | None = None
) -> dict[str, Any]:
    """Return what a run folder says about the data beside the model, as plain values."""
    search = {} if selection is None else {"search": selection.facts()}
    return search | {
        "seed": sets["seed"],
        "parts": {"test": sets["test"], "validation": sets["validation"]},
        "level": data.level,
        "task": data.task,
        "class_names": list(data.class_names),
        "target_names": list(data.target_names),
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
    metrics = _metrics(model, answer, evaluation, names) | _coverage(model, data, answer)
    run.write_json(METRICS, metrics)
    run.remove(CHECKPOINT)
    if not run.has(SPLITS):  # what a network has held out by itself
        tested = answer.items if answer.part == "test" else answer.items[:0]
        run.write_json(SPLITS, written_layout(answer.train, answer.valid, tested))
    return evaluation


def target_name(names: Sequence[str], number: int) -> str:
    """Return the name of one of several targets; its number where it has none."""
    return str(names[number]) if number < len(names) else str(number)


def _unfitted(
    model: str | Model | None,
    data: Dataset,
    sets: Mapping[str, Any],
    parameters: Mapping[str, Any],
) -> tuple[Model, dict[str, Sequence[Any]]]:
    """Return the model to train and its candidates; one that is given keeps its own parameters."""
    from edgnn.models import default_model

    common = common_parameters(sets["validation"], sets["seed"])
    if model is None:
        model = default_model(data.level, parameters)
    if isinstance(model, str):
        assert data.task is not None
        return model_and_candidates(model, data, common, parameters)
    from sklearn.base import clone

    known = model.get_params(deep=False)
    unset = {name: common[name] for name in ("random_state",) if known.get(name, 0) is None}
    fixed, grid = divide_parameters(type(model), parameters)
    chosen: Model = clone(model).set_params(**unset, **fixed)
    return chosen, grid


def model_and_candidates(
    name: str, data: Dataset, common: Mapping[str, Any], parameters: Mapping[str, Any]
) -> tuple[Model, dict[str, Sequence[Any]]]:
    """Return a model by its name, not fitted, and the candidates among its parameters.

    Parameters
    ----------
    name : str
        One of :data:`edgnn.registry.MODELS`.
    data : Dataset
        With targets.
    common, parameters : mapping
        As :func:`edgnn.models.make_model` takes them, with tuples of candidates.
    """
    from edgnn.models import make_model, model_parts

    assert data.task is not None
    kind, _ = model_parts(name, data.level, data.task, common=common, **parameters)
    fixed, grid = divide_parameters(kind, parameters)
    model = make_model(name, level=data.level, task=data.task, common=common, **fixed)
    if grid:
        Search(model, grid)  # checks all candidates before anything is trained
    return model, grid


def _coverage(model: Model, data: Dataset, answer: Answer) -> dict[str, Any]:
    """Return how often intervals, or sets of classes, hold the truth of the test set."""
    if answer.part != "test" or not model.offers_coverage or not len(answer.items):
        return {}
    assert data.targets is not None
    y = target_array(data.targets)[answer.items]
    predictions = model.covering_predictions(data.items[answer.items], _COVERAGE)
    if predictions.interval is not None:
        lower, upper = predictions.interval.swapaxes(0, 1)
        inside, size = (lower <= y) & (y <= upper), upper - lower
        known = ~np.isnan(y)
    else:
        assert predictions.plausible is not None
        inside = (predictions.plausible & (y[:, None] == model.encoding.classes)).any(axis=1)
        size, known = predictions.plausible.sum(axis=1), np.ones(len(y), dtype=bool)
    if not known.any():
        return {}
    # an infinite width, of too few training items, is not a number of JSON
    widths = size[known][np.isfinite(size[known])]
    return {
        "coverage": {
            "asked": _COVERAGE,
            "held": float(np.mean(inside[known])),
            "mean_size": float(np.mean(widths)) if len(widths) == known.sum() else None,
            "of": "sets" if predictions.interval is None else "intervals",
        }
    }


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
