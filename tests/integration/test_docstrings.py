"""The examples of docstrings print what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import edgnn
from edgnn.errors import MissingDependencyError

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules_with_examples() -> list[str]:
    """Search the text, so that collecting imports nothing."""
    (root,) = edgnn.__path__
    names = []
    for path in sorted(Path(root).rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(root).with_suffix("").parts
            names.append(".".join(("edgnn", *parts)).removesuffix(".__init__"))
    return names


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_a_module_print_what_they_show(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    docstrings = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
    docstrings = [docstring for docstring in docstrings if docstring.examples]
    assert docstrings, f"{name} has an example that no docstring holds"
    for docstring in docstrings:
        run(docstring)


def run(docstring: doctest.DocTest) -> None:
    try:
        doctest.DebugRunner(optionflags=OPTIONS, verbose=False).run(docstring)
    except doctest.DocTestFailure as failure:
        expected = f"{failure.example.source}expected\n{failure.example.want}"
        pytest.fail(f"{docstring.name}: {expected}printed\n{failure.got}", pytrace=False)
    except doctest.UnexpectedException as failure:
        error = failure.exc_info[1]
        if isinstance(error, MissingDependencyError):
            pytest.skip(str(error))
        raise error from None
