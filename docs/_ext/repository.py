"""Links that work on the repository's page and in the site: what lies outside ``docs/`` gets a place inside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

#: Pages of the repository that are pages of the site under another name.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
}
TAKEN_OVER = {site: page for page, site in PAGES.items() if site != "index.md"}
LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\]\n]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)"
)

HEADING = re.compile(r"^#+ .*$", re.M)


def in_site(text: str, folder: Path, docs: Path) -> str:
    """Point the links of a page that lies in ``folder`` at what the site, built from ``docs``, has in their place.

    Headings lose their links, which a table of contents could not show. A link that shows the name of a file shows its title.
    """

    def moved(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if ":" in target:
            return match[0]
        path = (folder / target).resolve()
        if not path.exists() or path.is_dir():
            return match["text"] if path.is_dir() else match[0]
        name = path.relative_to(docs.parent).as_posix()
        place = PAGES.get(
            name, name.removeprefix("docs/") if name.startswith("docs/") else f"../{name}"
        )
        text = (
            ""
            if place.endswith(".md") and match["text"].endswith(target.rpartition("/")[2])
            else match["text"]
        )
        return f"{match['image']}[{text}]({place}{anchor})"

    return LINK.sub(moved, HEADING.sub(lambda heading: LINK.sub(r"\g<text>", heading[0]), text))


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Change the text of a top-level page when Sphinx reads it; a page that is taken over has the repository's text."""
    docs = Path(app.srcdir)
    path = Path(app.env.doc2path(page))
    if path.suffix != ".md" or path.parent != docs:
        return
    original = docs.parent / TAKEN_OVER.get(path.name, f"docs/{path.name}")
    if original != path:
        app.env.note_dependency(str(original))
        source[0] = original.read_text(encoding="utf-8")
    source[0] = in_site(source[0], original.parent, docs)


def setup(app: Sphinx) -> dict[str, Any]:
    """Read every page through :func:`read`."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
