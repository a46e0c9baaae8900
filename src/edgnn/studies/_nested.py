"""Nested: settings chosen inside the training part of every split, and what each candidate gave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edgnn.errors import EvaluationError
from edgnn.evaluation import Evaluation, Split, encode

_KEPT = ("valid_loss", "best_epoch", "training_accuracy")


class Nested:
    """Several candidates in the place of one model; each split has the one of lowest loss.

    All candidates are trained on all splits; the choice sees the validation part alone. Of equal
    losses the first wins. What every candidate predicts is kept under ``chosen["candidates"]`` of
    each split, from which :func:`search_table` makes a table.

    Parameters
    ----------
    candidates : mapping
        Estimators with ``predict_splits`` whose answers have a ``"valid_loss"``, by name, the
        simplest first.
    """

    def __init__(self, candidates: Mapping[str, Any]) -> None:
        if not candidates:
            raise EvaluationError("there are no candidates to choose from; give at least one")
        self.candidates = dict(candidates)

    @classmethod
    def over(
        cls,
        kind: Callable[..., Any],
        parameters: Mapping[str, Any],
        grid: Iterable[Mapping[str, Any]],
    ) -> Nested:
        """Return the candidates of a grid, named such as ``"layers=2, hidden=64"``.

        Parameters
        ----------
        kind : class
            Of the estimators.
        parameters : mapping
            What they share; a grid's value comes first.
        grid : iterable of mapping
            What each of them has for itself, from :func:`search_grid`.
        """
        candidates = {}
        for own in grid:
            name = ", ".join(f"{key}={value}" for key, value in own.items())
            candidates[name] = kind(**{**parameters, **own})
        return cls(candidates)

    @property
    def max_epochs(self) -> int:
        """Most epochs of all candidates, one after the other."""
        return sum(getattr(candidate, "max_epochs", 0) for candidate in self.candidates.values())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters that all share, and under ``"candidates"`` the others."""
        own = {name: candidate.get_params(deep) for name, candidate in self.candidates.items()}
        first, *others = own.values()
        shared = {}
        for key, value in list(first.items()):
            if all(_same(other.get(key), value) for other in others):
                shared[key] = value
                for parameters in own.values():
                    del parameters[key]
        return shared | {"candidates": own}

    def __sklearn_tags__(self) -> Any:
        return next(iter(self.candidates.values())).__sklearn_tags__()

    def predict_splits(
        self,
        X: Any,
        y: Any,
        splits: Iterable[Any],
        *,
        sample_weight: Any = None,
        on_epoch: Callable[[Any], Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Train every candidate on every split and return the answers of the chosen ones.

        Parameters
        ----------
        X, y, splits, sample_weight
            As the candidates take them.
        on_epoch : callable, optional
            Called after every epoch of a candidate's fleet, epochs being counted through all
            candidates.

        Returns
        -------
        list of dict
            The chosen candidate's answer for each split, with ``"chosen"``: the ``"candidate"``,
            its ``"best_epoch"`` and ``"valid_loss"``, and under ``"candidates"`` what each had and
            predicts.
        """
        parts, done = list(splits), 0
        options: dict[str, Any] = {}
        if sample_weight is not None:
            options["sample_weight"] = sample_weight
        answers: dict[str, Sequence[Mapping[str, Any]]] = {}
        for name, candidate in self.candidates.items():
            if on_epoch is not None:
                options["on_epoch"] = _counted_from(done, on_epoch)
            answers[name] = candidate.predict_splits(X, y, parts, **options)
            done += getattr(candidate, "max_epochs", 0)
        return [
            _chosen(split, {name: every[number] for name, every in answers.items()})
            for number, split in enumerate(parts)
        ]


def search_table(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return one row per candidate of a nested evaluation, in the order of the search.

    Each has ``candidate``, ``chosen`` (in how many splits), and as means over splits
    ``valid_loss``, ``training_accuracy`` and ``accuracy``, that of its predictions for the test
    parts, which no choice has seen.
    """
    choices = [outcome.chosen or {} for outcome in evaluation.outcomes]
    if evaluation.task != "classes" or not all("candidates" in chosen for chosen in choices):
        raise EvaluationError(
            "this evaluation is no search: its splits hold no candidates; "
            "evaluate Nested on classes"
        )
    rows = []
    for name in choices[0]["candidates"]:
        times, losses, trained, tested = 0, [], [], []
        for split, chosen in zip(evaluation.splits, choices, strict=True):
            answer = chosen["candidates"][name]
            times += chosen["candidate"] == name
            losses.append(np.mean(answer["valid_loss"]))
            trained.append(answer["training_accuracy"])
            tested.append(_accuracy(evaluation, split, answer["prediction"]))
        row = {
            "candidate": name,
            "chosen": times,
            "valid_loss": float(np.mean(losses)),
            "training_accuracy": float(np.mean(trained)),
            "accuracy": float(np.mean(tested)),
        }
        rows.append(row)
    return rows


def _chosen(split: Any, answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the answer of the candidate with the lowest loss, and what the others had."""
    losses: dict[str, float] = {}
    candidates: dict[str, dict[str, Any]] = {}
    for name, answer in answers.items():
        if "valid_loss" not in answer:
            raise EvaluationError(
                f"{split}: the candidate {name!r} has no validation loss to be chosen by; "
                "give a validation part"
            )
        losses[name] = float(np.nan_to_num(np.mean(answer["valid_loss"]), nan=np.inf))
        kept = {key: answer[key] for key in _KEPT if key in answer}
        candidates[name] = kept | {"prediction": np.asarray(answer["prediction"]).tolist()}
    best = min(losses, key=losses.__getitem__)
    chosen = {"candidate": best, "candidates": candidates}
    for key in ("best_epoch", "valid_loss"):
        if key in answers[best]:
            chosen[key] = answers[best][key]
    return {**answers[best], "chosen": chosen}


def _accuracy(evaluation: Evaluation, split: Split, prediction: Sequence[Any]) -> float:
    truth = evaluation.truth[split.test]
    right = encode(np.asarray(prediction), evaluation.classes, "prediction") == truth
    return float(right[truth >= 0].mean())


def _counted_from(done: int, on_epoch: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda epoch: on_epoch(replace(epoch, number=done + epoch.number))


def _same(one: Any, two: Any) -> bool:
    return one is two or (type(one) is type(two) and bool(np.all(one == two)))
