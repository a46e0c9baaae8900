"""The page of several evaluations: every model's result, which differences are real, and how to repeat it."""

from __future__ import annotations

from pathlib import Path

from edgnn._files import Path_
from edgnn._words import counted, duration
from edgnn.evaluation import Evaluation, Summary
from edgnn.report._cards import chosen_part, predictions_part
from edgnn.report._compared import Compared
from edgnn.report._comparisons import Pair, comparison_part, how_judged, told_gap, told_limits
from edgnn.report._explain import BASELINE, computed, shape_of
from edgnn.report._html import Cell, Html, folded, section, sortable, table, tag
from edgnn.report._numbers import between, metric_name, number, p_text, plus_minus
from edgnn.report._page import write_page
from edgnn.report._pictures import estimate_part, scores_part
from edgnn.report._study import environment_section, environments_of
from edgnn.report._study_data import table_values
from edgnn.report._study_words import dates_of, flat
from edgnn.studies import Entry

_PLACE = "comparison.html"
_MOST_NAMES, _MOST_OPEN = 3, 15


def comparison_page(found: Compared, path: Path_ | None = None) -> Path:
    """Write a self-contained HTML page about several evaluations, and return where it is.

    Parameters
    ----------
    found : Compared
        The models, from :func:`compare_files`.
    path : path, optional
        The page; default: ``comparison.html`` beside the first file.
    """
    place = found.files[0].parent / _PLACE if path is None else Path(path)
    summary, first = found.summary, found.entries[0]
    evaluation = first.evaluation
    body = [
        _short(found),
        section(
            "Results",
            tag("p", _parts(evaluation)),
            _results(found),
            *_others(found),
            estimate_part(summary),
        ),
        section("Differences", *comparison_part(summary, found.pairs, first.row.id)),
        section(
            "Splits and predictions",
            scores_part(summary),
            *_predictions(found),
            *chosen_part(summary),
            class_="long",
        ),
        computed(evaluation, evaluation[found.metric.name]),
        _repeat(found),
        _settings(found),
        environment_section([summary]),
    ]
    data = {
        "kind": "comparison",
        "files": [str(file) for file in found.files],
        "environment": [environment for _, environment in environments_of([summary])],
        **table_values(summary, found.pairs, {}),
    }
    lead = (shape_of(evaluation), dates_of([summary], []))
    write_page(
        place, title_of(found), " · ".join(part for part in lead if part), body, data, wide=True
    )
    return place


def title_of(found: Compared) -> str:
    """Return the heading: the models, if they are few, and the data."""
    names = [entry.row.title for entry in found.entries]
    models = (
        ", ".join(names[:-1]) + f" and {names[-1]}"
        if len(names) <= _MOST_NAMES
        else counted(len(names), "model")
    )
    return f"{models} on {found.data}"


def _short(found: Compared) -> Html:
    first = found.entries[0].row.title
    items = [
        tag("li", tag("strong", f"{pair.row.title} − {first}: "), _sentence(pair))
        for pair in found.to_first
    ]
    low = "" if found.metric.higher_is_better else " Lower is better."
    return section(
        f"In short: {metric_name(found.metric.name)}",
        tag("ul", *items, class_="said"),
        tag("p", f"{how_judged(found.to_first)}{low}", class_="note"),
    )


def _sentence(pair: Pair) -> str:
    """Return a difference and whether it is real."""
    assert pair.comparison is not None
    unit = " points" * pair.percent
    limits = told_limits(pair.comparison)
    told = [f"{told_gap(pair.comparison)}{unit}"]
    told += [] if limits == "–" else [f"95 % interval {limits}"]
    told += [] if pair.corrected != pair.corrected else [p_text(pair.corrected)]
    return f"{', '.join(told)} – {pair.verdict}."


def _parts(evaluation: Evaluation) -> str:
    seen, test = (
        between([len(getattr(split, part)) for split in evaluation.splits])
        for part in ("known", "test")
    )
    return f"Each model learns from {seen} items, choosing epochs and settings among them, and is judged on {test} others."


def _results(found: Compared) -> Html:
    percent, name = found.metric.percent, found.metric.name
    best = (max if found.metric.higher_is_better else min)(
        entry.evaluation.mean for entry in found.entries
    )
    rows = [_line(entry, entry.evaluation[name], best) for entry in found.entries]
    first = found.entries[0].evaluation
    if all(entry.row.model != "majority" for entry in found.entries):
        unknown = [Cell("–", float("nan"))] * 5
        rows.append(
            [
                Cell(BASELINE[first.task]),
                Cell(number(first.majority, percent), first.majority),
                *unknown,
            ]
        )
    title = metric_name(name)
    caption = f"{title[:1].upper()}{title[1:]}{' in percent' * percent}; bold: the best mean"
    head = ["model", "mean ± spread", "95 % interval", "least", "greatest", "time", "training"]
    if all(entry.training_accuracy is None for entry in found.entries):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return sortable(caption, head, rows)


def _line(entry: Entry, one: Summary, best: float) -> list[Cell]:
    percent, (low, high) = one.metric.percent, one.interval
    text = plus_minus(one.mean, one.spread, percent)
    limits = "–" if low != low else f"{number(low, percent)} to {number(high, percent)}"
    training = float("nan") if entry.training_accuracy is None else entry.training_accuracy
    return [
        Cell(entry.row.title),
        Cell(tag("span", text, class_="best") if one.mean == best else text, one.mean),
        Cell(limits, low),
        *(Cell(number(value, percent), value) for value in (one.minimum, one.maximum)),
        Cell(duration(entry.seconds), entry.seconds),
        Cell(number(training, True), training),
    ]


def _others(found: Compared) -> list[Html]:
    """Return the table of the further measures, if there are some."""
    names = found.entries[0].evaluation.metrics[1:]
    if not names:
        return []
    rows = []
    for entry in found.entries:
        cells = []
        for one in (entry.evaluation[name] for name in names):
            percent, (low, high) = one.metric.percent, one.interval
            limits = "" if low != low else f"{number(low, percent)} to {number(high, percent)}"
            cells.append(Cell(plus_minus(one.mean, one.spread, percent), one.mean, limits))
        rows.append([Cell(entry.row.title), *cells])
    head = [
        "model",
        *(metric_name(name, found.entries[0].evaluation[name].metric.percent) for name in names),
    ]
    return [
        sortable(
            "Further measures, mean ± spread and 95 % interval; differences of these are not tested",
            head,
            rows,
        )
    ]


def _predictions(found: Compared) -> list[Html]:
    return (
        [predictions_part(found.summary)] if found.entries[0].evaluation.task == "classes" else []
    )


def _repeat(found: Compared) -> Html:
    parts = []
    for entry, file in zip(found.entries, found.files, strict=True):
        command = entry.settings.get("command")
        parts.append(tag("p", tag("strong", f"{entry.row.title}: "), str(file)))
        parts += [tag("pre", str(command))] if command else []
    code = "from edgnn.evaluation import Evaluation\n\n"
    code += f"one, other = Evaluation.load({str(found.files[0])!r}), Evaluation.load({str(found.files[1])!r})\n"
    code += "other.paired(one)"
    parts += [tag("p", "The numbers of this page again, in Python:"), tag("pre", code)]
    return section("How to repeat it", *parts, id_="repeat")


def _settings(found: Compared) -> Html:
    """Return the settings side by side, those that differ first."""
    told = [
        flat({name: value for name, value in entry.settings.items() if name != "command"})
        for entry in found.entries
    ]
    names = list(dict.fromkeys(name for settings in told for name in settings))
    rows = {name: [settings.get(name, "–") for settings in told] for name in names}
    parts = []
    head = ("setting", *(entry.row.title for entry in found.entries))
    for title, same in (("Different", False), ("The same", True)):
        lines = [
            (name, *values) for name, values in rows.items() if (len(set(values)) == 1) == same
        ]
        if same:
            lines, head = [line[:2] for line in lines], ("setting", "all models")
        parts += (
            [folded(title, table(head, lines), open_=len(lines) <= _MOST_OPEN and not same)]
            if lines
            else []
        )
    return section("Settings", *(parts or [tag("p", "The files do not say.")]), class_="long")
