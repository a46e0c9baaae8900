"""``edgnn --version``: the version, and what it runs on; quick, as nothing is imported to know it."""

from __future__ import annotations

import platform

import typer

_CORE = ("numpy", "scipy", "scikit-learn", "safetensors", "typer", "rich")


def print_version(wanted: bool) -> None:
    """Print the version and a short block about the environment, where ``--version`` asks for it."""
    if wanted:
        typer.echo("\n".join(version_lines()))
        raise typer.Exit


def version_lines() -> list[str]:
    """Return the lines of ``edgnn --version``."""
    from edgnn import __version__
    from edgnn.cli.doctor._packages import cuda_of_torch, packages, version_of

    cuda = cuda_of_torch()
    core = ", ".join(f"{name} {version_of(name) or 'not installed'}" for name in _CORE)
    extras = [package for package in packages() if package.extra is not None]
    there = ", ".join(
        f"{package.name} {package.version}" for package in extras if package.version is not None
    )
    absent = ", ".join(
        sorted({str(package.extra) for package in extras if package.version is None})
    )
    return [
        f"edgnn {__version__}",
        f"python    {platform.python_version()} ({platform.python_implementation()}), {platform.system()} {platform.machine()}",
        f"torch     {version_of('torch') or 'not installed'}, built {'without CUDA' if cuda is None else f'for CUDA {cuda}'}",
        f"core      {core}",
        f"extras    {there or 'none'}" + (f"; not installed: {absent}" if absent else ""),
    ]
