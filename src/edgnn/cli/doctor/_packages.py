"""What is installed beside edgnn, read from the packages' own records; nothing is imported for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

_REQUIREMENT = re.compile(r"""([\w.-]+)\s*([^;]*?)\s*(?:;.*extra\s*==\s*["']([\w-]+)["'].*)?""")
_FOR_DEVELOPERS = ("all", "bench", "dev", "docs")
_CUDA = re.compile(r"""^cuda\b[^=]*=\s*["']([\d.]+)["']""", re.MULTILINE)


@dataclass(frozen=True)
class Package:
    """A package that edgnn needs, or that one of its extras brings.

    Attributes
    ----------
    name : str
        As pip calls it.
    needed : str
        The versions that will do, such as ``>=2.0``.
    extra : str or None
        What brings it; ``None`` for the core.
    version : str or None
        What is installed.
    """

    name: str
    needed: str
    extra: str | None
    version: str | None

    @property
    def fits(self) -> bool:
        """Whether it is there, in a version that will do."""
        if self.version is None:
            return False
        least = re.search(r">=\s*([\d.]+)", self.needed)
        return least is None or _numbers(self.version) >= _numbers(least[1])

    @property
    def command(self) -> str:
        """What installs it."""
        return (
            f"pip install '{self.name}{self.needed}'"
            if self.extra is None
            else f"pip install 'edgnn[{self.extra}]'"
        )


def packages() -> list[Package]:
    """Return the packages of the core, then those of the extras for users, as edgnn's own record lists them.

    The list is empty where edgnn runs from its source files without being installed.
    """
    try:
        lines = requires("edgnn") or []
    except PackageNotFoundError:
        return []
    found = []
    for line in lines:
        parts = _REQUIREMENT.fullmatch(line)
        if parts is None or parts[1] == "edgnn" or parts[3] in _FOR_DEVELOPERS:
            continue
        found.append(Package(parts[1], parts[2], parts[3], version_of(parts[1])))
    return found


def version_of(package: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cuda_of_torch() -> str | None:
    """Return the version of CUDA that the installed torch was built for, without importing it."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        told = _CUDA.search(Path(spec.origin).with_name("version.py").read_text(encoding="utf-8"))
    except OSError:
        return None
    return None if told is None else told[1]


def _numbers(text: str) -> tuple[int, ...]:
    start = re.match(r"\d+(?:\.\d+)*", text)
    return () if start is None else tuple(map(int, start[0].split(".")))
