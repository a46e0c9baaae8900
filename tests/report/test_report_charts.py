import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgnn.report.draw import (
    Dots,
    Estimate,
    Series,
    draw_costs,
    draw_dots,
    draw_estimates,
    draw_points,
    draw_reliability,
    draw_series,
    series_color,
)

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = st.lists(st.floats(), min_size=1, max_size=6)


def elements(picture, name):
    return list(ET.fromstring(picture).iter(f"{SVG}{name}"))


def texts(picture):
    return [element.text for element in elements(picture, "text")]


def coordinates(picture):
    names = ("x", "y", "x1", "y1", "x2", "y2", "cx", "cy")
    given = [
        float(element.get(name))
        for element in ET.fromstring(picture).iter()
        for name in names
        if element.get(name)
    ]
    lines = [
        element.get("points")
        for kind in ("polyline", "polygon")
        for element in elements(picture, kind)
    ]
    return given + [
        float(number) for line in lines for pair in line.split() for number in pair.split(",")
    ]


def inside(picture):
    root = ET.fromstring(picture)
    size = max(float(root.get("width")), float(root.get("height")))
    return all(math.isfinite(value) and -1 <= value <= size + 1 for value in coordinates(picture))


@given(NUMBERS, st.floats(min_value=0), st.sampled_from([330, 680]))
def test_any_numbers_give_a_picture_within_its_frame(values, spread, width):
    rows = [
        Estimate("a", "text", value, spread, (value - spread, value + spread), main=True)
        for value in values
    ]
    for picture in (
        draw_estimates(rows, "x", width=width),
        draw_estimates(rows, "x", width=width, bounds=(0, 1)),
        draw_dots(
            [Dots("a", values, values[0], titles=["text"] * len(values))],
            "x",
            title="t",
            line=values[-1],
            width=width,
        ),
        draw_points(values, values[::-1], "x", "y", width=width),
        draw_estimates(
            [Estimate("a", "text", math.nan, mark=values[0])],
            "x",
            width=width,
            line=values[-1],
            title="t",
        ),
        draw_dots([Dots("a", values, values[0])], "x", title="t", line=values[-1], width=width),
        draw_costs({"a": values[0], "b": 2.0}, ["text", "text"], "x", title="t", width=width),
    ):
        assert inside(picture)


def test_estimates_stand_in_the_order_of_their_means_with_their_texts():
    rows = [
        Estimate("this", "85 ± 2", 85, 2, (80, 90), main=True),
        Estimate("paper", "87", 87),
        Estimate("none", "66", 66),
    ]
    picture = draw_estimates(rows, "accuracy (%)", bounds=(0, 100))
    places = [float(circle.get("cx")) for circle in elements(picture, "circle")]
    assert places[2] < places[0] < places[1]
    assert {"this", "85 ± 2", "paper", "87", "none", "66", "accuracy (%)", "70", "80", "90"} <= set(
        texts(picture)
    )
    interval = next(line for line in elements(picture, "line") if line.get("stroke-width") == "1.5")
    assert float(interval.get("x1")) < places[0] < float(interval.get("x2"))


def test_an_axis_ends_where_the_metric_does():
    row = Estimate("a", "100", 100, 3, (90, 100))
    bounded, free = (
        draw_estimates([row], "accuracy (%)", bounds=bounds) for bounds in ((0, 100), (0, 1000))
    )
    axis = next(line for line in elements(bounded, "line") if line.get("stroke-width") == "1.5")
    assert float(axis.get("x2")) == pytest.approx(640 - 6.8 * len("100") - 14, abs=0.1)
    assert float(elements(free, "circle")[0].get("cx")) < float(
        elements(bounded, "circle")[0].get("cx")
    )


def test_dots_of_equal_scores_do_not_cover_each_other():
    row = Dots("", [0.5, 0.5, 0.5, 0.7], 0.55, titles=["a", "b", "c", "d"])
    picture = draw_dots([row], "score", title="scores")
    dots = {(circle.get("cx"), circle.get("cy")) for circle in elements(picture, "circle")}
    assert len(dots) == 4
    assert [title.text for title in elements(picture, "title")] == [
        "scores",
        "a",
        "b",
        "c",
        "d",
    ]


def test_scores_that_are_not_known_have_no_dot():
    row = Dots("", [0.5, math.nan], 0.5, titles=["a", "b"])
    picture = draw_dots([row], "score", title="scores")
    assert len(elements(picture, "circle")) == 1


def test_epochs_are_marked_at_whole_numbers():
    picture = draw_series([Series(0, [1, 2, 3], [3.0, 2.0, 1.0])], "epoch", "loss", title="t")
    marks = [
        element.text for element in elements(picture, "text") if float(element.get("y")) == 236
    ]
    assert marks == ["1", "2", "3"]


def test_a_band_is_drawn_only_where_there_is_one():
    one, two = [1.0, 1.0], [2.0, 2.0]
    plain = Series(0, [1, 2], one)
    banded = Series(0, [1, 2], one, low=one, high=two)
    assert not elements(draw_series([plain], "x", "y", title="t"), "polygon")
    assert len(elements(draw_series([banded], "x", "y", title="t"), "polygon")) == 1


def test_a_curve_that_leaves_the_plot_says_how_high_it_goes():
    losses = [900.0, *([2.0] * 9), *([1.0] * 30)]
    picture = draw_series([Series(0, range(40), losses)], "epoch", "loss", title="t")
    assert "↑ up to 900" in texts(picture)
    inside = draw_series([Series(0, range(39), losses[1:])], "epoch", "loss", title="t")
    assert not any("up to" in text for text in texts(inside))


def test_a_single_epoch_is_a_mark():
    picture = draw_series([Series(0, [1], [1.0], dashed=True)], "epoch", "loss", title="t")
    assert len(elements(picture, "path")) == 1


def test_equal_values_lie_on_the_diagonal():
    picture = draw_points([1.0, 2.0, math.nan], [1.0, 2.0, 3.0], "true", "said")
    dots = [
        (float(circle.get("cx")), float(circle.get("cy"))) for circle in elements(picture, "circle")
    ]
    line = next(line for line in elements(picture, "line") if line.get("stroke-dasharray"))
    x1, y1, x2, y2 = (float(line.get(name)) for name in ("x1", "y1", "x2", "y2"))
    assert len(dots) == 2
    for x, y in dots:
        assert (x - x1) / (x2 - x1) == pytest.approx((y - y1) / (y2 - y1), abs=1e-2)


def test_names_are_escaped():
    picture = draw_dots([Dots("<b>", [1.0], 1.0)], "<i>", title="&y")
    assert {"<b>", "<i>"} <= set(texts(picture))
    assert elements(picture, "title")[0].text == "&y"


@given(NUMBERS)
def test_curves_of_any_numbers_give_a_picture(values):
    curve = Series(0, list(range(len(values))), values, low=values, high=values[::-1])
    picture = draw_series([curve], "epoch", "loss", title="t")
    assert all(map(math.isfinite, coordinates(picture)))


def test_curves_that_belong_together_are_one_group():
    curves = [
        Series(0, [1, 2], [3.0, 2.0], dashed=True),
        Series(0, [1, 2], [2.0, 1.0]),
        Series(4, [1, 2], [2.0, math.nan]),
    ]
    picture = draw_series(curves, "epoch", "loss", title="losses", about="two rows")
    assert [group.get("data-series") for group in elements(picture, "g")] == ["0", "4"]
    assert len(elements(elements_text(elements(picture, "g")[0]), "polyline")) == 2
    assert [element.text for element in elements(picture, "desc")] == ["two rows"]


def elements_text(element):
    return ET.tostring(element, encoding="unicode")


def test_a_high_first_loss_leaves_room_for_the_rest():
    losses = [100.0, *([2.0, 1.0] * 20)]
    picture = draw_series(
        [Series(0, list(range(41)), losses, dashed=True)], "epoch", "loss", title="t"
    )
    heights = [
        float(pair.split(",")[1]) for pair in elements(picture, "polyline")[0].get("points").split()
    ]
    assert heights[0] < 0
    assert heights[2] - heights[1] > 100


def test_every_value_of_a_swarm_is_a_dot_of_its_own():
    picture = draw_dots(
        [Dots("a", [50.0] * 30 + [60.0, math.nan], 51.0)], "accuracy", title="t", line=40.0
    )
    dots = elements(picture, "path")[0].get("d").split("M")[1:]
    assert len(dots) == len(set(dots)) == 31


def test_the_papers_figure_is_a_diamond():
    with_mark, without = (
        draw_estimates([Estimate("a", "x", 1.0, mark=mark)], "x") for mark in (2.0, math.nan)
    )
    assert len(elements(with_mark, "path")) == 1
    assert not elements(without, "path")


def test_bars_grow_by_powers_of_ten():
    picture = draw_costs(
        {"a": 2.0, "b": 20.0, "c": 200.0, "d": 0.0}, ["2", "20", "200", "0"], "seconds", title="t"
    )
    first, second, third = (float(bar.get("width")) for bar in elements(picture, "rect"))
    assert second - first == pytest.approx(third - second, abs=0.2)


def test_calibration_is_drawn_with_its_cases():
    picture = draw_reliability([(95.0, 80.0, 40), (55.0, 50.0, 10)], title="calibration")
    large, small = (float(circle.get("r")) for circle in elements(picture, "circle"))
    assert large > small
    assert "probability 95, right 80 (40 cases)" in elements(picture, "desc")[0].text


@pytest.mark.parametrize("color", [series_color(place) for place in range(8)])
@pytest.mark.parametrize("ground", ["#ffffff", "#15181c"])
def test_colors_stand_out_on_light_and_on_dark_ground(color, ground):
    one, two = sorted((luminance(color), luminance(ground)))
    assert (two + 0.05) / (one + 0.05) >= 3


def luminance(color):
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
