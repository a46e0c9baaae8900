"""What a study did and how its numbers are computed, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgnn._words import counted, duration
from edgnn.report._numbers import between
from edgnn.report._results import computed_entries, own_entries
from edgnn.report._views import setting_groups, side_by_side

if TYPE_CHECKING:
    from edgnn.studies import Entry, TableSummary


def lead_of(summaries: Sequence[TableSummary], calls: Sequence[Mapping[str, Any]]) -> str:
    """Return what was computed, when, and how long it took."""
    entries = own_entries(summaries)
    dates = dates_of(summaries, calls)
    if not entries:
        return dates
    rows = {entry.row.id for entry in entries}
    sets = list(dict.fromkeys(entry.dataset for entry in entries))
    runs = [entry.runs for entry in entries]
    texts = [
        counted(len(rows), "model"),
        ", ".join(sets) if len(sets) <= 3 else counted(len(sets), "data set"),
        f"{between(runs)} runs" if max(runs) > 1 else "1 run",
        duration(sum(entry.seconds for entry in entries)) + " of computing",
        dates,
    ]
    return " · ".join(filter(None, texts))


def dates_of(summaries: Sequence[TableSummary], calls: Sequence[Mapping[str, Any]]) -> str:
    """Return the day, or the first and the last one."""
    dates = [call.get("date", "") for call in calls]
    for summary in summaries:
        dates += [entry.environment.get("date", "") for entry in computed_entries(summary)]
    days = sorted({str(date)[:10] for date in dates} - {""})
    if not days:
        return ""
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def setting_rows(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return the settings of a row: one value each, or one per data set where they differ."""
    same, different = side_by_side({entry.dataset: entry.settings for entry in entries})
    rows = dict(same)
    for name, values in different.items():
        rows[name] = "; ".join(f"{dataset}: {value}" for dataset, value in values.items())
    return list(rows.items())


def environments_of(summaries: Sequence[TableSummary]) -> list[tuple[list[Entry], dict[str, Any]]]:
    """Return each machine and its versions with the entries from there, whatever the date."""
    grouped: dict[str, tuple[list[Entry], dict[str, Any]]] = {}
    for summary in summaries:
        for entry in computed_entries(summary):
            facts = {name: repr(value) for name, value in entry.environment.items()}
            facts.pop("date", None)
            if entry.environment:
                key = repr(sorted(facts.items()))
                grouped.setdefault(key, ([], entry.environment))[0].append(entry)
    return list(grouped.values())


def environment_view(summaries: Sequence[TableSummary]) -> list[tuple[list[str], Any]]:
    """Return the machines and versions, each with the cells that were computed there."""
    views = []
    for entries, environment in environments_of(summaries):
        cells = [f"{entry.row.title} on {entry.dataset}" for entry in entries]
        views.append((cells, setting_groups(environment)))
    return views
