"""What a study did and how its numbers are computed, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgnn._words import counted, duration
from edgnn.report._html import Html, section, table, tag
from edgnn.report._numbers import between, shown
from edgnn.report._results import computed_entries, own_entries

if TYPE_CHECKING:
    from edgnn.studies import Entry, TableSummary

#: How the numbers of a study follow from its predictions.
HOW = {
    "Mean": "accuracy, averaged over the folds of each run, then over the runs.",
    "Spread (±)": "standard deviation of the means of the runs, as the paper’s; of the folds, where there is one run.",
    "95 % confidence interval": (
        "over all folds of all runs, mean ± t · √((1/n + items tested / items seen) · s²), the corrected resampled t of Nadeau "
        "and Bengio (Machine Learning 52, 2003): training parts overlap, so s/√n would be too small. On one published test set: "
        "Wilson’s interval for its size, widened by the t interval over the seeds."
    ),
    "Comparisons": (
        "of two models over the runs that both have, split by split, by the same corrected test; p values after Holm’s "
        "correction, so that the chance of even one false alarm among the comparisons with one model in a table is 5 %."
    ),
    "Best run": (
        "the greatest mean of a run. Whoever picks it by its test accuracy estimates nothing with it; the paper’s “max” row is "
        "of this kind."
    ),
    "Majority": "what a model scores that always answers with the most frequent class of the items it may see.",
    "Training": "share of the items a model has learned from that it classifies correctly, mean over all models.",
    "WL ceiling": (
        "the best training accuracy that any model bounded by color refinement with edge labels (Eq. 2) can have: items that it "
        "cannot tell apart get the most frequent of their classes."
    ),
    "Memory": "the most that the process held while it computed a run, libraries and data included.",
}
_KEPT = (
    "Cells that are there are not computed again; in a new folder, everything is. Two computations of a cell give the same "
    "predictions."
)


def lead_of(summaries: Sequence[TableSummary], calls: Sequence[Mapping[str, Any]]) -> str:
    """Return what was computed, when, and how long it took."""
    entries = own_entries(summaries)
    if not entries:
        return dates_of(summaries, calls)
    rows = {entry.row.id for entry in entries}
    sets = list(dict.fromkeys(entry.dataset for entry in entries))
    parts = [
        counted(len(rows), "model"),
        ", ".join(sets) if len(sets) <= 3 else counted(len(sets), "data set"),
        f"{between([entry.runs for entry in entries])} runs"
        if max(entry.runs for entry in entries) > 1
        else "1 run",
        duration(sum(entry.seconds for entry in entries)) + " of computing",
        dates_of(summaries, calls),
    ]
    return " · ".join(part for part in parts if part)


def dates_of(summaries: Sequence[TableSummary], calls: Sequence[Mapping[str, Any]]) -> str:
    """Return the day, or the first and the last one."""
    told = [str(call.get("date", ""))[:10] for call in calls]
    told += [
        str(entry.environment.get("date", ""))[:10]
        for summary in summaries
        for entry in computed_entries(summary)
    ]
    days = sorted(day for day in set(told) if day)
    return "" if not days else days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def repeat_section(calls: Sequence[Mapping[str, Any]]) -> Html:
    """Return the commands that computed it."""
    parts: list[Html] = []
    for call in calls:
        told = [
            f"{name} {shown(call[name])}"
            for name in ("version", "device", "jobs")
            if call.get(name) is not None
        ]
        when = str(call.get("date", "")).replace("T", " ")
        parts.append(tag("pre", str(call.get("command", ""))))
        parts.append(tag("p", ", ".join(part for part in (when, *told) if part), class_="note"))
    if not parts:
        parts.append(tag("p", "The folder does not say how it was made."))
    return section("How to repeat it", tag("p", _KEPT), *parts, id_="repeat")


def settings_table(entries: Sequence[Entry]) -> Html:
    """Return the settings of a row: one value each, or one per data set where they differ."""
    settings_of = [flat(entry.settings) for entry in entries]
    names = dict.fromkeys(name for settings in settings_of for name in settings)
    rows = []
    for name in names:
        values = [settings.get(name, "–") for settings in settings_of]
        same = len(set(values)) == 1
        told = (
            values[0]
            if same
            else "; ".join(
                f"{entry.dataset}: {value}" for entry, value in zip(entries, values, strict=True)
            )
        )
        rows.append((name, told))
    return table(("setting", "value"), rows, class_="pairs")


def flat(settings: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Return settings as text, those inside others by names with dots."""
    found: dict[str, str] = {}
    for name, value in settings.items():
        found |= (
            flat(value, f"{before}{name}.")
            if isinstance(value, Mapping) and value
            else {f"{before}{name}": shown(value)}
        )
    return found
