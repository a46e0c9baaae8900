"""The page of a study: every table beside the paper, comparisons, and how to repeat it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn._json import parsed
from edgnn._words import counted, duration
from edgnn.report._numbers import between, capital
from edgnn.report._page import ReportError, write_page
from edgnn.report._paired import compared, comparison_view
from edgnn.report._predictions import cards, chosen_view
from edgnn.report._results import (
    computed_entries,
    dates_of,
    environment_view,
    environments_of,
    own_entries,
    result_table,
    verdict,
    whole_table,
)
from edgnn.report._table_views import (
    cost_view,
    curve_view,
    estimate_figure,
    score_figure,
    table_curves,
    table_values,
)
from edgnn.report._views import MISSING, Cell, Sortable, side_by_side
from edgnn.studies import (
    TABLES,
    Entry,
    Study,
    Table,
    TableSummary,
    compact_rows,
    find_table,
    full_rows,
)

_PAGE = "report.html"


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
    reasons: list[str] = []
    summaries = study.summaries(reasons.append)
    lost = list(dict.fromkeys(reasons))  # a damaged cell may belong to both protocols
    data_sets = _data_set_tables(study.path, lost)
    if not summaries and not data_sets:
        damaged = f" ({len(lost)} damaged: {lost[0]})" if lost else ""
        raise ReportError(
            f"{study.path} holds no computed cell yet{damaged}; "
            f"`edgnn reproduce --out {study.path}` computes them"
        )
    target = study.path / _PAGE if path is None else Path(path)
    study_page(target, summaries, study.calls, lost, data_sets)
    return target


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
    views, numbers = [], []
    for summary in summaries:
        pairs, curves = compared(summary), table_curves(summary)
        view = _table_view(summary)
        view["comparisons"] = comparison_view(summary, pairs)
        view["curves"] = curve_view(summary, curves)
        views.append(view)
        numbers.append(table_values(summary, pairs, curves))
    sets = [_data_set_view(document) for document in data_sets]
    contents = [(view["heading"], view["anchor"]) for view in views]
    contents += [(view["title"], view["anchor"]) for view in sets]
    contents.append(("How to repeat it", "repeat"))
    if views:
        contents.append(("Environment", "environment"))
    data = {
        "kind": "study",
        "calls": list(calls),
        "lost": list(lost),
        "environment": [environment for _, environment in environments_of(summaries)],
        "tables": numbers,
        "data_sets": list(data_sets),
    }
    write_page(
        path,
        "study.html",
        _title(summaries, data_sets),
        _lead(summaries, calls),
        data,
        contents=contents,
        lost=lost,
        headline=_headline(summaries, views),
        tables=views,
        data_sets=sets,
        calls=calls,
        settings=_settings(summaries),
        environments=environment_view(summaries),
    )


def _is_plain(table: Table) -> bool:
    """Return whether a table is shown as the study has written it: no accuracies to compare."""
    return table.statistics or bool(table.metrics)


def _title(summaries: Sequence[TableSummary], data_sets: Sequence[Mapping[str, Any]]) -> str:
    if not summaries:
        return ", ".join(str(document["title"]) for document in data_sets)
    entries = own_entries(summaries)
    names = {name for summary in summaries for name in summary.datasets}
    rows = {entry.row.title for entry in entries}
    data = names.pop() if len(names) == 1 else counted(len(names), "data set")
    if len(rows) == 1:
        return f"{rows.pop()} on {data}"
    if any(entry.row.model == "edgnn" for entry in entries):
        return f"edGNN and its rivals on {data}"
    return f"{counted(len(rows), 'model')} on {data}"


def _lead(summaries: Sequence[TableSummary], calls: Sequence[Mapping[str, Any]]) -> str:
    """Return what was computed, when, and how long it took."""
    entries = own_entries(summaries)
    dates = dates_of(summaries, calls)
    if not entries:
        return dates
    rows = {entry.row.id for entry in entries}
    models = [counted(len(rows), "model")]
    for summary in summaries:
        models += [row.title for row in summary.rows if row.best_of is not None]
    sets = list(dict.fromkeys(entry.dataset for entry in entries))
    runs = [entry.runs for entry in entries]
    seconds = sum(entry.seconds for entry in entries)
    texts = [
        " and ".join(dict.fromkeys(models)),
        ", ".join(sets) if len(sets) <= 3 else counted(len(sets), "data set"),
        f"{between(runs)} runs" if max(runs) > 1 else "1 run",
        f"{duration(seconds)} of computing",
        dates,
    ]
    return " · ".join(filter(None, texts))


def _heading(summary: TableSummary) -> str:
    if summary.protocol == "nested":
        return f"{summary.table.title}, settings chosen inside the training set"
    return summary.table.title


def _headline(
    summaries: Sequence[TableSummary], views: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str]]:
    figures = []
    # Of both protocols, the paper's is the one to compare with it.
    for protocol in ("paper", "nested"):
        pairs = zip(summaries, views, strict=True)
        verdicts = [view["verdict"] for summary, view in pairs if summary.protocol == protocol]
        met, reported = (sum(one[name] for one in verdicts) for name in ("met", "reported"))
        if reported:
            figures.append(("the paper’s means that are met", f"{met} of {reported}"))
            break
    entries = own_entries(summaries)
    trainings = sum(len(entry.evaluation.splits) for entry in entries)
    seconds = sum(entry.seconds for entry in entries)
    return [
        *figures,
        ("models evaluated", f"{trainings:,}"),
        ("computing time", duration(seconds)),
    ]


def _table_view(summary: TableSummary) -> dict[str, Any]:
    return {
        "heading": _heading(summary),
        "anchor": "table-" + summary.name.replace(".", "-"),
        "verdict": verdict(summary),
        "says": capital(summary.table.says),
        "nested": summary.protocol == "nested",
        "results": result_table(summary),
        "row_notes": [(row.title, row.says) for row in summary.rows],
        "estimates": estimate_figure(summary),
        "scores": score_figure(summary),
        "cards": cards(summary),
        "chosen": chosen_view(summary),
        "costs": cost_view(summary),
        "whole": whole_table(summary),
    }


def _settings(summaries: Sequence[TableSummary]) -> list[tuple[str, list[tuple[str, str]]]]:
    entries: dict[str, list[Entry]] = {}
    for summary in summaries:
        for entry in computed_entries(summary):
            if entry.settings:
                title = f"{_heading(summary)}: {entry.row.title}"
                entries.setdefault(title, []).append(entry)
    return [(title, _setting_rows(own)) for title, own in entries.items()]


def _setting_rows(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return the settings of a row: one value each, or one per data set where they differ."""
    same, different = side_by_side({entry.dataset: entry.settings for entry in entries})
    rows = dict(same)
    for name, values in different.items():
        rows[name] = "; ".join(f"{dataset}: {value}" for dataset, value in values.items())
    return list(rows.items())


# Tables that are shown as they were written


def _data_set_tables(folder: Path, lost: list[str]) -> list[dict[str, Any]]:
    """Return such tables of a study; damaged ones go into ``lost``."""
    documents = []
    for name in TABLES:
        path = folder / "tables" / f"{name}.json"
        if not _is_plain(find_table(name)) or not path.is_file():
            continue
        try:
            document = parsed(path.read_bytes())
            _data_set_view(document)
            documents.append(document)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            lost.append(
                f"{path.name} cannot be read ({type(error).__name__}: {error}); "
                "`edgnn reproduce` writes it again."
            )
    return documents


def _data_set_view(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table of data sets with the paper's number below ours, or one of models."""
    if "rows" in document:
        return _measured_view(document)
    titles = list(dict.fromkeys(str(entry["title"]) for entry in document["entries"]))
    cells = {
        (entry["dataset"], str(entry["title"])): _data_set_cell(entry)
        for entry in document["entries"]
    }
    rows = [
        [Cell(str(name)), *(cells.get((name, title), MISSING) for title in titles)]
        for name in document["datasets"]
    ]
    caption = "Ours, with the paper’s number below; * where they differ"
    return {
        "title": str(document["title"]),
        "anchor": f"table-{document['table']}",
        "says": f"{capital(str(document['says']))}.",
        "table": Sortable(caption, ["data set", *titles], rows),
        "notes": [f"* {name}: {note}." for name, note in document["notes"].items()],
    }


def _measured_view(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with one row per data set and a column per model, the means above."""
    means = compact_rows(document)
    titles = [row["model"] for row in means]
    columns = [title for title in means[0] if title != "model"]
    texts = [[title, *(row[title] for row in means)] for title in columns]
    if len(columns) < len(document["datasets"]):
        texts += [list(row.values()) for row in full_rows(document)]
    rows = [[Cell(text) for text in cells] for cells in texts]
    caption = "Published figures and ours; behind the slash, those of the subset"
    return {
        "title": str(document["title"]),
        "anchor": f"table-{document['table']}",
        "says": f"{capital(str(document['says']))}.",
        "table": Sortable(caption, ["data set", *titles], rows),
        "notes": [f"{row['title']}: {row['says']}." for row in document["rows"]],
    }


def _data_set_cell(entry: Mapping[str, Any]) -> Cell:
    ours, paper, note = entry["ours"], entry["paper"], ""
    if paper is not None:
        star = "*" if entry["differs"] else ""
        note = f"paper {_amount(paper)}{star}"
    return Cell(_amount(ours), float(ours), note)


def _amount(value: float) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
