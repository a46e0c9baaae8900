"""A real Chromium, and pages opened in it that may do nothing but be there."""

import os
import shutil

import pytest

from edgnn.report import write_study_report
from study_pages import make_study

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE = 100_000  # milliseconds, for machines that do much else


def missing(what):
    """Skip where a browser cannot be driven; in CI, where one must be, fail."""
    pytest.fail(what) if os.environ.get("CI") else pytest.skip(what)


@pytest.fixture(scope="session")
def browser():
    """One browser per process."""
    place = next((found for found in map(shutil.which, _NAMES) if found), None)
    if place is None:
        missing(f"there is no browser ({', '.join(_NAMES)}); on Debian: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed; pip install -c constraints.txt -e '.[dev]'")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=place, args=["--no-sandbox"], timeout=_PATIENCE
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def study_page(tmp_path_factory):
    """The page of a small study."""
    study = make_study(tmp_path_factory.mktemp("studies") / "study", runs=3)
    return write_study_report(study.path)


@pytest.fixture
def visit(browser):
    """Open a file; at the end of the test there must have been no complaint and no request to anywhere else."""
    contexts, complaints, asked, requests = [], [], [], []

    def open_page(path, **options):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        context.set_default_timeout(_PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        asked.append(path.resolve().as_uri())
        page.goto(asked[-1])
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert requests == asked
