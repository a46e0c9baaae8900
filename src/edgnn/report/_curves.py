"""The losses of many models over the epochs as one curve with a band."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgnn._words import counted
from edgnn.report._errors import ReportError
from edgnn.report._views import Figure, figure
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
    losses = _losses(history or ())
    epochs = sorted(losses)
    if len(epochs) > most:
        kept = np.linspace(0, len(epochs) - 1, most).round().astype(int)
        epochs = [epochs[place] for place in kept]
    bands = {name: _band([losses[epoch][name] for epoch in epochs]) for name in _SERIES}
    bands = {name: band for name, band in bands.items() if np.isfinite(band.middle).any()}
    if not bands:
        return None
    models = max(len(losses[epoch][name]) for epoch in epochs for name in bands)
    return Curves(epochs, bands, models)


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
    bands = {_SERIES[name]: band for name, band in curves.series.items()}
    caption = "Loss of the model."
    if curves.models > 1:
        caption = (
            f"Line: mean over {counted(curves.models, 'model')}. Band: the middle 80 % of them. "
            "A model that stopped early no longer counts."
        )
    return figure(
        lambda width: draw_bands(curves.epochs, bands, "epoch", "loss", width=width), caption
    )


def _numbers(values: Any, epoch: int, name: str) -> list[float]:
    try:
        numbers = np.asarray([] if values is None else values, dtype=float)
        return np.atleast_1d(numbers).ravel().tolist()
    except (TypeError, ValueError):
        raise ReportError(
            f"{name} of epoch {epoch} in the history is not a list of numbers"
        ) from None


def _band(rows: list[list[float]]) -> Band:
    band = Band([], [], [])
    for row in rows:
        values = np.array(row, dtype=float)
        values = values[np.isfinite(values)]
        low, high = np.percentile(values, _LIMITS) if len(values) else (np.nan, np.nan)
        band.middle.append(float(values.mean()) if len(values) else np.nan)
        band.low.append(float(low))
        band.high.append(float(high))
    return band
