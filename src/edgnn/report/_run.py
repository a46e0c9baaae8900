"""The page of a run: what the folder of a trained model holds, as far as the run has come."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgnn._files import Path_
from edgnn._json import plain
from edgnn._tried import coverage_text, tried_table
from edgnn._words import counted, duration, number
from edgnn.errors import EdgnnError
from edgnn.evaluation import METRICS
from edgnn.report._curves import curve_figure, curves_of
from edgnn.report._method import baseline_name, baseline_phrase, call_of
from edgnn.report._numbers import metric_name, shown
from edgnn.report._page import MOST, ReportError, write_page
from edgnn.report._predictions import confusion_view, points_view
from edgnn.report._training_items import rules_view
from edgnn.report._views import setting_groups
from edgnn.training import ENVIRONMENT, HISTORY, PREDICTIONS, RunFolder
from edgnn.training import METRICS as METRICS_FILE

_Array = np.ndarray[Any, Any]
_PAGE = "report.html"
_MOST_TARGETS = 4
_LEARNED = ("task", "best_epoch", "members", "seed", "temperature", "classes")
#: Which set of items a run is evaluated on, the best first.
_SETS = ("test", "validation")
_OPTIMISM = {
    "validation": " The epoch was chosen on the same items, so this is slightly optimistic.",
    "training": " The model was trained on these items, so this says little about new ones.",
}


def write_run_report(run_folder_path: Path_, path: Path_ | None = None) -> Path:
    """Write a self-contained HTML page about a trained model, and return where it is.

    What the run has not left yet, or left damaged, is named on the page instead of shown. Models
    without epochs have no learning curves.

    Parameters
    ----------
    run_folder_path : path
        A folder that ``edgnn train`` or an estimator's ``save`` has written.
    path : path, optional
        The page; default: ``report.html`` in the folder of the run.
    """
    run = RunFolder.open(run_folder_path)
    target = run.path / _PAGE if path is None else Path(path)
    config, files = run.config, _Files(run)
    history: list[dict[str, Any]] = []
    curves = None
    # A finished run without a history is of a model that has no epochs, such as a closed form.
    if files.has(HISTORY) or "fitted" not in config:
        history = files.read(HISTORY, run.history) or []
        curves = files.read(HISTORY, lambda: curves_of(history))
    metrics = files.read(METRICS_FILE, lambda: _metrics(run))
    environment = files.read(ENVIRONMENT, lambda: run.read_json(ENVIRONMENT))
    predictions = files.read(PREDICTIONS, lambda: _stored_predictions(run))
    confusion = None
    if predictions and "counts" in predictions:
        confusion = {name: predictions[name] for name in ("class_names", "counts", "items")}
    data = {
        "kind": "run",
        "config": _without_long_parts(config),
        "metrics": metrics,
        "environment": environment,
        "curves": curves and curves.to_dict(),
        "confusion": confusion,
    }
    write_page(
        target,
        "run.html",
        f"Training run {run.path.resolve().name}",
        _lead(config, history),
        data,
        lost=files.lost,
        result=_result(metrics, config) if metrics else None,
        tried=_tried(config),
        predictions=predictions and predictions["view"],
        curves=curve_figure(curves),
        rules=rules_view(run) if "fitted" in config else None,
        command=config.get("command"),
        call=call_of(config),
        settings=setting_groups(_settings(config)),
        environment=setting_groups(environment) if isinstance(environment, Mapping) else [],
    )
    return target


class _Files:
    """The files of a run, and why some of them could not be read."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.lost: list[str] = []

    def has(self, name: str) -> bool:
        """Return whether there is such a file."""
        return self.run.has(name)

    def read(self, name: str, reader: Callable[[], Any]) -> Any:
        """Return what ``reader`` makes of a file; ``None``, with the reason kept, if it cannot."""
        try:
            if self.has(name):
                return reader()
            finished = "fitted" in self.run.config
            reason = f"The run has no {name}." if finished else f"The run has no {name} yet."
        except (EdgnnError, OSError, UnicodeDecodeError) as error:
            reason = f"{name} cannot be read: {error}"
        if reason not in self.lost:
            self.lost.append(reason)
        return None


def _lead(config: Mapping[str, Any], history: list[dict[str, Any]]) -> str:
    finished = "fitted" in config
    texts = [str(config.get("estimator", "")), _prediction_text(config)]
    if history or not finished:
        seconds = 0.0
        for row in history:
            if isinstance(row.get("seconds"), int | float):
                seconds += row["seconds"]
        texts += [counted(len(history), "epoch"), duration(seconds)]
    texts.append("finished" if finished else "not finished")
    return " · ".join(filter(None, texts))


def _prediction_text(config: Mapping[str, Any]) -> str:
    """Return what the model predicts; nothing where the run does not say, or it is too much."""
    names = config.get("target_names")
    if not isinstance(names, list) or not 1 <= len(names) <= _MOST_TARGETS:
        return ""
    return f"predicts {', '.join(map(str, names))}"


def _metrics(run: RunFolder) -> Mapping[str, Any]:
    """Return how a run was evaluated."""
    metrics = run.read_json(METRICS_FILE)
    if not isinstance(metrics, Mapping) or not _are_numbers(metrics.get("metrics")):
        raise ReportError("it holds no metrics by name")
    return metrics


def _result(metrics: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return how good the model is."""
    baseline: Any = metrics.get("majority")
    if not _are_numbers(baseline):
        baseline = {}
    rows = []
    for name, value in metrics["metrics"].items():
        percent = name in METRICS and METRICS[name].percent
        texts = [number(score, percent) for score in (value, baseline.get(name, math.nan))]
        rows.append((metric_name(name, percent), *texts))
    first, value, against = rows[0]
    task = str(config.get("task"))
    return {
        "measures": rows,
        "baseline": baseline_name(task),
        "headline": [(first, value), (f"{first} of {baseline_phrase(task)}", against)],
        "evaluated_on": _evaluated_on(metrics),
        "coverage": coverage_text(metrics.get("coverage")),
    }


def _tried(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return which learners were tried, where the model has chosen among several."""
    fitted = config.get("fitted")
    titles, rows = tried_table(fitted.get("tried") if isinstance(fitted, Mapping) else None)
    return {"titles": titles, "rows": rows} if rows else None


def _are_numbers(values: Any) -> bool:
    if not isinstance(values, Mapping) or not values:
        return False
    return all(isinstance(value, int | float) for value in values.values())


def _evaluated_on(metrics: Mapping[str, Any]) -> str:
    """Return which items the model was evaluated on, and what that means."""
    name, items, trained_on = (metrics.get(key) for key in ("part", "items", "trained_on"))
    text = (
        f"Evaluated on {shown(items)} items of the {shown(name)} set; "
        f"trained on {shown(trained_on)}."
    )
    return text + _OPTIMISM.get(str(name), "")


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration without what only the program needs."""
    hidden = ("fitted", "format", "command")
    kept = {name: value for name, value in config.items() if name not in hidden}
    fitted = config.get("fitted")
    if isinstance(fitted, Mapping):
        kept["learned"] = _learned(fitted)
    return kept


def _learned(fitted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model has learned beside its weights; of labels, how many there are."""
    learned = {}
    for name in _LEARNED:
        if fitted.get(name) not in (None, []):
            learned[name.replace("_", " ")] = fitted[name]
    for name in ("node_labels", "edge_labels"):
        labels = fitted.get(name)
        if isinstance(labels, list):
            learned[name.replace("_", " ")] = len(labels)
    return learned


def _without_long_parts(config: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was learned if it is long, such as vocabularies."""
    if len(json.dumps(plain(config))) <= MOST:
        return config
    return {name: value for name, value in config.items() if name != "fitted"}


# Stored predictions


def _stored_predictions(run: RunFolder) -> dict[str, Any] | None:
    """Return the predictions of a run beside the truth; ``None`` without true values.

    Where the table says which items were for testing, only those count.
    """
    from sklearn.metrics import confusion_matrix

    rows = _rows((run.path / PREDICTIONS).read_bytes().decode())
    if not rows:
        return None
    note = f"{len(rows):,} items of {PREDICTIONS}."
    named = {row.get("part") for row in rows}
    chosen = next((name for name in _SETS if name in named), None)
    if chosen:
        rows = [row for row in rows if row["part"] == chosen]
        note = f"{len(rows):,} items of the {chosen} set."
    true = [row["target"] for row in rows]
    predicted = [row["prediction"] for row in rows]
    if _is_regression(run.config):
        return {"view": points_view(_numbers(true), _numbers(predicted), note)}
    names = _in_order({*true, *predicted}, run.config)
    counts = confusion_matrix(true, predicted, labels=names)
    view = confusion_view(counts, names, note)
    return {"view": view, "class_names": names, "counts": counts, "items": note}


def _rows(text: str) -> list[dict[str, Any]]:
    """Return the rows of a table that have both a target and a prediction."""
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise ReportError(f"it is no table ({error})") from None
    return [row for row in rows if row.get("target") and row.get("prediction")]


def _is_regression(config: Mapping[str, Any]) -> bool:
    return config.get("task") == "values" or str(config.get("estimator", "")).endswith("Regressor")


def _in_order(classes: set[str], config: Mapping[str, Any]) -> list[str]:
    """Return classes in the order of the run if it names them all, else numbers, then texts."""
    names = config.get("class_names")
    known = [str(name) for name in names] if isinstance(names, list) else []
    if classes <= set(known) and len(known) == len(set(known)):
        return known
    return sorted(classes, key=_number_first)


def _number_first(text: str) -> tuple[bool, float, str]:
    value = _number(text)
    return (True, 0.0, text) if math.isnan(value) else (False, value, text)


def _numbers(texts: list[str]) -> _Array:
    return np.array([_number(text) for text in texts], dtype=float)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
