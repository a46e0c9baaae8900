import contextlib
import csv
import json
import os
import re
import shlex
import socket
import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from serve_runs import make_mutag_run, make_node_run, make_people

PHONE = {"width": 390, "height": 844}
PATIENCE = 100_000  # milliseconds, for machines that do much else
TOLUENE = "Cc1ccccc1[N+](=O)[O-]"


def start(run):
    """Serve in this process; return the address and what ends it."""
    import uvicorn

    from edgnn.serve import create_app

    ear = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(create_app(run), log_level="critical", access_log=False, ws="none")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [ear]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)

    def stop():
        server.should_exit = True
        thread.join(100)

    return f"http://127.0.0.1:{ear.getsockname()[1]}", stop


@pytest.fixture(scope="module")
def molecules(tmp_path_factory):
    address, stop = start(make_mutag_run(tmp_path_factory.mktemp("serve") / "mutag"))
    yield address
    stop()


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return make_people(tmp_path_factory.mktemp("tables") / "people")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory, people):
    address, stop = start(make_node_run(tmp_path_factory.mktemp("serve") / "people", people))
    yield address
    stop()


@pytest.fixture
def visit(browser):
    """Open the page, with some of its questions answered by the test; at the end there must have been no complaint but
    those expected, and no request to anywhere else."""
    contexts, complaints, requests, addresses = [], [], [], []

    def open_page(address, *, answers=None, **options):
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        for path, handler in (answers or {}).items():
            page.route(path, handler)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        addresses.append(address)
        page.goto(address)
        page.locator("#ask").wait_for()
        return page

    open_page.expected = (
        None  # words of complaints that are right to come, which they do at any time
    )
    yield open_page
    for context in contexts:
        context.close()
    assert [
        said for said in complaints if open_page.expected is None or open_page.expected not in said
    ] == []
    assert [url for url in requests if not url.startswith((*addresses, "blob:"))] == []


def predict(page, *smiles):
    page.get_by_label("Molecules as SMILES").fill("\n".join(smiles))
    page.get_by_role("button", name="Predict").click()
    page.locator("#busy:empty").wait_for(state="attached")  # the results may be there from before


def test_pasted_smiles_get_probabilities_and_a_picture(molecules, visit):
    page = visit(molecules)
    predict(page, TOLUENE, "CCO")
    assert page.get_by_role("heading", level=2).inner_text().startswith("2 molecules: ")
    rows = page.locator("#rows > tr:not(.detail)")
    assert rows.count() == 2
    assert TOLUENE in rows.nth(0).inner_text()
    assert re.search(r"\d+(\.\d)? %\s+± [<\d]", rows.nth(0).inner_text())
    assert "new" in rows.nth(1).inner_text()
    page.locator(".reasons tr").first.wait_for()
    picture = page.locator(".panel .picture svg")
    assert picture.bounding_box()["width"] > 150
    assert picture.locator("circle.atom").count() > 0
    shown = picture.locator("path").first.evaluate(
        "part => getComputedStyle(part).stroke + getComputedStyle(part).fill"
    )
    assert "rgb" in shown


def test_the_other_class_and_a_counter_example_are_shown_on_request(molecules, visit):
    page = visit(molecules)
    predict(page, TOLUENE)
    chosen = page.get_by_label("Explain")
    chosen.wait_for()
    other = {"mutagenic": "not mutagenic", "not mutagenic": "mutagenic"}[chosen.input_value()]
    chosen.select_option(other)
    page.get_by_text(f"speaks for {other}, blue").wait_for()
    page.get_by_role("button", name="What would change the prediction?").click()
    page.locator(".change h3").wait_for()
    assert page.locator(".change .picture svg").count() == 2


def test_colors_go_round_by_round(molecules, visit):
    page = visit(molecules)
    predict(page, "CCO")
    page.get_by_role("radio", name="Colors, round by round").check()
    page.get_by_text("3 colors, each standing for what 2 layers can see").wait_for()
    assert page.locator(".colors li").count() == 3
    assert page.get_by_text("never seen", exact=True).count() > 0
    page.get_by_role("radio", name="0", exact=True).check()
    page.get_by_text("2 colors, each standing for a label").wait_for()
    assert page.locator(".picture circle.new").count() == 0
    page.keyboard.press("ArrowRight")
    page.get_by_text("what 1 layer can see").wait_for()


def test_a_dropped_file_is_predicted_and_its_items_explained(molecules, visit):
    page = visit(molecules)
    data = page.evaluate_handle(
        """() => { const moved = new DataTransfer();
        moved.items.add(new File(['smiles,x\\nCCO,1\\nCc1ccccc1[N+](=O)[O-],2\\n'], 'mine.csv')); return moved; }"""
    )
    page.dispatch_event("body", "drop", {"dataTransfer": data})
    page.locator("#results").wait_for()
    assert page.get_by_role("radio", name="File").is_checked()
    assert page.locator("#files li").inner_text().startswith("mine.csv (")
    assert page.locator("#rows > tr:not(.detail)").count() == 2
    page.get_by_role("button", name=TOLUENE).click()
    page.locator(".reasons").nth(1).wait_for()
    assert page.locator(".panel .picture svg").nth(1).locator("circle.atom").count() > 3


def test_a_chosen_file_is_predicted(molecules, visit):
    page = visit(molecules)
    page.get_by_role("radio", name="File").check()
    page.locator("#file").set_input_files(
        {"name": "a.smi", "mimeType": "text/plain", "buffer": b"CCO\nCCN\nCCC\n"}
    )
    page.get_by_role("heading", name="3 graphs").wait_for()


def test_the_table_can_be_downloaded(molecules, visit):
    page = visit(molecules)
    predict(page, "CCO", "CCN")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    text = download.value.path().read_text()
    assert download.value.suggested_filename == "predictions.csv"
    assert text.splitlines()[0].startswith("id,prediction,p(not mutagenic),p(mutagenic)")
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == ["CCO", "CCN"]


def test_mistakes_are_shown_in_place(molecules, visit):
    page = visit(molecules)
    visit.expected = "422"
    page.get_by_role("button", name="Predict").click()
    assert page.locator("#problem").inner_text() == "Write at least one SMILES, such as CCO."
    predict(page, "", "CCO", "", "C((", " ")
    assert "line 4, C((: RDKit cannot read it" in page.locator("#skipped").inner_text()
    page.get_by_role("radio", name="File").check()
    page.locator("#file").set_input_files(
        {"name": "a.csv", "mimeType": "text/csv", "buffer": b"smiles\nC((\n"}
    )
    page.locator("#problem").wait_for()
    assert re.match(
        r"The molecule .?C\(\(.? cannot be read: RDKit", page.locator("#problem").inner_text()
    )
    assert page.locator("#results").is_hidden()


def test_graphs_of_the_training_data_are_picked_by_name(molecules, visit):
    page = visit(molecules)
    page.get_by_role("radio", name="Graphs of MUTAG").check()
    page.get_by_role("combobox").fill("17")
    page.keyboard.press("Enter")
    page.locator("#chosen li", has_text=re.compile("^17")).wait_for()
    page.get_by_role("button", name="Predict").click()
    page.get_by_role("heading", name="1 graph").wait_for()
    page.locator(".reasons").wait_for()


def test_a_node_is_picked_with_keys_only(nodes, visit):
    page = visit(nodes)
    page.get_by_role("combobox").focus()
    page.keyboard.type("p12")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("#chosen li").wait_for()
    assert page.locator("#chosen").inner_text().startswith("p12")
    page.get_by_role("button", name="Predict").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="1 node").wait_for()
    page.locator(".reasons").wait_for()
    assert "p12" in page.locator(".panel").inner_text()
    page.get_by_role("radio", name="Colors, round by round").check()
    page.get_by_role("heading", name="This node, in words").wait_for()
    assert "likes" in page.locator(".panel code").inner_text()


class Held:
    """Searches by their text, each of which is answered when it is told so."""

    def __init__(self, page):
        self.routes = {}
        page.route("**/names?*", self.take)
        self.page = page

    def take(self, route):
        self.routes[route.request.url.partition("search=")[2]] = route

    def answer(self, text):
        while text not in self.routes:
            self.page.wait_for_timeout(10)
        with self.page.expect_response(lambda response: response.url.endswith(f"search={text}")):
            self.routes.pop(text).continue_()
        self.page.wait_for_timeout(50)  # for what should not happen


def test_keys_wait_for_what_the_text_finds(nodes, visit):
    page = visit(nodes)
    held, chosen, options = Held(page), page.locator("#chosen li"), page.get_by_role("option")
    page.get_by_role("combobox").focus()
    held.answer("")
    options.nth(20).wait_for()  # of all nodes, of which p12 is not the first
    page.keyboard.type("p12")
    page.keyboard.press("Enter")
    held.answer("p1")  # comes late, and is of no use any more
    assert chosen.count() == 0
    held.answer("p12")
    chosen.wait_for()
    assert chosen.all_inner_texts() == ["p12\n×"]
    assert options.count() == 0
    page.keyboard.type("p2")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    held.answer("p2")
    chosen.nth(1).wait_for()
    assert chosen.all_inner_texts() == ["p12\n×", "p20\n×"]


def test_a_search_that_was_left_shows_nothing(nodes, visit):
    page = visit(nodes)
    held, options = Held(page), page.get_by_role("option")
    page.get_by_role("combobox").focus()
    held.answer("")
    options.nth(20).wait_for()
    page.keyboard.type("p3")
    page.keyboard.press("Escape")
    held.answer("p3")
    assert options.count() == 0
    page.get_by_role("combobox").fill("x")  # no node has it
    page.keyboard.press("Enter")
    held.answer("x")
    held.answer("x")  # as a name, not as a part of one
    page.locator("#problem").wait_for()
    assert page.locator("#problem").inner_text() == "No node of people is called x."
    assert page.locator("#chosen li").count() == 0


def test_tables_of_nodes_and_edges_are_taken_together(nodes, people, visit):
    page = visit(nodes)
    page.get_by_role("radio", name="File").check()
    page.locator("#file").set_input_files([people / "nodes.csv", people / "edges.csv"])
    page.get_by_role("heading", name=re.compile("^30 nodes")).wait_for()
    page.get_by_label("Filter").fill("p29")
    assert page.locator("#rows > tr").count() == 1
    page.get_by_role("button", name="p29").click()
    page.locator(".reasons").wait_for()
    assert "p29" in page.locator(".panel").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(molecules, visit, scheme):
    page = visit(molecules, viewport=PHONE, color_scheme=scheme)
    predict(page, TOLUENE, "O=[N+]([O-])c1ccc2ccc3cccc4ccc1c2c34")
    page.locator(".reasons").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_a_name_that_looks_like_markup_is_shown_as_it_is(nodes, visit):
    page = visit(nodes)
    visit.expected = "422"
    page.get_by_role("radio", name="File").check()
    evil = "<img src=x onerror=alert(1)>"
    table = f'source,target,label\n"{evil}",b,knows\n'
    page.locator("#file").set_input_files(
        {"name": "edges.csv", "mimeType": "text/csv", "buffer": table.encode()}
    )
    page.locator("#results, #problem").locator("visible=true").first.wait_for()
    assert page.locator("main img").count() == 0


def test_what_is_shown_can_be_asked_about_while_the_next_answer_is_awaited(
    molecules, visit, tmp_path
):
    page = visit(molecules)
    predict(page, TOLUENE, "CCO")
    page.locator(".reasons tr").first.wait_for()
    page.route("**/predict/file", lambda route: None)  # never answered
    (tmp_path / "other.csv").write_text("smiles\nCCCCCC\n")
    page.locator("#file").set_input_files(str(tmp_path / "other.csv"))
    page.get_by_text("Predicting…").wait_for()
    with page.expect_request("**/explain") as asked:
        page.locator("#rows .item").nth(1).click()
    assert asked.value.post_data_json == {"smiles": "CCO"}
    page.unroute("**/predict/file")


def hold(page, path):
    """Have questions of one address wait; return them as they come."""
    held = []
    page.route(path, lambda route: held.append(route))  # playwright takes no built-in function
    return held


def wait_for(page, found, count):
    for _ in range(PATIENCE // 10):
        if len(found) >= count:
            return
        page.wait_for_timeout(10)
    raise AssertionError(f"{len(found)} of {count} requests came")


def answer(page, route, **options):
    """Let a question that waited go on, if anyone still waits for it, and leave time for what should not happen."""
    with contextlib.suppress(Exception):  # playwright refuses to go on with what was given up
        route.continue_(**options)
    page.wait_for_timeout(300)


def test_a_late_answer_does_not_replace_that_of_a_later_choice(molecules, visit):
    page = visit(molecules)
    held = hold(page, "**/explain")
    predict(page, TOLUENE)
    wait_for(page, held, 1)
    page.get_by_role("radio", name="Colors, round by round").check()
    page.get_by_text("each standing for").wait_for()
    answer(page, held[0])
    assert page.locator(".reasons").count() == 0
    assert page.get_by_text("each standing for").count() == 1


def test_of_two_predictions_asked_for_at_once_the_last_is_shown(molecules, visit):
    page = visit(molecules)
    held = hold(page, "**/predict")
    for count, smiles in enumerate(("CCO", "CCN"), 1):
        page.get_by_label("Molecules as SMILES").fill(smiles)
        page.keyboard.press("Control+Enter")
        wait_for(page, held, count)  # given up before it was sent, the first would never come
    answer(page, held[1])
    page.locator("#rows .item", has_text="CCN").wait_for()
    answer(page, held[0])
    assert page.locator("#rows .item").all_inner_texts() == ["CCN"]
    assert page.locator("#busy").inner_text() == ""


def test_an_explanation_that_nobody_sees_any_more_is_given_up(molecules, visit):
    page = visit(molecules)
    held, failed = hold(page, "**/explain"), []
    page.on("requestfailed", lambda request: failed.append(request.post_data_json))
    predict(page, "CCO")
    wait_for(page, held, 1)
    predict(page, "CCN")
    wait_for(page, held, 2)
    wait_for(page, failed, 1)
    assert failed == [{"smiles": "CCO"}]


def test_the_focus_stays_where_an_answer_replaces_what_was_chosen(molecules, visit):
    page = visit(molecules)
    predict(page, TOLUENE)
    page.get_by_label("Explain").focus()
    chosen = page.get_by_label("Explain").input_value()
    key, other = {
        "mutagenic": ("ArrowUp", "not mutagenic"),
        "not mutagenic": ("ArrowDown", "mutagenic"),
    }[chosen]
    page.get_by_label("Explain").press(key)
    page.get_by_text(f"speaks for {other}, blue").wait_for()
    page.locator("select:focus").wait_for()
    assert page.get_by_label("Explain").input_value() == other
    page.get_by_role("button", name="What would change the prediction?").press("Enter")
    page.locator(".change h3").wait_for()
    assert page.evaluate("document.activeElement.className") == "change"


def test_escape_closes_the_list_and_keeps_the_text(nodes, visit):
    page = visit(nodes)
    page.get_by_role("combobox").focus()
    page.keyboard.type("p1")
    page.get_by_role("option").nth(10).wait_for()
    page.keyboard.press("Escape")
    page.wait_for_timeout(300)
    assert page.get_by_role("option").count() == 0
    assert page.get_by_role("combobox").input_value() == "p1"


def test_a_label_with_a_quote_does_not_end_the_quotes_of_the_command(molecules, visit):
    label = "'; echo $HOME '"

    def changed(route):
        told = route.fetch(timeout=PATIENCE).json()
        route.fulfill(json=told | {"smiles": False, "node_labels": [label, label]})

    page = visit(molecules, answers={"**/model": changed})
    page.get_by_text("Use it from a program").click()
    words = shlex.split(page.locator("#shell").inner_text().replace("\\\n", " "))
    assert json.loads(words[words.index("-d") + 1])["graphs"][0]["node_labels"] == [label, label]


def test_molecules_of_a_file_that_cannot_be_read_are_left_out_everywhere(molecules, visit):
    page = visit(molecules)
    page.get_by_role("radio", name="File").check()
    table = f"name,smiles\na,CCO\nb,C((\nc,{TOLUENE}\n"
    page.locator("#file").set_input_files(
        {"name": "mine.csv", "mimeType": "text/csv", "buffer": table.encode()}
    )
    page.get_by_role("heading", name="2 graphs").wait_for()
    told = page.locator("#skipped").inner_text()
    assert told.startswith("1 row could not be read and was left out (counted without a header):")
    assert "row 2, C((: RDKit cannot read it" in told
    page.locator("#rows .item").nth(1).click()
    page.locator(".reasons").nth(1).wait_for()  # of the molecule that is second now
    assert page.locator(".panel .picture svg").nth(1).locator("circle.atom").count() > 3
    page.locator(".panel").nth(1).get_by_role("radio", name="Colors, round by round").check()
    page.get_by_text("each standing for what 2 layers can see").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    head, *rows = csv.reader(download.value.path().read_text().splitlines())
    assert [row[head.index("id")] for row in rows[::2]] == page.locator(
        "#rows .item"
    ).all_inner_texts()
    assert [bool(row[head.index("error")]) for row in rows] == [False, True, False]


def test_a_file_that_has_changed_on_the_disk_is_to_be_chosen_again(molecules, visit, tmp_path):
    page = visit(molecules)
    visit.expected = "ERR_UPLOAD_FILE_CHANGED"
    file = tmp_path / "mine.csv"
    file.write_text("smiles\nCCO\n")
    page.get_by_role("radio", name="File").check()
    page.locator("#file").set_input_files(str(file))
    page.get_by_role("heading", name="1 graph").wait_for()
    page.locator(".reasons").wait_for()
    file.write_text("smiles\nCCO\nCCN\n")
    os.utime(file, (0, 0))  # another time than before, whatever the clock says
    page.get_by_role("radio", name="Colors, round by round").check()
    page.locator(".panel .alert").wait_for()
    page.get_by_role("button", name="Predict").click()
    page.locator("#problem").wait_for()
    words = "mine.csv has changed since it was chosen; choose it again."
    assert [
        page.locator("#problem").inner_text(),
        page.locator(".panel .alert").text_content(),
    ] == [words, words]
    page.locator("#file").set_input_files(str(file))
    page.get_by_role("heading", name="2 graphs").wait_for()


def test_the_table_is_prepared_once_however_often_it_is_asked_for(molecules, visit):
    page = visit(molecules)
    predict(page, "CCO")
    held = hold(page, "**/predict?format=csv")
    button = page.get_by_role("button", name="Download CSV")
    button.press("Enter")
    page.get_by_role("button", name="Preparing…", disabled=True).wait_for()
    for _ in range(2):
        page.locator("#csv").evaluate("button => button.click()")
    wait_for(page, held, 1)
    with page.expect_download():
        answer(page, held[0])
    button.wait_for()
    assert len(held) == 1
    assert button.is_enabled()
    page.locator("#csv:focus").wait_for()


def answers_of_labels(route):
    """Predictions of several labels, in the place of the model's own."""
    rows = {"CC": ([0, 0], [0.2, 0.43]), "CCO": ([1, 1], [0.9, 0.7])}
    told = {"uncertainty": {"std": [0.01, 0.02]}, "familiarity": None, "unseen_labels": 0}
    found = [
        {"id": name, "prediction": row, "probabilities": shares} | told
        for name, (row, shares) in rows.items()
    ]
    route.fulfill(
        json={
            "task": "labels",
            "classes": ["toxic", "soluble"],
            "predictions": found,
            "skipped": [],
        }
    )


def of_labels(route):
    told = route.fetch(timeout=PATIENCE).json()
    route.fulfill(json=told | {"task": "labels", "classes": ["toxic", "soluble"]})


def test_a_probability_of_one_of_several_labels_names_it(molecules, visit):
    page = visit(molecules, answers={"**/model": of_labels, "**/predict": answers_of_labels})
    predict(page, "CC", "CCO")
    rows = page.locator("#rows > tr:not(.detail)")
    assert rows.nth(0).locator("td").all_inner_texts()[:3] == [
        "none",
        "43 % for soluble",
        "± 2.0 %",
    ]
    assert rows.nth(1).locator("td").all_inner_texts()[:3] == [
        "toxic, soluble",
        "90 % for toxic",
        "± 1.0 %",
    ]


WIDE = """<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="300" viewBox="0 0 1000 300" font-size="10">
<text x="10" y="20">far left</text><circle cx="700" cy="150" r="9" class="explained"/></svg>"""


def with_wide_pictures(route):
    told = route.fetch(timeout=PATIENCE).json()
    change = {
        "words": ["so"],
        "prediction": "x",
        "probabilities": None,
        "smallest": True,
        "pictures": [WIDE, WIDE],
    }
    searched = route.request.post_data_json.get("counter_example")
    route.fulfill(json=told | {"picture": WIDE, "counter_example": change if searched else None})


@pytest.mark.parametrize("width", [390, 1280])
def test_a_wide_picture_is_scrolled_and_not_made_too_small_to_read(molecules, visit, width):
    page = visit(
        molecules, answers={"**/explain": with_wide_pictures}, viewport=PHONE | {"width": width}
    )
    predict(page, "CCO")
    page.get_by_role("button", name="What would change the prediction?").click()
    page.locator(".pair").wait_for()
    page.locator(".picture[tabindex='0']").nth(2).wait_for()
    assert page.locator(".picture").count() == 3
    for place in range(3):
        picture = page.locator(".picture").nth(place)
        assert picture.locator("svg").bounding_box()["width"] >= 899
        outer, node = picture.bounding_box(), picture.locator(".explained").bounding_box()
        assert outer["x"] < node["x"] < node["x"] + node["width"] < outer["x"] + outer["width"]
    first, second = (page.locator(".pair .picture").nth(place).bounding_box() for place in range(2))
    assert second["y"] >= first["y"] + first["height"]  # one below the other
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def paste(page, text):
    """Paste into the field that names are searched in."""
    page.get_by_role("combobox").evaluate(
        """(field, text) => { const moved = new DataTransfer(); moved.setData('text/plain', text); field.focus();
        field.dispatchEvent(new ClipboardEvent('paste', {clipboardData: moved, bubbles: true, cancelable: true})); }""",
        text,
    )


def test_a_list_of_names_is_pasted(nodes, visit):
    page = visit(nodes)
    held = hold(page, "**/names?*search=p3")
    paste(page, "p3\n\n p12 \r\nnobody\nP4, p5,p3\nno one\n")
    wait_for(page, held, 1)
    page.get_by_text("Looking up 5 names…").wait_for()
    page.get_by_role("button", name="Predict").click()  # which waits for the names
    answer(page, held[0])
    wait_for(page, held, 2)
    answer(page, held[1])
    page.get_by_role("heading", name="4 nodes").wait_for()
    assert page.locator("#chosen li span").all_inner_texts() == ["p3", "p12", "p4", "p5"]
    assert page.locator("#problem").inner_text() == "2 names are not in people: nobody, no one."
    assert page.locator("#search").input_value() == ""


def test_names_are_written_with_commas(nodes, visit):
    page = visit(nodes)
    field = page.get_by_role("combobox")
    field.fill("p3,p4, nobody")
    page.get_by_text("No match as a whole; press Enter").wait_for()
    field.press("Enter")
    page.locator("#problem").wait_for()
    assert page.locator("#problem").inner_text() == "No node of people is called nobody."
    assert page.locator("#chosen li span").all_inner_texts() == ["p3", "p4"]
    assert field.input_value() == "nobody"  # to be corrected
    field.fill("p29")
    page.get_by_role("option").wait_for()
    field.press("Escape")
    page.get_by_role("button", name="Predict").click()  # takes what stands there, too
    page.get_by_role("heading", name="3 nodes").wait_for()
    assert page.locator("#chosen li span").all_inner_texts() == ["p3", "p4", "p29"]


def test_a_search_without_a_match_says_so(nodes, visit):
    page = visit(nodes)
    field, note = page.get_by_role("combobox"), page.locator("#match")
    field.fill("zzz")
    note.get_by_text("No match", exact=True).wait_for()
    field.press("Enter")
    page.locator("#problem").wait_for()
    assert page.locator("#problem").inner_text() == "No node of people is called zzz."
    field.fill("p1")
    page.get_by_role("option").nth(3).wait_for()
    assert note.inner_text() == ""
    assert page.locator("#problem").is_hidden()


def test_a_name_of_several_nodes_is_not_guessed(nodes, visit):
    def same(route):
        route.fulfill(
            json={
                "source": "people",
                "total": 2,
                "names": ["a/1", "a/2"],
                "texts": ["Anna", "anna"],
            }
        )

    page = visit(nodes, answers={"**/names?*": same})
    paste(page, "Anna\na/2\n")
    page.locator("#problem").wait_for()
    assert (
        page.locator("#problem").inner_text()
        == "Several nodes are called so, choose from the list: Anna."
    )
    assert page.locator("#chosen li").all_inner_texts() == ["anna\n×"]


def test_many_names_are_not_all_shown(nodes, visit):
    def any_name(route):
        name = parse_qs(urlsplit(route.request.url).query, keep_blank_values=True)["search"][0]
        route.fulfill(json={"source": "people", "total": 1, "names": [name], "texts": [name]})

    page = visit(nodes, answers={"**/names?*": any_name})
    paste(page, "\n".join(f"n{n}" for n in range(50)))
    page.get_by_text("and 10 more").wait_for()
    assert page.locator("#chosen li").count() == 41
    page.get_by_role("button", name="Remove all").click()
    assert page.locator("#chosen li").count() == 0


def test_cells_have_their_head_beside_them_on_a_phone(molecules, visit):
    page = visit(molecules, viewport=PHONE)
    predict(page, "CCO", "CCN")
    heads = page.locator("#rows > tr").first.locator("td")
    labels = heads.evaluate_all(
        "cells => cells.map((cell) => getComputedStyle(cell, '::before').content)"
    )
    assert labels == ['"Prediction"', '"Probability"', '"Uncertainty"', '"Like the training data?"']
    page.get_by_role("button", name="Uncertainty").click()  # rows are sorted here as well
    assert page.locator("#columns th").nth(3).get_attribute("aria-sort") == "descending"


def test_rows_are_sorted_by_column(molecules, visit):
    smiles = ["C" * n for n in range(1, 9)] + [TOLUENE, "c1ccccc1"]
    page = visit(molecules)
    with page.expect_response("**/predict") as found:
        predict(page, *smiles)
    rows = {row["id"]: row for row in found.value.json()["predictions"]}
    classes, shown = found.value.json()["classes"], page.locator("#rows .item")

    def place(row):
        return classes.index(row["prediction"])

    keys = {
        "Probability": lambda row: row["probabilities"][place(row)],
        "Uncertainty": lambda row: row["uncertainty"]["std"][place(row)],
        "Like the training data?": lambda row: 1 - row["familiarity"]["seen_share"][-1],
    }
    for name, key in keys.items():
        head = page.locator("#columns th", has=page.get_by_role("button", name=name))
        for order in ("descending", "ascending"):
            page.get_by_role("button", name=name).click()
            assert page.locator("#columns th[aria-sort]").count() == 1
            assert head.get_attribute("aria-sort") == order
            assert page.locator("#status").inner_text() == f"Sorted by {name}, {order}"
            expected = sorted(
                smiles, key=lambda one, key=key: key(rows[one]), reverse=order == "descending"
            )
            assert shown.all_inner_texts() == expected
    page.get_by_role("button", name="Like the training data?").press("Enter")
    assert page.locator("#columns th[aria-sort]").count() == 0
    assert shown.all_inner_texts() == smiles  # as they were given
    page.get_by_role("button", name="Uncertainty").click()
    shown.nth(2).click()
    page.locator(".reasons").wait_for()  # of the row that was clicked
    chosen = shown.nth(2).inner_text()
    assert page.locator(".bars").first.inner_text().count("%") == 4
    assert chosen == sorted(smiles, key=lambda one: keys["Uncertainty"](rows[one]), reverse=True)[2]
