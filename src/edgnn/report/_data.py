"""The numbers of a page as JSON inside it, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgnn._files import Path_
from edgnn._json import plain
from edgnn.errors import FormatError
from edgnn.evaluation import Evaluation
from edgnn.report._html import Html

_OPEN, _CLOSE = '<script type="application/json" id="edgnn-data">', "</script>"
_FORMAT = 1

#: An evaluation whose JSON is longer leaves out what is said about single items.
MOST = 400_000


def data_block(values: Mapping[str, Any]) -> Html:
    """Return the element that holds ``values``; nothing in them can end it."""
    text = json.dumps(plain({"format": _FORMAT, **values}), allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f"{_OPEN}{text}{_CLOSE}")


def evaluation_values(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as plain values, and whether they are ``complete``: items, predictions and all."""
    values = evaluation.to_dict()
    if len(json.dumps(values, separators=(",", ":"))) <= MOST:
        return {"complete": True, "evaluation": values}
    del values["truth"]
    for split in values["splits"]:
        for name in ("train", "valid", "test", "prediction", "probability"):
            del split[name]
    return {"complete": False, "evaluation": values}


def read_report(path: Path_) -> dict[str, Any]:
    """Return the data of a page that this package has written.

    Of an evaluation, ``"evaluation"`` is what :meth:`edgnn.evaluation.Evaluation.from_dict` reads
    if ``"complete"`` is true.

    Parameters
    ----------
    path : path
        The page.
    """
    _, found, rest = Path(path).read_bytes().decode(errors="replace").partition(_OPEN)
    text, ended, _ = rest.partition(_CLOSE)
    if not found or not ended:
        raise FormatError(path, "this is no page that edgnn has written: it holds no data")
    try:
        values = json.loads(text)
    except ValueError as error:
        raise FormatError(path, f"the data in this page is damaged ({error})") from None
    if not isinstance(values, dict) or values.get("format") != _FORMAT:
        raise FormatError(
            path,
            f"the data in this page is not of format {_FORMAT}; update edgnn, or write the page again",
        )
    return values
