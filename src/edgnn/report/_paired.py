"""Which rows of a table differ by more than the noise: paired tests, corrected for their number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from edgnn.errors import EvaluationError
from edgnn.evaluation import Comparison, Evaluation, Metric, find_metric, holm
from edgnn.report._numbers import between, gap, metric_name, p_text
from edgnn.report._views import MISSING, Cell, Figure, Sortable, panels
from edgnn.report.draw import Estimate, draw_estimates

if TYPE_CHECKING:
    from edgnn.studies import Row, TableSummary

#: Differences whose corrected p value is below this exceed the noise.
LEVEL = 0.05
_REFERENCE = "edgnn"
_SIDES = {
    "above": "{0} {1} above {2}",
    "below": "{0} {1} below {2}",
    "within": "within the noise: {0}",
    "untested": "without a p value: {0}",
}


@dataclass(frozen=True)
class Pair:
    """A row against the reference on one data set.

    Attributes
    ----------
    row : Row
        The one that is compared.
    dataset : str
        Where.
    comparison : Comparison
        Row minus reference; all NaN if the two cannot be compared.
    runs : int
        How many runs both have.
    reason : str
        Why they cannot be compared.
    corrected : float
        The p value after Holm's correction; NaN if there is none.
    """

    row: Row
    dataset: str
    comparison: Comparison
    runs: int = 0
    reason: str = ""
    corrected: float = math.nan

    @property
    def beyond(self) -> int:
        """1 or −1 if the difference exceeds the noise, else 0."""
        if not self.corrected < LEVEL:
            return 0
        return 1 if self.comparison.difference > 0 else -1

    @property
    def side(self) -> str:
        """Where the row lies: ``"above"`` or ``"below"`` the reference, or neither for sure."""
        if math.isnan(self.corrected):
            return "untested"
        return {1: "above", -1: "below", 0: "within"}[self.beyond]

    @property
    def percent(self) -> bool:
        """Whether it is read in points of percent."""
        return find_metric(self.comparison.metric).percent

    @property
    def verdict(self) -> str:
        """Whether the difference is real, in words."""
        if math.isnan(self.corrected):
            return "not tested"
        if self.comparison.interval == (0, 0):
            return "no difference"
        if not self.beyond:
            return "could be luck"
        up = find_metric(self.comparison.metric).higher_is_better
        return "real: better" if (self.beyond > 0) == up else "real: worse"

    @property
    def gap_text(self) -> str:
        """The difference as text; a dash if there is none."""
        return gap(self.comparison.difference, self.percent)

    @property
    def limits_text(self) -> str:
        """The ends of its interval as text; a dash if there is none."""
        low, high = self.comparison.interval
        if math.isnan(low):
            return "–"
        return f"{gap(low, self.percent)} to {gap(high, self.percent)}"


def common_runs(one: Evaluation, two: Evaluation) -> tuple[Evaluation, Evaluation, int]:
    """Return both evaluations without the runs that only one of them has, and how many are left."""
    of_one, of_two = ({split.repeat for split in evaluation.splits} for evaluation in (one, two))
    both = of_one & of_two
    if of_one != both:
        one = one.of_repeats(both)
    if of_two != both:
        two = two.of_repeats(both)
    return one, two, len(both)


def compared(summary: TableSummary) -> dict[str, list[Pair]]:
    """Return, for every row as the reference, how all others compare with it on each data set."""
    rows = [row for row in summary.rows if row.best_of is None]
    pairs_of: dict[str, list[Pair]] = {row.id: [] for row in rows}
    for (one, two), dataset in product(combinations(rows, 2), summary.datasets):
        if {(one.id, dataset), (two.id, dataset)} <= summary.entries.keys():
            pair = _pair(summary, one, two, dataset)
            pairs_of[two.id].append(pair)
            pairs_of[one.id].append(_turned(pair, two))
    return {reference: _corrected(pairs) for reference, pairs in pairs_of.items()}


def comparison_view(
    summary: TableSummary, pairs: dict[str, list[Pair]], reference: str = _REFERENCE
) -> dict[str, Any] | None:
    """Return the paired comparisons with each row; ``None`` where there is one row only."""
    rows = {row.id: row for row in summary.rows if pairs.get(row.id)}
    if not rows:
        return None
    first = next(iter(rows.values()))
    metric = measured(summary)
    runs = {pair.runs for own in pairs.values() for pair in own} - {0}
    return {
        "metric": "the accuracies" if metric.name == "accuracy" else metric_name(metric.name),
        "percent": metric.percent,
        "runs": between(list(runs)) if runs else "",
        "level": LEVEL,
        "chosen": rows.get(reference, first).title,
        "references": [_against(summary, row, pairs[row.id]) for row in rows.values()],
    }


def pair_values(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return comparisons as plain values."""
    rows = []
    for pair in pairs:
        values = {"reason": pair.reason} if pair.reason else comparison_values(pair)
        rows.append({"row": pair.row.id, "dataset": pair.dataset, "runs": pair.runs} | values)
    return rows


def comparison_values(pair: Pair) -> dict[str, Any]:
    """Return the numbers of a comparison."""
    names = ("difference", "interval", "p_value", "splits", "kind")
    values = {name: getattr(pair.comparison, name) for name in names}
    return values | {"corrected_p_value": pair.corrected}


def _against(summary: TableSummary, reference: Row, pairs: list[Pair]) -> dict[str, Any]:
    """Return how all rows compare with one: in words, drawn, and as a table."""
    on: dict[str, dict[str, Pair]] = {}
    for pair in sorted(pairs, key=lambda pair: summary.datasets.index(pair.dataset)):
        on.setdefault(pair.dataset, {})[pair.row.id] = pair
    titles = {pair.row.id: pair.row.title for pair in pairs}  # in the order of the table
    lines = [
        [Cell(title), *(_cell(here.get(row)) for here in on.values())]
        for row, title in titles.items()
    ]
    metric = measured(summary)
    unit = "points" if metric.percent else metric_name(metric.name)
    caption = f"Difference to {reference.title} in {unit}; ▲ or ▼: beyond the noise"
    return {
        "name": reference.title,
        "words": [(dataset, _words(here.values(), reference)) for dataset, here in on.items()],
        "figure": _difference_figure(reference, on, unit, metric),
        "table": Sortable(caption, ["model", *on], lines),
        "missing": " ".join(_reason(pair) for pair in pairs if pair.reason),
    }


def _reason(pair: Pair) -> str:
    return f"{pair.row.title} on {pair.dataset}: {pair.reason}."


def _difference_figure(
    reference: Row, on: dict[str, dict[str, Pair]], unit: str, metric: Metric
) -> Figure | None:
    """Return the differences to a row with their intervals; ``None`` where none is known."""
    drawn = [name for name, pairs in on.items() if not all(pair.reason for pair in pairs.values())]
    if not drawn:
        return None

    def draw(dataset: str, width: int) -> str:
        title = f"Differences to {reference.title} on {dataset}"
        estimates = [_estimate(pair) for pair in on[dataset].values()]
        return draw_estimates(estimates, unit, width=width, line=0.0, title=title)

    side = "right" if metric.higher_is_better else "left"
    caption = (
        f"Dot: difference to {reference.title}; to the {side}, the other model is better. "
        "Line: 95 % interval. Bold and blue: beyond the noise. Dashed: no difference."
    )
    return panels(draw, drawn, caption)


def _words(pairs: Iterable[Pair], reference: Row) -> str:
    """Return which rows differ from the reference on a data set by more than the noise."""
    rows: dict[str, list[str]] = {side: [] for side in _SIDES}
    for pair in pairs:
        if not pair.reason:
            amount = f" ({pair.gap_text})" if pair.beyond else ""
            rows[pair.side].append(f"{pair.row.title}{amount}")
    texts = []
    for side, names in rows.items():
        if names:
            verb = "lies" if len(names) == 1 else "lie"
            texts.append(_SIDES[side].format(", ".join(names), verb, reference.title))
    return f"{'; '.join(texts) or 'nothing can be compared'}."


def _cell(pair: Pair | None) -> Cell:
    if pair is None or pair.reason:
        return MISSING
    mark = {1: " ▲", -1: " ▼", 0: ""}[pair.beyond]
    note = "no interval" if pair.limits_text == "–" else pair.limits_text
    if not math.isnan(pair.corrected):
        note += f", {p_text(pair.corrected)}"
    return Cell(f"{pair.gap_text}{mark}", pair.comparison.difference, note)


def comparison_note(pairs: Sequence[Pair]) -> str:
    """Return when a difference among those to one model is called real."""
    tested = sum(not math.isnan(pair.corrected) for pair in pairs)
    if not tested:
        return (
            "No p value: there is one split, or one test set for all, and its choice is taken into "
            "account for accuracy only."
        )
    correction = ""
    if tested > 1:
        correction = (
            f" after Holm’s correction for {tested} comparisons; intervals are not corrected"
        )
    return f"Compared split by split. Real: p below {LEVEL}{correction}."


def measured(summary: TableSummary) -> Metric:
    """Return the metric that the rows of a table are compared by."""
    evaluation = next(iter(summary.entries.values())).evaluation
    return find_metric(evaluation.metrics[0])


def _estimate(pair: Pair) -> Estimate:
    factor = 100 if pair.percent else 1
    low, high = pair.comparison.interval
    return Estimate(
        pair.row.title,
        pair.gap_text,
        factor * pair.comparison.difference,
        interval=(factor * low, factor * high),
        main=bool(pair.beyond),
    )


def _pair(summary: TableSummary, one: Row, two: Row, dataset: str) -> Pair:
    """Compare ``one`` with ``two`` over the runs that both have."""
    evaluations = (summary.entries[row.id, dataset].evaluation for row in (one, two))
    first, second, runs = common_runs(*evaluations)
    reason = "have no run in common"
    if runs:
        try:
            return Pair(one, dataset, first.paired(second), runs)
        except EvaluationError:
            reason = "were evaluated on different splits"
    nothing = Comparison(first.metrics[0], math.nan, (math.nan, math.nan), math.nan, 0, "")
    return Pair(one, dataset, nothing, reason=f"{one.title} and {two.title} {reason}")


def _turned(pair: Pair, row: Row) -> Pair:
    """Return the other row against the one of a pair."""
    low, high = pair.comparison.interval
    difference = -pair.comparison.difference
    turned = replace(pair.comparison, difference=difference, interval=(-high, -low))
    return replace(pair, row=row, comparison=turned)


def _corrected(pairs: list[Pair]) -> list[Pair]:
    values = holm([pair.comparison.p_value for pair in pairs])
    return [replace(pair, corrected=value) for pair, value in zip(pairs, values, strict=True)]
