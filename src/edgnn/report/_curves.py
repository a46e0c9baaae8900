"""The losses of many models over the epochs as one curve with a band."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgnn._words import counted
from edgnn.report._page import ReportError
from edgnn.report._views import Figure, evenly, figure
from edgnn.report.draw import Series, draw_series

_SERIES = ("train_loss", "valid_loss")
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
        ``mean``, ``p10`` and ``p90`` for each of ``"train_loss"`` and ``"valid_loss"`` that holds
        numbers.
    models : int
        How many there are.
    """

    epochs: list[int]
    series: dict[str, dict[str, list[float]]]
    models: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"epoch": self.epochs, "models": self.models, **self.series}

    def lines(self, place: int) -> list[Series]:
        """Return the means as curves of one color; dashed are those of the training set."""
        return [
            Series(place, self.epochs, band["mean"], dashed=name == "train_loss")
            for name, band in self.series.items()
        ]


def curves_of(history: Iterable[Mapping[str, Any]] | None, most: int = _MOST) -> Curves | None:
    """Return the curves of a history, or ``None`` if it holds no losses.

    Rows of the same epoch, as several fleets leave them, count together. Of more than ``most``
    epochs, so many are kept.
    """
    losses = _losses(history or ())
    every = sorted(losses)
    epochs = [every[place] for place in evenly(len(every), most)]
    bands = {}
    models = 0
    for name in _SERIES:
        values = [losses[epoch][name] for epoch in epochs]
        band = _band(values)
        if np.isfinite(band["mean"]).any():
            bands[name] = band
            models = max(models, *map(len, values))
    return Curves(epochs, bands, models) if bands else None


def _losses(history: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, list[float]]]:
    """Return the losses of all models by epoch and series."""
    losses: dict[int, dict[str, list[float]]] = {}
    for place, row in enumerate(history):
        epoch = row.get("epoch") if isinstance(row, Mapping) else None
        if not isinstance(epoch, int | np.integer):
            raise ReportError(f"row {place} of the history has no whole number 'epoch'")
        known = losses.setdefault(int(epoch), {name: [] for name in _SERIES})
        for name in _SERIES:
            known[name] += _numbers(row.get(name), int(epoch), name)
    return losses


def curve_figure(curves: Curves | None) -> Figure | None:
    """Return the learning curves of one model or fleet, if there are some."""
    if curves is None:
        return None
    lines = []
    for line, band in zip(curves.lines(0), curves.series.values(), strict=True):
        lines.append(replace(line, place=int(line.dashed), low=band["p10"], high=band["p90"]))
    caption = "Full line: loss on the validation set. Dashed: on the training set. "
    if curves.models > 1:
        caption += (
            f"Line: mean over {counted(curves.models, 'model')}. Band: the middle 80 % of them. "
            "A model that stopped early no longer counts."
        )
    else:
        caption += "Loss of the model."
    return figure(caption, draw_series, lines, "epoch", "loss", title="Loss over epochs")


def _numbers(values: Any, epoch: int, name: str) -> list[float]:
    try:
        numbers = np.asarray([] if values is None else values, dtype=float)
        return np.atleast_1d(numbers).ravel().tolist()
    except (TypeError, ValueError):
        raise ReportError(
            f"{name} of epoch {epoch} in the history is not a list of numbers"
        ) from None


def _band(rows: list[list[float]]) -> dict[str, list[float]]:
    band: dict[str, list[float]] = {"mean": [], "p10": [], "p90": []}
    for row in rows:
        values = np.array(row, dtype=float)
        values = values[np.isfinite(values)]
        middle = low = high = np.nan
        if len(values):
            middle = values.mean()
            low, high = np.percentile(values, _LIMITS)
        for name, value in zip(band, (middle, low, high), strict=True):
            band[name].append(float(value))
    return band
