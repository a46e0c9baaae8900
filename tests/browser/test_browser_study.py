import io
import re

import numpy as np
import pytest
from PIL import Image

from edgnn.report import write_evaluation_report, write_report, write_run_report
from edgnn.training import RunFolder
from study_pages import made_evaluation, make_study

PHONE = {"width": 390, "height": 844}
FIRST = "#table-graphs table.sortable >> nth=0"


def column(table, place):
    return [
        row.strip()
        for row in table.locator(f"tbody tr > :nth-child({place + 1})").all_inner_texts()
    ]


def numbers(table, place):
    return [float(re.match(r"\d+\.\d", text)[0]) for text in column(table, place)]


def test_a_click_sorts_by_numbers_and_again_the_other_way(study_page, visit):
    page = visit(study_page)
    table, head = page.locator(FIRST), page.locator(f"{FIRST} >> thead th >> nth=1")
    before = numbers(table, 1)
    head.get_by_role("button").click()
    assert numbers(table, 1) == sorted(before, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    head.get_by_role("button").click()
    assert numbers(table, 1) == sorted(before)
    assert head.get_attribute("aria-sort") == "ascending"
    assert page.get_by_role("status").inner_text() == "Sorted by MUTAG, ascending"
    assert table.locator("th[aria-sort]").count() == 1


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_keys_sort_as_well(study_page, visit, key):
    page = visit(study_page)
    table = page.locator(FIRST)
    table.get_by_role("button", name="model").focus()
    page.keyboard.press(key)
    assert column(table, 0) == sorted(column(table, 0), key=str.casefold)
    page.keyboard.press("Tab")
    page.keyboard.press(key)
    assert numbers(table, 1) == sorted(numbers(table, 1), reverse=True)


def test_unknown_values_stay_last_either_way(study_page, visit):
    page = visit(study_page)
    table = page.locator("table.all")
    paper = table.get_by_role("button", name="paper")
    for _ in range(2):
        paper.click()
        found = column(table, 2)
        known = [text for text in found if text != "–"]
        assert 0 < len(known) < len(found)
        assert found == known + ["–"] * (len(found) - len(known))


def test_times_are_sorted_by_their_length_not_their_letters(tmp_path, visit):
    study = make_study(
        tmp_path / "study", {"edgnn": 0.9, "gin": 0.8, "rgcn": 0.7}, ("MUTAG",), runs=1
    )
    for row, seconds in (("edgnn", 9.5), ("gin", 80.0), ("rgcn", 4000.0)):
        cell = next(cell for cell in study.cells() if cell.row == row)
        result = study.read(cell)
        study.write(type(result)(cell, result.evaluation, seconds))
    page = visit(write_report(study.path))
    table = page.locator("table.all")
    table.get_by_role("button", name="time").click()
    assert [text for text in column(table, 10) if text != "–"] == [
        "1 h 6 min",
        "1 min 20 s",
        "9.5 s",
    ]


def test_a_curve_can_be_hidden_and_shown(study_page, visit):
    page = visit(study_page)
    curves = page.locator('#table-graphs g[data-series="1"]')
    button = page.locator("ul.legend").get_by_role("button", name="edGNN (avg)")
    assert curves.count() == 3
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert [curve.is_visible() for curve in curves.all()] == [False] * 3
    assert page.locator('g[data-series="0"]').first.is_visible()
    button.press("Space")
    assert button.get_attribute("aria-pressed") == "true"
    assert [curve.is_visible() for curve in curves.all()] == [True] * 3


def test_all_curves_can_be_hidden_at_once(study_page, visit):
    page = visit(study_page)
    page.get_by_role("button", name="hide all").click()
    assert page.locator("g.series:visible").count() == 0
    page.get_by_role("button", name="show all").click()
    assert page.locator("g.series:visible").count() == 6
    for button in page.locator("ul.legend button[aria-pressed]").all():
        button.click()
    page.get_by_role("button", name="show all").click()
    assert page.locator("g.series:visible").count() == 6


def test_the_reference_of_the_comparisons_can_be_chosen(study_page, visit):
    page = visit(study_page)
    shown = page.locator(".choice > div:visible")
    assert shown.count() == 1
    assert shown.get_attribute("data-name") == "edGNN (avg)"
    page.get_by_label("compared with").select_option("WL subtree")
    assert shown.get_attribute("data-name") == "WL subtree"
    assert "Difference to WL subtree in points" in shown.inner_text()


def test_without_scripts_everything_is_shown(study_page, visit):
    page = visit(study_page, java_script_enabled=False)
    assert page.locator("g.series:visible").count() == 6
    assert page.locator(".choice > div:visible").count() == 4
    assert page.locator("button").count() == 0
    page.locator("summary").first.click()
    assert page.locator("details[open]").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, PHONE], ids=["wide", "phone"])
def test_a_picture_of_the_page_shows_something(study_page, visit, scheme, viewport):
    page = visit(study_page, color_scheme=scheme)
    if viewport:
        page.set_viewport_size(viewport)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("heading", name="Estimates").scroll_into_view_if_needed()
    image = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    colors, counts = np.unique(image.reshape(-1, 3), axis=0, return_counts=True)
    ground = colors[counts.argmax()]
    assert (ground.mean() > 128) == (scheme == "light")
    assert len(colors) > 50
    assert 0.4 < counts.max() / counts.sum() < 0.99


def test_open_details_do_not_widen_a_phones_page(study_page, visit):
    page = visit(study_page)
    page.set_viewport_size(PHONE)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".cards svg:visible").count() == 12


def test_the_page_can_be_printed_with_its_details(study_page, visit):
    page = visit(study_page)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", paper)) >= 3


def test_the_keyboard_reaches_the_results_first(study_page, visit):
    page = visit(study_page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    page.keyboard.press("Enter")
    page.wait_for_function(
        "location.hash === '#results' && !document.activeElement.matches('.skip')"
    )  # with the next frame
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert page.evaluate("document.activeElement.tagName") == "A"
    assert outline == "solid"


def basic_faults(page):
    """What keeps people from reading a page with a screen reader or a keyboard."""
    return page.evaluate(
        """() => {
        const faults = [], name = (part) => (part.getAttribute('aria-label') || part.textContent || '').trim();
        const hidden = (part) => part.closest('[aria-hidden="true"]');
        for (const part of document.querySelectorAll('svg'))
          if (!hidden(part) && (part.getAttribute('role') !== 'img' || !part.getAttribute('aria-label')
              || !part.querySelector(':scope > title'))) faults.push('picture without a name: ' + part.outerHTML.slice(0, 90));
        for (const part of document.querySelectorAll('button, a, summary, select, th'))
          if (!name(part)) faults.push('without a name: ' + part.outerHTML);
        for (const part of document.querySelectorAll('select'))
          if (!part.labels.length) faults.push('no label: ' + part.outerHTML.slice(0, 90));
        for (const part of document.querySelectorAll('th'))
          if (!part.scope) faults.push('no scope: ' + part.outerHTML);
        for (const part of document.querySelectorAll('table.sortable, .cards table'))
          if (!part.caption) faults.push('no caption: ' + part.outerHTML.slice(0, 90));
        for (const part of document.querySelectorAll('a[href^="#"]'))
          if (!document.getElementById(part.hash.slice(1))) faults.push('leads nowhere: ' + part.outerHTML);
        for (const part of document.querySelectorAll('.scroll'))
          if (part.scrollWidth > part.clientWidth && part.tabIndex < 0 && !part.closest('.cards'))
            faults.push('cannot be scrolled by keys: ' + part.outerHTML.slice(0, 90));
        const seen = new Set();
        for (const part of document.querySelectorAll('[id]')) {
          if (seen.has(part.id)) faults.push('id twice: ' + part.id);
          seen.add(part.id);
        }
        let level = 0;
        for (const part of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
          if (+part.tagName[1] > level + 1) faults.push('heading out of order: ' + part.textContent);
          level = +part.tagName[1];
        }
        if (document.querySelectorAll('h1').length !== 1 || document.querySelectorAll('main').length !== 1)
          faults.push('not one h1 and one main');
        if (!document.documentElement.lang || !document.title) faults.push('no language or title');
        return faults;
        }"""
    )


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["wide", "phone"])
def test_names_headings_and_tables_are_in_order(study_page, visit, viewport):
    page = visit(study_page)
    if viewport:
        page.set_viewport_size(viewport)
    assert basic_faults(page) == []


def test_texts_stand_out_from_their_ground(study_page, visit):
    for scheme in ("light", "dark"):
        page = visit(study_page, color_scheme=scheme)
        page.evaluate(
            "document.querySelectorAll('details').forEach((part) => { part.open = true; })"
        )
        worst = page.evaluate(
            """() => {
            const light = (color) => {
              const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map((part) => part / 255)
                .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
              return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const ground = light(getComputedStyle(document.body).backgroundColor);
            const kinds = 'p, li, th, td:not(.confusion td), small, a, button, summary, caption span';
            const texts = [...document.querySelectorAll(kinds)];
            return Math.min(...texts.map((part) => {
              const own = light(getComputedStyle(part).color);
              return (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
            }));
            }"""
        )
        assert worst >= 4.5


def test_pages_of_runs_and_evaluations_open_as_quietly(tmp_path, visit):
    run = RunFolder.create(tmp_path / "run", {"estimator": "GraphClassifier"})
    run.append_history({"epoch": 1, "train_loss": [1.0], "valid_loss": [1.2]})
    run.append_history({"epoch": 2, "train_loss": [0.5], "valid_loss": [0.9]})
    evaluation = made_evaluation(0.8)
    write_evaluation_report(
        tmp_path / "page.html", evaluation, title="a", settings={}, environment={}, seconds=1.0
    )
    for path in (write_run_report(run.path), tmp_path / "page.html"):
        page = visit(path)
        assert basic_faults(page) == []
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hostile_names_do_nothing(tmp_path, visit):
    hostile = '</script><script>console.log("x")</script><img src=x onerror=alert(2)>'
    study = make_study(
        tmp_path / "study",
        {"edgnn": 0.9, "gin": 0.8},
        ("MUTAG",),
        runs=1,
        class_names=(hostile, "b"),
    )
    page = visit(write_report(study.path))
    assert page.locator("img").count() == 0
    page.locator(FIRST).get_by_role("button", name="MUTAG").click()
