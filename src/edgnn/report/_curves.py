"""The losses of many models over the epochs as one curve with a band."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn._words import counted
from edgnn.report._errors import ReportError
from edgnn.report._html import Html, figure, section
from edgnn.report.draw import Band, draw_bands

_SERIES = {"train_loss": "training", "valid_loss": "validation"}
_MOST = 400
_LIMITS = (10, 90)


@dataclass(frozen=True, eq=False)
class Curves:
    """Mean and limits (10th and 90th percentile) of the losses of all models, epoch by epoch.

    Attributes
    ----------
    epochs : list of int
        Where the curves are known.
    series : dict
        A band for each of ``"train_loss"`` and ``"valid_loss"`` that holds numbers.
    models : int
        How many there are.
    """

    epochs: list[int]
    series: dict[str, Band]
    models: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        bands = {
            name: {"mean": band.middle, "p10": band.low, "p90": band.high}
            for name, band in self.series.items()
        }
        return {"epoch": self.epochs, "models": self.models, **bands}


def curves_of(history: Iterable[Mapping[str, Any]] | None, most: int = _MOST) -> Curves | None:
    """Return the curves of a history, or ``None`` if it holds no losses.

    Rows of the same epoch, as several fleets leave them, count together. Of more than ``most``
    epochs, so many are kept.
    """
    losses: dict[int, dict[str, list[float]]] = {}
    for place, row in enumerate(history or ()):
        epoch = row.get("epoch") if isinstance(row, Mapping) else None
        if not isinstance(epoch, int | np.integer):
            raise ReportError(f"row {place} of the history has no whole number 'epoch'")
        known = losses.setdefault(int(epoch), {name: [] for name in _SERIES})
        for name in _SERIES:
            known[name] += _numbers(row.get(name), int(epoch), name)
    epochs = sorted(losses)
    if len(epochs) > most:
        epochs = [
            epochs[place] for place in np.linspace(0, len(epochs) - 1, most).round().astype(int)
        ]
    bands = {name: _band([losses[epoch][name] for epoch in epochs]) for name in _SERIES}
    bands = {name: band for name, band in bands.items() if np.isfinite(band.middle).any()}
    models = max((len(losses[epoch][name]) for epoch in epochs for name in bands), default=0)
    return Curves(epochs, bands, models) if bands else None


def curves_section(curves: Curves | None) -> list[Html]:
    """Return the section with the learning curves, or nothing."""
    if curves is None:
        return []
    shown = {_SERIES[name]: band for name, band in curves.series.items()}
    caption = "Loss of the model."
    if curves.models > 1:
        caption = (
            f"Line: mean over {counted(curves.models, 'model')}. Band: the middle 80 % of them. "
            "A model that stopped early no longer counts."
        )
    return [
        section(
            "Learning curves",
            figure(
                lambda width: draw_bands(curves.epochs, shown, "epoch", "loss", width=width),
                caption,
            ),
        )
    ]


def _numbers(values: Any, epoch: int, name: str) -> list[float]:
    try:
        return (
            np.atleast_1d(np.asarray([] if values is None else values, dtype=float))
            .ravel()
            .tolist()
        )
    except (TypeError, ValueError):
        raise ReportError(
            f"{name} of epoch {epoch} in the history is not a list of numbers"
        ) from None


def _band(rows: list[list[float]]) -> Band:
    points = []
    for row in rows:
        values = np.array(row, dtype=float)
        values = values[np.isfinite(values)]
        points.append(
            (values.mean(), *np.percentile(values, _LIMITS)) if len(values) else (np.nan,) * 3
        )
    middle, low, high = (
        (list(map(float, column)) for column in zip(*points, strict=True))
        if points
        else ([], [], [])
    )
    return Band(middle, low, high)
