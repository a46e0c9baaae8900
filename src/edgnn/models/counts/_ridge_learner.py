"""CountRidge: kernel ridge on similarities of counts and numbers, mixed by left-out error."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from edgnn.models._probabilities import probabilities, temperature_of
from edgnn.models._targets import Task
from edgnn.models.counts._kernel_ridge import Solution, solve, solve_with_centers
from edgnn.models.counts._problem import Problem
from edgnn.models.counts._representation import Comparison, Represented
from edgnn.models.counts._similarity import log_cosine, tanimoto

_Array = np.ndarray[Any, Any]

#: Shares of colors, pairs and numbers in the similarity; the first is the simplest.
MIXTURES = (
    (1.0, 0.0, 0.0),
    (0.5, 0.5, 0.0),
    (0.4, 0.4, 0.2),
    (0.3, 0.3, 0.4),
    (0.15, 0.15, 0.7),
)

#: Widths of the kernel; 0: the similarity itself.
WIDTHS = (2.0, 0.0)

_COMPARE: dict[Comparison, Any] = {"tanimoto": tanimoto, "log-cosine": log_cosine}
_ENOUGH = 8  # items to choose by
_SAMPLE = 800  # items on which a mixture is chosen
_MOST_EXACT = 4_000  # items that are all centers
_CENTERS = 3_000  # of more items
_FEWEST_CENTERS = 1_000
_NUMBERS = 2 * 10**8  # of a matrix of items and centers
_ROWS_AT_ONCE = 4_096
_NEAREST = 5


@dataclass(frozen=True)
class CountRidge:
    """Kernel ridge on how alike items are by counts and by numbers.

    The similarity is a mean of Tanimoto similarities of colors (over views and depths), of pairs,
    and a Gaussian of the standardized numbers, mixed as on a sample the exact leave-one-out error
    asks for. Up to ``most_exact`` items are all centers of the solution; of more, ``centers`` are
    drawn (Nyström), so that a prediction costs the same whatever the training set's size.
    """

    most_exact: int = _MOST_EXACT
    centers: int = _CENTERS
    name: str = "ridge"

    def fit(self, items: Represented, problem: Problem) -> FittedRidge:
        """Choose the mixture, the centers and the strength, and solve."""
        generator = np.random.default_rng(problem.seed)
        mixture, width = _choose(items, problem, generator)
        count, known = len(items), problem.known
        masks = {column.tobytes(): column for column in known.T}
        too_many = count > self.most_exact or (len(masks) > 1 and count > self.most_exact // 2)
        size = min(count, self.centers, max(_FEWEST_CENTERS, _NUMBERS // count))
        chosen = np.sort(generator.permutation(count)[:size]) if too_many else np.arange(count)
        centers = items[chosen]
        alike = _in_pieces(items, centers, mixture)
        K = kernel(alike, width)
        weight = np.zeros((len(chosen), known.shape[1]))
        intercept = np.zeros(known.shape[1])
        held_out = np.full(known.shape, np.nan)
        strengths = np.zeros(known.shape[1])
        for mask in masks.values():
            columns = np.flatnonzero((known == mask[:, None]).all(axis=0))
            rows = np.flatnonzero(mask)
            kept = np.flatnonzero(np.isin(chosen, rows))
            solution = _solve(K, chosen, kept, rows, problem, columns)
            weight[np.ix_(kept, columns)] = solution.weight
            intercept[columns], strengths[columns] = solution.intercept, solution.strength
            held_out[np.ix_(rows, columns)] = solution.left_out
            missing = np.flatnonzero(~mask)
            held_out[np.ix_(missing, columns)] = (
                K[missing] @ weight[:, columns] + intercept[columns]
            )
        temperature = _temperature(held_out, problem)
        found = RidgeSolution(
            problem.task, mixture, width, weight, intercept, temperature, strengths
        )
        outputs = _outputs(held_out, problem.task, temperature)
        return FittedRidge(centers, found, outputs, _novelty_among(alike, chosen))


@dataclass(frozen=True, eq=False)
class RidgeSolution:
    """What was solved, for the centers.

    Parameters
    ----------
    task : {"classes", "labels", "values"}
        What the targets are.
    mixture : tuple of float
        Shares of colors, pairs and numbers in the similarity.
    width : float
        The w of the kernel :math:`e^{-w(1 - s)}` of similarities s; 0: the similarity itself.
    weight, intercept : array
        Scores are ``kernel @ weight + intercept``.
    temperature : float
        What scores of classes and labels are divided by to become logits.
    strengths : array
        The strength of each column of targets.

    Shapes
    ------
    weight (centers, T), intercept (T,), strengths (T,)
    """

    task: Task
    mixture: tuple[float, ...]
    width: float
    weight: _Array
    intercept: _Array
    temperature: float
    strengths: _Array

    def check(self, centers: int) -> None:
        """Raise ``ValueError`` where the numbers are not those of so many centers."""
        outputs = len(self.intercept)
        shapes = self.weight.shape, self.strengths.shape, len(self.mixture)
        arrays = (self.weight, self.intercept, self.strengths)
        numbers = (self.width, *self.mixture)
        finite = all(np.isfinite(array).all() for array in (*arrays, numbers))
        finite &= self.temperature > 0 and min(numbers) >= 0
        if shapes != ((centers, outputs), (outputs,), 3) or not finite:
            raise ValueError("the stored ridge is damaged")


@dataclass(frozen=True, eq=False)
class FittedRidge:
    """A kernel ridge that was solved.

    Parameters
    ----------
    centers : Represented
        The training items that new ones are compared with.
    solution : RidgeSolution
        Their weights.
    held_out : array
        Outputs for each training item by the model that is fitted without it.
    novelty : array
        How unlike each training item is to the others, 0 to 1.

    Shapes
    ------
    held_out (n, K), novelty (n,)
    """

    centers: Represented
    solution: RidgeSolution
    held_out: _Array
    novelty: _Array

    def predict(self, items: Represented) -> tuple[_Array, _Array]:
        """Return outputs of new items, and how unlike the training items each is.

        Shapes
        ------
        → (n, K), (n,)
        """
        solution = self.solution
        outputs, novelty = [], []
        for start in range(0, max(len(items), 1), _ROWS_AT_ONCE):
            some = items[np.arange(start, min(start + _ROWS_AT_ONCE, len(items)))]
            alike = similarity(some, self.centers, solution.mixture)
            outputs.append(kernel(alike, solution.width) @ solution.weight + solution.intercept)
            novelty.append(_novelty(alike))
        scores = np.concatenate(outputs)
        return _outputs(scores, solution.task, solution.temperature), np.concatenate(novelty)


def similarity(items: Represented, centers: Represented, mixture: tuple[float, ...]) -> _Array:
    """Return how alike items and centers are, 0 to 1.

    Shapes
    ------
    → (n, m) of float32
    """
    rows = items if items is centers else items.in_columns_of(centers)
    mean: Any = np.zeros((len(items), len(centers)), dtype=np.float32)
    for share, kind in zip(mixture, ("colors", "pairs"), strict=False):
        views = [number for number, view in enumerate(rows.views) if view.kind == kind]
        for number in views if share else ():
            mean += np.float32(share / len(views)) * _of_view(rows, centers, number)
    if mixture[2] and rows.features.shape[1]:
        mean += np.float32(mixture[2]) * _gaussian(rows.features, centers.features)
    return np.asarray(mean)


def _of_view(rows: Represented, centers: Represented, number: int) -> _Array:
    """Return the mean similarity by the counts of one view, over comparisons and depths."""
    total: Any = 0.0
    comparisons = rows.views[number].comparisons
    for comparison in comparisons:
        by_depth = _COMPARE[comparison](rows.counts[number], centers.counts[number])
        # round 0 alone says little where there are later ones
        used = by_depth[1:] or by_depth
        for alike in used:
            total = total + np.float32(1 / len(comparisons) / len(used)) * alike
    mean: _Array = total
    return mean


def _in_pieces(items: Represented, centers: Represented, mixture: tuple[float, ...]) -> _Array:
    """Return the similarities of all items, some of them at a time."""
    if len(items) <= _ROWS_AT_ONCE:
        return similarity(items, centers, mixture)
    alike = np.empty((len(items), len(centers)), dtype=np.float32)
    for start in range(0, len(items), _ROWS_AT_ONCE):
        rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(items)))
        alike[rows] = similarity(items[rows], centers, mixture)
    return alike


def kernel(alike: _Array, width: float) -> _Array:
    """Return the kernel of similarities: exp(−width · (1 − s)), or the similarities themselves."""
    if not width:
        return alike
    values: _Array = np.exp(np.float32(width) * (alike - 1))
    return values


def _gaussian(a: _Array, b: _Array) -> _Array:
    """Return exp(−d²/2F) of the distances d of rows of F standardized numbers."""
    products = a @ b.T
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * products
    alike: _Array = np.exp(-np.maximum(squares, 0) / (2 * a.shape[1])).astype(np.float32)
    return alike


def _choose(
    items: Represented, problem: Problem, generator: np.random.Generator
) -> tuple[tuple[float, ...], float]:
    """Return the mixture and the width with the smallest left-out error on a sample."""
    usable = _usable(items)
    if len(items) < _ENOUGH:
        return usable[0], WIDTHS[0]
    chosen = np.sort(generator.permutation(len(items))[:_SAMPLE])
    sample, part = items[chosen], problem[chosen]
    alone = [
        similarity(sample, sample, tuple(np.eye(3)[place])) if _has(items, place) else 0.0
        for place in range(3)
    ]
    columns, known = part.columns, part.known
    mean_target = np.where(known, columns, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, columns, mean_target)
    spread = filled.std(axis=0)
    filled = filled / np.where(spread > 0, spread, 1)
    choices = list(product(usable, WIDTHS))
    errors = []
    for mixture, width in choices:
        mean: Any = sum(share * own for share, own in zip(mixture, alone, strict=True))
        errors.append(solve(kernel(mean, width), filled, part.weight).error)
    return choices[int(np.argmin(errors))]


def _usable(items: Represented) -> list[tuple[float, ...]]:
    """Return the mixtures of what the items have; colors take the share of pairs that are not."""
    pairs, numbers = _has(items, 1), _has(items, 2)
    mixtures = [
        (colors + (0.0 if pairs else beside), beside if pairs else 0.0, share)
        for colors, beside, share in MIXTURES
        if numbers or not share
    ]
    return list(dict.fromkeys(mixtures))


def _has(items: Represented, place: int) -> bool:
    if place == 2:
        return bool(items.features.shape[1])
    return any(view.kind == ("colors", "pairs")[place] for view in items.views)


def _solve(
    K: _Array, chosen: _Array, kept: _Array, rows: _Array, problem: Problem, columns: _Array
) -> Solution:
    """Solve for the columns of targets whose known items are the rows, with the kept centers."""
    targets = problem.columns[np.ix_(rows, columns)]
    weight = None if problem.weight is None else problem.weight[rows]
    spread = targets.std(axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    own = K[np.ix_(rows, kept)]
    if len(kept) == len(rows):
        solution = solve(own, targets / unit, weight)
    else:
        solution = solve_with_centers(own, K[np.ix_(chosen[kept], kept)], targets / unit, weight)
    return Solution(
        solution.weight * unit,
        solution.intercept * unit,
        solution.left_out * unit,
        solution.error,
        solution.strength,
    )


def _logits(scores: _Array) -> _Array:
    """Return scores, which are 0 or 1 where the model is sure, as logits."""
    return 2 * scores - 1


def _temperature(held_out: _Array, problem: Problem) -> float:
    if problem.task == "values":
        return 1.0
    logits = _logits(held_out)[None]
    return temperature_of(logits, problem.targets, problem.task, problem.weight)


def _outputs(scores: _Array, task: str, temperature: float) -> _Array:
    """Return values as they are, and probabilities of classes or labels."""
    if task == "values":
        return scores
    of_items: _Array = probabilities(_logits(scores)[None], task, temperature)[0]
    return of_items


def _novelty(K: _Array) -> _Array:
    """Return one less the mean similarity to the most similar centers."""
    count = min(_NEAREST, K.shape[1])
    nearest = np.partition(K, K.shape[1] - count, axis=1)[:, K.shape[1] - count :]
    novelty: _Array = 1 - nearest.mean(axis=1)
    return novelty.astype(np.float64)


def _novelty_among(alike: _Array, chosen: _Array) -> _Array:
    """Return the novelty of training items, none being compared with itself."""
    if alike.shape[1] == 1:
        return np.ones(len(alike))
    count = min(_NEAREST, alike.shape[1] - 1)
    center_of = np.full(len(alike), -1)
    center_of[chosen] = np.arange(len(chosen))
    novelty = np.empty(len(alike))
    for start in range(0, len(alike), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        others = alike[rows].copy()
        own = np.flatnonzero(center_of[rows] >= 0)
        others[own, center_of[rows][own]] = -1
        nearest = np.partition(others, alike.shape[1] - count, axis=1)[:, -count:]
        novelty[rows] = 1 - nearest.mean(axis=1)
    return novelty
