"""Rules of docs/architecture.md that import-linter cannot state.

Its contract "protected" would need each package listed with its public modules, and passes over imports for
type checkers; reading the source needs neither.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import edgnn
from edgnn.registry import LAYERS

(ROOT,) = map(Path, edgnn.__path__)
TESTS = Path(__file__).resolve().parents[1]
BENCHMARKS = TESTS.parent / "benchmarks"
SOURCES = sorted(ROOT.rglob("*.py"))
#: Tests go through public APIs; private modules are for kernels and parsers that nothing public reaches.
PRIVATE_IMPORTS_IN_TESTS = 60
#: Two layers side by side may be one model's options; three are a table of what layers are.
LAYERS_OF_A_TABLE = 3


def package_of(path: Path) -> str:
    """Return the package a source file belongs to; modules beside the packages belong to themselves."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def is_private(module: str) -> bool:
    """Return whether a module lies inside a package and is private: ``edgnn.wl._refine``."""
    top, *inner = module.split(".")
    return top == "edgnn" and any(word.startswith("_") for word in inner[1:])


def private_imports(path: Path) -> Iterator[tuple[int, str]]:
    """List the statements of a file that import private modules: line and module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        private = [module for module in modules if is_private(module)]
        if private:
            yield node.lineno, private[0]


def test_no_package_imports_a_private_module_of_another():
    reaching = [
        f"{path.relative_to(ROOT)}:{line}: {module}"
        for path in SOURCES
        for line, module in private_imports(path)
        if module.split(".")[1] != package_of(path)
    ]
    message = "\n".join(["export these in the __init__.py of their package:", *reaching])
    assert not reaching, message


def test_benchmarks_import_no_private_module_of_a_package():
    sources = sorted(BENCHMARKS.rglob("*.py"))
    assert sources
    private = [
        f"{path.name}:{line}: {module}"
        for path in sources
        for line, module in private_imports(path)
    ]
    assert not private, "\n".join(private)


def test_tests_hardly_import_private_modules():
    private = [
        f"{path.relative_to(TESTS)}:{line}: {module}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != TESTS / "golden" / "make.py"  # ran with the code before, and never again
        for line, module in private_imports(path)
    ]
    assert len(private) <= PRIVATE_IMPORTS_IN_TESTS, "\n".join(private)


def layer_tables(path: Path) -> Iterator[int]:
    """List the lines of collections that name several layers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            entries = node.keys
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            entries = node.elts
        else:
            continue
        names = {entry.value for entry in entries if isinstance(entry, ast.Constant)}
        if len(names & set(LAYERS)) >= LAYERS_OF_A_TABLE:
            yield node.lineno


def test_what_layers_are_is_said_by_the_layers():
    tables = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCES
        if package_of(path) not in ("nn", "registry")
        for line in layer_tables(path)
    ]
    assert not tables, "\n".join(tables)
