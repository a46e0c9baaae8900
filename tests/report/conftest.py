"""Pages as a browser reads them, and the check that they need nothing else."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest


class Page(HTMLParser):
    """Reads a page, insisting that every element is closed where it should be."""

    def __init__(self, path):
        super().__init__()
        self.open, self.elements, self.texts, self.scripts = [], [], [], []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self.open == []
        self.text = re.sub(r"\s+", " ", " ".join(self.texts))

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] in ("script", "style") else self.texts).append(
            data
        )

    def attributes(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def check_alone(page):
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert scripts[0] == {"type": "application/json", "id": "edgnn-data"}
    assert scripts[1:] in ([], [{}])
    policy = next(
        attributes["content"]
        for attributes in page.attributes("meta")
        if "http-equiv" in attributes
    )
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    if len(scripts) == 2:
        digest = base64.b64encode(hashlib.sha256(page.scripts[-1].encode()).digest()).decode()
        assert policy.endswith(f"; script-src 'sha256-{digest}'")
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & {
        tag for tag, _ in page.elements
    }
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "action", "data")
            assert name != "href" or tag == "a"
            assert "://" not in (value or "") or name == "xmlns"
            assert "url(" not in (value or "")
    style = "".join(page.scripts)
    assert "@import" not in style
    assert "url(" not in style
    check_named(page)


def check_named(page):
    for attributes in page.attributes("svg"):
        assert attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
    for attributes in page.attributes("th"):
        assert attributes.get("scope") in ("row", "col", "colgroup", "rowgroup")
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.fixture
def page_of():
    """Read a page: well-formed, and complete in itself."""

    def read(path):
        page = Page(path)
        check_alone(page)
        return page

    return read
