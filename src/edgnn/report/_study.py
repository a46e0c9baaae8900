"""The page of a study: every table beside the paper, what differs beyond the noise, and how to repeat it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn._words import counted, duration
from edgnn.report._cards import chosen_part, predictions_part
from edgnn.report._comparisons import Pair, compared, comparison_part
from edgnn.report._curves import Curves
from edgnn.report._data_sets import anchor_of, data_set_section, data_set_tables
from edgnn.report._errors import ReportError
from edgnn.report._html import Html, folded, pairs, part, section, tag
from edgnn.report._page import write_page
from edgnn.report._pictures import cost_part, curves_part, estimate_part, scores_part, table_curves
from edgnn.report._results import (
    best_rows,
    computed_entries,
    met_of,
    own_entries,
    result_table,
    row_notes,
    verdict,
    whole_table,
)
from edgnn.report._study_data import table_values
from edgnn.report._study_words import HOW, lead_of, repeat_section, settings_table
from edgnn.studies import TABLES, Entry, Study, TableSummary, find_table, summarize

_PLACE = "report.html"
_NESTED = " Networks with a search choose layers and width in every split, by its validation loss; the others are as above."


def write_study_report(study_path: Path_, path: Path_ | None = None) -> Path:
    """Write a self-contained HTML page about a study, and return where it is.

    Damaged cells are named on the page and left out of its numbers.

    Parameters
    ----------
    study_path : path
        A folder that ``edgnn reproduce`` has written.
    path : path, optional
        The page; default: ``report.html`` in the folder of the study.
    """
    study = Study.open(study_path)
    lost: list[str] = []
    summaries = _summaries(study, lost)
    data_sets = data_set_tables(study.path, lost)
    if not summaries and not data_sets:
        said = f" ({len(lost)} damaged: {lost[0]})" if lost else ""
        raise ReportError(
            f"{study.path} holds no computed cell yet{said}; `edgnn reproduce --out {study.path}` computes them"
        )
    place = study.path / _PLACE if path is None else Path(path)
    study_page(place, summaries, study.calls, lost, data_sets)
    return place


def study_page(
    path: Path_,
    summaries: Sequence[TableSummary],
    calls: Sequence[Mapping[str, Any]] = (),
    lost: Sequence[str] = (),
    data_sets: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write the page of some tables.

    Parameters
    ----------
    path : path
        The page; the folder it lies in must exist.
    summaries : sequence of TableSummary
        The tables.
    calls : sequence of mapping
        What was asked: ``"command"``, ``"date"`` and more.
    lost : sequence of str
        What could not be read, and why.
    data_sets : sequence of mapping
        Tables of data sets, as ``edgnn reproduce`` writes them into ``tables``.
    """
    found = [(summary, compared(summary), table_curves(summary)) for summary in summaries]
    how = (tag("p", tag("strong", f"{name}: "), text) for name, text in HOW.items())
    body = [
        _contents(summaries, data_sets),
        *([section("Not shown", *(tag("p", reason) for reason in lost))] if lost else []),
        *([_headline(summaries)] if summaries else []),
        *(_table(*each) for each in found),
        *map(data_set_section, data_sets),
        *([section("How these numbers are computed", *how)] if summaries else []),
        repeat_section(calls),
        *([_settings(summaries), environment_section(summaries)] if summaries else []),
    ]
    data = {
        "kind": "study",
        "calls": list(calls),
        "lost": list(lost),
        "environment": [environment for _, environment in environments_of(summaries)],
        "tables": [table_values(*each) for each in found],
        "data_sets": list(data_sets),
    }
    write_page(path, _title(summaries, data_sets), lead_of(summaries, calls), body, data, wide=True)


def environments_of(summaries: Sequence[TableSummary]) -> list[tuple[list[Entry], dict[str, Any]]]:
    """Return each machine and its versions with the entries from there; the date does not tell two of them apart."""
    grouped: dict[str, tuple[list[Entry], dict[str, Any]]] = {}
    for entry in (
        entry for summary in summaries for entry in computed_entries(summary) if entry.environment
    ):
        key = repr(
            sorted(
                (name, repr(value)) for name, value in entry.environment.items() if name != "date"
            )
        )
        grouped.setdefault(key, ([], entry.environment))[0].append(entry)
    return list(grouped.values())


def _summaries(study: Study, lost: list[str]) -> list[TableSummary]:
    """Return the tables that have cells; a nested one only if it has cells of its own."""
    nested = {cell.table for cell in study.cells() if cell.protocol == "nested"}
    found = [
        summarize(study, find_table(name), "paper", lost.append)
        for name in TABLES
        if not find_table(name).statistics
    ]
    again: list[str] = []
    found += [
        summarize(study, find_table(name), "nested", again.append)
        for name in TABLES
        if name in nested
    ]
    lost += [reason for reason in again if reason not in lost]
    return [summary for summary in found if summary.entries]


def _title(summaries: Sequence[TableSummary], data_sets: Sequence[Mapping[str, Any]]) -> str:
    if not summaries:
        return ", ".join(str(document["title"]) for document in data_sets)
    names = list(dict.fromkeys(dataset for summary in summaries for dataset in summary.datasets))
    entries = own_entries(summaries)
    rows = list(dict.fromkeys(entry.row.title for entry in entries))
    models = counted(len(rows), "model") if len(rows) > 1 else rows[0]
    if len(rows) > 1 and any(entry.row.model == "edgnn" for entry in entries):
        models = "edGNN and its rivals"
    return f"{models} on {names[0] if len(names) == 1 else counted(len(names), 'data set')}"


def _heading(summary: TableSummary) -> str:
    return summary.table.title + (
        ", settings chosen inside the training part" if summary.protocol == "nested" else ""
    )


def _anchor(summary: TableSummary) -> str:
    return "table-" + summary.name.replace(".", "-")


def _contents(summaries: Sequence[TableSummary], data_sets: Sequence[Mapping[str, Any]]) -> Html:
    links = [(_heading(summary), _anchor(summary)) for summary in summaries]
    links += [(str(document["title"]), anchor_of(document)) for document in data_sets]
    links += [
        ("How to repeat it", "repeat"),
        *([("Environment", "environment")] if summaries else []),
    ]
    return tag(
        "nav",
        tag("ul", *(tag("li", tag("a", name, href=f"#{place}")) for name, place in links)),
        aria_label="Contents",
    )


def _headline(summaries: Sequence[TableSummary]) -> Html:
    entries = own_entries(summaries)
    by_paper = [
        summary for summary in summaries if summary.protocol == "paper" and met_of(summary)[1]
    ]
    met, reported = (
        sum(counts) for counts in zip((0, 0), *map(met_of, by_paper or summaries), strict=True)
    )
    figures = [("the paper’s means that are met", f"{met} of {reported}")] if reported else []
    figures += [
        ("trainings judged", f"{sum(len(entry.evaluation.splits) for entry in entries):,}"),
        ("computing time", duration(sum(entry.seconds for entry in entries))),
    ]
    blocks = [
        tag("div", tag("dt", name), tag("dd", text), class_="main" if place == 0 else None)
        for place, (name, text) in enumerate(figures)
    ]
    words = [
        tag(
            "p", tag("strong", f"{_heading(summary)}: "), f"{verdict(summary)} {best_rows(summary)}"
        )
        for summary in summaries
    ]
    return section("In short", tag("dl", *blocks, class_="figures"), *words)


def _table(
    summary: TableSummary, pairs_: dict[str, list[Pair]], curves: dict[tuple[str, str], Curves]
) -> Html:
    return section(
        _heading(summary),
        tag(
            "p",
            f"{summary.table.says[:1].upper()}{summary.table.says[1:]}.{_NESTED if summary.protocol == 'nested' else ''}",
        ),
        result_table(summary),
        folded("What each model is", row_notes(summary)),
        estimate_part(summary),
        *comparison_part(summary, pairs_),
        scores_part(summary),
        *curves_part(summary, curves),
        predictions_part(summary),
        *chosen_part(summary),
        cost_part(summary),
        part("Every figure", whole_table(summary), class_="part broad"),
        id_=_anchor(summary),
        class_="long",
    )


def _settings(summaries: Sequence[TableSummary]) -> Html:
    folds = [
        folded(f"{_heading(summary)}: {row.title}", settings_table(entries))
        for summary in summaries
        for row in summary.rows
        if (
            entries := [
                entry
                for entry in computed_entries(summary)
                if entry.row.id == row.id and entry.settings
            ]
        )
    ]
    return section("Settings", *(folds or [tag("p", "The cells do not say.")]), class_="long")


def environment_section(summaries: Sequence[TableSummary]) -> Html:
    """Return the machines and versions that computed the entries."""
    found = environments_of(summaries)
    parts: list[Html] = []
    for entries, environment in found:
        if len(found) > 1:
            cells = ", ".join(f"{entry.row.title} on {entry.dataset}" for entry in entries[:6])
            more = f" and {len(entries) - 6} more" if len(entries) > 6 else ""
            parts.append(
                tag(
                    "h3",
                    f"{counted(len(entries), 'entry').replace('entrys', 'entries')}: {cells}{more}",
                )
            )
        parts.append(pairs(environment))
    return section(
        "Environment",
        *(parts or [tag("p", "The cells do not say.")]),
        class_="long",
        id_="environment",
    )
