"""The numbers of a study's page as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgnn._json import plain
from edgnn.report._cards import search_rows
from edgnn.report._comparisons import Pair, pair_values
from edgnn.report._curves import Curves
from edgnn.report._results import summary_of

if TYPE_CHECKING:
    from edgnn.studies import Entry, TableSummary

_TOLD = (
    "mean",
    "spread",
    "minimum",
    "maximum",
    "interval",
    "interval_kind",
    "majority",
    "repeat_means",
)


def table_values(
    summary: TableSummary, pairs: dict[str, list[Pair]], curves: dict[tuple[str, str], Curves]
) -> dict[str, Any]:
    """Return a table as plain values of six digits: summaries and scores of all folds, not what is said about single items."""
    found = ((row.id, dataset) for row in summary.rows for dataset in summary.datasets)
    places = [place for place in found if place in summary.entries]
    losses = {place: None if place not in curves else curves[place].to_dict() for place in places}
    values: dict[str, Any] = _rounded(
        plain(
            {
                "table": summary.table.name,
                "protocol": summary.protocol,
                "datasets": summary.datasets,
                "rows": [
                    {name: getattr(row, name) for name in ("id", "title", "says", "best_of")}
                    for row in summary.rows
                ],
                "entries": [
                    _entry(summary.entries[place]) | {"curves": losses[place]} for place in places
                ],
                "comparisons": {
                    reference: pair_values(found) for reference, found in pairs.items()
                },
            }
        )
    )
    return values


def _entry(entry: Entry) -> dict[str, Any]:
    found, paper, splits = summary_of(entry), entry.paper, entry.evaluation.splits
    scores = zip(splits, found.scores.tolist(), strict=True)
    return {
        "row": entry.row.id,
        "dataset": entry.dataset,
        "metric": found.metric.name,
        **{name: getattr(found, name) for name in _TOLD},
        "scores": [[split.repeat, split.fold, score] for split, score in scores],
        "paper": None if paper is None else {"mean": paper.mean, "spread": paper.spread},
        "training_accuracy": entry.training_accuracy,
        "ceiling": entry.ceiling,
        "runs": entry.runs,
        "seconds": entry.seconds,
        "memory": entry.memory,
        "confusion": entry.evaluation.confusion,
        "class_names": entry.evaluation.class_names,
        "search": search_rows(entry),
        "settings": entry.settings,
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value
