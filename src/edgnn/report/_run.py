"""The page of a training run: what its folder holds, as far as the run has come."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from edgnn import training as files
from edgnn._files import Path_
from edgnn._json import plain
from edgnn._words import counted, duration
from edgnn.errors import EdgnnError
from edgnn.evaluation import METRICS
from edgnn.report._curves import curves_of, curves_section
from edgnn.report._data import MOST
from edgnn.report._explain import BASELINE, call_of
from edgnn.report._html import Html, pairs, section, table, tag
from edgnn.report._numbers import metric_name, number, shown
from edgnn.report._page import write_page
from edgnn.report._stored import stored_predictions
from edgnn.training import RunFolder

_LEARNED = ("task", "best_epoch", "members", "seed", "temperature", "classes")
_PLACE = "report.html"


def write_run_report(run_folder_path: Path_, path: Path_ | None = None) -> Path:
    """Write a self-contained HTML page about a training run, and return where it is.

    What the run has not left yet, or left damaged, is named on the page instead of shown.

    Parameters
    ----------
    run_folder_path : path
        A folder that ``edgnn train`` or an estimator's ``save`` has written.
    path : path, optional
        The page; default: ``report.html`` in the folder of the run.
    """
    run = RunFolder.open(run_folder_path)
    place = run.path / _PLACE if path is None else Path(path)
    config, lost = run.config, _Lost()
    history = lost.read(run, files.HISTORY, run.history) or []
    curves = lost.read(run, files.HISTORY, lambda: curves_of(history))
    metrics = lost.read(run, files.METRICS, lambda: run.read_json(files.METRICS))
    environment = lost.read(run, files.ENVIRONMENT, lambda: run.read_json(files.ENVIRONMENT))
    predictions = lost.read(run, files.PREDICTIONS, lambda: stored_predictions(run))
    body = [
        *(
            [section("Not shown", *(tag("p", reason) for reason in lost.reasons))]
            if lost.reasons
            else []
        ),
        *([_result(metrics, config)] if metrics else []),
        *(predictions.sections() if predictions else []),
        *curves_section(curves),
        _repeat(config),
        section("Settings", pairs(_settings(config)), class_="long"),
        *(
            [section("Environment", pairs(environment), class_="long")]
            if isinstance(environment, Mapping) and environment
            else []
        ),
    ]
    data = {
        "kind": "run",
        "config": _short(config),
        "metrics": metrics,
        "environment": environment,
        "curves": curves and curves.to_dict(),
        "confusion": predictions and predictions.to_dict(),
    }
    write_page(place, f"Training run {run.path.resolve().name}", _lead(config, history), body, data)
    return place


class _Lost:
    """What could not be read, and why."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def read(self, run: RunFolder, name: str, reader: Callable[[], Any]) -> Any:
        """Return what ``reader`` makes of a file; ``None``, with the reason kept, if there is no such file or it is damaged."""
        try:
            if run.has(name):
                return reader()
            reason = f"The run has no {name}" + (" yet." if "fitted" not in run.config else ".")
        except (EdgnnError, OSError, UnicodeDecodeError) as error:
            reason = f"{name} cannot be read: {error}"
        if reason not in self.reasons:
            self.reasons.append(reason)
        return None


def _lead(config: Mapping[str, Any], history: list[dict[str, Any]]) -> str:
    seconds = [row["seconds"] for row in history if isinstance(row.get("seconds"), int | float)]
    state = "finished" if "fitted" in config else "not finished"
    parts = [
        str(config.get("estimator", "")),
        counted(len(history), "epoch"),
        duration(sum(seconds)),
        state,
    ]
    return " · ".join(part for part in parts if part)


def _result(metrics: Any, config: Mapping[str, Any]) -> Html:
    """Return the section on how good the model is; metrics in a form not known to this version are listed as they are."""
    own, majority = (
        metrics.get(name) if isinstance(metrics, Mapping) else None
        for name in ("metrics", "majority")
    )
    if (
        not isinstance(own, Mapping)
        or not own
        or not all(isinstance(value, int | float) for value in own.values())
    ):
        return section(
            "Result",
            pairs(_measured(metrics if isinstance(metrics, Mapping) else {"metrics": metrics})),
        )
    others = majority if isinstance(majority, Mapping) else {}
    baseline, rows = BASELINE.get(str(config.get("task")), "majority"), []
    for name, value in own.items():
        percent = name in METRICS and METRICS[name].percent
        other = others.get(name)
        against = number(other, percent) if isinstance(other, int | float) else "–"
        rows.append((metric_name(name, percent), number(value, percent), against))
    first, value, against = rows[0]
    figures = [
        tag("div", tag("dt", first), tag("dd", value), class_="main"),
        tag("div", tag("dt", baseline), tag("dd", against)),
    ]
    listed = table(("measure", "this model", baseline), rows, class_="numbers")
    return section(
        "Result", tag("dl", *figures, class_="figures"), tag("p", _judged(metrics)), listed
    )


def _judged(metrics: Mapping[str, Any]) -> str:
    """Return which items the model was judged on, and what that means."""
    part, items, seen = (metrics.get(name) for name in ("part", "items", "trained_on"))
    text = f"Judged on {shown(items)} items of the {shown(part)} part; learned from {shown(seen)} items."
    favor = {
        "validation": " The epoch was chosen on the same items, so new ones would be judged less favorably.",
        "training": " These are the items it learned from, so this says little about new ones.",
    }
    return text + favor.get(str(part), "")


def _measured(values: Mapping[str, Any], percent: bool = False) -> dict[str, Any]:
    """Return metrics with the names and the digits that people expect, at any depth."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        metric = METRICS.get(name)
        in_percent = metric.percent if metric else percent
        if isinstance(value, Mapping):
            found[metric_name(name, in_percent)] = _measured(value, in_percent)
        elif isinstance(value, float):
            found[metric_name(name, in_percent and metric is not None)] = number(value, in_percent)
        else:
            found[name.replace("_", " ")] = value
    return found


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration without what only the program needs."""
    kept = {
        name: value for name, value in config.items() if name not in ("fitted", "format", "command")
    }
    fitted = config.get("fitted")
    if isinstance(fitted, Mapping):
        learned = {
            name.replace("_", " "): fitted[name]
            for name in _LEARNED
            if fitted.get(name) not in (None, [])
        }
        sizes = {
            name: fitted[name]
            for name in ("node_labels", "edge_labels")
            if isinstance(fitted.get(name), list)
        }
        kept["learned"] = learned | {
            name.replace("_", " "): len(values) for name, values in sizes.items()
        }
    return kept


def _repeat(config: Mapping[str, Any]) -> Html:
    parts: list[Html] = []
    if config.get("command"):
        parts += [tag("p", "The command:"), tag("pre", str(config["command"]))]
    if config.get("estimator") and isinstance(config.get("parameters"), Mapping):
        parts += [
            tag("p", "The model with all its parameters:"),
            tag("pre", call_of(config["estimator"], config["parameters"])),
        ]
    return section(
        "How to repeat it", *(parts or [tag("p", "The folder does not say how it was made.")])
    )


def _short(config: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was learned if it is long, such as vocabularies."""
    whole = len(json.dumps(plain(config))) <= MOST
    return config if whole else {name: value for name, value in config.items() if name != "fitted"}
