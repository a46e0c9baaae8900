"""What is wrong with a request, in one sentence: of molecules and names in plain words, of all else where and what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError

from edgnn._words import short

_LISTS = {
    "smiles": "SMILES {place}",
    "nodes": "entry {place} of nodes",
    "examples": "entry {place} of examples",
}
_SINGLE = {
    "smiles": "the SMILES",
    "node": "the node",
    "example": "the example",
    "target": "the target",
    "nodes": "the list of nodes",
}


def sentence_of(error: RequestValidationError) -> str:
    """Return the first thing that is wrong with a request: the element, and what is asked there."""
    first: Mapping[str, Any] = error.errors()[0]
    if tuple(first["loc"]) == ("body",) and first["type"] != "value_error":
        return (
            "the body is no JSON object; send one, with the header Content-Type: application/json"
        )
    plain = _plain(first)
    if plain is not None:
        return plain
    where = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]
    ).lstrip(".")
    more = len(error.errors()) - 1
    told = f" (and {more} more)" if more else ""
    return f"{where[:200]}: {str(first['msg']).removeprefix('Value error, ')}{told}; see /openapi.json for what is asked"


def _plain(problem: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the length of a text; ``None`` of all else."""
    element, given = _element(problem["loc"]), problem.get("input")
    if element is None or not isinstance(given, str):
        return None
    if problem["type"] == "string_too_short":
        return (
            f"{element} is empty; write it{', or leave it out' if len(problem['loc']) > 2 else ''}"
        )
    if problem["type"] == "string_too_long":
        most, advice = (
            problem["ctx"]["max_length"],
            "; leave it out" if len(problem["loc"]) > 2 else "",
        )
        return f"{element} ({short(given, 20)}) has {len(given):,} characters, but {most:,} are the most{advice}"
    return None


def _element(place: tuple[Any, ...]) -> str | None:
    """Return what people call a part of a request."""
    match place:
        case ("body", str(name)):
            return _SINGLE.get(name)
        case ("body", str(name), int(number)) if name in _LISTS:
            return _LISTS[name].format(place=number)
    return None
