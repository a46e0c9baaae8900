"""``edgnn export``: a trained model as a program that needs torch alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgnn._paths import check_new_export, check_run
from edgnn.cli._options import Device, Json, RunArgument, print_json
from edgnn.cli._trained import open_trained

if TYPE_CHECKING:
    from edgnn.models import Exported


def export(
    run: RunArgument,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FOLDER", help="A new folder for the program and its files."),
    ],
    device: Device = "cpu",
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Throw away the exported model that is in the folder."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a trained model as a program (torch.export) that needs torch alone.

    It takes any number of nodes, edges and graphs, and is compared with the model on random graphs
    before the folder appears.
    """
    check_run(run)
    check_new_export(out, overwrite)
    from edgnn.models import export as write

    trained = open_trained(run, device)
    exported = write(
        trained.model,
        out,
        overwrite=overwrite,
        class_names=trained.class_names,
        target_names=trained.target_names,
    )
    if not as_json:
        _print(run, exported)
        return
    print_json(
        {
            "run": str(run),
            "folder": str(exported.path),
            "files": exported.files,
            "device": exported.device,
            "checked": asdict(exported.checked),
        }
    )


def _print(run: Path, exported: Exported) -> None:
    checked = exported.checked
    files = [f"{name} ({size / 1000:,.1f} kB)" for name, size in exported.files.items()]
    items = f"{checked.graphs} random graphs"
    if checked.items != checked.graphs:
        items += f", {checked.items} of their nodes"
    typer.echo(f"{exported.path}: {', '.join(files)}")
    typer.echo(
        f"checked on {items} of {checked.collections} sizes: "
        f"predictions differ by at most {checked.difference:.1e}"
    )
    program = exported.path / "predict.py"
    typer.echo(f"try it where there is only torch: python {program} --check")
    typer.echo(
        f"graphs.json for its predict.py, from new data: edgnn convert NEW graphs.json --for {run}"
    )
