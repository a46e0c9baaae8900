import math
from dataclasses import replace

from hypothesis import strategies as st

from edgnn.evaluation import Evaluation
from edgnn.report._paired import common_runs, compared, comparison_view, pair_values
from edgnn.studies import Entry, TableSummary, find_table
from study_pages import made_evaluation

P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=8)


def summary_of(evaluations):
    known = find_table("graphs")
    rows = tuple(row for row in known.rows if any(row.id == name for name, _ in evaluations))
    entries = {
        place: Entry(known.row(place[0]), place[1], evaluation)
        for place, evaluation in evaluations.items()
    }
    return TableSummary(
        known, "paper", tuple(dict.fromkeys(dataset for _, dataset in evaluations)), rows, entries
    )


def runs(right, count, seed=0, **more):
    return Evaluation.joined(
        [made_evaluation(right, run, seed=seed, **more) for run in range(count)]
    )


def test_only_differences_beyond_the_noise_are_called_so():
    known = {
        ("edgnn", "MUTAG"): runs(0.85, 3),
        ("gin", "MUTAG"): runs(0.84, 3, seed=1),
        ("rgcn", "MUTAG"): runs(0.3, 3, seed=2),
    }
    pairs = compared(summary_of(known))
    beyond = {pair.row.id: pair.beyond for pair in pairs["edgnn"]}
    assert beyond == {"gin": 0, "rgcn": -1}
    assert {pair.row.id: pair.beyond for pair in pairs["rgcn"]} == {"edgnn": 1, "gin": 1}
    shown = next(
        reference
        for reference in comparison_view(summary_of(known), pairs)["references"]
        if reference["name"] == "edGNN (avg)"
    )
    words = dict(shown["words"])["MUTAG"]
    assert words.startswith("R-GCN (−")
    assert words.endswith("lies below edGNN (avg); within the noise: GIN.")
    assert shown["missing"] == ""


def test_a_comparison_is_that_of_the_evaluations_either_way():
    one, two = runs(0.9, 2), runs(0.7, 2, seed=1)
    pairs = compared(summary_of({("edgnn", "MUTAG"): one, ("gin", "MUTAG"): two}))
    found, expected = pairs["gin"][0].comparison, one.paired(two)
    assert found == expected
    assert pairs["gin"][0].corrected == expected.p_value
    turned = pairs["edgnn"][0].comparison
    assert turned.difference == -expected.difference
    assert turned.interval == (-expected.interval[1], -expected.interval[0])
    assert turned.p_value == expected.p_value


def test_only_runs_that_both_have_are_compared():
    one, two = runs(0.9, 4), runs(0.7, 2, seed=1)
    first, second, count = common_runs(one, two)
    assert (len(first.splits), len(second.splits), count) == (20, 20, 2)
    assert second is two
    pair = compared(summary_of({("edgnn", "MUTAG"): one, ("gin", "MUTAG"): two}))["gin"][0]
    assert (pair.runs, pair.comparison.splits) == (2, 20)


def test_what_cannot_be_compared_is_said():
    other = replace(made_evaluation(0.9, 7))
    known = {
        ("edgnn", "MUTAG"): runs(0.9, 2),
        ("gin", "MUTAG"): other,
        ("rgcn", "MUTAG"): runs(0.9, 2, folds=5),
        ("wl-subtree", "MUTAG"): runs(0.9, 2, seed=1),
    }
    summary = summary_of(known)
    pairs = compared(summary)
    reasons = {pair.row.id: pair.reason for pair in pairs["edgnn"]}
    assert reasons["gin"].endswith("have no run in common")
    assert reasons["rgcn"].endswith("were evaluated on different splits")
    assert reasons["wl-subtree"] == ""
    references = comparison_view(summary, pairs)["references"]
    assert any("have no run in common" in reference["missing"] for reference in references)
    assert {"reason"} <= set(pair_values(pairs["edgnn"])[0])


def test_a_row_on_its_own_is_compared_with_nothing():
    summary = summary_of({("edgnn", "MUTAG"): runs(0.9, 2)})
    assert comparison_view(summary, compared(summary)) is None


def test_the_best_run_of_a_row_is_not_compared():
    known = {
        ("edgnn", "MUTAG"): runs(0.9, 2),
        ("edgnn-max", "MUTAG"): runs(0.9, 1),
        ("gin", "MUTAG"): runs(0.7, 2),
    }
    assert set(compared(summary_of(known))) == {"edgnn", "gin"}


def test_equal_predictions_differ_by_nothing():
    pair = compared(summary_of({("edgnn", "MUTAG"): runs(0.9, 2), ("gin", "MUTAG"): runs(0.9, 2)}))[
        "edgnn"
    ][0]
    assert pair.comparison.difference == 0
    assert pair.beyond == 0
