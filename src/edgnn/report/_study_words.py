"""What a study did and how its numbers are computed, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgnn._words import counted, duration
from edgnn.report._numbers import between, shown
from edgnn.report._results import computed_entries, own_entries
from edgnn.report._views import setting_groups

if TYPE_CHECKING:
    from edgnn.studies import Entry, TableSummary

_MOST_NAMED = 6


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
    return " · ".join(text for text in texts if text)


def dates_of(summaries: Sequence[TableSummary], calls: Sequence[Mapping[str, Any]]) -> str:
    """Return the day, or the first and the last one."""
    dates = [call.get("date", "") for call in calls]
    for summary in summaries:
        dates += [entry.environment.get("date", "") for entry in computed_entries(summary)]
    days = sorted({str(date)[:10] for date in dates} - {""})
    if not days:
        return ""
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def call_notes(calls: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the commands that computed a study, each with when and how it ran."""
    found = []
    for call in calls:
        names = [name for name in ("version", "device", "jobs") if call.get(name) is not None]
        notes = [str(call.get("date", "")).replace("T", " ")]
        notes += [f"{name} {shown(call[name])}" for name in names]
        found.append((str(call.get("command", "")), ", ".join(note for note in notes if note)))
    return found


def setting_rows(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return the settings of a row: one value each, or one per data set where they differ."""
    settings_of = {entry.dataset: flat(entry.settings) for entry in entries}
    names = dict.fromkeys(name for settings in settings_of.values() for name in settings)
    rows = []
    for name in names:
        values = {dataset: settings.get(name, "–") for dataset, settings in settings_of.items()}
        texts = list(values.values())
        if len(set(texts)) > 1:
            texts = [f"{dataset}: {value}" for dataset, value in values.items()]
        else:
            texts = texts[:1]
        rows.append((name, "; ".join(texts)))
    return rows


def flat(settings: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Return settings as text, those inside others by names with dots."""
    texts: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            texts |= flat(value, f"{before}{name}.")
        else:
            texts[f"{before}{name}"] = shown(value)
    return texts


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


def environment_view(summaries: Sequence[TableSummary]) -> list[tuple[str, Any]]:
    """Return the machines and versions; of several, titles say which cells they made."""
    found = environments_of(summaries)
    views = []
    for entries, environment in found:
        title = ""
        if len(found) > 1:
            cells = [f"{entry.row.title} on {entry.dataset}" for entry in entries[:_MOST_NAMED]]
            title = f"{counted(len(entries), 'entry')}: {', '.join(cells)}"
            if len(entries) > _MOST_NAMED:
                title += f" and {len(entries) - _MOST_NAMED} more"
        views.append((title, setting_groups(environment)))
    return views
