"""Which rows of a table differ by more than the noise: paired tests on the same splits, corrected for their number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from edgnn.errors import EvaluationError
from edgnn.evaluation import Comparison, Evaluation, Metric, find_metric, holm
from edgnn.report._html import Cell, Html, markup, panels, part, sortable, tag
from edgnn.report._numbers import between, gap, metric_name, p_text
from edgnn.report.draw import Estimate, draw_estimates

if TYPE_CHECKING:
    from edgnn.studies import Row, TableSummary

#: Differences whose corrected p value is below this exceed the noise.
LEVEL = 0.05
_REFERENCE = "edgnn"


@dataclass(frozen=True)
class Pair:
    """A row against the reference on one data set.

    Attributes
    ----------
    row : Row
        The one that is compared.
    dataset : str
        Where.
    comparison : Comparison, optional
        Row minus reference; ``None`` if the two cannot be compared.
    runs : int
        How many runs both have.
    reason : str
        Why they cannot be compared.
    corrected : float
        The p value after Holm's correction; NaN if there is none.
    """

    row: Row
    dataset: str
    comparison: Comparison | None
    runs: int = 0
    reason: str = ""
    corrected: float = math.nan

    @property
    def beyond(self) -> int:
        """1 or −1 if the difference exceeds the noise, else 0."""
        if self.comparison is None or not self.corrected < LEVEL:
            return 0
        return 1 if self.comparison.difference > 0 else -1

    @property
    def percent(self) -> bool:
        """Whether it is read in points of percent."""
        return self.comparison is not None and find_metric(self.comparison.metric).percent

    @property
    def verdict(self) -> str:
        """Whether the difference is real, in words."""
        if self.comparison is None or math.isnan(self.corrected):
            return "cannot be told"
        if self.comparison.interval == (0, 0):
            return "no difference"
        up = find_metric(self.comparison.metric).higher_is_better
        return (
            "could be luck"
            if not self.beyond
            else "real: better"
            if (self.beyond > 0) == up
            else "real: worse"
        )


def common_runs(one: Evaluation, two: Evaluation) -> tuple[Evaluation, Evaluation, int]:
    """Return both evaluations without the runs that only one of them has, and how many are left."""
    runs = [{split.repeat for split in evaluation.splits} for evaluation in (one, two)]
    both = runs[0] & runs[1]
    kept = [
        evaluation if own == both else _only(evaluation, both)
        for evaluation, own in zip((one, two), runs, strict=True)
    ]
    return kept[0], kept[1], len(both)


def compared(summary: TableSummary) -> dict[str, list[Pair]]:
    """Return, for every row as the reference, how all others compare with it on each data set."""
    rows = [row for row in summary.rows if row.best_of is None]
    found: dict[tuple[str, str, str], Pair] = {}
    for place, one in enumerate(rows):
        for two in rows[place + 1 :]:
            for dataset in summary.datasets:
                if (one.id, dataset) in summary.entries and (two.id, dataset) in summary.entries:
                    pair = _pair(summary, one, two, dataset)
                    found[one.id, two.id, dataset] = pair
                    found[two.id, one.id, dataset] = replace(
                        pair, row=two, comparison=_turned(pair.comparison)
                    )
    return {
        reference.id: _corrected([pair for key, pair in found.items() if key[1] == reference.id])
        for reference in rows
    }


def comparison_part(
    summary: TableSummary, pairs: dict[str, list[Pair]], reference: str = _REFERENCE
) -> list[Html]:
    """Return the part on paired comparisons, one piece for each reference; nothing where there is one row only."""
    rows = [row for row in summary.rows if pairs.get(row.id)]
    if not rows:
        return []
    chosen = next((row for row in rows if row.id == reference), rows[0])
    metric = measured(summary)
    what = "the accuracies" if metric.name == "accuracy" else metric_name(metric.name)
    pieces = [
        tag(
            "div",
            *_against(summary, row, pairs[row.id]),
            data_name=row.title,
            data_chosen="" if row is chosen else None,
        )
        for row in rows
    ]
    note = (
        f"Difference of {what} on the same splits of {_runs(pairs)}{', in points' * metric.percent}, with its 95 % confidence "
        "interval (corrected resampled t-test of Nadeau and Bengio; on one published test set, a test over its items, widened "
        f"by the seeds). A difference exceeds the noise if its p value stays below {LEVEL} after Holm’s correction for all "
        "comparisons with the same model in this table."
    )
    return [
        part(
            "Paired comparisons",
            tag("p", note, class_="note"),
            tag("div", *pieces, class_="choice", data_label="compared with"),
        )
    ]


def pair_values(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return comparisons as plain values."""
    found = []
    for pair in pairs:
        told: dict[str, Any] = {"row": pair.row.id, "dataset": pair.dataset, "runs": pair.runs}
        if pair.comparison is None:
            told["reason"] = pair.reason
        else:
            told |= {
                name: getattr(pair.comparison, name)
                for name in ("difference", "interval", "p_value", "splits", "kind")
            }
            told["corrected_p_value"] = pair.corrected
        found.append(told)
    return found


def _against(summary: TableSummary, reference: Row, pairs: list[Pair]) -> list[Html]:
    by_place = {(pair.row.id, pair.dataset): pair for pair in pairs}
    rows = [row for row in summary.rows if any(pair.row.id == row.id for pair in pairs)]
    sets = [
        dataset for dataset in summary.datasets if any(pair.dataset == dataset for pair in pairs)
    ]
    lines = [
        [Cell(row.title), *(_cell(by_place.get((row.id, dataset))) for dataset in sets)]
        for row in rows
    ]
    items = [
        tag(
            "li",
            tag("strong", f"{dataset}: "),
            _words([pair for pair in pairs if pair.dataset == dataset], reference),
        )
        for dataset in sets
    ]
    lost = list(
        dict.fromkeys(
            f"{pair.row.title} on {pair.dataset}: {pair.reason}." for pair in pairs if pair.reason
        )
    )
    drawn = [
        dataset
        for dataset in sets
        if any(pair.comparison for pair in pairs if pair.dataset == dataset)
    ]
    metric = measured(summary)
    unit = "points" if metric.percent else metric_name(metric.name)

    def draw(dataset: str, width: int) -> str:
        here = [by_place[row.id, dataset] for row in rows if (row.id, dataset) in by_place]
        title = f"Differences to {reference.title} on {dataset}"
        return draw_estimates(
            [_estimate(pair) for pair in here], unit, width=width, line=0.0, title=title
        )

    side = "right" if metric.higher_is_better else "left"
    caption = f"Dot: difference to {reference.title}; to the {side}, the other model is better. Line: 95 % interval. "
    caption += "Bold and blue: beyond the noise. Dashed: no difference."
    return [
        tag("h4", f"Compared with {reference.title}"),
        tag("ul", *items, class_="said"),
        *([panels(draw, drawn, caption)] if drawn else []),
        sortable(
            f"Difference to {reference.title} in {unit}; ▲ or ▼: beyond the noise",
            ["model", *sets],
            lines,
        ),
        *([tag("p", "Not compared: " + " ".join(lost), class_="note")] if lost else []),
    ]


def _words(pairs: list[Pair], reference: Row) -> Html:
    """Return which rows differ from the reference on a data set by more than the noise."""
    told = []
    for side, word in ((1, "above"), (-1, "below")):
        names = [
            f"{pair.row.title} ({told_gap(pair.comparison)})"
            for pair in pairs
            if pair.comparison is not None and pair.beyond == side
        ]
        if names:
            told.append(
                f"{', '.join(names)} {'lies' if len(names) == 1 else 'lie'} {word} {reference.title}"
            )
    rest = [pair for pair in pairs if not pair.beyond and pair.comparison is not None]
    for word, untold in (("within the noise", False), ("without a p value", True)):
        if names := [pair.row.title for pair in rest if math.isnan(pair.corrected) == untold]:
            told.append(f"{word}: {', '.join(names)}")
    return markup("; ".join(told) + "." if told else "nothing can be compared.")


def _cell(pair: Pair | None) -> Cell:
    if pair is None or pair.comparison is None:
        return Cell("–", math.nan)
    found = pair.comparison
    mark = {1: " ▲", -1: " ▼", 0: ""}[pair.beyond]
    limits = "no interval" if math.isnan(found.interval[0]) else told_limits(found)
    p = "" if math.isnan(pair.corrected) else f", {p_text(pair.corrected)}"
    return Cell(f"{told_gap(found)}{mark}", found.difference, f"{limits}{p}")


def how_judged(pairs: Sequence[Pair]) -> str:
    """Return when a difference among those to one model is called real."""
    tested = sum(not math.isnan(pair.corrected) for pair in pairs)
    if not tested:
        return "No p value: there is one split, or one test part for all, whose choice is allowed for in accuracy only."
    many = (
        f" after Holm’s correction for {tested} comparisons; intervals are not corrected"
        if tested > 1
        else ""
    )
    return f"Compared split by split. Real: p below {LEVEL}{many}."


def told_gap(found: Comparison) -> str:
    """Return the difference as text."""
    return gap(found.difference, find_metric(found.metric).percent)


def told_limits(found: Comparison) -> str:
    """Return the ends of its interval as text; a dash if there is none."""
    percent, (low, high) = find_metric(found.metric).percent, found.interval
    return "–" if math.isnan(low) else f"{gap(low, percent)} to {gap(high, percent)}"


def measured(summary: TableSummary) -> Metric:
    """Return the metric that the rows of a table are compared by."""
    evaluation = next(iter(summary.entries.values())).evaluation
    return find_metric(evaluation.metrics[0])


def _estimate(pair: Pair) -> Estimate:
    found = pair.comparison
    if found is None:
        return Estimate(pair.row.title, "–", math.nan)
    factor = 100 if find_metric(found.metric).percent else 1
    low, high = (factor * end for end in found.interval)
    return Estimate(
        pair.row.title,
        told_gap(found),
        factor * found.difference,
        math.nan,
        (low, high),
        bool(pair.beyond),
    )


def _pair(summary: TableSummary, one: Row, two: Row, dataset: str) -> Pair:
    """Compare ``one`` with ``two`` over the runs that both have."""
    evaluations = (summary.entries[row.id, dataset].evaluation for row in (one, two))
    first, second, runs = common_runs(*evaluations)
    if not runs:
        return Pair(one, dataset, None, reason=f"{one.title} and {two.title} have no run in common")
    try:
        return Pair(one, dataset, first.paired(second), runs)
    except EvaluationError:
        return Pair(
            one,
            dataset,
            None,
            reason=f"{one.title} and {two.title} were judged on different splits",
        )


def _turned(comparison: Comparison | None) -> Comparison | None:
    if comparison is None:
        return None
    low, high = comparison.interval
    return replace(comparison, difference=-comparison.difference, interval=(-high, -low))


def _corrected(pairs: list[Pair]) -> list[Pair]:
    values = holm(
        [math.nan if pair.comparison is None else pair.comparison.p_value for pair in pairs]
    )
    return [replace(pair, corrected=value) for pair, value in zip(pairs, values, strict=True)]


def _only(evaluation: Evaluation, repeats: set[int]) -> Evaluation:
    kept = [place for place, split in enumerate(evaluation.splits) if split.repeat in repeats]
    return replace(
        evaluation,
        splits=tuple(evaluation.splits[place] for place in kept),
        outcomes=tuple(evaluation.outcomes[place] for place in kept),
    )


def _runs(pairs: dict[str, list[Pair]]) -> str:
    """Return over how many runs rows are compared, in words."""
    runs = [pair.runs for found in pairs.values() for pair in found if pair.comparison is not None]
    return (
        "the runs that both have"
        if not runs
        else f"the {between(runs)} runs that both have"
        if max(runs) > 1
        else "one run"
    )
