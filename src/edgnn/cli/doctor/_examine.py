"""The whole examination, group by group."""

from __future__ import annotations

from collections.abc import Iterator

from edgnn.cli.doctor._finding import Finding
from edgnn.cli.doctor._machine import machine
from edgnn.cli.doctor._packages import Package, packages


def examine(*, self_test: bool = True) -> Iterator[Finding]:
    """Look at everything; findings come as they are made.

    Parameters
    ----------
    self_test : bool
        Also try the core, which takes a few seconds.
    """
    yield from _installed()
    torch_works = True
    for finding in machine():
        torch_works = torch_works and finding.state != "failed"
        yield finding
    if not torch_works:
        return
    from edgnn.cli.doctor._places import places

    yield from places()
    if self_test:
        from edgnn.cli.doctor._self_test import self_test as tried

        yield from tried()


def works(findings: list[Finding]) -> bool:
    """Return whether nothing that the core needs has failed."""
    return all(finding.state != "failed" for finding in findings)


def _installed() -> Iterator[Finding]:
    from edgnn import __version__

    found = packages()
    yield Finding(
        "installed",
        "edgnn",
        "ok",
        __version__ if found else f"{__version__}, from source files that are not installed",
    )
    core = [package for package in found if package.extra is None]
    if core:
        told = ", ".join(f"{package.name} {package.version}" for package in core if package.fits)
        yield Finding("installed", "core", "ok", told)
    for package in core:
        if not package.fits:
            yield Finding("installed", package.name, "failed", _lacking(package), package.command)
    for extra in dict.fromkeys(package.extra for package in found if package.extra is not None):
        yield _of_extra(extra, [package for package in found if package.extra == extra])


def _of_extra(extra: str, found: list[Package]) -> Finding:
    lacking = [package for package in found if not package.fits]
    if not lacking:
        return Finding(
            "installed",
            extra,
            "ok",
            ", ".join(f"{package.name} {package.version}" for package in found),
        )
    old = any(package.version is not None for package in lacking)
    told = ", ".join(map(_lacking, lacking))
    return Finding("installed", extra, "warning" if old else "absent", told, lacking[0].command)


def _lacking(package: Package) -> str:
    if package.version is None:
        return f"{package.name} is not installed"
    return f"{package.name} {package.version} is installed, {package.needed} is needed"
