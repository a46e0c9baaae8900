import pytest

from benchmarks import Memory, Row, Traffic
from benchmarks._harness import all_hold, beside, clauses
from benchmarks._timing import Missing, Timed
from edgnn.errors import EdgnnError


def row(goal, ours_s=1.0, peer_s=60.0, **fields):
    return Row("a step", ours_s, "peer", peer_s, goal, **fields)


def test_a_goal_with_two_clauses_is_met_only_by_both():
    goal = "≥ 55×, memory ≤ 0.1×"
    assert row(goal, memory=Memory(10, 200)).met is True
    missed = row(goal, memory=Memory(30, 200))
    assert missed.met is False
    assert missed.verdicts == [("≥ 55×", True), ("memory ≤ 0.1×", False)]
    assert row(goal, peer_s=50.0, memory=Memory(10, 200)).met is False


def test_what_was_not_measured_leaves_a_goal_open_unless_another_clause_is_missed():
    assert row("≥ 55×, memory ≤ 0.1×").met is None
    assert row("≥ 55×, memory ≤ 0.1×", memory=Memory(10)).met is None
    assert row("≥ 100×, memory ≤ 0.1×").met is False
    assert Row("alone", 1.0, goal="≥ 2×").met is None


def test_an_absolute_bound_is_one_of_ours_in_its_unit_and_leaves_the_ratio_alone():
    fast = row("≤ 5 s", ours_s=4.0, peer_s=400.0)
    assert (fast.met, fast.ratio) == (True, 100.0)
    assert row("≤ 5 s", ours_s=6.0).met is False
    assert Row("no peer", 4.0, goal="≤ 5 s").met is True
    assert Row("memory", 4.0, goal="≤ 5 s", unit="MiB").met is None


def test_the_share_of_copying_is_judged_in_per_cent():
    assert row("≥ 80 % of copying", traffic=Traffic(100, 81.0, 100.0)).met is True
    assert row("≥ 80 % of copying", traffic=Traffic(100, 79.0, 100.0)).met is False
    assert row("≥ 80 % of copying").met is None


def test_memory_is_judged_against_the_peer_or_by_itself():
    assert Row("alone", 1.0, goal="memory ≤ 2 GiB", memory=Memory(2**31)).met is True
    assert Row("alone", 1.0, goal="memory ≤ 2 GiB", memory=Memory(2**31 + 1)).met is False
    assert Row("alone", 1.0, goal="memory ≤ 2 GiB").met is None


def test_of_figures_per_second_the_larger_is_the_faster():
    fast = row("≥ 3×", ours_s=60.0, peer_s=20.0, unit="seeds/s")
    assert (fast.ratio, fast.met) == (3.0, True)
    assert row("≤ 3×", ours_s=20.0, peer_s=60.0, unit="seeds/s").ratio == 3.0


def test_a_bound_on_the_ratio_turns_it_around_also_beside_other_clauses():
    assert row("≤ 1.5×, memory ≤ 2×", ours_s=3.0, peer_s=2.0).ratio == 1.5
    assert row("≥ 2×, memory ≤ 2×", ours_s=3.0, peer_s=6.0).ratio == 2.0


@pytest.mark.parametrize(
    "goal", ["fast", "55×", "≥ fast×", "≥ 2×; ≤ 5 s", "memory", "≥ 5", "memory ≤ 5 s"]
)
def test_a_goal_that_asks_for_nothing_is_refused_by_name(goal):
    with pytest.raises(EdgnnError, match="asks for nothing"):
        clauses(goal)


def test_nothing_asked_is_nothing_met():
    assert clauses("") == []
    assert all_hold([]) is None
    assert row("").met is None


def test_a_peer_that_could_not_run_is_a_line_of_its_own_and_ours_stays():
    ours, peer = ("ours", Timed(2.0, 100)), ("theirs", Missing("out of memory on cuda"))
    kept, skipped = beside("a step", ours, peer, "≥ 2×", points={"edges": 5})
    assert (kept.ours_s, kept.peer_s, kept.memory, kept.points, kept.met) == (
        2.0,
        None,
        Memory(100),
        {"edges": 5},
        None,
    )
    assert (skipped.what, skipped.reason) == ("theirs, a step", "out of memory on cuda")


def test_what_both_took_stands_in_one_row():
    (kept,) = beside(
        "a step", ("ours", Timed(2.0, 100)), ("theirs", Timed(6.0, 400)), "≥ 2×, memory ≤ 0.25×"
    )
    assert (kept.ratio, kept.memory.ratio, kept.met) == (3.0, 0.25, True)
    (skipped,) = beside(
        "a step", ("ours", Missing("out of memory on cuda")), ("theirs", Timed(6.0))
    )
    assert skipped.what == "ours, a step"
