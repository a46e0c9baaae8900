"""Choosing among candidates for parameters, inside the items that a model may learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from edgnn._json import plain
from edgnn.errors import EvaluationError
from edgnn.evaluation._evaluate import Progress, answers_of, evaluate, warned_once
from edgnn.evaluation._evaluation import Evaluation
from edgnn.evaluation._splits import Split, holdout, kfold
from edgnn.evaluation._targets import Array, known_mean, missing, target_array

_FOLDS = 5
_MOST_FOR_FOLDS = 2000
_TEST = 0.2

_OnProgress = Callable[[Progress], Any] | None


def divide_parameters(
    kind: Any, parameters: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Sequence[Any]]]:
    """Return parameters with one value each, and those with candidates to choose from.

    Parameters
    ----------
    kind : class
        A :class:`edgnn.models.Model`; its ``takes_several`` says which tuples are one value.
    parameters : mapping
        Values, or tuples and lists of candidates.
    """
    fixed: dict[str, Any] = {}
    grid: dict[str, Sequence[Any]] = {}
    for name, value in parameters.items():
        if not isinstance(value, tuple | list) or kind.takes_several(name):
            fixed[name] = value
        elif len(value) == 1:
            fixed[name] = value[0]
        else:
            grid[name] = tuple(value)
    return fixed, grid


@dataclass(frozen=True)
class Selection:
    """Which candidate was chosen, and what each of them scored.

    Attributes
    ----------
    parameters : dict
        Those of the chosen candidate.
    metric : str
        What was scored.
    candidates : tuple of dict
        The ``"parameters"`` of each candidate, and its mean ``"score"`` on the inner test items;
        ``None`` where the metric is not defined on them.
    """

    parameters: dict[str, Any]
    metric: str
    candidates: tuple[dict[str, Any], ...]

    @property
    def score(self) -> float | None:
        """The score of the chosen candidate."""
        (score,) = (row["score"] for row in self.rows() if row["chosen"])
        return None if score is None else float(score)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per candidate, as :func:`selection_rows` does."""
        chosen = plain(self.parameters)
        return [row | {"chosen": int(row["parameters"] == chosen)} for row in self.candidates]

    def facts(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "metric": self.metric,
            "chosen": plain(self.parameters),
            "candidates": list(self.candidates),
        }


class Search:
    """A model with candidates for some of its parameters, chosen anew inside every split.

    The items that a split may learn from (its training and validation part) are divided again: into
    five folds, in proportion of the classes; or, of more than 2,000 items, into four fifths to
    learn from and one to score. The candidate with the best mean score is then trained on the split
    as it is; of equal ones, the first. No choice sees a test item. :func:`evaluate` takes it as it
    takes a model, and keeps under ``chosen`` of each split what was tried.

    Parameters
    ----------
    model : estimator
        Any that :func:`evaluate` takes; it is not changed.
    grid : mapping
        The candidates for each parameter, the simplest first; all combinations are tried.
    metric : str, callable or Metric, optional
        What candidates are compared by; default: the first that :func:`evaluate` takes.

    Examples
    --------
    >>> import edgnn
    >>> from edgnn.evaluation import Search, evaluate, holdout
    >>> data = edgnn.load_dataset("MUTAG")
    >>> search = Search(edgnn.RidgeGraphClassifier(parts=("wl",)), {"depth": (1, 3)})
    >>> splits = holdout(data.targets, repeats=1)
    >>> found = evaluate(search, data.graphs, data.targets, splits)
    >>> [row["parameters"] for row in found.outcomes[0].chosen["candidates"]]
    [{'depth': 1}, {'depth': 3}]
    """

    trains_by_epochs = False

    def __init__(self, model: Any, grid: Mapping[str, Sequence[Any]], metric: Any = None) -> None:
        self.model, self.grid, self.metric = model, dict(grid), metric
        if not self.grid or not all(len(values) for values in self.grid.values()):
            raise EvaluationError(f"grid={self.grid!r} holds no candidates; give at least one")
        self.candidates = [
            dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())
        ]
        for candidate in self.candidates:
            model = self._made(candidate)
            if hasattr(model, "check_parameters"):
                model.check_parameters()

    @property
    def model_name(self) -> str:
        """The class of the model."""
        return type(self.model).__name__

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the model, with all candidates where there are several."""
        parameters: dict[str, Any] = self.model.get_params(deep=deep)
        return parameters | self.grid

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def predict_splits(
        self,
        X: Any,
        y: Any,
        splits: Sequence[Split],
        *,
        sample_weight: Any = None,
        on_progress: _OnProgress = None,
    ) -> list[dict[str, Any]]:
        """Choose a candidate for every split, train it there and predict the test items.

        Parameters
        ----------
        X, y, splits, sample_weight, on_progress
            As :func:`evaluate` takes them.

        Returns
        -------
        list of dict
            What the chosen candidates answered, with the choice under ``"chosen"``.
        """
        targets = target_array(y)
        inner = [
            _inner_splits(targets, split.known, split.validation_fraction, split.seed)
            for split in splits
        ]
        selections = self._selected(X, targets, inner, sample_weight, on_progress)
        answers: list[dict[str, Any]] = [{} for _ in splits]
        for candidate in self.candidates:
            numbers = []
            for number, selection in enumerate(selections):
                if selection.parameters == candidate:
                    numbers.append(number)
            if not numbers:
                continue
            some = [splits[number] for number in numbers]
            found = answers_of(self._made(candidate), X, targets, some, sample_weight)
            for number, answer in zip(numbers, found, strict=True):
                answers[number] = dict(answer) | {"chosen": _chosen(answer, selections[number])}
        return answers

    def select(
        self,
        X: Any,
        y: Any,
        known: Array,
        validation: float | None,
        *,
        seed: int = 0,
        on_progress: _OnProgress = None,
    ) -> Selection:
        """Choose a candidate by some of the items.

        Parameters
        ----------
        X, y
            As :func:`evaluate` takes them.
        known : array of int
            Positions of the items that the choice may look at.
        validation : float, optional
            The fraction of them that chooses the epoch of a network.
        seed : int
            Random seed of the inner folds.
        on_progress : callable, optional
            Called with a :class:`Progress` after each candidate.
        """
        targets = target_array(y)
        inner = _inner_splits(targets, known, validation, seed)
        return self._selected(X, targets, [inner], None, on_progress)[0]

    def _selected(
        self,
        X: Any,
        y: Array,
        inner: Sequence[Sequence[Split]],
        weight: Any,
        on_progress: _OnProgress,
    ) -> list[Selection]:
        """Choose a candidate for each of several lists of inner splits."""
        every = [part for parts in inner for part in parts]
        sizes = [len(parts) for parts in inner]
        scores = np.empty((len(self.candidates), len(inner)))
        with warned_once():
            for number, candidate in enumerate(self.candidates):
                model = self._made(candidate)
                found = evaluate(model, X, y, every, metrics=self.metric, sample_weight=weight)
                scores[number] = _mean_scores(found, sizes)
                if on_progress is not None:
                    on_progress(Progress(number + 1, len(self.candidates), "candidate"))
        metric = found.metric(found.metrics[0])
        sign = 1 if metric.higher_is_better else -1
        best = np.nan_to_num(sign * scores, nan=-np.inf).argmax(axis=0)
        return [
            self._selection(metric.name, number, column)
            for number, column in zip(best.tolist(), scores.T, strict=True)
        ]

    def _selection(self, metric: str, chosen: int, scores: Array) -> Selection:
        rows = tuple(
            {"parameters": plain(candidate), "score": None if np.isnan(score) else float(score)}
            for candidate, score in zip(self.candidates, scores, strict=True)
        )
        return Selection(self.candidates[chosen], metric, rows)

    def _made(self, candidate: Mapping[str, Any]) -> Any:
        from sklearn.base import clone

        return clone(self.model).set_params(**candidate)


def selection_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return one row per candidate of an evaluation of :class:`Search`; none of other evaluations.

    Each has the candidate's ``"parameters"``, in how many splits it was ``"chosen"``, and its mean
    ``"score"`` inside the training parts.
    """
    choices = [outcome.chosen or {} for outcome in evaluation.outcomes]
    if not choices or not all("inner_score" in chosen for chosen in choices):
        return []
    rows = []
    for number, candidate in enumerate(choices[0]["candidates"]):
        parameters = candidate["parameters"]
        times = 0
        scores = []
        for chosen in choices:
            times += plain({name: chosen[name] for name in parameters}) == parameters
            scores.append(chosen["candidates"][number]["score"])
        mean = known_mean(np.array(scores, dtype=float))
        rows.append({"parameters": parameters, "chosen": times, "score": mean})
    return rows


def _chosen(answer: Mapping[str, Any], selection: Selection) -> dict[str, Any]:
    """Return what was chosen for a split: by the model itself, and among candidates."""
    own = answer.get("chosen") or {}
    epoch = {name: answer[name] for name in ("best_epoch", "valid_loss") if name in answer}
    return {
        **epoch,
        **own,
        **plain(selection.parameters),
        "inner_score": selection.score,
        "candidates": list(selection.candidates),
    }


def _inner_splits(y: Array, known: Array, validation: float | None, seed: int) -> list[Split]:
    """Divide the items that may be learned from once more."""
    known = np.sort(known)
    known = known[~missing(y[known])]
    if len(known) < 2:
        raise EvaluationError(
            f"{len(known)} items to learn from cannot be divided to choose among candidates: "
            "give more items, or one value for each parameter"
        )
    if len(known) > _MOST_FOR_FOLDS:
        parts = holdout(y[known], _TEST, validation, 1, seed=seed)
    else:
        folds = min(_FOLDS, len(known))
        parts = kfold(y[known], folds, 1, seed=seed, validation=validation)
    return [part.of_items(known) for part in parts]


def _mean_scores(found: Evaluation, sizes: Sequence[int]) -> list[float]:
    """Return the mean score of each outer split over its inner ones."""
    scores = found.scores[found.metrics[0]]
    pieces = np.split(scores, np.cumsum(sizes)[:-1])
    return [known_mean(piece) for piece in pieces]
