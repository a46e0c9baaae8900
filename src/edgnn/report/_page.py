"""The page around the sections: head, style, footer; written all or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import edgnn
from edgnn._files import Path_, atomic_file
from edgnn.report._data import data_block
from edgnn.report._html import Html, markup, tag
from edgnn.report._script import SCRIPT, SCRIPT_HASH
from edgnn.report._style import STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_SCRIPTED = f"{_POLICY}; script-src '{SCRIPT_HASH}'"


def write_page(
    path: Path_,
    title: str,
    lead: str,
    body: Sequence[Html],
    data: Mapping[str, Any],
    *,
    wide: bool = False,
) -> None:
    """Write a page that needs nothing but itself.

    Parameters
    ----------
    path : path
        The file; the folder it lies in must exist.
    title, lead : str
        The heading, and the line under it.
    body : sequence of Html
        The sections.
    data : mapping
        The numbers, to be read by machines.
    wide : bool
        Whether it has wide tables, which readers may sort: more room, and the script for that.
    """
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_SCRIPTED if wide else _POLICY}">
<title>{markup(title)}</title>
<style>{STYLE}</style></head>
<body>{tag("a", "Skip to the results", href="#results", class_="skip")}
<main{' class="whole"' if wide else ""}>
<header>{tag("h1", title)}{tag("p", lead, class_="lead")}</header>
<div id="results" tabindex="-1">
{markup(*(part for section in body for part in (section, Html(chr(10)))))}\
</div>
<footer>Written by edgnn {markup(edgnn.__version__)}. The page is complete in itself: nothing is loaded from elsewhere, and its
numbers are inside it as JSON (<code>edgnn.report.read_report</code>).</footer>
</main>
{data_block({"edgnn": edgnn.__version__, "title": title, **data})}
{f'<p id="told" class="unseen" role="status"></p><script>{SCRIPT}</script>' if wide else ""}
</body></html>
"""
    with atomic_file(path) as stream:
        stream.write(text.encode(errors="backslashreplace"))
