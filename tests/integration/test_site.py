import importlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import edgnn

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ROOMS = [
    *(name for name in edgnn.__all__ if name not in edgnn._HOME and not name.startswith("_")),
]
LOADED = {
    "script": "src",
    "img": "src",
    "source": "src",
    "iframe": "src",
    "video": "src",
    "object": "data",
    "embed": "src",
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),  # the first test of a process builds the site
    pytest.mark.skipif(find_spec("myst_nb") is None, reason="the extra 'docs' is not installed"),
]


class Page(HTMLParser):
    """What one page of the site names: anchors of its own, links, and what a browser would load."""

    def __init__(self, path):
        super().__init__()
        self.path, self.ids, self.links, self.loads = path, set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") not in (
            "index",
            "search",
            "next",
            "prev",
            "canonical",
        ):
            self.loads.append(given["href"])
        if given.get(LOADED.get(tag, "")):
            self.loads.append(given[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "html"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-n",
        "-q",
        "-b",
        "html",
        str(DOCS),
        str(out),
    ]
    built = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr[-5000:]
    assert not built.stderr.strip()
    return out


@pytest.fixture(scope="module")
def pages(site):
    return {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_page_of_the_folder_can_be_reached_from_the_menu(site, pages):
    menu = {urldefrag(link)[0] for link in pages["index.html"].links}
    inner = {f"api/{urldefrag(link)[0]}" for link in pages["api/index.html"].links}
    sources = [path for kind in ("*.md", "*.rst", "*.ipynb") for path in DOCS.rglob(kind)]
    for path in sources:
        name = path.relative_to(DOCS).with_suffix(".html").as_posix()
        if not name.startswith("_") and name != "index.html":
            assert name in menu | inner, f"{path.name} is in no toctree"


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for page in pages.values():
        for address in page.loads:
            assert not re.match(r"([a-z]+:)?//", address), f"{page.path.name} loads {address}"
    for path in site.rglob("*.css"):
        for address in re.findall(
            r"url\(\s*[\"']?([^)\"']+)|@import\s+[\"']([^\"']+)", path.read_text(encoding="utf-8")
        ):
            assert not re.match(r"(https?:)?//", "".join(address)), f"{path.name} loads {address}"


@pytest.mark.parametrize("room", ROOMS)
def test_the_reference_has_every_public_name(room, pages):
    anchors = pages[f"api/{room}.html"].ids
    module = importlib.import_module(f"edgnn.{room}")
    for name in module.__all__:
        value = getattr(module, name)
        anchor = (
            f"module-edgnn.{room}.{name}"
            if isinstance(value, type(edgnn))
            else f"edgnn.{room}.{name}"
        )
        assert anchor in anchors, f"edgnn.{room}.{name} is not in the reference"


def test_the_reference_lists_what_the_package_itself_offers(pages):
    targets = {unquote(link) for link in pages["api/index.html"].links}
    for name, home in edgnn._HOME.items():
        assert f"{home}.html#edgnn.{home}.{name}" in targets
    for room in ROOMS:
        assert f"{room}.html" in targets


def test_the_reference_shows_formulas_and_shapes(site):
    text = (site / "api" / "nn.html").read_text(encoding="utf-8")
    assert "<math" in text
    assert "Shapes" in text
    assert "MathJax" not in text


def test_links_and_anchors_within_the_site_lead_somewhere(site, pages):
    broken = []
    for name, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            address, anchor = urldefrag(unquote(link))
            path = (page.path.parent / address).resolve() if address else page.path
            known = pages.get(path.relative_to(site.resolve()).as_posix())
            if not path.exists() or (anchor and known and anchor not in known.ids):
                broken.append(f"{name}: {link}")
    assert not broken
