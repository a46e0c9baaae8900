"""``edgnn doctor``: what is installed, where data is looked for, and whether it works."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgnn.cli._datasets import Json
from edgnn.errors import EdgnnError

if TYPE_CHECKING:
    from edgnn.cli.doctor._finding import Finding

_TITLES = {
    "installed": "Installed",
    "machine": "Machine",
    "data": "Data, in the order it is looked for",
    "self-test": "Self-test",
}
_STYLES = {"ok": "green", "absent": "dim", "warning": "yellow", "failed": "bold red"}
_NAMES = 15
_LONGEST = 1000


def doctor(
    self_test: Annotated[
        bool,
        typer.Option(
            "--self-test/--no-self-test",
            help="Also train, predict, save and load on a small task: some seconds.",
        ),
    ] = True,
    as_json: Json = False,
) -> None:
    """Say what is installed, on what it runs, where data is looked for, and whether the core works.

    Extras that are not installed are no failure. Exit code 0: the core works; 2: something it needs
    does not.
    """
    from edgnn import __version__
    from edgnn.cli.doctor._examine import examine, works

    findings: list[Finding] = []
    if as_json:
        findings.extend(examine(self_test=self_test))
        document = {
            "edgnn": __version__,
            "works": works(findings),
            "findings": [finding.to_dict() for finding in findings],
        }
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        _print(examine(self_test=self_test), findings)
    failed = [finding.name for finding in findings if finding.state == "failed"]
    if failed:
        raise EdgnnError(
            f"the core does not work here: {', '.join(failed)} failed; what edgnn doctor prints says what to do"
        )
    if not as_json:
        typer.echo(
            "\nThe core works."
            if self_test
            else "\nNothing that the core needs is missing; it was not tried."
        )


def _print(findings: Iterable[Finding], seen: list[Finding]) -> None:
    """Print findings as they come, each remembered in ``seen``."""
    from edgnn.cli._datasets import _console

    console = _console()
    for number, (group, members) in enumerate(groupby(findings, lambda finding: finding.group)):
        console.print(f"{'' if number == 0 else chr(10)}[bold]{_TITLES[group]}[/]")
        for finding in members:
            seen.append(finding)
            console.print(_row(finding))


def _row(finding: Finding) -> Any:
    from rich.markup import escape
    from rich.table import Table

    from edgnn._words import one_line

    row = Table.grid(padding=(0, 1))
    row.add_column(width=7)
    row.add_column(width=_NAMES)
    row.add_column(overflow="fold")
    took = "" if finding.seconds is None else f" [dim]({finding.seconds:.1f} s)[/]"
    way_out = f"\n→ {escape(finding.way_out)}" if finding.way_out else ""
    state = f"[{_STYLES[finding.state]}]{finding.state}[/]"
    row.add_row(
        state, escape(finding.name), f"{escape(one_line(finding.told, _LONGEST))}{took}{way_out}"
    )
    return row
