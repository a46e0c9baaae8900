import re
import xml.etree.ElementTree as ET

from benchmarks._growths import draw_growths

CHARTS = {
    "edges": {"ours": [(1e4, 1e-4), (1e6, 1e-2)], "peer <b>": [(1e4, 5e-3), (1e6, 0.5)]},
    "width": {"ours": [(16, 1e-3), (64, 2e-3), (256, 9e-3)]},
}
NAMESPACE = "{http://www.w3.org/2000/svg}"


def elements(charts, kind):
    return ET.fromstring(draw_growths(charts, "Cost")).iter(f"{NAMESPACE}{kind}")


def points(line):
    return [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]


def test_every_point_has_its_place_in_a_line_and_its_mark():
    lines = [points(line) for line in elements(CHARTS, "polyline")]
    assert [len(line) for line in lines] == [2, 2, 3]
    legend, marks = 2, [path for path in elements(CHARTS, "path") if path.get("fill")]
    assert len(marks) == 7 + legend


def test_charts_share_the_axis_of_seconds():
    lines = [
        points(line)
        for line in elements(CHARTS | {"nodes": {"ours": [(10, 1e-2), (20, 1e-3)]}}, "polyline")
    ]
    assert lines[0][1][1] == lines[3][0][1]
    assert lines[0][0][1] > lines[0][1][1]
    assert lines[3][1][1] == lines[2][0][1]


def test_sizes_and_times_are_written_as_one_says_them():
    texts = [text.text for text in elements(CHARTS, "text")]
    assert {
        "10k",
        "1M",
        "16",
        "256",
        "100 µs",
        "1 ms",
        "100 ms",
        "1 s",
        "edges",
        "width",
        "peer <b>",
    } <= set(texts)


def test_a_name_has_one_color_in_all_charts():
    colors = [line.get("stroke") for line in elements(CHARTS, "polyline")]
    assert colors[0] == colors[2] != colors[1]


def test_the_line_of_proportion_ends_inside_its_chart():
    steep = {"edges": {"ours": [(1, 0.5), (1e6, 0.9)]}}
    (line,) = [line for line in elements(steep, "line") if line.get("class") == "line"]
    grid = [
        float(line.get("y1"))
        for line in elements(steep, "line")
        if line.get("y1") == line.get("y2")
    ]
    assert min(grid) <= float(line.get("y2")) < float(line.get("y1")) <= max(grid)


def test_the_background_is_part_of_the_picture_in_light_and_dark():
    svg = draw_growths(CHARTS, "Cost")
    assert re.search(r'<rect width="\d+" height="\d+" class="card"/>', svg)
    assert "prefers-color-scheme:dark" in svg


def test_a_single_size_and_no_chart_at_all_are_pictures_too():
    (line,) = elements({"members": {"ours": [(1, 0.5)]}}, "polyline")
    assert len(points(line)) == 1
    assert not list(elements({}, "polyline"))
