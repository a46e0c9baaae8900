"""Pages of HTML, each complete in itself: filled templates, with the numbers inside as JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import edgnn
from edgnn._files import Path_, atomic_file, read_file
from edgnn._json import parsed, plain
from edgnn.errors import EdgnnError, FormatError
from edgnn.evaluation import Evaluation

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"
_OPEN, _CLOSE = '<script type="application/json" id="edgnn-data">', "</script>"
_FORMAT = 1
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

#: JSON of an evaluation that is longer leaves out the predictions of single items.
MOST = 400_000

#: The style of the pages: one column, light or dark as the reader's system, on phones and on paper.
STYLE = (_TEMPLATES / "style.css").read_text(encoding="utf-8")


class ReportError(EdgnnError, ValueError):
    """What a report is to be made of does not fit together."""


def write_page(
    path: Path_, template: str, title: str, lead: str, data: Mapping[str, Any], **view: Any
) -> None:
    """Write a page that needs nothing but itself.

    Parameters
    ----------
    path : path
        The file; the folder it lies in must exist.
    template : str
        Which page, such as ``"study.html"``.
    title, lead : str
        The heading, and the line under it.
    data : mapping
        The numbers, for programs to read.
    **view
        What the template shows.
    """
    text = render(
        template,
        title=title,
        lead=lead,
        data=_data_block({"edgnn": edgnn.__version__, "title": title, **data}),
        version=edgnn.__version__,
        **view,
    )
    with atomic_file(path) as stream:
        stream.write(text.encode(errors="backslashreplace"))


def render(template: str, **view: Any) -> str:
    """Return a filled template."""
    return _environment().get_template(template).render(**view)


def read_report(path: Path_) -> dict[str, Any]:
    """Return the data of a page that this package has written.

    Of an evaluation, ``"evaluation"`` is what :meth:`edgnn.evaluation.Evaluation.from_dict` reads
    if ``"complete"`` is true.

    Parameters
    ----------
    path : path
        The page.
    """
    _, start, rest = read_file(path).decode(errors="replace").partition(_OPEN)
    text, end, _ = rest.partition(_CLOSE)
    if not start or not end:
        raise FormatError(path, "this is no page that edgnn has written: it holds no data")
    try:
        values = parsed(text)
    except ValueError as error:
        raise FormatError(path, f"the data in this page is damaged ({error})") from None
    if not isinstance(values, dict) or values.get("format") != _FORMAT:
        raise FormatError(
            path,
            f"the data in this page is not of format {_FORMAT}; update edgnn, "
            "or write the page again",
        )
    return values


def evaluation_values(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as plain values, and whether they are ``complete``."""
    values = evaluation.to_dict()
    if len(json.dumps(values, separators=(",", ":"))) <= MOST:
        return {"complete": True, "evaluation": values}
    del values["truth"]
    for split in values["splits"]:
        for name in ("train", "valid", "test", "prediction", "probability"):
            del split[name]
    return {"complete": False, "evaluation": values}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_control_characters,
    )
    script = (_TEMPLATES / "script.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # The policy names the hash of the script, so that a browser runs it and no other.
    environment.globals |= {
        "style": STYLE,
        "script": script,
        "script_hash": f"sha256-{digest}",
    }
    return environment


def _without_control_characters(value: Any) -> Any:
    # Markup that a template declared safe is of a subclass, and stays as it is.
    return _CONTROL.sub("\ufffd", value) if type(value) is str else value


def _data_block(values: Mapping[str, Any]) -> str:
    """Return the element that holds ``values``; nothing in them can end it."""
    text = json.dumps(plain({"format": _FORMAT, **values}), allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f"{_OPEN}{text}{_CLOSE}"
