"""How far probabilities can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgnn.evaluation import Evaluation
from edgnn.report._html import Html, section, table, tag
from edgnn.report._numbers import number
from edgnn.report.draw import draw_reliability

_Array = np.ndarray[Any, Any]
_BINS = 10
_CAPTION = "The larger a dot, the more predictions. On the dashed line, probabilities can be taken at their word."


def calibration_section(evaluation: Evaluation) -> list[Html]:
    """Return the section that compares probabilities with what happened, or nothing where there are none."""
    groups, off = reliability(evaluation)
    if not groups:
        return []
    rows = []
    for place, mean, share, count in groups:
        limits = f"{100 * place // _BINS} to {100 * (place + 1) // _BINS}"
        rows.append(
            (
                limits,
                f"{count:,}",
                number(mean, True),
                number(share, True),
                number(share - mean, True),
            )
        )
    points = [(100 * mean, 100 * share, count) for _, mean, share, count in groups]
    classes = evaluation.task == "classes"
    told = "probability of the predicted class (%)" if classes else "probability of the label (%)"
    outcome = "right (%)" if classes else "label is 1 (%)"
    return [
        section(
            "Calibration",
            tag(
                "p",
                f"On average a probability is {number(off, True)} points off what happens (expected calibration error).",
            ),
            tag(
                "figure",
                Html(draw_reliability(points, title="Calibration", y_label=outcome, width=260)),
                tag("figcaption", _CAPTION),
            ),
            table(
                (told, "predictions", "on average (%)", outcome, "difference"),
                rows,
                class_="numbers",
            ),
            tag(
                "p",
                "Differences near 0 are what one hopes for; small groups vary by chance.",
                class_="note",
            ),
        )
    ]


def reliability(evaluation: Evaluation) -> tuple[list[tuple[int, float, float, int]], float]:
    """Return groups of predictions of similar probability, and the expected calibration error.

    A group is its number (0 to 9, by tens of percent), the mean of its probabilities, the share
    that came true, and its size.
    """
    pairs = [_said_and_true(evaluation, place) for place in range(len(evaluation.splits))]
    said, true = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    place = np.minimum((said * _BINS).astype(int), _BINS - 1)
    groups, off = [], 0.0
    for group in np.unique(place).tolist():
        here = place == group
        mean, share, count = float(said[here].mean()), float(true[here].mean()), int(here.sum())
        off += abs(mean - share) * count / len(said)
        groups.append((group, mean, share, count))
    return groups, off


def _said_and_true(evaluation: Evaluation, place: int) -> tuple[_Array, _Array]:
    """Return what a split's model says with which probability, and whether it is so."""
    outcome, truth = evaluation.outcomes[place], evaluation.truth[evaluation.splits[place].test]
    nothing = np.zeros(0)
    if outcome.probability is None or evaluation.task == "values":
        return nothing, nothing
    if evaluation.task == "classes":
        said = outcome.probability[np.arange(len(truth)), outcome.prediction]
        known = (truth >= 0) & np.isfinite(said)
        return said[known].clip(0, 1), (truth == outcome.prediction)[known].astype(float)
    known = np.isfinite(truth) & np.isfinite(outcome.probability)
    return outcome.probability[known].clip(0, 1), truth[known]
