"""Fidelity: whether a prediction rests most on what its explanation puts first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edgnn._json import plain
from edgnn.errors import EstimatorError
from edgnn.explain._changes import Changes
from edgnn.explain._explain import check_numbers
from edgnn.explain._explanation import Explanation
from edgnn.explain._subject import Subject

_Array = np.ndarray[Any, Any]
_CHOICES = {"kind": ("node", "link"), "take": ("element", "label")}
_MEASURES = (
    "sufficiency",
    "comprehensiveness",
    "random_sufficiency",
    "random_sufficiency_std",
    "random_comprehensiveness",
    "random_comprehensiveness_std",
)


@dataclass(frozen=True, eq=False)
class Fidelity:
    r"""How much of a prediction the elements ranked first account for.

    With p the probability of the target (for regressors the output, and absolute differences), S a
    share of the nodes or links, those with the highest scores:

    - comprehensiveness :math:`p(G) - p(G \setminus S)`: high when the prediction falls without
      them;
    - sufficiency :math:`p(G) - p(S)`: low, or negative, when they alone make the prediction.

    Either the elements themselves are taken out, or only their labels, so that the graph keeps its
    shape.

    The random values are the same for sets of the same size drawn at random: mean and standard
    deviation over the sets.

    Attributes
    ----------
    kind : {"node", "link"}
        What was ranked.
    take : {"element", "label"}
        What was taken out of the elements' places.
    shares : tuple of float
        Shares of the elements that make up S; ``sizes`` are their numbers.
    sufficiency, comprehensiveness : array
        One number per share; not a number where there is nothing to rank.
    random_sufficiency, random_comprehensiveness, random_sufficiency_std,
    random_comprehensiveness_std : array
        The same for random sets.
    random_sets : int
        How many of them there were per share.
    """

    kind: str
    take: str
    shares: tuple[float, ...]
    sizes: tuple[int, ...]
    sufficiency: _Array
    comprehensiveness: _Array
    random_sufficiency: _Array
    random_sufficiency_std: _Array
    random_comprehensiveness: _Array
    random_comprehensiveness_std: _Array
    random_sets: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""
        found: dict[str, Any] = plain(vars(self))
        return found


def fidelity(
    estimator: Any,
    explanation: Explanation,
    *,
    shares: Sequence[float] = (0.1, 0.2, 0.3, 0.5),
    random_sets: int = 20,
    seed: int = 0,
    kind: Literal["node", "link"] = "node",
    take: Literal["element", "label"] = "element",
) -> Fidelity:
    """Measure an explanation by taking out, and by keeping, what it puts first.

    Random sets of the same size say what any set would do.

    Parameters
    ----------
    estimator : estimator
        That made the prediction.
    explanation : Explanation
        Of its prediction.
    shares : sequence of float
        Shares of the nodes or links, above 0 and up to 1; at least one element is taken.
    random_sets : int
        Number of random sets for each share.
    seed : int
        Random seed of the sets.
    kind : {"node", "link"}
        Rank nodes (which go with their edges; the explained node always stays) or links, by the
        scores that drawings use.
    take : {"element", "label"}
        Take out nodes (with their edges) and links, or their labels alone, so that the graph keeps
        its shape.
    """
    _check(shares, random_sets, kind=kind, take=take)
    subject = Subject.of(estimator, explanation.item)
    score, elements = _ranked(explanation, kind, take)
    if subject.task == "values":
        score = np.abs(score)
    order = elements[np.argsort(-score, kind="stable")]
    sizes = tuple(min(len(order), max(1, math.ceil(share * len(order) - 1e-9))) for share in shares)
    what: dict[str, Any] = {
        "kind": kind,
        "take": take,
        "shares": tuple(map(float, shares)),
        "sizes": sizes,
        "random_sets": random_sets,
    }
    if not len(order):
        return Fidelity(**what | dict.fromkeys(_MEASURES, np.full(len(shares), np.nan)))
    random = np.random.default_rng(seed)
    sets = [part for size in sizes for part in _sets(order, size, random, random_sets)]
    drops = _drops(subject, explanation, kind, take, order, sets)
    drops = drops.reshape(2, len(sizes), random_sets + 1)
    (sufficiency, comprehensiveness), rest = drops[:, :, 0], drops[:, :, 1:]
    mean, std = rest.mean(axis=2), rest.std(axis=2)
    measures = (sufficiency, comprehensiveness, mean[0], std[0], mean[1], std[1])
    return Fidelity(**what | dict(zip(_MEASURES, measures, strict=True)))


def _ranked(explanation: Explanation, kind: str, take: str) -> tuple[_Array, _Array]:
    """Return the scores, and the numbers of the elements they belong to."""
    score = explanation.node_score if kind == "node" else explanation.link_score
    elements = np.arange(len(score))
    if kind == "node" and take == "element" and explanation.node is not None:
        elements = np.delete(elements, explanation.node)
    return score[elements], elements


def _sets(order: _Array, size: int, random: np.random.Generator, random_sets: int) -> list[_Array]:
    """Return the elements ranked first, and as many at random, so many times."""
    numbers = np.sort(order)
    return [
        order[:size],
        *(numbers[random.permutation(len(numbers))[:size]] for _ in range(random_sets)),
    ]


def _drops(
    subject: Subject,
    explanation: Explanation,
    kind: str,
    take: str,
    order: _Array,
    sets: Sequence[_Array],
) -> _Array:
    """Return by how much the prediction falls when only a set is kept, and when it is taken out."""
    others = [np.setdiff1d(order, part) for part in sets]
    link_edges = explanation.link_edges
    out: list[_Array] = []
    for copy, elements in enumerate([*others, *sets]):
        if kind == "link":
            of_links = [link_edges[link] for link in elements]
            elements = np.concatenate([np.zeros(0, np.int64), *of_links])
        out.append(np.stack([np.full(len(elements), copy), elements]))
    listed, element = np.concatenate(out, axis=1), {"node": "node", "link": "edge"}[kind]
    if take == "element":
        changes = Changes.of(len(out), **{f"{element}s_out": listed})
    else:
        labels = (*listed, np.full(listed.shape[1], subject.labels[element].unknown))
        changes = Changes.of(len(out), **{f"{element}_labels": labels})
    scores = subject.scores(Changes.joined([Changes.of(1), changes]))
    measured = scores.numbers[:, explanation.target_index]
    drops: _Array = measured[0] - measured[1:]
    return np.abs(drops) if subject.task == "values" else drops


def _check(shares: Sequence[float], random_sets: int, **choices: str) -> None:
    for share in shares:
        if isinstance(share, str) or not 0 < share <= 1:
            raise EstimatorError(f"shares hold {share!r}: a share is above 0 and at most 1")
    if not len(shares):
        raise EstimatorError("shares are empty: give at least one, such as 0.2")
    check_numbers(random_sets=random_sets)
    for name, value in choices.items():
        if value not in _CHOICES[name]:
            raise EstimatorError(
                f"{name}={value!r}: choose one of {', '.join(map(repr, _CHOICES[name]))}"
            )
